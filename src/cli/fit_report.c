/* mooncake fit --report: a profile drawn beside samples, and beside another profile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cli/command.h"
#include "cli/fit_cli.h"
#include "cli/output.h"
#include "out/fitpage.h"

struct report {
	const struct mc_fit_cli_report *o;
	struct mc_profile profile, other;
	struct mc_residuals residuals;
	struct mc_fitpredict predict;
	/* of each file, one or the other */
	struct mc_opsamples *ops;
	struct mc_samples *runs;
	struct mc_fitpage_file *file;
	int files;
};

static int read_operators(struct report *r, const char *path, struct mc_err *err)
{
	struct mc_opsamples *s = &r->ops[r->files];
	int rc = mc_opsamples_read(s, path, err);

	if (rc)
		return rc;
	r->file[r->files++] =
	    (struct mc_fitpage_file){path, s->device, s->software, s->dtype, s->date, s->source, s->n};
	mc_residuals_add_operators(&r->residuals, s, path);
	return MC_OK;
}

static int read_runs(struct report *r, const char *path, struct mc_err *err)
{
	struct mc_samples *s = &r->runs[r->files];
	int rc = mc_samples_read(s, path, err);

	if (rc)
		return rc;
	r->file[r->files++] = (struct mc_fitpage_file){path, "", "", "", s->date, s->source, s->n};
	return mc_residuals_add_samples(&r->residuals, s, path, err);
}

static int read_files(struct report *r, struct mc_err *err)
{
	size_t n = (size_t)r->o->files;
	int rc = MC_OK;

	r->ops = mc_xcalloc(n + 1, sizeof *r->ops);
	r->runs = mc_xcalloc(n + 1, sizeof *r->runs);
	r->file = mc_xcalloc(n + 1, sizeof *r->file);
	for (size_t i = 0; i < n && !rc; i++) {
		const char *path = r->o->samples[i];

		rc = mc_fit_cli_is_operators(path) ? read_operators(r, path, err) : read_runs(r, path, err);
	}
	mc_residuals_finish(&r->residuals);
	return rc;
}

static void forget_files(struct report *r)
{
	for (int i = 0; i < r->files; i++) {
		if (r->ops[i].dtype)
			mc_opsamples_fini(&r->ops[i]);
		else
			mc_samples_fini(&r->runs[i]);
	}
	free(r->ops);
	free(r->runs);
	free(r->file);
}

static void write_page(FILE *out, const void *page)
{
	mc_fitpage_write(out, page);
}

static int write_report(struct report *r, struct mc_err *err)
{
	struct mc_fitpage page = {.profile = &r->profile,
				  .other = r->o->other ? &r->other : NULL,
				  .residuals = &r->residuals,
				  .predict = r->o->model ? &r->predict : NULL,
				  .file = r->file,
				  .files = (size_t)r->files};
	struct mc_netfit net;
	int rc;

	if (mc_netfit_samples(&net, r->ops, page.files, r->profile.nics))
		page.net = &net;
	if (r->o->model) {
		r->predict.tensor_parallel = r->o->tensor_parallel ? r->o->tensor_parallel : r->profile.gpus;
		mc_fitpredict(&r->predict, page.profile, page.other);
	}
	rc = mc_cli_write(r->o->output, write_page, &page, err);
	if (!rc)
		mc_fitpage_text(strcmp(r->o->output, "-") ? stdout : stderr, &page);
	return rc;
}

static int with_samples(struct report *r, struct mc_err *err)
{
	int rc;

	mc_residuals_init(&r->residuals, &r->profile);
	rc = read_files(r, err);
	if (!rc)
		rc = write_report(r, err);
	mc_residuals_fini(&r->residuals);
	forget_files(r);
	return rc;
}

static int with_other(struct report *r, struct mc_err *err)
{
	int rc = r->o->other ? mc_profile_load(&r->other, r->o->other, err) : MC_OK;

	if (rc)
		return rc;
	rc = with_samples(r, err);
	if (r->o->other)
		mc_profile_fini(&r->other);
	return rc;
}

int mc_fit_cli_report(const struct mc_fit_cli_report *o, struct mc_err *err)
{
	struct report r = {.o = o};
	int rc = MC_OK;

	if (o->model) {
		json_t *name = json_string(o->model);

		rc = mc_shape_from_json(&r.predict.shape, name, NULL, err);
		json_decref(name);
	}
	if (!rc)
		rc = mc_profile_load(&r.profile, o->profile, err);
	if (rc)
		return rc;
	rc = with_other(&r, err);
	mc_profile_fini(&r.profile);
	return rc;
}
