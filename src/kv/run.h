/* The inside of the tree, for the files of this room: runs, and what pools do to them. */
#ifndef MC_KV_RUN_H
#define MC_KV_RUN_H

#include "base/vec.h"
#include "kv/mirror.h"
#include "kv/tree.h"

struct mc_pool;

struct mc_run {
	uint64_t *id; /* n of them; NULL: this slot is free, and parent is the next free one */
	uint32_t n;
	uint32_t first;                 /* blocks before it */
	uint32_t parent;                /* run that it is chained to; MC_NONE: a root */
	uint32_t heat, tick;            /* kv/heat.h: as it was at that tick */
	uint32_t whole[MC_TREE_GROUPS]; /* copies that are resident to the last block, by group of nodes */
	uint32_t copies, cap;
	union {
		struct mc_copy one; /* cap 1 */
		struct mc_copy *many;
	};
};

struct mc_bucket {
	uint32_t tag; /* of the hash of the first id */
	uint32_t run; /* + 1; 0: empty */
};

struct mc_tree {
	struct {
		MC_VEC(struct mc_run)
	} run;
	uint32_t free_run, runs, blocks;
	uint32_t second, third;   /* first node of the other groups */
	struct mc_bucket *bucket; /* by first id; linear probing */
	uint32_t mask;
	struct {
		MC_VEC(struct mc_pool *)
	} pool;                     /* by node; empty: a mirror */
	mc_tree_listener *listener; /* NULL: nobody listens */
	void *listener_arg;
};

static inline void mc_tree_tell(const struct mc_tree *t, const struct mc_news *news)
{
	if (t->listener)
		t->listener(t->listener_arg, news);
}

static inline struct mc_copy *mc_run_copies(struct mc_run *r)
{
	return r->cap > 1 ? r->many : &r->one;
}

static inline uint32_t mc_tree_group(const struct mc_tree *t, uint32_t node)
{
	return (node >= t->second) + (node >= t->third);
}

/* The run that begins with this id; MC_NONE. */
uint32_t mc_run_find(const struct mc_tree *t, uint64_t id);
/* How many leading ids of the run the prompt goes on with; >= 1 when it was found by its first. */
uint32_t mc_run_common(const struct mc_run *r, const uint64_t *id, uint32_t n);
/* A node's copy, or NULL. Valid until a copy is added or removed. */
struct mc_copy *mc_run_copy(struct mc_run *r, uint32_t node);

/* A new run of n >= 1 ids (copied) behind parent. */
uint32_t mc_run_add(struct mc_tree *t, uint32_t parent, const uint64_t *id, uint32_t n);
void mc_run_copy_add(struct mc_tree *t, uint32_t run, const struct mc_copy *copy);
/* The last copy takes the run with it. */
void mc_run_copy_remove(struct mc_tree *t, uint32_t run, uint32_t node);
/* Change what a copy holds: 1 <= held <= n, resident <= held. */
void mc_run_copy_set(const struct mc_tree *t, struct mc_run *r, struct mc_copy *copy, uint32_t held,
		     uint32_t resident);
/*
 * End the run after its leading `at` blocks, 1 <= at < n: a new run has them and is returned, the run keeps
 * its name for the rest, and so do the entries of pools that hold some of it. When nobody holds any of the
 * rest, the run just ends there and is returned.
 */
uint32_t mc_run_split(struct mc_tree *t, uint32_t run, uint32_t at);

/* pool.c: the entry's leading blocks go to a new entry of run `first` (returned); the entry keeps the rest
 * and its leases. */
uint32_t mc_pool_entry_split(struct mc_pool *pool, uint32_t entry, uint32_t first);
/* The entry, whole, is of another run now. */
void mc_pool_entry_move(struct mc_pool *pool, uint32_t entry, uint32_t run);

#endif
