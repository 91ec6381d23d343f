/*
 * vidur, attention.csv of 2023: FlashAttention of one layer on one GPU of tp, a chunk of prefill_chunk_size
 * new tokens after kv_cache_size cached ones, or (chunk 0) batch_size sequences of kv_cache_size tokens each;
 * ms.
 */
#include "fit/import.h"

enum { HIDDEN, HEADS, KV_HEADS, TP, BATCH, CHUNK, CONTEXT, PREFILL, PREFILL_STD, DECODE, DECODE_STD };

static const char *const columns[] = {
    "n_embd",         "n_q_head",           "n_kv_head",     "tp",
    "batch_size",     "prefill_chunk_size", "kv_cache_size", "prefill_median_ms",
    "prefill_std_ms", "decode_median_ms",   "decode_std_ms", NULL};

static void row(struct mc_import *im)
{
	int64_t rows = mc_import_int(im, CHUNK), heads = mc_import_int(im, HEADS), tp = mc_import_int(im, TP);
	int64_t kv = mc_import_int(im, KV_HEADS), hidden = mc_import_int(im, HIDDEN);
	struct mc_op_point p = {.op = rows ? MC_OP_ATTENTION_PREFILL : MC_OP_ATTENTION_DECODE};
	double ms = mc_import_real(im, rows ? PREFILL : DECODE);
	double std = mc_import_real(im, rows ? PREFILL_STD : DECODE_STD);

	if (im->rc)
		return;
	if (tp < 1 || heads < 1 || heads % tp || hidden % heads) {
		mc_import_bad(im, TP, "a degree that divides the heads");
		return;
	}
	p.dim[MC_DIM_ROWS] = rows;
	p.dim[MC_DIM_CONTEXT] = mc_import_int(im, CONTEXT);
	p.dim[MC_DIM_SEQS] = mc_import_int(im, BATCH);
	p.dim[MC_DIM_HEADS] = heads / tp;
	p.dim[MC_DIM_KV_HEADS] = kv < tp ? 1 : kv / tp;
	p.dim[MC_DIM_HEAD_DIM] = hidden / heads;
	mc_import_add(im, &p, ms * 1e-3, mc_import_spread_ratio(std, ms));
}

const struct mc_importer mc_importer_vidur_attention = {
    .name = "vidur-attention",
    .help = "vidur attention.csv: attention_prefill and attention_decode",
    .columns = columns,
    .row = row,
};
