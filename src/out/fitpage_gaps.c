/* Whole layers and iterations: how well the sum of the operators predicts them, and what is added to it. */
#include <inttypes.h>

#include "out/fitpage.h"
#include "out/html.h"

static void errors(FILE *out, const struct mc_curve_error *e)
{
	char text[16];

	mc_html_number(out, "%s", mc_html_percent(e->median, text));
	mc_html_number(out, "%s", mc_html_percent(e->p95, text));
	mc_html_number(out, "%s", mc_html_percent(e->worst, text));
}

/* "prefill +12.5 us, +3.1 ns a row, -4.2 % of the sum". */
static void added(FILE *out, const struct mc_gap_level *l)
{
	const char *before = "";

	fputs("<td class=\"t\">", out);
	for (int k = 0; k < MC_PHASES; k++) {
		const struct mc_gap *g = &l->gap[k];

		if (!g->rows_max)
			continue;
		mc_html_printf(out, "%s%s:", before, mc_phase_names[k]);
		if (g->constant_s != 0)
			mc_html_printf(out, " %+.4g \u00b5s", 1e6 * g->constant_s);
		if (g->row_s != 0)
			mc_html_printf(out, " %+.4g ns a row", 1e9 * g->row_s);
		if (g->share != 0)
			mc_html_printf(out, " %+.2f %% of the sum", 100 * g->share);
		if (g->constant_s == 0 && g->row_s == 0 && g->share == 0)
			mc_html_printf(out, " nothing");
		mc_html_printf(out, ", to %" PRId64 " rows", g->rows_max);
		before = "; ";
	}
	fputs("</td>", out);
}

static void level(FILE *out, const struct mc_gaps *g, const char *name, const struct mc_gap_level *l)
{
	if (!l->error.points)
		return;
	fputs("<tr>", out);
	mc_html_cell(out, "%s, %" PRId64 " GPU%s", g->model, g->tensor_parallel,
		     g->tensor_parallel == 1 ? "" : "s");
	mc_html_cell(out, "%s", name);
	mc_html_number(out, "%" PRId64, l->error.points);
	errors(out, &l->sum_error);
	errors(out, &l->error);
	mc_html_cell(out, "%s", l->error.worst_at);
	added(out, l);
	fputs("</tr>\n", out);
}

void mc_fitpage_gaps(FILE *out, const struct mc_operators *o)
{
	if (!o->n_gaps)
		return;
	fputs("<h3>Whole layers and iterations</h3>\n<p>How far the sum of the operators is off what was "
	      "measured; "
	      "and, of points that the fit of the gap did not see, how far the sum with the gap is.</p>\n",
	      out);
	mc_html_table_head(
	    out, "<tr><th></th><th></th><th></th><th class=\"g\" colspan=\"3\">sum alone</th>"
		 "<th class=\"g\" colspan=\"4\">with the gap, held out</th><th></th></tr>\n"
		 "<tr><th class=\"t\">model</th><th class=\"t\">whole</th><th>points</th>"
		 "<th>median</th><th>p95</th><th>worst</th><th>median</th><th>p95</th><th>worst</th>"
		 "<th class=\"t\">at</th><th class=\"t\">added</th></tr>");
	for (size_t i = 0; i < o->n_gaps; i++) {
		level(out, &o->gaps[i], "layer", &o->gaps[i].layer);
		level(out, &o->gaps[i], "iteration", &o->gaps[i].step);
	}
	mc_html_table_end(out);
}

void mc_fitpage_left_out(FILE *out, const struct mc_curve_error e[MC_LEFT_OUTS])
{
	static const char *const what[MC_LEFT_OUTS] = {"a fifth of the points", "every second coordinate",
						       "the whole shape"};
	const char *before = "Errors with this left out of the fit: ";
	char median[16], p95[16], worst[16];

	for (int k = 0; k < MC_LEFT_OUTS; k++) {
		if (!e[k].points)
			continue;
		fputs(*before == 'E' ? "<p>" : "", out);
		mc_html_printf(out, "%s%s: median %s, p95 %s, worst %s", before, what[k],
			       mc_html_percent(e[k].median, median), mc_html_percent(e[k].p95, p95),
			       mc_html_percent(e[k].worst, worst));
		if (*e[k].worst_at)
			mc_html_printf(out, " at %s", e[k].worst_at);
		before = "; ";
	}
	fputs(*before == ';' ? ".</p>\n" : "", out);
}
