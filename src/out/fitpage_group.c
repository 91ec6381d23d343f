/* One operator, or prefill or decode of one measured entry: charts, the most wrong points, the curves. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "out/chart.h"
#include "out/fitlines.h"
#include "out/fitpage.h"
#include "out/html.h"

#define WORST 10
#define BINS  20 /* of a histogram, and one beyond at each end */

struct xy {
	double *x, *y;
	size_t n;
};

static void xy_init(struct xy *p, size_t most)
{
	p->x = mc_xcalloc(most + 1, sizeof *p->x);
	p->y = mc_xcalloc(most + 1, sizeof *p->y);
	p->n = 0;
}

static void xy_fini(struct xy *p)
{
	free(p->x);
	free(p->y);
}

static void xy_push(struct xy *p, double x, double y)
{
	p->x[p->n] = x;
	p->y[p->n++] = y;
}

static void xy_dots(const struct mc_chart *c, const struct xy *p, int series)
{
	mc_chart_dots(c, &(struct mc_chart_points){p->x, p->y, p->n}, series);
}

/* A line of slope 1: y = factor x. */
static void diagonal(const struct mc_chart *c, double factor, const char *style)
{
	double low = fmax(c->x.low, c->y.low / factor), high = fmin(c->x.high, c->y.high / factor);
	const double x[] = {low, high}, y[] = {low * factor, high * factor};

	if (low < high)
		mc_chart_line(c, &(struct mc_chart_points){x, y, 2}, style);
}

static void scatter(FILE *out, const struct mc_residuals *r, size_t group)
{
	static const struct {
		enum mc_residual_state state;
		int series;
		const char *name;
	} kind[] = {{MC_RESIDUAL_OUTSIDE, MC_CHART_GREY, "outside of the range, or guessed from others"},
		    {MC_RESIDUAL_USED, 0, "samples"},
		    {MC_RESIDUAL_FLAGGED, MC_CHART_RED, "flagged"}};
	size_t from = r->first[group], n = r->first[group + 1] - from;
	struct mc_chart c = {.out = out};
	struct xy dots[3];

	mc_chart_axis_init(&c.x, "measured", MC_CHART_SECONDS, true);
	mc_chart_axis_init(&c.y, "fitted", MC_CHART_SECONDS, true);
	for (int k = 0; k < 3; k++) {
		xy_init(&dots[k], n);
		for (const struct mc_residual *p = r->at + from; p < r->at + from + n; p++)
			if (p->state == kind[k].state && p->fitted_s > 0) {
				xy_push(&dots[k], p->measured_s, p->fitted_s);
				mc_chart_axis_see(&c.x, p->measured_s);
				mc_chart_axis_see(&c.y, p->fitted_s);
			}
	}
	mc_chart_begin(&c, "Measured against fitted");
	for (int k = 0; k < 3; k++)
		xy_dots(&c, &dots[k], kind[k].series);
	diagonal(&c, 1, "rule");
	diagonal(&c, 1.1, "near");
	diagonal(&c, 1 / 1.1, "near");
	mc_chart_end(&c);
	mc_chart_key_begin(out);
	for (int k = 0; k < 3; k++) {
		if (dots[k].n)
			mc_chart_key(out, kind[k].series, false, kind[k].name);
		xy_fini(&dots[k]);
	}
	mc_html_element(out, "li", "dashed: 10 %% off");
	mc_chart_key_end(out);
}

/* Half of the range that a histogram shows, for what 95 % are within. */
static double half_range(double p95)
{
	static const double steps[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5};

	for (size_t i = 0; i + 1 < sizeof steps / sizeof *steps; i++)
		if (p95 <= steps[i])
			return steps[i];
	return 0.5;
}

