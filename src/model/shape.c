#include "model/shape.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

int64_t mc_shape_kv_bytes_per_token(const struct mc_shape *s)
{
	return 2 * s->layers * s->kv_heads * s->head_dim * s->kv_bytes_per_value;
}

/* Parameters of the matrices of one layer: query and output, key and value, gate, up and down. */
static double shape_layer_matrices(const struct mc_shape *s)
{
	double hidden = (double)s->hidden;
	double q = (double)(s->heads * s->head_dim);
	double kv = (double)(s->kv_heads * s->head_dim);

	return hidden * (2 * q + 2 * kv + 3 * (double)s->ffn);
}

double mc_shape_params(const struct mc_shape *s)
{
	double hidden = (double)s->hidden;

	return (double)s->layers * (shape_layer_matrices(s) + 2 * hidden) + 2 * (double)s->vocab * hidden +
	       hidden;
}

double mc_shape_weight_bytes(const struct mc_shape *s)
{
	return mc_shape_params(s) * (double)s->weight_bytes_per_param;
}

double mc_shape_pass_bytes(const struct mc_shape *s)
{
	return (mc_shape_params(s) - (double)s->vocab * (double)s->hidden) *
	       (double)s->weight_bytes_per_param;
}

double mc_shape_dense_flops_per_token(const struct mc_shape *s)
{
	return 2 * (double)s->layers * shape_layer_matrices(s);
}

double mc_shape_head_flops(const struct mc_shape *s)
{
	return 2 * (double)s->vocab * (double)s->hidden;
}

double mc_shape_pair_flops(const struct mc_shape *s)
{
	return 4 * (double)s->layers * (double)(s->heads * s->head_dim);
}

double mc_shape_attention_flops(const struct mc_shape *s, double n, double p)
{
	return mc_shape_pair_flops(s) * (n * (n + 1) - p * (p + 1)) / 2;
}

bool mc_shape_same_compute(const struct mc_shape *a, const struct mc_shape *b)
{
	return a->layers == b->layers && a->hidden == b->hidden && a->heads == b->heads &&
	       a->kv_heads == b->kv_heads && a->head_dim == b->head_dim && a->ffn == b->ffn &&
	       a->vocab == b->vocab && a->weight_bytes_per_param == b->weight_bytes_per_param;
}

