#include "kernels/llama_shape.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

/* Layers, hidden size, heads, KV heads, head size, FFN, vocabulary, positions, theta, epsilon. */
const struct mc_llama_shape mc_llama_shapes[] = {
    {"tiny", 2, 128, 4, 2, 64, 192, 256, 2048, 1e4, 1e-5, {0, 0, 0, 0}, false},
    {"small-3.5m", 4, 256, 4, 2, 64, 704, 2048, 131072, 1e4, 1e-5, {0, 0, 0, 0}, true},
    {"small-24.6m", 8, 512, 8, 2, 64, 1408, 4096, 131072, 1e4, 1e-5, {0, 0, 0, 0}, true},
    {"llama2-7b", 32, 4096, 32, 32, 128, 11008, 32000, 4096, 1e4, 1e-5, {0, 0, 0, 0}, false},
    {"llama3-8b", 32, 4096, 32, 8, 128, 14336, 128256, 8192, 5e5, 1e-5, {0, 0, 0, 0}, false},
    {"llama3-70b", 80, 8192, 64, 8, 128, 28672, 128256, 8192, 5e5, 1e-5, {0, 0, 0, 0}, false},
    {"llama3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 5e5, 1e-5, {8, 1, 4, 8192}, false},
    {"llama3.1-70b", 80, 8192, 64, 8, 128, 28672, 128256, 131072, 5e5, 1e-5, {8, 1, 4, 8192}, false},
    {0},
};

const struct mc_llama_shape *mc_llama_shape_find(const char *name, struct mc_err *err)
{
	const char *names[sizeof mc_llama_shapes / sizeof *mc_llama_shapes] = {0}, *near;

	for (size_t i = 0; mc_llama_shapes[i].name; i++) {
		names[i] = mc_llama_shapes[i].name;
		if (!strcmp(names[i], name))
			return &mc_llama_shapes[i];
	}
	near = mc_suggest(name, names);
	mc_err_set(err, MC_USAGE, "unknown model shape \"%s\"%s%s%s", name, near ? "; did you mean \"" : "",
		   near ? near : "", near ? "\"?" : "");
	return NULL;
}

/* A multiple of `of` up to max. */
static int in_range(const char *key, int x, int max, int of, struct mc_err *err)
{
	if (x >= of && x <= max && x % of == 0)
		return 0;
	return mc_err_key(err, MC_USAGE, key, "is %d; expected %d to %d, a multiple of %d", x, of, max, of);
}

static int check_numbers(const struct mc_llama_shape *s, struct mc_err *err)
{
	const struct mc_llama_rope_scaling *r = &s->rope;

	if (!(s->rope_theta > 0 && isfinite(s->rope_theta)))
		return mc_err_key(err, MC_USAGE, "rope_theta", "is %g; expected a number above 0",
				  s->rope_theta);
	if (!(s->norm_eps >= 0 && s->norm_eps < 1))
		return mc_err_key(err, MC_USAGE, "rms_norm_eps", "is %g; expected 0 or more, below 1",
				  s->norm_eps);
	if (r->factor != 0 && !(r->factor >= 1 && isfinite(r->factor) && r->low > 0 && r->high > r->low &&
				isfinite(r->high) && r->original > 0))
		return mc_err_key(
		    err, MC_USAGE, "rope_scaling",
		    "has factor %g, low %g, high %g, original %d; expected a factor of 1 or more, "
		    "0 < low < high, original above 0",
		    r->factor, r->low, r->high, r->original);
	return 0;
}

int mc_llama_shape_check(const struct mc_llama_shape *s, struct mc_err *err)
{
	if (in_range("num_hidden_layers", s->layers, 1024, 1, err) ||
	    in_range("hidden_size", s->hidden, 65536, 8, err) ||
	    in_range("num_attention_heads", s->heads, 1024, 1, err) ||
	    in_range("num_key_value_heads", s->kv_heads, 1024, 1, err) ||
	    in_range("intermediate_size", s->ffn, 1 << 20, 8, err) ||
	    in_range("vocab_size", s->vocab, 1 << 22, 8, err) ||
	    in_range("max_position_embeddings", s->max_position, 1 << 24, 1, err))
		return MC_USAGE;
	if (s->head_dim != 64 && s->head_dim != 128)
		return mc_err_key(err, MC_USAGE, "head_dim", "is %d; expected 64 or 128", s->head_dim);
	if (s->heads % s->kv_heads || s->heads / s->kv_heads > 16)
		return mc_err_key(err, MC_USAGE, "num_key_value_heads",
				  "is %d with %d attention heads; expected a divisor, at least a sixteenth",
				  s->kv_heads, s->heads);
	return check_numbers(s, err);
}

int mc_llama_ranks_check(const struct mc_llama_shape *s, int ranks, struct mc_err *err)
{
	const char *what = NULL;
	int of = 0;

	if (ranks < 1 || ranks > 8)
		return mc_err_set(err, MC_USAGE, "tensor parallelism of %d; expected 1 to 8", ranks);
	if (s->heads % ranks)
		what = "attention heads", of = s->heads;
	else if (s->kv_heads % ranks && ranks % s->kv_heads)
		what = "KV heads", of = s->kv_heads;
	else if (s->ffn % (8 * ranks))
		what = "of the intermediate size (in eights)", of = s->ffn;
	else if (s->vocab % (8 * ranks))
		what = "tokens of the vocabulary (in eights)", of = s->vocab;
	if (what)
		return mc_err_set(err, MC_USAGE, "%d %s can't be shared by %d ranks; expected a divisor", of,
				  what, ranks);
	return 0;
}

void mc_llama_rank_shape(const struct mc_llama_shape *s, int ranks, struct mc_llama_shape *out)
{
	*out = *s;
	out->heads = s->heads / ranks;
	out->kv_heads = ranks > s->kv_heads ? 1 : s->kv_heads / ranks;
	out->ffn = s->ffn / ranks;
	out->vocab = s->vocab / ranks;
}

void mc_llama_tensor_of(const struct mc_llama_shape *s, enum mc_llama_part part, int layer,
			struct mc_llama_tensor *out)
{
	static const char *const name[] = {
	    "input_layernorm",
	    "self_attn.q_proj",
	    "self_attn.k_proj",
	    "self_attn.v_proj",
	    "self_attn.o_proj",
	    "post_attention_layernorm",
	    "mlp.gate_proj",
	    "mlp.up_proj",
	    "mlp.down_proj",
	    "embed_tokens",
	    "norm",
	    "lm_head",
	};
	int q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;
	int rows[] = {0, q, kv, kv, s->hidden, 0, s->ffn, s->ffn, s->hidden, s->vocab, 0, s->vocab};
	int h = s->hidden, cols[] = {h, h, h, h, q, h, h, h, s->ffn, h, h, h};

	assert((part < MC_LLAMA_LAYER_PARTS) == (layer >= 0) && layer < s->layers);
	out->rows = rows[part];
	out->cols = cols[part];
	if (layer >= 0)
		snprintf(out->name, sizeof out->name, "model.layers.%d.%s.weight", layer, name[part]);
	else
		snprintf(out->name, sizeof out->name, "%s%s.weight", part == MC_LLAMA_HEAD ? "" : "model.",
			 name[part]);
}

int mc_llama_tensors(const struct mc_llama_shape *s)
{
	return s->layers * MC_LLAMA_LAYER_PARTS + (s->tied ? 2 : 3);
}

void mc_llama_tensor_at(const struct mc_llama_shape *s, int i, struct mc_llama_tensor *out)
{
	int in_layers = s->layers * MC_LLAMA_LAYER_PARTS;

	assert(i >= 0 && i < mc_llama_tensors(s));
	if (i < in_layers)
		mc_llama_tensor_of(s, (enum mc_llama_part)(i % MC_LLAMA_LAYER_PARTS),
				   i / MC_LLAMA_LAYER_PARTS, out);
	else
		mc_llama_tensor_of(s, (enum mc_llama_part)(MC_LLAMA_EMBED + i - in_layers), -1, out);
}

static int64_t numbers(const struct mc_llama_tensor *t)
{
	return (int64_t)(t->rows ? t->rows : 1) * t->cols;
}

int64_t mc_llama_layer_parameters(const struct mc_llama_shape *s)
{
	struct mc_llama_tensor t;
	int64_t sum = 0;

	for (int i = 0; i < MC_LLAMA_LAYER_PARTS; i++) {
		mc_llama_tensor_of(s, (enum mc_llama_part)i, 0, &t);
		sum += numbers(&t);
	}
	return sum;
}

int64_t mc_llama_parameters(const struct mc_llama_shape *s)
{
	struct mc_llama_tensor t;
	int64_t sum = s->layers * mc_llama_layer_parameters(s);

	for (int i = s->layers * MC_LLAMA_LAYER_PARTS; i < mc_llama_tensors(s); i++) {
		mc_llama_tensor_at(s, i, &t);
		sum += numbers(&t);
	}
	return sum;
}

int64_t mc_llama_kv_token_bytes(const struct mc_llama_shape *s, enum mc_dtype t)
{
	return (int64_t)2 * s->layers * s->kv_heads * s->head_dim * (int64_t)mc_dtype_bytes(t);
}

/* Radians a token of pair i. */
static double frequency(const struct mc_llama_shape *s, int i)
{
	const struct mc_llama_rope_scaling *r = &s->rope;
	double f = pow(s->rope_theta, -2.0 * i / s->head_dim), turns, kept;

	if (r->factor == 0)
		return f;
	turns = r->original * f / (2 * M_PI);
	kept = (turns - r->low) / (r->high - r->low);
	kept = kept < 0 ? 0 : kept > 1 ? 1 : kept;
	return kept * f + (1 - kept) * f / r->factor;
}

void mc_llama_cos_sin(const struct mc_llama_shape *s, int positions, float *out)
{
	int half = s->head_dim / 2;

	for (int i = 0; i < half; i++) {
		double f = frequency(s, i);

		for (int p = 0; p < positions; p++) {
			float *row = out + (size_t)p * (size_t)s->head_dim;

			row[i] = (float)cos(p * f);
			row[half + i] = (float)sin(p * f);
		}
	}
}
