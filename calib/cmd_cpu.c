/* mooncake-calib cpu: the CPU backend, by steps of a small model. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "calib/compute.h"
#include "calib/hostspeed.h"

static const char text[] =
    "Measures the CPU backend: whole steps of a model with random weights, prefill and decode, and in each "
    "of\n"
    "them every operator where it stands, so that it finds the caches as it does in a model that runs. The\n"
    "most informative points come first, and a third of the budget decides how many there are; then each is\n"
    "visited twice more, so that its times are spread over the budget. Whenever it ends, what is there can\n"
    "be fitted. What others on the machine disturbed is flagged and measured again while there is time.\n"
    "\n"
    "Samples: DIR/cpu-MODEL.csv. With --output, mooncake fit makes a profile of all of DIR/cpu-*.csv; its\n"
    "hardware is measured, too (DIR/cpu-hardware.json), if --hardware names none.\n";

static const struct mc_calib_option options[] = {MC_CALIB_COMMON(struct mc_calib_compute_options),
						 MC_CALIB_MODEL_OPTIONS,
						 {"levels", 258, "N", MC_CALIB_COUNT, MC_CALIB_AT(levels), 0,
						  MC_CALIB_LEVELS,
						  "of the grid, after the corners; default: 5"},
						 {0}};

static void defaults(void *options_)
{
	struct mc_calib_compute_options *o = options_;

	*o = (struct mc_calib_compute_options){
	    .common = {.budget_s = 180, .precision = 0.02, .samples = "samples"},
	    .model = "small-24.6m",
	    .max_tokens = 2048,
	    .max_batch = 32,
	    .max_context = 4096,
	    .block_tokens = 64,
	    .tensor_parallel = 1,
	    .levels = MC_CALIB_LEVELS};
}

/* The path of the hardware's profile: as given, or to be measured; the caller's to free. */
static char *hardware_path(const struct mc_calib_compute *c)
{
	struct mc_str path = {0};

	if (c->o->common.hardware)
		return mc_xstrdup(c->o->common.hardware);
	mc_str_printf(&path, "%s/cpu-hardware.json", c->o->common.samples);
	return path.at;
}

static int fit(struct mc_calib_compute *c, struct mc_calib_hostspeed *h, struct mc_err *err)
{
	char *path = hardware_path(c), *config = mc_calib_compute_config(c, err);
	int rc = config ? 0 : err->rc;

	if (config)
		printf("for mooncake predict, the model is %s\n", config);
	free(config);
	if (!rc && !c->o->common.hardware) {
		mc_calib_hostspeed_raise(h, &c->session.all);
		rc = mc_calib_hostspeed_write(h, c->session.all.device, path, err);
	}
	if (!rc)
		rc = mc_calib_compute_fit(c, path, err);
	free(path);
	return rc;
}

/* The bounds come first: they belong to the budget. */
static int measure(struct mc_calib_compute *c, struct mc_err *err)
{
	bool bounds = c->o->common.output && !c->o->common.hardware;
	struct mc_calib_hostspeed h = {0};
	int rc = bounds ? mc_calib_hostspeed(&h, c->backend, (int)c->o->threads, err) : 0;

	if (!rc)
		rc = mc_calib_compute_run(c, err);
	if (!rc)
		rc = mc_calib_compute_report(c);
	return !rc && c->o->common.output ? fit(c, &h, err) : rc;
}

static int run(void *options_, char **operands, struct mc_err *err)
{
	struct mc_calib_compute c = {.o = options_,
				     .prefix = "cpu",
				     .measure = mc_calib_model_step,
				     .way = "operators in place, in whole steps"};
	int rc;

	(void)operands;
	rc = mc_calib_compute_init(&c, "cpu", err);
	if (!rc)
		rc = mc_calib_compute_open(&c, err);
	if (rc)
		return rc;
	rc = measure(&c, err);
	mc_calib_compute_close(&c);
	return rc;
}

const struct mc_calib_command mc_calib_command_cpu = {
    .name = "cpu",
    .summary = "operators, layers and steps of a small model on this machine's processors",
    .operands = "",
    .text = text,
    .options = options,
    .options_size = sizeof(struct mc_calib_compute_options),
    .defaults = defaults,
    .run = run,
};