static void histogram(FILE *out, const struct mc_residuals *r, size_t group)
{
	struct mc_residuals_stats s;
	struct mc_chart c = {.out = out};
	size_t count[BINS + 2] = {0};
	double half, width;
	char text[16];

	mc_residuals_stats(r, group, &s);
	half = half_range(s.p95);
	width = 2 * half / BINS;
	mc_chart_axis_init(&c.x, "fitted / measured \u2212 1", MC_CHART_PERCENT, false);
	mc_chart_axis_init(&c.y, "samples", MC_CHART_PLAIN, false);
	for (size_t i = r->first[group]; i < r->first[group + 1]; i++) {
		double bin = floor((mc_residual_error(&r->at[i]) + half) / width);

		if (r->at[i].state == MC_RESIDUAL_USED)
			count[bin < 0 ? 0 : bin >= BINS ? BINS + 1 : 1 + (int)bin]++;
	}
	mc_chart_axis_see(&c.x, -half - width);
	mc_chart_axis_see(&c.x, half + width);
	mc_chart_axis_see(&c.y, 0);
	for (int b = 0; b < BINS + 2; b++)
		mc_chart_axis_see(&c.y, 1.05 * (double)count[b]);
	mc_chart_begin(&c, "Errors");
	for (int b = 0; b < BINS + 2; b++)
		if (count[b])
			mc_chart_bar(&c, -half + (b - 1) * width, -half + b * width, (double)count[b],
				     b && b <= BINS ? 0 : MC_CHART_GREY);
	mc_chart_line(&c, &(struct mc_chart_points){(double[]){0, 0}, (double[]){0, c.y.high}, 2}, "rule");
	mc_chart_end(&c);
	mc_chart_key_begin(out);
	fputs("<li>", out);
	mc_html_printf(out, "%zu samples: median %.1f %%, 95 %% within %.1f %%, worst %s; bias %+.1f %%",
		       s.count[MC_RESIDUAL_USED], 100 * s.median, 100 * s.p95, mc_html_percent(s.worst, text),
		       100 * s.bias);
	if (count[0] + count[BINS + 1])
		mc_html_printf(out, "; grey: %zu beyond", count[0] + count[BINS + 1]);
	fputs("</li>\n", out);
	mc_chart_key_end(out);
}

/* Samples on a line, within the curve or not; flagged ones are left out. */
static void on_line(const struct mc_residuals *r, const struct mc_fitlines *l, size_t line, struct xy *dots)
{
	size_t from = r->first[l->op], n = r->first[l->op + 1] - from;

	xy_init(dots, n);
	for (const struct mc_residual *p = r->at + from; p < r->at + from + n; p++)
		if (p->state != MC_RESIDUAL_FLAGGED && mc_fitlines_has(l, line, &p->point))
			xy_push(dots, (double)p->point.dim[l->x], p->measured_s);
}

static void lines(FILE *out, const struct mc_fitpage *p, const struct mc_fitlines *l)
{
	struct mc_chart c = {.out = out};
	struct mc_fitline line[MC_CHART_SERIES];
	struct xy dots[MC_CHART_SERIES];
	char text[128], title[192];

	mc_fitlines_axis(l, &c.x);
	mc_chart_axis_init(&c.y, "time", MC_CHART_SECONDS, true);
	for (size_t i = 0; i < l->n; i++) {
		mc_fitline_init(&line[i], l, i, true);
		on_line(p->residuals, l, i, &dots[i]);
		for (size_t k = 0; k < line[i].n; k++) {
			mc_chart_axis_see(&c.x, line[i].x[k]);
			mc_chart_axis_see(&c.y, line[i].s[k]);
		}
		for (size_t k = 0; k < dots[i].n; k++) {
			mc_chart_axis_see(&c.x, dots[i].x[k]);
			mc_chart_axis_see(&c.y, dots[i].y[k]);
		}
	}
	snprintf(title, sizeof title, "Curves%s", mc_fitlines_common(l, text));
	mc_chart_begin(&c, title);
	for (size_t i = 0; i < l->n; i++) {
		char name[32];

		snprintf(name, sizeof name, "line s%zu", i);
		xy_dots(&c, &dots[i], (int)i);
		mc_chart_line(&c, &(struct mc_chart_points){line[i].x, line[i].s, line[i].n}, name);
	}
	mc_chart_end(&c);
	mc_chart_key_begin(out);
	for (size_t i = 0; i < l->n; i++) {
		if (l->n > 1)
			mc_chart_key(out, (int)i, true, mc_fitlines_label(l, i, text));
		mc_fitline_fini(&line[i]);
		xy_fini(&dots[i]);
	}
	mc_chart_key_end(out);
}

