/* Shapes of transformer models of the LLaMA family: what costs are counted from. */
#ifndef MC_MODEL_SHAPE_H
#define MC_MODEL_SHAPE_H

#include <jansson.h>
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
/* Operations of the dense layers for one token (2 per multiply-add, output head not counted). */
double mc_shape_dense_flops_per_token(const struct mc_shape *s);
/* Operations of causal attention for tokens at positions p .. n-1: 4 * layers * heads * head_dim per pair. */
double mc_shape_attention_flops(const struct mc_shape *s, double n, double p);

/* A built-in name ("llama3-70b"), or an object with these fields. Errors name the key. */
int mc_shape_from_json(struct mc_shape *s, const json_t *name_or_object, struct mc_err *err);
/* Built-in shapes, NULL-terminated by a shape with an empty name. */
extern const struct mc_shape mc_shapes[];

#endif
