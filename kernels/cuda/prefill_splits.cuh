/*
 * Prefill of few rows after a long prefix: blocks of rows alone don't fill a device, so the tokens that they
 * see are cut into splits, as in decode (flash-decoding). A block leaves its rows' output without the
 * division, largest logit and sum in scratch, and a second kernel merges them in the order of the splits, so
 * that results don't depend on timing.
 *
 * Bytes: a split's share of a row is 4 D + 8, written and read once, in L2 mostly; at 512 tokens or more a
 * split and 128 rows a block that is a quarter of what the block reads of K and V, or less. Not measured.
 */
#ifndef MC_KERNELS_CUDA_PREFILL_SPLITS_CUH
#define MC_KERNELS_CUDA_PREFILL_SPLITS_CUH

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/ops.h"

enum {
	MC_PREFILL_ROWS = 128,    /* of a block */
	MC_PREFILL_BLOCKS = 4,    /* a multiprocessor: what a batch is cut for, two waves of two */
	MC_PREFILL_LEAST = 512,   /* tokens of a split */
	MC_PREFILL_MOST = 16,     /* splits */
	MC_PREFILL_THREADS = 256, /* of the merge */
};

/* Splits of all sequences alike: tokens n keys .. + keys - 1. `keys` is a multiple of 64. */
struct mc_prefill_splits {
	int count, keys;
	float2 *weight; /* [rows][heads][count]: largest logit (base 2), sum of exp2(logit - it) */
	float *part;    /* [rows][heads][count][D]: sum of exp2(logit - largest) V */
};

/* Rows x heads x splits that scratch needs room for at most: what is enough for a large batch is enough for
 * smaller ones. As a batch has rows x heads / MC_PREFILL_ROWS blocks or more, they are as many as the device
 * is filled with, or there is one split. */
static inline size_t mc_prefill_room(const struct mc_attention *a, int units)
{
	size_t all = (size_t)a->batch.rows * (size_t)a->heads * MC_PREFILL_MOST;
	size_t full = (size_t)units * MC_PREFILL_BLOCKS * MC_PREFILL_ROWS;

	if (a->batch.max_tokens < 2 * MC_PREFILL_LEAST)
		return 0;
	return all < full ? all : full;
}

static inline size_t mc_prefill_scratch(const struct mc_attention *a, int units)
{
	size_t room = mc_prefill_room(a, units);

	return (room * sizeof(float2) + 15) / 16 * 16 +
	       room * (size_t)a->pages.layout.head_dim * sizeof(float);
}

static inline struct mc_prefill_splits mc_prefill_splits_of(const struct mc_attention *a, int units)
{
	int kv_heads = a->pages.layout.kv_heads, group = a->heads / kv_heads, tokens = a->batch.max_tokens;
	int64_t blocks = ((int64_t)a->batch.rows * group + MC_PREFILL_ROWS - 1) / MC_PREFILL_ROWS;
	int64_t n,
	    most = tokens / MC_PREFILL_LEAST < MC_PREFILL_MOST ? tokens / MC_PREFILL_LEAST : MC_PREFILL_MOST;
	struct mc_prefill_splits s = {1, (tokens + 63) / 64 * 64, NULL, NULL};

	if (blocks < a->batch.seqs)
		blocks = a->batch.seqs;
	n = (int64_t)units * MC_PREFILL_BLOCKS / (blocks * kv_heads);
	n = n < most ? n : most;
	if (n < 2)
		return s;
	s.keys = (mc_ceil_div(tokens, (int)n) + 63) / 64 * 64;
	s.count = mc_ceil_div(tokens, s.keys);
	s.weight = (float2 *)a->scratch;
	s.part = (float *)((unsigned char *)a->scratch +
			   (mc_prefill_room(a, units) * sizeof(float2) + 15) / 16 * 16);
	return s;
}

/* out [rows][heads][D] from the splits; a warp a row and head. position: the last token that a row sees. */
template <class T, int D>
static __global__ void __launch_bounds__(MC_PREFILL_THREADS)
    prefill_merge(struct mc_prefill_splits s, const int32_t *position, T *out, int rows, int heads,
		  int stride)
{
	constexpr int EACH = D / 32; /* neighbours, of a lane */
	int64_t at = (int64_t)blockIdx.x * (MC_PREFILL_THREADS / 32) + (int)threadIdx.x / 32;
	int row = (int)(at / heads), head = (int)(at % heads), lane = (int)threadIdx.x % 32;
	float top = -INFINITY, sum = 0, acc[EACH] = {};

	if (row >= rows)
		return;
	int count = position[row] / s.keys + 1;
	const float2 *weight = s.weight + at * s.count;
	const float *part = s.part + at * s.count * D + lane * EACH;

	for (int i = 0; i < count; i++)
		top = fmaxf(top, weight[i].x);
	for (int i = 0; i < count; i++, part += D) {
		float by = mc_exp2(weight[i].x - top);

		sum += by * weight[i].y;
#pragma unroll
		for (int j = 0; j < EACH; j += 2) {
			float2 x = *(const float2 *)(part + j);

			acc[j] += by * x.x;
			acc[j + 1] += by * x.y;
		}
	}
	sum = sum > 0 ? 1 / sum : 0;
	T *to = out + (int64_t)row * stride + head * D + lane * EACH;
#pragma unroll
	for (int j = 0; j < EACH; j += 2)
		*(uint32_t *)(to + j) = mc_pack2<T>(acc[j] * sum, acc[j + 1] * sum);
}

#endif
