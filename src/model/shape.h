/* Shapes of transformer models of the LLaMA family: what costs are counted from. */
#ifndef MC_MODEL_SHAPE_H
#define MC_MODEL_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct mc_shape {
	char name[64];
	int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
	int64_t weight_bytes_per_param; /* 2: bf16 */
	int64_t kv_bytes_per_value;     /* 2: bf16, 1: 8-bit KV */
};

/* Bytes of KV cache of one token over all layers: 2 * layers * kv_heads * head_dim * kv_bytes_per_value.
 * 327,680 for LLaMA3-70B in bf16. */
int64_t mc_shape_kv_bytes_per_token(const struct mc_shape *s);
/* Parameters (attention, FFN of three matrices, norms, embedding and output head). */
double mc_shape_params(const struct mc_shape *s);
/* Bytes of all weights. */
double mc_shape_weight_bytes(const struct mc_shape *s);
/* Bytes of the weights that one forward pass must read at least: all but the embedding table, of which it
 * reads a row a token. */
double mc_shape_pass_bytes(const struct mc_shape *s);
/* Operations of the dense layers for one token (2 per multiply-add, output head not counted). */
double mc_shape_dense_flops_per_token(const struct mc_shape *s);
/* Operations of the output head for one token whose successor is sampled. */
double mc_shape_head_flops(const struct mc_shape *s);
/* Operations of attention for one pair of a query token and a token it sees: 4 * layers * heads * head_dim.
 */
double mc_shape_pair_flops(const struct mc_shape *s);
/* Operations of causal attention for tokens at positions p .. n-1, each of which sees itself and all before.
 */
double mc_shape_attention_flops(const struct mc_shape *s, double n, double p);

/* The same layers, widths and weights; name and KV precision may differ. */
bool mc_shape_same_compute(const struct mc_shape *a, const struct mc_shape *b);

/*
 * A built-in name ("llama3-70b"), or an object with the fields above, strictly: unknown keys, wrong types and
 * impossible values are errors that name the key. {"base": "llama3-70b", "kv_dtype": "int8"} starts from a
 * built-in shape; without "base" all of layers ... vocab are required, weights and KV are bf16 unless said.
 * kv_dtype and weight_dtype ("bf16", "fp16", "int8", "fp8") are words for the bytes per value. On error *s is
 * unspecified.
 */
int mc_shape_from_json(struct mc_shape *s, const json_t *name_or_object, struct mc_err *err);
/* The built-in shape of that name, or NULL. */
const struct mc_shape *mc_shape_find(const char *name);
/* Built-in shapes, ended by a shape with an empty name. */
extern const struct mc_shape mc_shapes[];

#endif
