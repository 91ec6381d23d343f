/*
 * vidur, mlp.csv: operators of one layer but attention, on one GPU of num_tensor_parallel_workers; ms.
 *
 *     attn_pre_proj   gemm  n = (heads + 2 KV heads) / tp * head_dim   k = hidden
 *     attn_post_proj  gemm  n = hidden              k = heads / tp * head_dim
 *     mlp_up_proj     gemm  n = 2 ffn / tp (gated)  k = hidden
 *     mlp_down_proj   gemm  n = hidden              k = ffn / tp
 *     *_layernorm     norm, of which the residual's add is a part: the times of both are added
 *     attn_rope, mlp_act, emb: rope, swiglu, embed
 *
 * A share of KV heads below one is one: they are copied.
 */
#include <string.h>

#include "fit/import.h"

enum {
	EMB,
	EMB_STD,
	INPUT_LAYERNORM,
	INPUT_LAYERNORM_STD,
	ATTN_PRE_PROJ,
	ATTN_PRE_PROJ_STD,
	ATTN_ROPE,
	ATTN_ROPE_STD,
	ATTN_POST_PROJ,
	ATTN_POST_PROJ_STD,
	POST_ATTENTION_LAYERNORM,
	POST_ATTENTION_LAYERNORM_STD,
	MLP_UP_PROJ,
	MLP_UP_PROJ_STD,
	MLP_ACT,
	MLP_ACT_STD,
	MLP_DOWN_PROJ,
	MLP_DOWN_PROJ_STD,
	ADD,
	ADD_STD,
	HEADS,
	KV_HEADS,
	HIDDEN,
	FFN,
	GATED,
	TOKENS,
	TP
};

static const char *const columns[] = {"time_stats.emb.median",
				      "time_stats.emb.std",
				      "time_stats.input_layernorm.median",
				      "time_stats.input_layernorm.std",
				      "time_stats.attn_pre_proj.median",
				      "time_stats.attn_pre_proj.std",
				      "time_stats.attn_rope.median",
				      "time_stats.attn_rope.std",
				      "time_stats.attn_post_proj.median",
				      "time_stats.attn_post_proj.std",
				      "time_stats.post_attention_layernorm.median",
				      "time_stats.post_attention_layernorm.std",
				      "time_stats.mlp_up_proj.median",
				      "time_stats.mlp_up_proj.std",
				      "time_stats.mlp_act.median",
				      "time_stats.mlp_act.std",
				      "time_stats.mlp_down_proj.median",
				      "time_stats.mlp_down_proj.std",
				      "time_stats.add.median",
				      "time_stats.add.std",
				      "n_head",
				      "n_kv_head",
				      "n_embd",
				      "n_expanded_embd",
				      "use_gated_mlp",
				      "num_tokens",
				      "num_tensor_parallel_workers",
				      NULL};

static void add(struct mc_import *im, const struct mc_op_point *p, int column)
{
	double ms = mc_import_real(im, column), std = mc_import_real(im, column + 1);

	if (p->op == MC_OP_NORM)
		ms += mc_import_real(im, ADD);
	mc_import_add(im, p, ms * 1e-3, mc_import_spread_ratio(std, ms));
}

static void gemm(struct mc_import *im, int column, int64_t rows, int64_t n, int64_t k)
{
	struct mc_op_point p = {.op = MC_OP_GEMM};

	p.dim[MC_DIM_ROWS] = rows;
	p.dim[MC_DIM_N] = n;
	p.dim[MC_DIM_K] = k;
	add(im, &p, column);
}

/* An operator of rows of one width. */
static void wide(struct mc_import *im, enum mc_op op, int column, int64_t n)
{
	struct mc_op_point p = {.op = op};

	p.dim[MC_DIM_ROWS] = mc_import_int(im, TOKENS);
	p.dim[MC_DIM_N] = n;
	add(im, &p, column);
}

static void rope(struct mc_import *im, int64_t heads, int64_t kv_heads, int64_t head_dim)
{
	struct mc_op_point p = {.op = MC_OP_ROPE};

	p.dim[MC_DIM_ROWS] = mc_import_int(im, TOKENS);
	p.dim[MC_DIM_HEADS] = heads;
	p.dim[MC_DIM_KV_HEADS] = kv_heads;
	p.dim[MC_DIM_HEAD_DIM] = head_dim;
	add(im, &p, ATTN_ROPE);
}

static void row(struct mc_import *im)
{
	int64_t rows = mc_import_int(im, TOKENS), tp = mc_import_int(im, TP),
		hidden = mc_import_int(im, HIDDEN);
	int64_t heads = mc_import_int(im, HEADS), kv = mc_import_int(im, KV_HEADS),
		ffn = mc_import_int(im, FFN);
	int64_t dim;

	if (im->rc)
		return;
	if (strcmp(mc_import_text(im, GATED), "True")) {
		mc_import_skip(im, "a feed-forward part without gate");
		return;
	}
	if (tp < 1 || heads < 1 || heads % tp || ffn % tp || hidden % heads || kv < 1) {
		mc_import_bad(im, TP, "a degree that divides heads and feed-forward width");
		return;
	}
	dim = hidden / heads;
	heads /= tp;
	kv = kv < tp ? 1 : kv / tp;
	ffn /= tp;
	gemm(im, ATTN_PRE_PROJ, rows, (heads + 2 * kv) * dim, hidden);
	gemm(im, ATTN_POST_PROJ, rows, hidden, heads * dim);
	gemm(im, MLP_UP_PROJ, rows, 2 * ffn, hidden);
	gemm(im, MLP_DOWN_PROJ, rows, hidden, ffn);
	wide(im, MC_OP_NORM, INPUT_LAYERNORM, hidden);
	wide(im, MC_OP_NORM, POST_ATTENTION_LAYERNORM, hidden);
	wide(im, MC_OP_SWIGLU, MLP_ACT, ffn);
	wide(im, MC_OP_EMBED, EMB, hidden);
	rope(im, heads, kv, dim);
}

const struct mc_importer mc_importer_vidur_mlp = {
    .name = "vidur-mlp",
    .help = "vidur mlp.csv: gemm, norm, rope, swiglu, embed",
    .columns = columns,
    .row = row,
};
