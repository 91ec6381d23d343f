/* The inside of a pool, for the files of this room alone. */
#ifndef MC_KV_POOL_STATE_H
#define MC_KV_POOL_STATE_H

#include <assert.h>

#include "base/vec.h"
#include "kv/pool.h"
#include "kv/run.h"

/* The pool's copy of a run. */
struct mc_pool_entry {
	uint32_t run;      /* MC_NONE: free */
	uint32_t parent;   /* entry of the run before it, always whole; MC_NONE: first of a prompt. Free: the
			      next free */
	uint32_t children; /* entries that are chained to it */
	uint32_t pins;
	uint32_t noted; /* number of the last lease that noted its blocks (mc_pool_note_evicted) */
};

struct mc_pool {
	struct mc_tree *tree;
	const struct mc_evictor *evictor;
	void *order; /* the evictor's state */
	const struct mc_future *future;
	struct {
		MC_VEC(struct mc_pool_entry)
	} entry;
	uint32_t free;             /* head of the free list */
	struct mc_chains *evicted; /* NULL: nobody asks */
	uint32_t leases;           /* counted where somebody asks for `evicted` */
	uint32_t node;
	struct mc_pool_stats stats;
};

static inline uint32_t mc_pool_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline struct mc_run *mc_pool_run(const struct mc_pool *p, uint32_t e)
{
	return &p->tree->run.at[p->entry.at[e].run];
}

static inline struct mc_copy *mc_pool_copy(const struct mc_pool *p, uint32_t e)
{
	struct mc_copy *c = mc_run_copy(mc_pool_run(p, e), p->node);

	assert(c && c->entry == e);
	return c;
}

/* Blocks that nothing is in. */
static inline uint32_t mc_pool_unused(const struct mc_pool *p)
{
	return p->stats.capacity - p->stats.present - p->stats.taken;
}

/* pool.c: evict from the tails of the evictor's choice until `need` blocks fit, if possible; returns how many
 * fit, at most need. */
uint32_t mc_pool_make_room(struct mc_pool *p, uint32_t need);

#endif
