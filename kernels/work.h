/*
 * What an operator must do, from its arguments: operations and bytes, and so the least time on a device.
 *
 * Operations: a multiplication, an addition (a multiply-add is two), a comparison, a division, a square root,
 * an exponential and a logarithm are one each. What can be done at compile time or once for a whole call is
 * not counted. Attention counts its two products only, as is usual (FlashAttention, arXiv 2205.14135): its
 * softmax is five more for each score, beside 4 head_dim.
 *
 * Bytes: what must cross between memory and the device if nothing is kept from before and nothing is fetched
 * twice: each operand read once, each result written once (a result that is added to: read, too), and the
 * indices that say where they are. Of data that several rows may name (embeddings, cosines) each row is taken
 * to name another one, as far as there are so many.
 *
 * No device, no pointer is touched: arguments with NULL for their arrays do (a residual or an x of a norm
 * must be NULL or not as in the call that is meant).
 */
#ifndef MC_KERNELS_WORK_H
#define MC_KERNELS_WORK_H

#include "kernels/backend.h"

struct mc_work {
	double flops, bytes;
};

/* What a device can do at most: operations/s and bytes/s; 0: not known, and so no limit. */
struct mc_limits {
	double flops, bandwidth;
};

/* Lengths of the sequences of a batch on the host: the numbers of mc_batch's arrays of the same names. */
struct mc_lengths {
	const int32_t *row_start; /* [seqs + 1] */
	const int32_t *context;   /* [seqs] */
};

struct mc_work mc_work_gemm(const struct mc_gemm *a);
struct mc_work mc_work_norm(const struct mc_norm *a);
struct mc_work mc_work_rope(const struct mc_rope *a);
struct mc_work mc_work_swiglu(const struct mc_swiglu *a);
struct mc_work mc_work_embed(const struct mc_embed *a);
/* drawn: how many of the rows have a temperature above 0. */
struct mc_work mc_work_sample(const struct mc_sample *a, int drawn);
/* Scatter and gather alike. */
struct mc_work mc_work_kv_rows(const struct mc_kv_rows *a, const struct mc_lengths *l);
/* Prefill and decode alike; sequences that share pages are taken not to. */
struct mc_work mc_work_attention(const struct mc_attention *a, const struct mc_lengths *l);
/* Within one memory; between two, half of the bytes cross each. */
struct mc_work mc_work_copy(const struct mc_copy *a);
/* All ranks together, in their memories; a link carries mc_work_all_reduce_link bytes each way for a rank. */
struct mc_work mc_work_all_reduce(const struct mc_all_reduce *a, int ranks);
/* 2 (ranks - 1) / ranks times the buffer: the least that a rank must send (Patarasuk and Yuan, 2009). */
double mc_work_all_reduce_link(const struct mc_all_reduce *a, int ranks);

struct mc_work mc_work_sum(struct mc_work a, struct mc_work b);

/* Seconds that the work takes at least: the larger of what the operations and what the bytes need. */
double mc_work_floor(const struct mc_work *w, const struct mc_limits *l);
/* Does the memory limit it (rather than the arithmetic)? */
bool mc_work_memory_bound(const struct mc_work *w, const struct mc_limits *l);

#endif
