/*
 * Hits of one LRU pool of every capacity at once, by stack distances (Mattson et al. 1970): a pool of C
 * blocks holds the C most recently touched ones, whatever came before. A request is looked up whole, then all
 * its blocks are touched in prompt order. A block hits if it and all blocks before it in the request are
 * held; the last, partial block counts its real tokens; there is no cap for the last token.
 */
#ifndef MC_TRACE_LRU_H
#define MC_TRACE_LRU_H

#include "trace/number.h"

struct mc_lru_curve {
	uint32_t distinct;         /* blocks: every capacity from here on is as good as an infinite one */
	uint64_t *blocks, *tokens; /* hits with capacity 0 .. distinct */
};

/* One pass over the trace, O(log touches) a touch. */
void mc_lru_curve_init(struct mc_lru_curve *c, const struct mc_trace *t,
		       const struct mc_trace_numbers *numbers);
void mc_lru_curve_fini(struct mc_lru_curve *c);

/* Hits of a pool of `capacity` blocks; UINT64_MAX is infinite. */
void mc_lru_curve_at(const struct mc_lru_curve *c, uint64_t capacity, uint64_t *hit_blocks,
		     uint64_t *hit_tokens);

#endif
