/*
 * How decode attention cuts contexts into splits, all sequences of a batch alike: the host knows only the
 * longest one. Nothing here is of the device, so that tests hold it without one. Units: multiprocessors.
 */
#ifndef MC_KERNELS_CUDA_SPLITS_H
#define MC_KERNELS_CUDA_SPLITS_H

#include "kernels/ops.h"

enum {
	MC_SPLIT_TOKENS = 16, /* of a step: the smallest block of KV */
	MC_SPLIT_WARPS = 4,   /* a split is a multiple of as many steps: one a warp */
	MC_SPLIT_BLOCKS = 4,  /* a unit: what a batch is cut for, two waves of two */
	MC_SPLIT_LEAST = 8,   /* steps, so that merging stays small beside reading */
	MC_SPLIT_USUAL = 64,  /* steps, where there are sequences enough */
};

struct mc_splits {
	int steps; /* of a split, but for the last of a sequence */
	int count; /* that the longest sequence has */
};

static inline int64_t mc_splits_ceil(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/*
 * Splits so short that a batch of equal sequences fills the device, but of at least MC_SPLIT_USUAL steps
 * where that is no longer needed to fill it; longer ones where even the longest sequence alone fills it with
 * them, which bounds how many there are.
 */
static inline struct mc_splits mc_splits_of(const struct mc_attention *a, int units)
{
	int64_t steps = mc_splits_ceil(a->batch.max_tokens, MC_SPLIT_TOKENS);
	int64_t pairs = steps * a->pages.layout.kv_heads, blocks = (int64_t)MC_SPLIT_BLOCKS * units;
	int64_t all = mc_splits_ceil(pairs * a->batch.seqs, blocks), n = mc_splits_ceil(pairs, blocks);
	struct mc_splits s;

	if (n < MC_SPLIT_USUAL)
		n = MC_SPLIT_USUAL;
	if (n > all)
		n = all;
	if (n < MC_SPLIT_LEAST)
		n = MC_SPLIT_LEAST;
	s.steps = (int)(mc_splits_ceil(n, MC_SPLIT_WARPS) * MC_SPLIT_WARPS);
	s.count = (int)mc_splits_ceil(steps, s.steps);
	return s;
}

/*
 * Splits of all sequences together that scratch needs room for, at most: never fewer for more sequences or
 * tokens, so that what is enough for the largest batch is enough for all smaller ones. With `share` the
 * blocks of a KV head: where all sequences together decide, each has at most share / seqs splits, rounded up;
 * else at most share, rounded up, and at most as its steps in MC_SPLIT_USUAL.
 */
static inline size_t mc_splits_room(const struct mc_attention *a, int units)
{
	int64_t seqs = a->batch.seqs, steps = mc_splits_ceil(a->batch.max_tokens, MC_SPLIT_TOKENS);
	int64_t share = (int64_t)MC_SPLIT_BLOCKS * units / a->pages.layout.kv_heads;
	int64_t most = seqs * mc_splits_ceil(steps, MC_SPLIT_LEAST), usual = steps / MC_SPLIT_USUAL;
	int64_t n = seqs * (1 + (usual < share ? usual : share));

	n = n < share + seqs ? share + seqs : n;
	return (size_t)(n < most ? n : most);
}

#endif
