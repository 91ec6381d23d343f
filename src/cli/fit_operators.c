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

static void report(FILE *out, const struct mc_opfit *f)
{
	char at[64];

	fprintf(out, "%-18s %6s %7s %7s %8s %6s %6s | held out: %6s %7s %7s %7s\n", "operator", "points",
		"flagged", "too-fast", "outliers", "curves", "knots", "points", "median", "p95", "worst");
	for (int op = 0; op < MC_OPS; op++) {
		const struct mc_opfit_total *t = &f->total[op];

		if (!t->points && !t->flagged && !t->unphysical)
			continue;
		fprintf(out, "%-18s %6zu %7zu %8zu %8zu %6zu %6zu", mc_op_names[op], t->points, t->flagged,
			t->unphysical, t->outliers, t->curves, t->knots);
		if (t->error.points) {
			fprintf(out, " |           %6lld %6.2f%% %6.2f%% %6.1f%% %s",
				(long long)t->error.points, 100 * t->error.median, 100 * t->error.p95,
				100 * t->error.worst, mc_op_dims_text(&t->worst, at, sizeof at));
		}
		fprintf(out, "\n");
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
	if (!rc)
		report(to_file ? stdout : stderr, f);
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
