#include "hw/gaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

const char *const mc_phase_names[MC_PHASES] = {"prefill", "decode"};
const char *const mc_gap_dim_names[MC_GAP_DIMS] = {"layers",   "hidden", "heads", "kv_heads",
						   "head_dim", "ffn",    "vocab"};

double mc_gap_s(const struct mc_gap *g, double rows, double sum_s)
{
	return g->constant_s + g->row_s * rows + g->share * sum_s;
}

static double layer_weights(const int64_t s[MC_GAP_DIMS], int64_t tensor_parallel)
{
	double attention = 2. * (double)(s[MC_GAP_HEADS] + s[MC_GAP_KV_HEADS]) * (double)s[MC_GAP_HEAD_DIM];

	return (double)s[MC_GAP_HIDDEN] * (attention + 3. * (double)s[MC_GAP_FFN]) / (double)tensor_parallel;
}

double mc_gaps_distance(const struct mc_gaps *g, const int64_t shape[MC_GAP_DIMS], int64_t tensor_parallel)
{
	return fabs(log(layer_weights(g->shape, g->tensor_parallel) / layer_weights(shape, tensor_parallel)));
}

static int load_gap(struct mc_gap *g, const json_t *o, struct mc_err *err)
{
	const struct {
		const char *key;
		double *to;
	} reals[] = {{"constant_s", &g->constant_s}, {"row_s", &g->row_s}, {"share", &g->share}};
	const json_t *rows = json_object_get(o, "rows_max");

	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
		const json_t *v = json_object_get(o, reals[i].key);

		if (!json_is_number(v) || !(fabs(json_number_value(v)) <= 1e6))
			return mc_err_key(err, MC_USAGE, reals[i].key,
					  "is missing or not a number of at most 1,000,000");
		*reals[i].to = json_number_value(v);
	}
	if (!json_is_integer(rows) || json_integer_value(rows) < 1)
		return mc_err_key(err, MC_USAGE, "rows_max", "is missing or not a whole number from 1");
	g->rows_max = json_integer_value(rows);
	if (g->share <= -1)
		return mc_err_key(err, MC_USAGE, "share", "is not above -1");
	if (json_object_size(o) != 4)
		return mc_err_key(err, MC_USAGE, "",
				  "has an unknown key; expected constant_s, row_s, share, rows_max");
	return MC_OK;
}

static int inside(struct mc_err *err, const char *key)
{
	char text[sizeof err->key];

	if (err) {
		snprintf(text, sizeof text, "%.40s%s%.80s", key, err->key[0] ? "." : "", err->key);
		memcpy(err->key, text, sizeof text);
	}
	return MC_USAGE;
}

static int load_level(struct mc_gap_level *l, const json_t *o, struct mc_err *err)
{
	size_t known = 2;

	if (!json_is_object(o))
		return mc_err_key(err, MC_USAGE, "", "is not an object of prefill, decode and errors");
	for (int k = 0; k < MC_PHASES; k++) {
		const json_t *gap = json_object_get(o, mc_phase_names[k]);

		known += gap != NULL;
		if (gap && load_gap(&l->gap[k], gap, err))
			return inside(err, mc_phase_names[k]);
	}
	if (!json_object_get(o, "sum_error") || !json_object_get(o, "error") || known != json_object_size(o))
		return mc_err_key(
		    err, MC_USAGE, "",
		    "lacks an error or has an unknown key; expected prefill, decode, sum_error, error");
	if (mc_curve_error_load(&l->sum_error, json_object_get(o, "sum_error"), err))
		return inside(err, "sum_error");
	return mc_curve_error_load(&l->error, json_object_get(o, "error"), err) ? inside(err, "error")
										: MC_OK;
}

static int load_shape(struct mc_gaps *g, const json_t *shape, struct mc_err *err)
{
	for (int d = 0; d < MC_GAP_DIMS; d++) {
		const json_t *v = json_object_get(shape, mc_gap_dim_names[d]);

		if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > 1000000000)
			return mc_err_key(err, MC_USAGE, mc_gap_dim_names[d],
					  "is missing or not a whole number from 1 to 1e9");
		g->shape[d] = json_integer_value(v);
	}
	if (json_object_size(shape) != MC_GAP_DIMS)
		return mc_err_key(err, MC_USAGE, "", "has an unknown key");
	return MC_OK;
}

static int load(struct mc_gaps *g, const json_t *o, struct mc_err *err)
{
	const char *model = json_string_value(json_object_get(o, "model"));
	const json_t *t = json_object_get(o, "tensor_parallel");
	const struct {
		const char *key;
		struct mc_gap_level *level;
	} levels[] = {{"layer", &g->layer}, {"step", &g->step}};
	size_t known = 3;

	if (!model || !*model)
		return mc_err_key(err, MC_USAGE, "model", "is missing, empty or no text");
	if (!json_is_integer(t) || json_integer_value(t) < 1 || json_integer_value(t) > 1024)
		return mc_err_key(err, MC_USAGE, "tensor_parallel",
				  "is missing or not a number of GPUs from 1 to 1024");
	g->model = mc_xstrdup(model);
	g->tensor_parallel = json_integer_value(t);
	if (load_shape(g, json_object_get(o, "shape"), err))
		return inside(err, "shape");
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		const json_t *l = json_object_get(o, levels[i].key);

		known += l != NULL;
		if (l && load_level(levels[i].level, l, err))
			return inside(err, levels[i].key);
	}
	if (known != json_object_size(o) || known == 3)
		return mc_err_key(err, MC_USAGE, "",
				  "has an unknown key, or neither layer nor step; expected model, "
				  "tensor_parallel, shape, layer, step");
	return MC_OK;
}

int mc_gaps_load(struct mc_gaps *g, const json_t *object, struct mc_err *err)
{
	int rc;

	memset(g, 0, sizeof *g);
	rc = load(g, object, err);
	if (rc)
		mc_gaps_fini(g);
	return rc;
}

void mc_gaps_fini(struct mc_gaps *g)
{
	free(g->model);
	memset(g, 0, sizeof *g);
}
