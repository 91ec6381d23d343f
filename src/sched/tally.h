/*
 * Weights by time, with sums over all that lie at or before a time: what a Conductor asks to see who will be
 * where at a later moment. A treap; every operation costs O(log n) on average, and the same history gives the
 * same tree.
 */
#ifndef MC_SCHED_TALLY_H
#define MC_SCHED_TALLY_H

#include <stdint.h>

#include "base/time.h"
#include "base/vec.h"

/* Requests, with prompt tokens, and tokens of KV that they have with their last token. */
struct mc_tally_sum {
	int64_t n, context, kv;
};

struct mc_tally_node {
	mc_time at;
	struct mc_tally_sum own, below; /* below: of its subtree, with itself */
	uint64_t rank;                  /* a heap by this */
	uint32_t left, right;           /* 0: none; of a free one: the next free one in left */
};

struct mc_tally {
	struct {
		MC_VEC(struct mc_tally_node)
	} node; /* 0 is nobody */
	uint32_t root, free;
	uint64_t added;
};

void mc_tally_init(struct mc_tally *t);
void mc_tally_fini(struct mc_tally *t);
/* Returns its handle, >= 1, until it is removed. */
uint32_t mc_tally_add(struct mc_tally *t, mc_time at, const struct mc_tally_sum *weight);
void mc_tally_remove(struct mc_tally *t, uint32_t handle);
/* Of all at or before `at`. */
struct mc_tally_sum mc_tally_until(const struct mc_tally *t, mc_time at);

#endif
