/* Two profiles: ratios of the times of their operators. */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "out/chart.h"
#include "out/fitlines.h"
#include "out/fitpage.h"
#include "out/html.h"
#include "stat/sort.h"
#include "stat/summary.h"

#define SAME 1e-3 /* ratios this near to 1 everywhere are not drawn */

/* The other profile's time of a point; 0: none within its range. guessed: from curves of other dimensions. */
static double other_s(const struct mc_fitpage *p, const struct mc_op_point *at, bool *guessed)
{
	struct mc_op_time t;

	if (mc_op_time(&p->other->operators, at, &t, NULL) || !t.covered)
		return 0;
	*guessed = t.how != MC_HOW_CURVE;
	return t.seconds;
}

void mc_fitpage_ratio(const struct mc_fitpage *p, enum mc_op op, struct mc_fitpage_ratio *out)
{
	const struct mc_operators *o = &p->profile->operators;
	struct {
		MC_VEC(double)
	} all = {0};

	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < o->n; i++) {
		const struct mc_curve *c = &o->curve[i];
		size_t knots = c->fixed.op == op ? mc_curve_knots(c) : 0;

		for (size_t k = 0; k < knots; k++) {
			struct mc_op_point at = mc_curve_knot(c, k);
			bool guessed = false;
			double ratio = other_s(p, &at, &guessed) / mc_curve_s(c, &at);

			if (!(ratio > 0)) {
				out->beyond++;
				continue;
			}
			out->guessed += guessed;
			if (!all.n || ratio < out->low) {
				out->low = ratio;
				out->low_at = at;
			}
			if (!all.n || ratio > out->high) {
				out->high = ratio;
				out->high_at = at;
			}
			mc_vec_push(&all, ratio);
		}
	}
	out->points = all.n;
	if (all.n) {
		mc_sort_f64(all.at, all.n);
		out->median = all.at[mc_stat_rank(all.n, 50)];
	}
	mc_vec_fini(&all);
}

static void table(FILE *out, const struct mc_fitpage *p)
{
	char text[128];

	mc_html_table_begin(out, "<operator|knots|beyond|guessed|median|least|<at|most|<at");
	for (int op = 0; op < MC_OPS; op++) {
		struct mc_fitpage_ratio r;
		struct mc_operators_summary mine, theirs;

		mc_operators_summary(&p->profile->operators, (enum mc_op)op, &mine);
		mc_operators_summary(&p->other->operators, (enum mc_op)op, &theirs);
		if (!mine.curves && !theirs.curves)
			continue;
		mc_fitpage_ratio(p, (enum mc_op)op, &r);
		fputs("<tr>", out);
		mc_html_element(out, "td class=\"k\"", "%s%s", mc_op_names[op],
				mine.curves ? "" : " (only the other has it)");
		mc_html_number(out, "%zu", r.points);
		mc_html_number(out, "%zu", r.beyond);
		mc_html_number(out, "%zu", r.guessed);
		if (r.points) {
			mc_html_number(out, "%.3f", r.median);
			mc_html_number(out, "%.3f", r.low);
			mc_html_cell(out, "%s", mc_op_dims_text(&r.low_at, text, sizeof text));
			mc_html_number(out, "%.3f", r.high);
			mc_html_cell(out, "%s", mc_op_dims_text(&r.high_at, text, sizeof text));
		} else {
			fputs("<td></td><td></td><td></td><td></td><td></td>", out);
		}
		fputs("</tr>\n", out);
	}
	mc_html_table_end(out);
}

/* Ratios along the lines of one operator. Nothing where there are none, or all are 1. */
static void chart(FILE *out, const struct mc_fitpage *p, const struct mc_fitlines *l)
{
	struct mc_chart c = {.out = out};
	struct mc_fitline line[MC_CHART_SERIES];
	size_t drawn = 0;
	char text[128], title[192];

	mc_fitlines_axis(l, &c.x);
	mc_chart_axis_init(&c.y, "other / this", MC_CHART_PLAIN, true);
	for (size_t i = 0; i < l->n; i++) {
		size_t n = 0;

		mc_fitline_init(&line[i], l, i, true);
		for (size_t k = 0; k < line[i].n; k++) {
			bool guessed;
			double ratio = other_s(p, &line[i].point[k], &guessed) / line[i].s[k];

			if (!(ratio > 0))
				continue;
			line[i].x[n] = line[i].x[k];
			line[i].s[n++] = ratio;
			mc_chart_axis_see(&c.x, line[i].x[k]);
			mc_chart_axis_see(&c.y, ratio);
		}
		line[i].n = n;
		drawn += n > 0;
	}
	if (drawn && (c.y.low < 1 - SAME || c.y.high > 1 + SAME)) {
		mc_chart_axis_see(&c.y, 0.95);
		mc_chart_axis_see(&c.y, 1.05);
		snprintf(title, sizeof title, "%s%s", mc_op_names[l->op], mc_fitlines_common(l, text));
		mc_chart_begin(&c, title);
		mc_chart_line(&c,
			      &(struct mc_chart_points){(double[]){c.x.low, c.x.high}, (double[]){1, 1}, 2},
			      "rule");
		for (size_t i = 0; i < l->n; i++) {
			char name[32];

			snprintf(name, sizeof name, "line s%zu", i);
			mc_chart_line(&c, &(struct mc_chart_points){line[i].x, line[i].s, line[i].n}, name);
		}
		mc_chart_end(&c);
		mc_chart_key_begin(out);
		for (size_t i = 0; i < l->n; i++)
			if (line[i].n && l->n > 1)
				mc_chart_key(out, (int)i, true, mc_fitlines_label(l, i, text));
		mc_chart_key_end(out);
	}
	for (size_t i = 0; i < l->n; i++)
		mc_fitline_fini(&line[i]);
}

void mc_fitpage_compare(FILE *out, const struct mc_fitpage *p)
{
	if (!p->other)
		return;
	fputs("<h2>", out);
	mc_html_printf(out, "%s over %s", p->other->name, p->profile->name);
	fputs("</h2>\n", out);
	if (!p->profile->operators.n || !p->other->operators.n) {
		mc_html_element(out, "p", "%s has no operators: there are no curves to compare.",
				p->profile->operators.n ? p->other->name : p->profile->name);
		return;
	}
	fputs(
	    "<p>Ratios of times, other over this (above 1: the other is slower), at the knots of this one's "
	    "curves. "
	    "Beyond: the other has no time there, or none within its range. Guessed: it has a curve of other "
	    "dimensions only. Not drawn: operators whose times are the same.</p>\n",
	    out);
	table(out, p);
	fputs("<div class=\"charts\">\n", out);
	for (int op = 0; op < MC_OPS; op++) {
		struct mc_fitlines l;

		if (mc_fitlines_choose(&l, &p->profile->operators, (enum mc_op)op))
			chart(out, p, &l);
	}
	fputs("</div>\n", out);
}
