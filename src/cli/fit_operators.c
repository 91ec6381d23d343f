/* mooncake fit on samples of operators. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/units.h"
#include "cli/fit_cli.h"
#include "fit/figures.h"
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
static int check_and_write(const char *text, const char *output, struct mc_err *err)
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
	return mc_file_commit(&out, err);
}

/* Where people look while the profile goes to a file, or to stdout. */
static FILE *said_to(const struct mc_fit_cli *o)
{
	return o->output && strcmp(o->output, "-") ? stdout : stderr;
}

/* n files, of which the first m have times of a model's operators; root: the file of hw. */
struct job {
	struct mc_opsamples *s;
	size_t n, m;
	const struct mc_fit_cli *o;
	const struct mc_profile *hw;
	const json_t *root;
};

static int fit_files(const struct job *j, const json_t *root, const struct mc_op_limits *limits,
		     struct mc_err *err)
{
	struct mc_opfit f;
	char *text;
	int rc;

	rc = mc_opfit_samples(&f, j->s, j->m, limits, err);
	if (rc)
		return mc_err_at(err, j->o->samples[0], 0, 0, NULL);
	text = mc_opfit_profile_text(&f, root, j->o->name, j->o->date);
	rc = check_and_write(text, j->o->output, err);
	free(text);
	if (!rc) {
		report(said_to(j->o), &f);
		report_gaps(said_to(j->o), &f.gaps);
	}
	mc_opfit_fini(&f);
	return rc;
}

static int write_figures(const struct job *j, const json_t *root, const struct mc_fit_figures *g,
			 struct mc_err *err)
{
	char *text = mc_fit_figures_profile_text(g, root, j->o->name, j->o->date);
	int rc = check_and_write(text, j->o->output, err);

	free(text);
	return rc;
}

static void report_figures(FILE *out, const struct mc_fit_figures *g, const struct mc_profile *hw)
{
	char number[MC_UNITS_TEXT], at[64];

	for (int f = 0; f < MC_FIGURES; f++) {
		if (!(g->value[f] > 0))
			continue;
		fprintf(out, "hardware.%-20s %-10s %s of %s\n", mc_figure_keys[f],
			f == MC_FIGURE_SSD_LATENCY ? mc_units_format_time(mc_time_from_s(g->value[f]), number)
						   : mc_units_format_rate(g->value[f], number),
			mc_op_names[g->at[f].op], mc_op_dims_text(&g->at[f], at, sizeof at));
	}
	if ((g->value[MC_FIGURE_SSD_READ] > 0 || g->value[MC_FIGURE_SSD_WRITE] > 0) && !hw->ssds)
		fprintf(out, "hardware.ssds is 0: no run uses an SSD until it is not\n");
}

/* Transfers alone, of which nothing can be made. */
static int nothing_found(const struct job *j, const struct mc_netfit *net, const struct mc_fit_figures *g,
			 struct mc_err *err)
{
	bool found = j->m > 0;

	for (int f = 0; f < MC_FIGURES; f++)
		found |= g->value[f] > 0;
	if (found || !net->points)
		return MC_OK;
	mc_err_set(
	    err, MC_USAGE,
	    "holds %zu reads and writes over %u NICs; expected at least %d, of several sizes, of which "
	    "larger ones take longer",
	    net->points, net->t.nics, MC_NETFIT_LEAST);
	return mc_err_at(err, j->o->samples[0], 0, 0, NULL);
}

/* Figures and the network come first: they are bounds of the times. */
static int fit_all(const struct job *j, struct mc_err *err)
{
	struct mc_fit_figures g;
	struct mc_netfit net;
	struct mc_op_limits limits;
	struct mc_profile with;
	bool fitted, faster = false;
	json_t *changed;
	char *text;
	int rc;

	mc_fit_figures_find(&g, j->s, j->n, j->hw);
	changed = mc_fit_figures_apply(&g, j->root);
	fitted = mc_netfit_samples(&net, j->s, j->n, j->hw->nics);
	if (!fitted && nothing_found(j, &net, &g, err)) {
		json_decref(changed);
		return MC_USAGE;
	}
	if (fitted)
		faster = mc_netfit_apply(&net, changed, j->hw);
	if (fitted && (!g.date || strcmp(net.date, g.date) > 0))
		g.date = net.date;
	text = json_dumps(changed, 0);
	rc = mc_profile_load_text(&with, text, "hardware with what was measured", err);
	free(text);
	if (!rc) {
		mc_profile_limits(&with, &limits);
		rc = j->m ? fit_files(j, changed, &limits, err) : write_figures(j, changed, &g, err);
		mc_profile_fini(&with);
	}
	if (!rc)
		report_figures(said_to(j->o), &g, j->hw);
	if (!rc && (fitted || net.points || net.flagged))
		mc_fit_cli_network(said_to(j->o), &net, j->hw->nics, fitted, faster);
	json_decref(changed);
	return rc;
}

/* Files of samples of hardware alone, which need not be of one dtype with the others, to the end. Returns how
 * many are before them. */
static size_t others_first(struct mc_opsamples *s, size_t n)
{
	struct mc_opsamples *last = mc_xcalloc(n, sizeof *last);
	size_t m = 0, k = 0;

	for (size_t i = 0; i < n; i++) {
		bool hardware = s[i].n > 0;

		for (size_t j = 0; j < s[i].n; j++)
			hardware &= mc_fit_figures_op(s[i].at[j].point.op);
		if (hardware)
			last[k++] = s[i];
		else
			s[m++] = s[i];
	}
	for (size_t i = 0; i < k; i++)
		s[m + i] = last[i];
	free(last);
	return m;
}

static bool unflagged(const struct mc_opsamples *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n; k++)
			if (!*s[i].at[k].flag)
				return true;
	return false;
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
	if (!rc && !unflagged(s, (size_t)n)) {
		mc_err_set(err, MC_USAGE, "no sample is left to fit");
		rc = mc_err_at(err, o->samples[0], 0, 0, NULL);
	}
	if (!rc) {
		const struct job j = {s, (size_t)n, others_first(s, (size_t)n), o, hw, root};

		rc = fit_all(&j, err);
	}
	while (n)
		mc_opsamples_fini(&s[--n]);
	free(s);
	return rc;
}