/* What a point of a measured entry is drawn at, and with which others: of a prefill those with the same share
 * of the prompt cached, in per cent. */
struct length {
	double x, measured_s, fitted_s;
	int cached;
};

static int compare_lengths(const void *va, const void *vb)
{
	const struct length *a = va, *b = vb;

	if (a->cached != b->cached)
		return a->cached < b->cached ? -1 : 1;
	return (a->x > b->x) - (a->x < b->x);
}

/* Measured as dots, fitted as lines through the same lengths: one series for each share cached. */
static void draw_lengths(const struct mc_chart *c, const struct length *p, size_t n)
{
	struct xy dots, fit;
	int series = 0;

	for (size_t i = 0, k; i < n; i += k) {
		char name[24];

		for (k = 1; i + k < n && p[i + k].cached == p[i].cached; k++)
			;
		xy_init(&dots, k);
		xy_init(&fit, k);
		for (size_t j = i; j < i + k; j++) {
			xy_push(&dots, p[j].x, p[j].measured_s);
			xy_push(&fit, p[j].x, p[j].fitted_s);
		}
		snprintf(name, sizeof name, "line s%d", series);
		mc_chart_line(c, &(struct mc_chart_points){fit.x, fit.y, k}, name);
		xy_dots(c, &dots, series);
		xy_fini(&dots);
		xy_fini(&fit);
		series += series < MC_CHART_GREY;
	}
}

static void length_keys(FILE *out, const struct length *p, size_t n)
{
	int series = 0;
	char text[64];

	mc_chart_key_begin(out);
	for (size_t i = 0; i < n && series < MC_CHART_SERIES; i++)
		if (!i || p[i].cached != p[i - 1].cached) {
			snprintf(text, sizeof text, "%d %% cached", p[i].cached);
			mc_chart_key(out, series++, true, text);
		}
	mc_html_element(out, "li", "dots: measured; lines: fitted");
	mc_chart_key_end(out);
}

/* Of a measured entry, over the length. */
static void lengths(FILE *out, const struct mc_fitpage *p, size_t group)
{
	const struct mc_residuals *r = p->residuals;
	size_t from = r->first[group], n = r->first[group + 1] - from;
	bool decode = (group - MC_OPS) % 2;
	struct mc_chart c = {.out = out};
	struct length *all = mc_xcalloc(n + 1, sizeof *all);

	mc_chart_axis_init(&c.x, decode ? "context, tokens" : "tokens of the prompt", MC_CHART_PLAIN, true);
	mc_chart_axis_init(&c.y, decode ? "time of an iteration" : "time", MC_CHART_SECONDS, true);
	for (size_t i = 0; i < n; i++) {
		const struct mc_residual *q = &r->at[from + i];
		double total = (double)q->sample.total, each = decode ? (double)q->sample.iterations : 1;

		all[i] = (struct length){total, q->measured_s / each, q->fitted_s / each, 0};
		if (!decode)
			all[i].cached = (int)lround(100 * (double)q->sample.cached / total);
		mc_chart_axis_see(&c.x, total);
		mc_chart_axis_see(&c.y, all[i].measured_s);
		mc_chart_axis_see(&c.y, all[i].fitted_s);
	}
	qsort(all, n, sizeof *all, compare_lengths);
	mc_chart_begin(&c, decode ? "Over the context" : "Over the prompt");
	draw_lengths(&c, all, n);
	mc_chart_end(&c);
	length_keys(out, all, decode ? 0 : n);
	free(all);
}

