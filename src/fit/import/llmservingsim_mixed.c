/*
 * LLMServingSim, attention.csv of its second profiler: one layer of --model on one GPU (degree 1), batches of
 * one chunk and n_decode sequences, us. Only rows that are the one or the other can be a sample; the rest mix
 * both.
 */
#include "fit/import.h"

enum { CHUNK, CACHED, SEQS, CONTEXT, US };

static const char *const columns[] = {"prefill_chunk", "kv_prefill", "n_decode",
				      "kv_decode",     "time_us",    NULL};

static void row(struct mc_import *im)
{
	int64_t rows = mc_import_int(im, CHUNK), seqs = mc_import_int(im, SEQS);
	struct mc_op_point p = {.op = rows ? MC_OP_ATTENTION_PREFILL : MC_OP_ATTENTION_DECODE};

	if (rows && seqs) {
		mc_import_skip(im, "a batch of prefill and decode");
		return;
	}
	p.dim[MC_DIM_ROWS] = rows;
	p.dim[MC_DIM_CONTEXT] = mc_import_int(im, rows ? CACHED : CONTEXT);
	p.dim[MC_DIM_SEQS] = rows ? 1 : seqs;
	p.dim[MC_DIM_HEADS] = im->shape->heads;
	p.dim[MC_DIM_KV_HEADS] = im->shape->kv_heads;
	p.dim[MC_DIM_HEAD_DIM] = im->shape->head_dim;
	mc_import_add(im, &p, mc_import_real(im, US) * 1e-6, -1);
}

const struct mc_importer mc_importer_llmservingsim_mixed = {
    .name = "llmservingsim-mixed",
    .help = "LLMServingSim attention.csv of mixed batches, of which the unmixed ones; --model",
    .columns = columns,
    .needs_model = true,
    .row = row,
};