const struct mc_shape *mc_shape_find(const char *name)
{
	const struct mc_shape *s;

	for (s = mc_shapes; s->name[0]; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

static int shape_named(struct mc_shape *s, const char *name, struct mc_err *err)
{
	const struct mc_shape *found = mc_shape_find(name), *i;
	char known[256] = "";

	if (found) {
		*s = *found;
		return 0;
	}
	for (i = mc_shapes; i->name[0]; i++) {
		size_t at = strlen(known);

		snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", i->name);
	}
	return mc_err_set(err, MC_USAGE, "no model is named '%.64s'; expected one of %s, or an object", name,
			  known);
}

/* Bounds keep every product of the counts below 2^63. */
static const struct shape_key {
	const char *key;
	size_t offset;
	int64_t max;
} shape_keys[] = {
    {"layers", offsetof(struct mc_shape, layers), 10000},
    {"hidden", offsetof(struct mc_shape, hidden), 1000000},
    {"heads", offsetof(struct mc_shape, heads), 10000},
    {"kv_heads", offsetof(struct mc_shape, kv_heads), 10000},
    {"head_dim", offsetof(struct mc_shape, head_dim), 10000},
    {"ffn", offsetof(struct mc_shape, ffn), 10000000},
    {"vocab", offsetof(struct mc_shape, vocab), 100000000},
    {"weight_bytes_per_param", offsetof(struct mc_shape, weight_bytes_per_param), 4},
    {"kv_bytes_per_value", offsetof(struct mc_shape, kv_bytes_per_value), 4},
};

#define SHAPE_KEYS     (sizeof shape_keys / sizeof *shape_keys)
#define SHAPE_REQUIRED (SHAPE_KEYS - 2) /* the precisions have defaults */

static int64_t *shape_at(struct mc_shape *s, const struct shape_key *k)
{
	return (int64_t *)(void *)((char *)s + k->offset);
}

static int shape_bad(struct mc_err *err, const char *key, const char *what)
{
	mc_err_set(err, MC_USAGE, "%s", what);
	mc_err_at(err, NULL, 0, 0, key);
	return MC_USAGE;
}

static int shape_dtype(int64_t *bytes, const char *key, const json_t *v, struct mc_err *err)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {{"bf16", 2}, {"fp16", 2}, {"int8", 1}, {"fp8", 1}};
	size_t i;

	for (i = 0; json_is_string(v) && i < sizeof types / sizeof *types; i++)
		if (!strcmp(json_string_value(v), types[i].name)) {
			*bytes = types[i].bytes;
			return 0;
		}
	return shape_bad(err, key, "is no known precision; expected bf16, fp16, int8 or fp8");
}

static int shape_number(struct mc_shape *s, const char *key, const json_t *v, struct mc_err *err)
{
	size_t i;

	for (i = 0; i < SHAPE_KEYS; i++) {
		if (strcmp(key, shape_keys[i].key))
			continue;
		if (!json_is_integer(v) || json_integer_value(v) < 1 ||
		    json_integer_value(v) > shape_keys[i].max) {
			mc_err_set(err, MC_USAGE, "is not an integer from 1 to %lld",
				   (long long)shape_keys[i].max);
			mc_err_at(err, NULL, 0, 0, key);
			return MC_USAGE;
		}
		*shape_at(s, &shape_keys[i]) = json_integer_value(v);
		return 0;
	}
	return shape_bad(err, key, "is not a key of a model shape; see 'mooncake list models'");
}

static int shape_check(struct mc_shape *s, const json_t *o, struct mc_err *err)
{
	size_t i;

	for (i = 0; i < SHAPE_REQUIRED; i++)
		if (!*shape_at(s, &shape_keys[i]))
			return shape_bad(err, shape_keys[i].key,
					 "is missing; a shape without \"base\" needs it");
	if (s->heads % s->kv_heads)
		return shape_bad(err, "kv_heads", "does not divide heads");
	if (json_object_get(o, "kv_dtype") && json_object_get(o, "kv_bytes_per_value"))
		return shape_bad(err, "kv_dtype", "says the same as kv_bytes_per_value; give one of them");
	if (json_object_get(o, "weight_dtype") && json_object_get(o, "weight_bytes_per_param"))
		return shape_bad(err, "weight_dtype",
				 "says the same as weight_bytes_per_param; give one of them");
	return 0;
}

int mc_shape_from_json(struct mc_shape *s, const json_t *name_or_object, struct mc_err *err)
{
	/* jansson iterates over non-const objects only; nothing is changed. */
	json_t *o = (json_t *)(uintptr_t)name_or_object, *v;
	const char *key;
	int rc = 0;

	memset(s, 0, sizeof *s);
	if (json_is_string(o))
		return shape_named(s, json_string_value(o), err);
	if (!json_is_object(o))
		return mc_err_set(err, MC_USAGE, "a model is neither a name nor an object");
	snprintf(s->name, sizeof s->name, "custom");
	s->weight_bytes_per_param = s->kv_bytes_per_value = 2;
	v = json_object_get(o, "base");
	if (v && !json_is_string(v))
		return shape_bad(err, "base", "is not the name of a model");
	if (v && (rc = shape_named(s, json_string_value(v), err)))
		return mc_err_at(err, NULL, 0, 0, "base"), rc;
	json_object_foreach(o, key, v)
	{
		if (!strcmp(key, "base"))
			continue;
		if (!strcmp(key, "name")) {
			if (!json_is_string(v) || !json_string_length(v) ||
			    json_string_length(v) >= sizeof s->name)
				return shape_bad(err, key, "is not a name of 1 to 63 characters");
			snprintf(s->name, sizeof s->name, "%s", json_string_value(v));
		} else if (!strcmp(key, "kv_dtype")) {
			rc = shape_dtype(&s->kv_bytes_per_value, key, v, err);
		} else if (!strcmp(key, "weight_dtype")) {
			rc = shape_dtype(&s->weight_bytes_per_param, key, v, err);
		} else {
			rc = shape_number(s, key, v, err);
		}
		if (rc)
			return rc;
	}
	return shape_check(s, o, err);
}
