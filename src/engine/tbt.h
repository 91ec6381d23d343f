/*
 * TBT of a request: the mean of its longest ceil(10 %) token intervals, at least one. Contexts only grow
 * within a segment, so its iterations never get shorter: the longest are taken from the segments' ends.
 */
#ifndef MC_ENGINE_TBT_H
#define MC_ENGINE_TBT_H

#include <stdbool.h>

#include "engine/segment.h"
#include "model/cost.h"

/* The longest interval of a run of iterations that has not been taken yet: the k-th of its segment. */
struct mc_tail {
	mc_time longest;
	const struct mc_segment *segment; /* NULL: one interval alone */
	uint32_t k, least;                /* least: its first one in the run */
};

/* Scratch of one request after the other. */
struct mc_tbt {
	const struct mc_cost *cost;
	struct {
		MC_VEC(struct mc_tail)
	} tails;
	uint64_t intervals;
};

static inline void mc_tbt_init(struct mc_tbt *t, const struct mc_cost *cost)
{
	*t = (struct mc_tbt){.cost = cost};
}

static inline void mc_tbt_fini(struct mc_tbt *t)
{
	mc_vec_fini(&t->tails);
}

/* How many of the longest intervals make up the TBT: ceil(10 %). */
static inline uint32_t mc_tbt_tail(uint32_t intervals)
{
	return intervals / 10 + (intervals % 10 > 0);
}

/* The next request. */
static inline void mc_tbt_begin(struct mc_tbt *t)
{
	t->tails.n = 0;
	t->intervals = 0;
}

/* One interval. */
void mc_tbt_add(struct mc_tbt *t, mc_time interval);
/* The iterations of these segments, of which the request was a member, but for the very first one. The
 * segments stay where they are until the TBT is known. */
void mc_tbt_add_segments(struct mc_tbt *t, const struct mc_segment *from, const struct mc_segment *end);
/* Of all that was added, at least one interval. */
mc_time mc_tbt_mean(struct mc_tbt *t);

#endif
