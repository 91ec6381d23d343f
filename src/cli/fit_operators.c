/* mooncake fit on samples of operators. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/fit_cli.h"
#include "fit/opfit.h"
#include "hw/optime.h"

bool mc_fit_cli_is_operators(const char *path)
{
	char line[64] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	if (!fgets(line, sizeof line, f))
		*line = '\0';
	fclose(f);
	return mc_opsamples_is(line);
}

static void error_text(FILE *out, const struct mc_curve_error *e)
{
	if (e->points)
		fprintf(out, " | %6.2f%% %6.2f%% %6.1f%%", 100 * e->median, 100 * e->p95, 100 * e->worst);
	else
		fprintf(out, " | %24s", "");
}

static void report(FILE *out, const struct mc_opfit *f)
{
	fprintf(out, "%63s | errors (median, p95, worst) with this left out:\n", "");
	fprintf(out, "%-18s %6s %7s %8s %8s %6s %5s | %-24s | %-24s | %-24s\n", "operator", "points",
		"flagged", "too-fast", "outliers", "curves", "knots", "a fifth of the points",
		"every second coordinate", "the whole shape");
	for (int op = 0; op < MC_OPS; op++) {
		const struct mc_opfit_total *t = &f->total[op];

		if (!t->points && !t->flagged && !t->unphysical)
			continue;
		fprintf(out, "%-18s %6zu %7zu %8zu %8zu %6zu %5zu", mc_op_names[op], t->points, t->flagged,
			t->unphysical, t->outliers, t->curves, t->knots);
		for (int k = 0; k < MC_LEFT_OUTS; k++)
			error_text(out, &t->left_out[k]);
		if (t->left_out[MC_LEFT_POINT].points)
			fprintf(out, " | %s", t->left_out[MC_LEFT_POINT].worst_at);
		fprintf(out, "\n");
	}
}

/* "prefill +12.5 us, +3.1 ns a row, -4.2 % of the sum". */
static void gap_text(FILE *out, const struct mc_gap_level *l)
{
	for (int k = 0; k < MC_PHASES; k++) {
		const struct mc_gap *g = &l->gap[k];

		if (!g->rows_max)
			continue;
		fprintf(out, "%20s %s:", "", mc_phase_names[k]);
		if (g->constant_s != 0)
			fprintf(out, " %+.4g us", 1e6 * g->constant_s);
		if (g->row_s != 0)
			fprintf(out, " %+.4g ns a row", 1e9 * g->row_s);
		if (g->share != 0)
			fprintf(out, " %+.2f %% of the sum", 100 * g->share);
		if (g->constant_s == 0 && g->row_s == 0 && g->share == 0)
			fprintf(out, " nothing beyond the sum");
		fprintf(out, ", up to %lld rows\n", (long long)g->rows_max);
	}
}

/* Whole layers and iterations: how well the sum of the operators predicts them, and what is added to it. */
static void report_gaps(FILE *out, const struct mc_opgaps *g)
{
	static const char *const names[MC_OPGAP_LEVELS] = {"layer", "step"};

	if (g->nameless)
		fprintf(out, "%zu layers and steps of a model that their file does not name are left out\n",
			g->nameless);
	if (g->n)
		fprintf(out, "%-20s %-5s %6s %7s %8s | %22s | gaps added, held out\n", "whole", "", "points",
			"flagged", "too-fast", "sum alone: median, p95, worst");
	for (size_t i = 0; i < g->n; i++)
		for (int k = 0; k < MC_OPGAP_LEVELS; k++) {
			const struct mc_gaps *m = &g->at[i].gaps;
			const struct mc_gap_level *l = k == MC_OPGAP_LAYER ? &m->layer : &m->step;
			char name[40];

			if (!g->at[i].level[k].points && !g->at[i].level[k].lacking &&
			    !g->at[i].level[k].flagged && !g->at[i].level[k].unphysical)
				continue;
			snprintf(name, sizeof name, "%.28s tp%lld", m->model, (long long)m->tensor_parallel);
			fprintf(out, "%-20s %-5s %6zu %7zu %8zu", name, names[k], g->at[i].level[k].points,
				g->at[i].level[k].flagged, g->at[i].level[k].unphysical);
			if (l->error.points) {
				error_text(out, &l->sum_error);
				error_text(out, &l->error);
				fprintf(out, " | %s", l->error.worst_at);
			}
			fprintf(out, "\n");
			if (g->at[i].level[k].lacking)
				fprintf(out, "%20s %zu without a sum: %s\n", "", g->at[i].level[k].lacking,
					g->at[i].level[k].why);
			gap_text(out, l);
		}
}

/* The text must load before anything is written. */
static int check_and_write(const struct mc_opfit *f, const char *text, const char *output, struct mc_err *err)
{
	bool to_file = output && strcmp(output, "-");
	struct mc_profile p;
	struct mc_file out;
	int rc = mc_profile_load_text(&p, text, to_file ? output : "profile", err);

	if (rc)
		return rc;
	mc_profile_fini(&p);
	rc = mc_file_create(&out, to_file ? output : "-", err);
	if (rc)
		return rc;
	fputs(text, out.fp);
	rc = mc_file_commit(&out, err);
	if (!rc) {
		report(to_file ? stdout : stderr, f);
		report_gaps(to_file ? stdout : stderr, &f->gaps);
	}
	return rc;
}

static int fit_files(const struct mc_opsamples *s, const struct mc_fit_cli *o, const struct mc_profile *hw,
		     const json_t *root, struct mc_err *err)
{
	struct mc_op_limits limits;
	struct mc_opfit f;
	char *text;
	int rc;

	mc_profile_limits(hw, &limits);
	rc = mc_opfit_samples(&f, s, (size_t)o->files, &limits, err);
	if (rc)
		return mc_err_at(err, o->samples[0], 0, 0, NULL);
	text = mc_opfit_profile_text(&f, root, o->name, o->date);
	rc = check_and_write(&f, text, o->output, err);
	free(text);
	mc_opfit_fini(&f);
	return rc;
}

int mc_fit_cli_operators(const struct mc_fit_cli *o, const struct mc_profile *hw, const json_t *root,
			 struct mc_err *err)
{
	struct mc_opsamples *s = mc_xcalloc((size_t)o->files, sizeof *s);
	int rc = MC_OK, n = 0;

	while (n < o->files && !rc) {
		rc = mc_opsamples_read(&s[n], o->samples[n], err);
		n += !rc;
	}
	if (!rc)
		rc = fit_files(s, o, hw, root, err);
	while (n)
		mc_opsamples_fini(&s[--n]);
	free(s);
	return rc;
}
