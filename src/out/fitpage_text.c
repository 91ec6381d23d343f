/* The report of a profile as text. */
#include <inttypes.h>

#include "out/fitpage.h"
#include "out/textfmt.h"

#define WORST 10

static void heads(struct mc_text_table *t, const char *const *head, int n)
{
	for (int i = 0; i < n; i++)
		mc_text_cell(t, "%s", head[i]);
}

static void errors_row(struct mc_text_table *t, const struct mc_fitpage *p, size_t group)
{
	struct mc_operators_summary o = {0};
	struct mc_residuals_stats s;
	char name[256];

	mc_residuals_stats(p->residuals, group, &s);
	if (group < MC_OPS)
		mc_operators_summary(&p->profile->operators, (enum mc_op)group, &o);
	if (!o.curves && p->residuals->first[group] == p->residuals->first[group + 1])
		return;
	mc_text_cell(t, "%s", mc_residuals_name(p->residuals, group, name, sizeof name));
	mc_text_cell(t, "%zu", o.curves);
	mc_text_cell(t, "%" PRId64, o.points);
	if (o.points) {
		mc_text_cell(t, "%.1f %%", 100 * o.median);
		mc_text_cell(t, "%.1f %%", 100 * o.p95);
		mc_text_cell(t, "%.0f %%", 100 * o.worst);
	} else {
		for (int i = 0; i < 3; i++)
			mc_text_cell(t, "%s", "");
	}
	mc_text_cell(t, "%zu", s.count[MC_RESIDUAL_USED]);
	if (s.count[MC_RESIDUAL_USED]) {
		mc_text_cell(t, "%.1f %%", 100 * s.median);
		mc_text_cell(t, "%.1f %%", 100 * s.p95);
		mc_text_cell(t, "%.0f %%", 100 * s.worst);
	} else {
		for (int i = 0; i < 3; i++)
			mc_text_cell(t, "%s", "");
	}
	for (int k = MC_RESIDUAL_OUTSIDE; k < MC_RESIDUAL_STATES; k++)
		mc_text_cell(t, "%zu", s.count[k]);
}

static void errors(FILE *out, const struct mc_fitpage *p)
{
	static const char *const head[] = {"",        "curves",  "held out", "median", "p95",
					   "worst",   "samples", "median",   "p95",    "worst",
					   "outside", "flagged", "no time"};
	struct mc_text_table *t = mc_text_table_new(13, 1);

	heads(t, head, 13);
	for (size_t g = 0; g < p->residuals->groups; g++)
		errors_row(t, p, g);
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void worst(FILE *out, const struct mc_fitpage *p)
{
	static const char *const head[] = {"most wrong", "error", "measured s", "fitted s", "point", "where"};
	const struct mc_residual *list[WORST];
	const struct mc_residuals *r = p->residuals;
	size_t n = mc_residuals_worst(r, r->groups, list, WORST);
	struct mc_text_table *t;
	char text[256];

	if (!n)
		return;
	t = mc_text_table_new(6, 1 | 1 << 4 | 1 << 5);
	heads(t, head, 6);
	for (size_t i = 0; i < n; i++) {
		mc_text_cell(t, "%s", mc_residuals_name(r, list[i]->group, text, sizeof text));
		mc_text_cell(t, "%+.1f %%", 100 * mc_residual_error(list[i]));
		mc_text_cell(t, "%.4g", list[i]->measured_s);
		mc_text_cell(t, "%.4g", list[i]->fitted_s);
		mc_text_cell(t, "%s", mc_residual_text(r, list[i], text, sizeof text));
		if (list[i]->line)
			mc_text_cell(t, "%s:%ld", list[i]->file, list[i]->line);
		else
			mc_text_cell(t, "%s", list[i]->file);
	}
	fputc('\n', out);
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void ratios(FILE *out, const struct mc_fitpage *p)
{
	static const char *const head[] = {"other / this", "knots", "beyond", "guessed",
					   "median",       "least", "most"};
	struct mc_text_table *t = mc_text_table_new(7, 1);

	heads(t, head, 7);
	for (int op = 0; op < MC_OPS; op++) {
		struct mc_fitpage_ratio r;

		mc_fitpage_ratio(p, (enum mc_op)op, &r);
		if (!r.points && !r.beyond)
			continue;
		mc_text_cell(t, "%s", mc_op_names[op]);
		mc_text_cell(t, "%zu", r.points);
		mc_text_cell(t, "%zu", r.beyond);
		mc_text_cell(t, "%zu", r.guessed);
		for (int i = 0; i < 3; i++)
			if (r.points)
				mc_text_cell(t, "%.3f", (double[]){r.median, r.low, r.high}[i]);
			else
				mc_text_cell(t, "%s", "");
	}
	fputc('\n', out);
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void predictions(FILE *out, const struct mc_fitpage *p)
{
	const struct mc_fitpredict *f = p->predict;
	struct mc_text_table *t = mc_text_table_new(6, 1);
	static const char *const head[] = {"", "batch", "tokens", "this ms", "other ms", "ratio"};
	bool beyond = false;

	fprintf(out, "\n%s on %" PRId64 " GPU%s; this: %s", f->shape.name, f->tensor_parallel,
		f->tensor_parallel == 1 ? "" : "s", f->how[0]);
	if (p->other)
		fprintf(out, "; other: %s", f->how[1]);
	fputc('\n', out);
	heads(t, head, 6);
	for (int i = 0; i < MC_FITPREDICT_ROWS; i++) {
		const double *s = f->row[i].seconds;

		mc_text_cell(t, "%s", f->row[i].decode ? "decode" : "prefill");
		mc_text_cell(t, "%" PRId64, f->row[i].batch);
		mc_text_cell(t, "%" PRId64, f->row[i].tokens);
		for (int side = 0; side < 2; side++) {
			beyond |= s[side] > 0 && f->row[i].outside[side];
			if (s[side] > 0)
				mc_text_cell(t, "%.3f%s", 1e3 * s[side], f->row[i].outside[side] ? "*" : " ");
			else
				mc_text_cell(t, "%s", "");
		}
		if (s[0] > 0 && s[1] > 0)
			mc_text_cell(t, "%.2f", s[1] / s[0]);
		else
			mc_text_cell(t, "%s", "");
	}
	mc_text_table_write(t, out);
	mc_text_table_free(t);
	if (beyond)
		fputs("* partly beyond what was measured\n", out);
}

void mc_fitpage_text(FILE *out, const struct mc_fitpage *p)
{
	errors(out, p);
	worst(out, p);
	if (p->net) {
		fputs("\ntransfers between nodes, the samples fitted anew:\n", out);
		mc_fitpage_net_text(out, p->net);
	}
	if (p->other && p->profile->operators.n && p->other->operators.n)
		ratios(out, p);
	if (p->predict)
		predictions(out, p);
}
