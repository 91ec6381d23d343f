/* Short forms of numbers for people; integer arithmetic, so that no locale gets in. */
#include <math.h>
#include <stdbool.h>

#include "base/units.h"

/* Three significant digits of x, 0.0005 <= x < 1e6. */
static int digits3(char *buf, double x)
{
	long milli = lrint(x * 1000);

	if (milli >= 99950)
		return snprintf(buf, MC_UNITS_TEXT, "%ld", lrint(x));
	if (milli >= 9995) {
		long d = lrint(x * 10);

		return snprintf(buf, MC_UNITS_TEXT, "%ld.%ld", d / 10, d % 10);
	}
	if (milli >= 1000) {
		long d = lrint(x * 100);

		return snprintf(buf, MC_UNITS_TEXT, "%ld.%02ld", d / 100, d % 100);
	}
	return snprintf(buf, MC_UNITS_TEXT, "0.%03ld", milli);
}

static char *format_si(double v, const char *unit, char *buf)
{
	static const char prefix[][2] = {"", "K", "M", "G", "T", "P", "E"};
	double x = fabs(v);
	size_t p = 0;
	int n = 0;

	if (!isfinite(v)) {
		snprintf(buf, MC_UNITS_TEXT, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return buf;
	}
	for (; x >= 999.5 && p + 1 < sizeof prefix / sizeof *prefix; p++)
		x /= 1000;
	if (x >= 1e6) {
		snprintf(buf, MC_UNITS_TEXT, "%.2e%s%s", v, *unit ? " " : "", unit);
		return buf;
	}
	if (v < 0)
		buf[n++] = '-';
	n += x < 0.0005 ? snprintf(buf + n, MC_UNITS_TEXT - (size_t)n, "0") : digits3(buf + n, x);
	snprintf(buf + n, MC_UNITS_TEXT - (size_t)n, "%s%s%s", *unit || p ? " " : "", prefix[p], unit);
	return buf;
}

char *mc_units_format_time(mc_time t, char *buf)
{
	static const struct {
		double ns;
		char name[4];
	} step[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {60e9, "min"}, {3600e9, "h"}};
	double x = fabs((double)t);
	size_t i = 0;
	int n = 0;

	if (t == MC_TIME_MAX || t == 0) {
		snprintf(buf, MC_UNITS_TEXT, t ? "never" : "0 s");
		return buf;
	}
	/* Seconds up to 300: "120 s" reads better than "2.00 min". */
	while (i < 5 && x >= (i < 3 ? 999.5 * step[i].ns : i == 3 ? 300e9 : 120 * 60e9))
		i++;
	x /= step[i].ns;
	if (t < 0)
		buf[n++] = '-';
	n += digits3(buf + n, x);
	snprintf(buf + n, MC_UNITS_TEXT - (size_t)n, " %s", step[i].name);
	return buf;
}

char *mc_units_format_count(double v, char *buf)
{
	if (fabs(v) < 10000 && v == floor(v)) {
		snprintf(buf, MC_UNITS_TEXT, "%ld", lrint(v));
		return buf;
	}
	return format_si(v, "", buf);
}

char *mc_units_format_bytes(double v, char *buf)
{
	return format_si(v, "B", buf);
}

char *mc_units_format_rate(double bytes_s, char *buf)
{
	return format_si(bytes_s, "B/s", buf);
}

char *mc_units_format_flops(double flop_s, char *buf)
{
	return format_si(flop_s, "FLOPS", buf);
}
