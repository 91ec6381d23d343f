/* Random prompts out of a trie, for the tests of kv/: ids chained to their prefix, many shared beginnings. */
#ifndef MC_TESTS_KV_PROMPTS_H
#define MC_TESTS_KV_PROMPTS_H

#include <stdint.h>

#include "base/hash.h"

struct rng {
	uint64_t at;
};

/* 0 .. n-1 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(mc_hash_u64(r->at++) % n);
}

/*
 * At most max ids. Blocks go on along the first branch most of the time, so that prompts share long
 * beginnings; few branches in all, so that they come back.
 */
static inline uint32_t prompt(struct rng *r, uint32_t max, uint64_t *id)
{
	uint32_t n = 1 + rng_below(r, max);
	uint64_t at = rng_below(r, 3);

	for (uint32_t i = 0; i < n; i++) {
		at = mc_hash_pair(at, rng_below(r, 6) ? 0 : 1 + rng_below(r, 2));
		id[i] = at;
	}
	return n;
}

#endif
