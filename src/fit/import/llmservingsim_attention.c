/*
 * LLMServingSim, attention.csv of its first profiler: one layer on one GPU of tp, a chunk of new tokens after
 * kv_cache_size cached ones, or batch_size sequences of kv_cache_size tokens each; ms. Heads are those of
 * --model.
 */
#include "fit/import.h"

enum { TP, BATCH, CHUNK, CONTEXT, PREFILL, MS };

static const char *const columns[] = {
    "tp", "batch_size", "prefill_chunk_size", "kv_cache_size", "is_prefill", "median_ms", NULL};

static void row(struct mc_import *im)
{
	int64_t tp = mc_import_int(im, TP), rows = mc_import_int(im, CHUNK);
	struct mc_op_point p = {.op = mc_import_int(im, PREFILL) ? MC_OP_ATTENTION_PREFILL
								 : MC_OP_ATTENTION_DECODE};

	if (im->rc)
		return;
	if (tp < 1 || im->shape->heads % tp) {
		mc_import_bad(im, TP, "a degree that divides the heads");
		return;
	}
	if (p.op == MC_OP_ATTENTION_PREFILL)
		p.dim[MC_DIM_ROWS] = rows;
	p.dim[MC_DIM_CONTEXT] = mc_import_int(im, CONTEXT);
	p.dim[MC_DIM_SEQS] = mc_import_int(im, BATCH);
	p.dim[MC_DIM_HEADS] = im->shape->heads / tp;
	p.dim[MC_DIM_KV_HEADS] = im->shape->kv_heads < tp ? 1 : im->shape->kv_heads / tp;
	p.dim[MC_DIM_HEAD_DIM] = im->shape->head_dim;
	mc_import_add(im, &p, mc_import_real(im, MS) * 1e-3, -1);
}

const struct mc_importer mc_importer_llmservingsim_attention = {
    .name = "llmservingsim-attention",
    .help = "LLMServingSim attention.csv of one chunk or one decode batch; --model",
    .columns = columns,
    .needs_model = true,
    .row = row,
};
