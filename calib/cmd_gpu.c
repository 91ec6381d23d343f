/* mooncake-calib gpu: the CUDA backend, by a model's share of one GPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/compute.h"

static const char text[] =
    "Measures one GPU: the operators of a model's share at a degree of tensor parallelism, its layers and\n"
    "whole steps, with random weights. Operators are queued behind a gate and timed between events, layer\n"
    "after layer, so that weights and KV come from memory, as in the model. Collectives are not measured.\n"
    "\n"
    "Samples: DIR/gpu-MODEL.csv (gpu-MODEL-tpN.csv). With --output, mooncake fit makes a profile of all of\n"
    "DIR/gpu-*.csv, with the hardware of --hardware. Without a GPU it says why and exits with 77.\n";

static const struct mc_calib_option options[] = {
    MC_CALIB_COMMON(struct mc_calib_compute_options),
    MC_CALIB_MODEL_OPTIONS,
    {"levels", 258, "N", MC_CALIB_COUNT, MC_CALIB_AT(levels), 0, MC_CALIB_LEVELS,
     "of the grid, after the corners; default: 5"},
    {"tensor-parallel", 'T', "N", MC_CALIB_COUNT, MC_CALIB_AT(tensor_parallel), 1, 8,
     "the share of one of N GPUs; default: 1"},
    {"layers", 'L', "N", MC_CALIB_COUNT, MC_CALIB_AT(layers), 3, 1000,
     "layers that are measured; default: as many as hold 512 MB"},
    {"dtype", 'D', "bf16|f16", MC_CALIB_TEXT, MC_CALIB_AT(dtype), 0, 0, "number format; default: bf16"},
    {"device", 'd', "N", MC_CALIB_COUNT, MC_CALIB_AT(device), 0, 63, "which GPU; default: 0"},
    {0}};

/* Weights that the largest caches don't hold. */
static const double enough_bytes = 512e6;

static void defaults(void *options_)
{
	struct mc_calib_compute_options *o = options_;

	*o = (struct mc_calib_compute_options){
	    .common = {.budget_s = 600, .precision = 0.02, .samples = "samples"},
	    .model = "llama3-8b",
	    .dtype = "bf16",
	    .max_tokens = 8192,
	    .max_batch = 64,
	    .max_context = 32768,
	    .block_tokens = 512,
	    .tensor_parallel = 1,
	    .levels = MC_CALIB_LEVELS};
}

static int dtype_of(const char *name, enum mc_dtype *t, struct mc_err *err)
{
	*t = strcmp(name, "f16") ? MC_BF16 : MC_F16;
	if (!strcmp(name, "f16") || !strcmp(name, "bf16"))
		return 0;
	return mc_err_set(err, MC_USAGE, "--dtype is '%.60s'; expected bf16 or f16", name);
}

/* The share of a rank, with the layers that are measured. */
static int want_share(struct mc_calib_compute *c, struct mc_err *err)
{
	const struct mc_calib_compute_options *o = c->o;
	struct mc_llama_shape *s = &c->want.shape;
	int rc = dtype_of(o->dtype, &c->want.dtype, err);
	size_t n = strlen(c->name);
	double each;

	if (!rc)
		rc = mc_llama_ranks_check(&c->shape, (int)o->tensor_parallel, err);
	if (rc)
		return rc;
	mc_llama_rank_shape(&c->shape, (int)o->tensor_parallel, s);
	each = (double)mc_llama_layer_parameters(s) * (double)mc_dtype_bytes(c->want.dtype);
	s->layers = o->layers ? (int)o->layers : (int)fmax(3, ceil(enough_bytes / each));
	if (o->tensor_parallel > 1)
		snprintf(c->name + n, sizeof c->name - n, "-tp%d", (int)o->tensor_parallel);
	return 0;
}

/* Does it fit? Of memory, a tenth is left to others. */
static int check_memory(const struct mc_calib_compute *c, struct mc_err *err)
{
	struct mc_device_want dw = {.index = c->want.device};
	struct mc_device_info info;
	struct mc_device *d;
	double bytes;
	int rc = mc_calib_model_bytes(&c->want, &bytes, err);

	if (!rc)
		rc = c->backend->device_open(&d, &dw, err);
	if (rc)
		return rc;
	c->backend->device_info(d, &info);
	c->backend->device_close(d);
	if (bytes < 0.9 * (double)info.memory_bytes)
		return 0;
	return mc_err_set(
	    err, MC_USAGE,
	    "%.1f GB are needed, the device has %.1f; lower --max-batch, --max-context or --layers",
	    bytes * 1e-9, (double)info.memory_bytes * 1e-9);
}

static int there(const struct mc_calib_compute *c, struct mc_err *err)
{
	int n = 0, rc = c->backend->count(&n, err);

	if (!rc && c->want.device >= n)
		rc = mc_err_set(err, MC_NOHW, "no GPU %d; there are %d", c->want.device, n);
	return rc;
}

static bool known(void *arg, const struct mc_op_point *p)
{
	return mc_calib_session_find(arg, p) != NULL;
}

static int measure(struct mc_calib_compute *c, struct mc_err *err)
{
	int rc = mc_calib_compute_open(c, err);

	if (rc)
		return rc;
	c->model.known = known;
	c->model.known_arg = &c->session;
	rc = mc_calib_compute_run(c, err);
	if (!rc)
		rc = mc_calib_compute_report(c);
	if (!rc && c->o->common.output)
		rc = mc_calib_compute_fit(c, c->o->common.hardware, err);
	mc_calib_compute_close(c);
	return rc;
}

static int run(void *options_, char **operands, struct mc_err *err)
{
	struct mc_calib_compute c = {.o = options_,
				     .prefix = "gpu",
				     .measure = mc_calib_model_replay,
				     .way = "operators replayed behind a gate, layer after layer"};
	int rc;

	(void)operands;
	if (c.o->common.output && !c.o->common.hardware)
		return mc_err_set(err, MC_USAGE, "gpu: --output wants --hardware, a profile of the node");
	rc = mc_calib_compute_init(&c, "cuda", err);
	if (!rc)
		rc = want_share(&c, err);
	if (!rc)
		rc = there(&c, err);
	if (!rc)
		rc = check_memory(&c, err);
	c.goal.clock.cpu = NULL; /* the host only queues */
	return rc ? rc : measure(&c, err);
}

const struct mc_calib_command mc_calib_command_gpu = {
    .name = "gpu",
    .summary = "operators, layers and steps of a model's share of one GPU",
    .operands = "",
    .text = text,
    .options = options,
    .options_size = sizeof(struct mc_calib_compute_options),
    .defaults = defaults,
    .run = run,
};
