/* Axes of charts: their ranges, the places to label, and the labels. */
#include <math.h>

#include "out/chart.h"

void mc_chart_axis_init(struct mc_chart_axis *a, const char *label, enum mc_chart_unit unit, bool log)
{
	*a = (struct mc_chart_axis){label, unit, log, INFINITY, -INFINITY};
}

void mc_chart_axis_see(struct mc_chart_axis *a, double v)
{
	if (!isfinite(v) || (a->log && v <= 0))
		return;
	a->low = v < a->low ? v : a->low;
	a->high = v > a->high ? v : a->high;
}

/* 1, 2 or 5 times a power of ten, at least v. */
static double nice(double v)
{
	double p = pow(10, floor(log10(v))), m = v / p;

	return p * (m <= 1 + 1e-9 ? 1 : m <= 2 + 1e-9 ? 2 : m <= 5 + 1e-9 ? 5 : 10);
}

static size_t linear_ticks(const struct mc_chart_axis *a, double tick[12])
{
	double step = nice((a->high - a->low) / 6);
	size_t n = 0;

	for (double k = ceil(a->low / step - 1e-9); k * step <= a->high + 1e-9 * step && n < 12; k++)
		tick[n++] = k * step + 0.0; /* no -0 */
	return n;
}

size_t mc_chart_ticks(const struct mc_chart_axis *a, double tick[12])
{
	static const double few[] = {1}, some[] = {1, 3}, many[] = {1, 2, 5};
	double decades = a->log ? log10(a->high) - log10(a->low) : 0;
	const double *m = decades <= 2 ? many : decades <= 3.2 ? some : few;
	size_t per = decades <= 2 ? 3 : decades <= 3.2 ? 2 : 1, n = 0;
	int stride = decades > 6 ? (int)ceil(decades / 6) : 1;

	if (!a->log || decades < 0.8)
		return linear_ticks(a, tick);
	for (int d = (int)floor(log10(a->low)); pow(10, d) <= a->high && n < 12; d++)
		for (size_t i = 0; i < per && n < 12 && d % stride == 0; i++) {
			double v = m[i] * pow(10, d);

			if (v >= a->low * (1 - 1e-9) && v <= a->high * (1 + 1e-9))
				tick[n++] = v;
		}
	return n;
}

struct scale {
	double from;
	const char *suffix;
};

char *mc_chart_label(enum mc_chart_unit unit, double v, char text[32])
{
	static const struct scale seconds[] = {{1, " s"}, {1e-3, " ms"}, {1e-6, " \u00b5s"}, {1e-9, " ns"}},
				  bytes[] = {{1e12, " TB"},
					     {1e9, " GB"},
					     {1e6, " MB"},
					     {1e3, " kB"},
					     {1, " B"}},
				  plain[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
	const struct scale *scale = plain;
	size_t n = 4, i = 0;
	double size = fabs(v);

	if (unit == MC_CHART_PERCENT) {
		snprintf(text, 32, "%.4g %%", 100 * v);
		return text;
	}
	if (unit == MC_CHART_SECONDS)
		scale = seconds;
	if (unit == MC_CHART_BYTES) {
		scale = bytes;
		n = 5;
	}
	if (unit != MC_CHART_SECONDS && size < 1) {
		snprintf(text, 32, "%.3g", v);
		return text;
	}
	while (i + 1 < n && size < scale[i].from * 0.9995)
		i++;
	snprintf(text, 32, "%.4g%s", v / scale[i].from, scale[i].suffix);
	return text;
}
