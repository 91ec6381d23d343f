/* Shapes of transformer models of the LLaMA family and its relatives: what costs are counted from. */
#ifndef MC_MODEL_SHAPE_H
#define MC_MODEL_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Every layer is attention and a gated FFN of three matrices. What only some models have is 0 in the others:
 *
 * - Mixture of experts: layers from dense_layers on have `experts` FFNs of width expert_ffn, of which a
 * router picks experts_per_token, and shared_experts more that every token uses. Costs are counted from
 * active parameters, those that one token uses: right for operations, and for the bytes of a decode iteration
 * at batch 1. Larger batches reach more experts and read more, and balance between experts costs time: both
 * are left out. VRAM holds all parameters.
 * - Multi-head latent attention (MLA, DeepSeek-V2, arXiv 2405.04434): keys and values are made from a latent
 * vector of kv_lora_rank, and only that and a key part of rope_head_dim that all heads share are cached.
 * head_dim is that of the other key part, v_head_dim that of values; kv_heads is heads. Attention's
 * operations are those of prefill, which expands the latent; decode, which absorbs the expansion into the
 * query, does (2 kv_lora_rank + rope_head_dim) / (head_dim + rope_head_dim + v_head_dim) times as many.
 */
struct mc_shape {
	char name[64];
	int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
	int64_t weight_bytes_per_param; /* 2: bf16 */
	int64_t kv_bytes_per_value;     /* 2: bf16, 1: 8-bit KV */
	int64_t tied_embeddings;        /* 1: the output head is the embedding table */
	int64_t qkv_bias;               /* 1: query, key and value have a bias */
	int64_t experts, experts_per_token, shared_experts, expert_ffn, dense_layers;
	int64_t kv_lora_rank, q_lora_rank, rope_head_dim,
	    v_head_dim; /* q_lora_rank 0: queries straight from hidden */
};

/* Bytes of KV cache of one token over all layers: 2 * layers * kv_heads * head_dim * kv_bytes_per_value, with
 * MLA layers * (kv_lora_rank + rope_head_dim) * kv_bytes_per_value. 327,680 for LLaMA3-70B in bf16, 70,272
 * for DeepSeek-V3. */
int64_t mc_shape_kv_bytes_per_token(const struct mc_shape *s);
/* Parameters (attention, FFNs of three matrices, routers, norms, embedding and output head), all and those
 * one token uses. */
double mc_shape_params(const struct mc_shape *s);
double mc_shape_active_params(const struct mc_shape *s);
/* Bytes of all weights. */
double mc_shape_weight_bytes(const struct mc_shape *s);
/* Bytes of the weights that one forward pass of one token must read: the active ones less the embedding
 * table, of which it reads a row a token. */
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
/* Is it a plain dense model of grouped-query attention? Then the fields of the first line say all but biases
 * and ties. */
bool mc_shape_is_dense(const struct mc_shape *s);

/*
 * A built-in name ("llama3-70b"); the path of a Hugging Face config.json (it holds a '/' or ends in .json);
 * or an object with the fields above, strictly: unknown keys, wrong types and impossible values are errors
 * that name the key. {"base": "llama3-70b", "kv_dtype": "int8"} starts from a built-in shape or such a path;
 * without "base" all of layers
 * ... vocab are required, weights and KV are bf16 unless said. kv_dtype and weight_dtype ("bf16", "fp16",
 * "int8", "fp8") are words for the bytes per value. A relative path is looked for beside the file that says
 * it (`beside`, its path; NULL: none), then in the working folder. On error *s is unspecified.
 */
int mc_shape_from_json(struct mc_shape *s, const json_t *name_or_object, const char *beside,
		       struct mc_err *err);
/*
 * The shape in a Hugging Face config.json (model/config.c says which architectures); what it holds beyond the
 * shape is ignored. Errors name the file and the key.
 */
int mc_shape_from_config(struct mc_shape *s, const char *path, struct mc_err *err);
/* MC_USAGE, with the key, if the counts can't be a model: a required one is missing, heads don't divide,
 * experts without width. */
int mc_shape_check(const struct mc_shape *s, struct mc_err *err);
/* The built-in shape of that name, or NULL. */
const struct mc_shape *mc_shape_find(const char *name);
/* Built-in shapes, ended by a shape with an empty name. */
extern const struct mc_shape mc_shapes[];

/* The numbers of a shape by name, as scenarios and profiles call them; a key of NULL at the end. */
struct mc_shape_key {
	const char *key;
	size_t offset; /* of an int64_t */
	int64_t min, max;
	bool required;
};
extern const struct mc_shape_key mc_shape_keys[];

#endif
