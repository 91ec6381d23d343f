/*
 * aiconfigurator, context_attention_perf: prefill attention of one layer, batch_size prompts of isl tokens
 * with nothing cached; heads of one GPU; ms.
 */
#include "fit/import.h"

enum { BATCH, ISL, HEADS, KV_HEADS, HEAD_DIM, MS };

static const char *const columns[] = {"batch_size", "isl",        "num_heads", "num_key_value_heads",
				      "head_dim",   "latency_ms", NULL};

static void row(struct mc_import *im)
{
	struct mc_op_point p = {.op = MC_OP_ATTENTION_PREFILL};

	p.dim[MC_DIM_SEQS] = mc_import_int(im, BATCH);
	p.dim[MC_DIM_ROWS] = mc_import_int(im, ISL);
	p.dim[MC_DIM_HEADS] = mc_import_int(im, HEADS);
	p.dim[MC_DIM_KV_HEADS] = mc_import_int(im, KV_HEADS);
	p.dim[MC_DIM_HEAD_DIM] = mc_import_int(im, HEAD_DIM);
	mc_import_add(im, &p, mc_import_real(im, MS) * 1e-3, -1);
}

const struct mc_importer mc_importer_aic_context_attention = {
    .name = "aic-context-attention",
    .help = "aiconfigurator context_attention_perf: attention_prefill",
    .columns = columns,
    .row = row,
};
