/*
 * The shape of a model of the LLaMA family (arXiv 2302.13971, 2407.21783): decoder layers of grouped-query
 * attention with rotary embeddings and a SwiGLU network, RMSNorm before each. What it holds, as Hugging
 * Face's files name it; counts of parameters and bytes; from a config.json.
 */
#ifndef MC_KERNELS_LLAMA_SHAPE_H
#define MC_KERNELS_LLAMA_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kernels/kv_layout.h"

/* Rotary frequencies of LLaMA 3.1, stretched to a longer context: those that turn less than `low` times in
 * `original` tokens are divided by factor, those that turn more than `high` times are kept, between them it
 * goes over linearly. */
struct mc_llama_rope_scaling {
	double factor; /* 0: none */
	double low, high;
	int original; /* tokens of context that the model was first trained with */
};

struct mc_llama_shape {
	const char *name; /* of a named shape, else NULL */
	int layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
	int max_position; /* tokens of one sequence at most */
	double rope_theta, norm_eps;
	struct mc_llama_rope_scaling rope;
	bool tied; /* the output matrix is the table of embeddings */
};

/* Small ones for tests and for the live engine on CPUs ("tiny", "small-3.5m", "small-24.6m"), and LLaMA's own
 * for calibration; ended by one without a name. */
extern const struct mc_llama_shape mc_llama_shapes[];
/* NULL with *err filled (MC_USAGE): there is none of that name. */
const struct mc_llama_shape *mc_llama_shape_find(const char *name, struct mc_err *err);

/* That the operators take it: 0, or MC_USAGE with *err (key: the field as config.json calls it). */
int mc_llama_shape_check(const struct mc_llama_shape *s, struct mc_err *err);
/* That `ranks` can share it by tensor parallelism (1 to 8): heads, ffn and vocab divide; kv_heads divides or
 * is a divisor (then each is held by several ranks). */
int mc_llama_ranks_check(const struct mc_llama_shape *s, int ranks, struct mc_err *err);

/* What each of so many ranks computes, as a model of its own: heads, KV heads, ffn and vocab are its share,
 * the rest is the whole's. (Its time is a rank's time without the reductions.) */
void mc_llama_rank_shape(const struct mc_llama_shape *s, int ranks, struct mc_llama_shape *out);

int64_t mc_llama_layer_parameters(const struct mc_llama_shape *s);
int64_t mc_llama_parameters(const struct mc_llama_shape *s); /* tied ones once */
/* Bytes of K and V of one token, all layers, all heads. */
int64_t mc_llama_kv_token_bytes(const struct mc_llama_shape *s, enum mc_dtype t);

/* A tensor of the model, by the name that Hugging Face's files use: "model.layers.0.self_attn.q_proj.weight".
 * A matrix holds its outputs as rows. */
struct mc_llama_tensor {
	char name[80];
	int rows, cols; /* rows 0: a vector of cols numbers */
};

/* Which: place in a layer, or of those outside of layers (layer -1). */
enum mc_llama_part {
	MC_LLAMA_ATTENTION_NORM,
	MC_LLAMA_Q,
	MC_LLAMA_K,
	MC_LLAMA_V,
	MC_LLAMA_O,
	MC_LLAMA_FFN_NORM,
	MC_LLAMA_GATE,
	MC_LLAMA_UP,
	MC_LLAMA_DOWN,
	MC_LLAMA_LAYER_PARTS,
	MC_LLAMA_EMBED = MC_LLAMA_LAYER_PARTS,
	MC_LLAMA_NORM,
	MC_LLAMA_HEAD, /* absent if tied */
};

void mc_llama_tensor_of(const struct mc_llama_shape *s, enum mc_llama_part part, int layer,
			struct mc_llama_tensor *out);
/* How many there are, and number i of them. */
int mc_llama_tensors(const struct mc_llama_shape *s);
void mc_llama_tensor_at(const struct mc_llama_shape *s, int i, struct mc_llama_tensor *out);

/* The shape that a config.json of LlamaForCausalLM describes. What would make another model of it (another
 * architecture, activation or rotary scaling, biases, quantised weights) is refused with the key named
 * (MC_USAGE); keys that say nothing of the shape are passed over. */
int mc_llama_config_read(const char *path, struct mc_llama_shape *out, struct mc_err *err);

/* cos_sin of mc_rope: [positions][head_dim] f32, head_dim / 2 cosines then as many sines; made in double. */
void mc_llama_cos_sin(const struct mc_llama_shape *s, int positions, float *out);

#endif
