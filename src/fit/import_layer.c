#include <string.h>

#include "fit/import.h"

/* A gemm: n and k, and which of them the GPUs share. */
static void layer_gemm(struct mc_import *im, const struct mc_import_layer *l, int64_t n, int64_t k)
{
	struct mc_op_point p = {.op = MC_OP_GEMM};

	p.dim[MC_DIM_ROWS] = l->tokens;
	p.dim[MC_DIM_N] = n;
	p.dim[MC_DIM_K] = k;
	mc_import_add(im, &p, l->seconds, -1);
}

static bool projection(struct mc_import *im, const struct mc_import_layer *l)
{
	const struct mc_shape *s = im->shape;
	int64_t tp = l->tensor_parallel, q = s->heads / tp * s->head_dim, ffn = s->ffn / tp;
	int64_t kv = (s->kv_heads < tp ? 1 : s->kv_heads / tp) * s->head_dim;
	const struct {
		const char *name;
		int64_t n, k;
	} known[] = {
	    {"q_proj", q, s->hidden},      {"k_proj", kv, s->hidden},
	    {"v_proj", kv, s->hidden},     {"qkv_proj", q + 2 * kv, s->hidden},
	    {"o_proj", s->hidden, q},      {"gate_proj", ffn, s->hidden},
	    {"up_proj", ffn, s->hidden},   {"gate_up_proj", 2 * ffn, s->hidden},
	    {"down_proj", s->hidden, ffn}, {"lm_head", s->vocab / tp, s->hidden},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i].name, l->name)) {
			layer_gemm(im, l, known[i].n, known[i].k);
			return true;
		}
	return false;
}

static bool other(struct mc_import *im, const struct mc_import_layer *l)
{
	const struct mc_shape *s = im->shape;
	struct mc_op_point p = {.op = MC_OPS};

	p.dim[MC_DIM_ROWS] = l->tokens;
	p.dim[MC_DIM_N] = s->hidden;
	if (strstr(l->name, "layernorm"))
		p.op = MC_OP_NORM;
	else if (!strcmp(l->name, "embedding"))
		p.op = MC_OP_EMBED;
	else if (!strcmp(l->name, "act_fn"))
		p.op = MC_OP_SWIGLU, p.dim[MC_DIM_N] = s->ffn / l->tensor_parallel;
	else if (!strcmp(l->name, "sampler"))
		p.op = MC_OP_SAMPLE, p.dim[MC_DIM_N] = s->vocab;
	else if (!strcmp(l->name, "rope") || !strcmp(l->name, "rotary_emb"))
		p.op = MC_OP_ROPE, p.dim[MC_DIM_N] = 0;
	if (p.op == MC_OPS)
		return false;
	if (p.op == MC_OP_ROPE) {
		p.dim[MC_DIM_HEADS] = s->heads / l->tensor_parallel;
		p.dim[MC_DIM_KV_HEADS] =
		    s->kv_heads < l->tensor_parallel ? 1 : s->kv_heads / l->tensor_parallel;
		p.dim[MC_DIM_HEAD_DIM] = s->head_dim;
	}
	mc_import_add(im, &p, l->seconds, -1);
	return true;
}

void mc_import_layer(struct mc_import *im, const struct mc_import_layer *l)
{
	if (im->rc)
		return;
	if (l->tensor_parallel < 1 || im->shape->heads % l->tensor_parallel ||
	    im->shape->ffn % l->tensor_parallel) {
		mc_import_fail(im, "tp", "does not divide the heads and the feed-forward width of the model");
		return;
	}
	if (!projection(im, l) && !other(im, l))
		mc_import_skip(im, "a layer that is no operator");
}