static void curve_row(FILE *out, const struct mc_curve *c)
{
	const char *before = "";
	char text[16];

	fputs("<tr><td class=\"t\">", out);
	for (int d = 0; d < MC_DIMS; d++)
		if (c->fixed.dim[d]) {
			mc_html_printf(out, "%s%s %" PRId64, before, mc_dim_names[d], c->fixed.dim[d]);
			before = ", ";
		}
	fputs("</td><td class=\"t\">", out);
	for (int a = 0; a < c->axes; a++)
		mc_html_printf(out, "%s%s %.0f to %.0f (%zu)", a ? ", " : "", mc_dim_names[c->dim[a]],
			       c->at[a][0], c->at[a][c->n[a] - 1], c->n[a]);
	fputs("</td>", out);
	if (c->error.points) {
		mc_html_number(out, "%" PRId64, c->error.points);
		mc_html_number(out, "%.1f %%", 100 * c->error.median);
		mc_html_number(out, "%.1f %%", 100 * c->error.p95);
		mc_html_number(out, "%s", mc_html_percent(c->error.worst, text));
		mc_html_cell(out, "%s", c->error.worst_at);
	} else {
		fputs("<td>0</td><td></td><td></td><td></td><td></td>", out);
	}
	mc_html_cell(out, "%s", c->over_work ? "time over work" : "time");
	mc_html_element(out, "td class=\"t w\"", "%s", c->source);
	fputs("</tr>\n", out);
}

static void curves(FILE *out, const struct mc_operators *o, enum mc_op op)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		n += o->curve[i].fixed.op == op;
	if (!n)
		return;
	fprintf(out, "<details><summary>%zu curve%s: ranges, held-out errors, sources</summary>\n", n,
		n == 1 ? "" : "s");
	mc_html_table_begin(out, "<fixed|<axes (knots)|held out|median|p95|worst|<at|<interpolated|<source");
	for (size_t i = 0; i < o->n; i++)
		if (o->curve[i].fixed.op == op)
			curve_row(out, &o->curve[i]);
	mc_html_table_end(out);
	fputs("</details>\n", out);
}

void mc_fitpage_group(FILE *out, const struct mc_fitpage *p, size_t group)
{
	const struct mc_residuals *r = p->residuals;
	const struct mc_residual *worst[WORST];
	struct mc_residuals_stats s;
	struct mc_fitlines l;
	char name[256];
	size_t n = mc_residuals_worst(r, group, worst, WORST);

	mc_residuals_stats(r, group, &s);
	fprintf(out, "<section>\n<h2 id=\"g%zu\">", group);
	mc_html_text(out, mc_residuals_name(r, group, name, sizeof name));
	fputs("</h2>\n<div class=\"charts\">\n", out);
	if (group >= MC_OPS)
		lengths(out, p, group);
	else if (mc_fitlines_choose(&l, &p->profile->operators, (enum mc_op)group))
		lines(out, p, &l);
	if (s.count[MC_RESIDUAL_USED] + s.count[MC_RESIDUAL_OUTSIDE] + s.count[MC_RESIDUAL_FLAGGED])
		scatter(out, r, group);
	if (s.count[MC_RESIDUAL_USED])
		histogram(out, r, group);
	fputs("</div>\n", out);
	if (group < MC_OPS)
		mc_fitpage_left_out(out, p->profile->operators.held_out[group]);
	if (n) {
		fputs("<h3>Most wrong</h3>\n", out);
		mc_fitpage_points(out, r, worst, n, false);
	}
	if (group < MC_OPS)
		curves(out, &p->profile->operators, (enum mc_op)group);
	fputs("</section>\n", out);
}
