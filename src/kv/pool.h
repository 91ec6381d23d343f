/*
 * One node's KV pool: blocks in DRAM, chained to their prefix. A block is promised when a request that will
 * compute or fetch it is dispatched, resident when it is there. Requests hold a lease on the chain that they
 * need: leased (pinned) blocks are never evicted, and no block is evicted before the blocks chained to it.
 *
 * Blocks are kept as copies of runs (kv/tree.h), an entry each, that are cut where leases end: all blocks of
 * an entry were leased by the same requests, so one step pins, releases or evicts any number of them, with
 * exactly the outcome of doing it block by block.
 *
 * Ids must be chained to their prefix: equal ids have equal ids before them, and a prompt names no id twice.
 * What a pool holds of a prompt is then a leading part, and so is what is resident of that.
 */
#ifndef MC_KV_POOL_H
#define MC_KV_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "kv/evict.h"
#include "kv/tree.h"

struct mc_pool;

/* The leading `held` blocks of a prompt, pinned in one pool; tail is the entry of the last one (MC_NONE:
 * none). */
struct mc_lease {
	uint32_t tail;
	uint32_t held;
};

/* Prefixes of prompts, one after the other: the k-th is id[end[k-1] .. end[k]-1]. */
struct mc_chains {
	struct {
		MC_VEC(uint64_t)
	} id;
	struct {
		MC_VEC(uint32_t)
	} end;
};

struct mc_pool_stats {
	uint32_t capacity, present, resident, pinned; /* blocks, now */
	uint64_t inserted, evicted; /* blocks, ever; inserted = present + evicted + dropped + lost +
				       discarded */
	uint64_t dropped;           /* promised, and released before they came */
	uint64_t lost;              /* gone with the node's memory */
	uint64_t discarded;         /* given up on request (mc_pool_discard) */
	uint64_t refused;           /* not stored: all else was pinned */
	uint32_t taken;             /* blocks, now, that hold what has no name (mc_pool_take); not present */
};

/*
 * The tree is borrowed and shared by the pools of all nodes; node is this pool's number in it. 1 <= capacity
 * < 2^31 blocks.
 */
struct mc_pool *mc_pool_new(struct mc_tree *tree, uint32_t node, uint32_t capacity,
			    const struct mc_evictor *evictor);
/* What is to come, for an evictor that needs it (the others ignore it); borrowed. Before the first lease. */
void mc_pool_foresee(struct mc_pool *pool, const struct mc_future *future);
/*
 * From now on what is evicted is noted, with all that is before it in its prompt, for a slower tier to keep
 * (NULL: no longer). Borrowed; the caller empties it after each lease. Chains whose blocks are all in one
 * before are left out.
 */
void mc_pool_note_evicted(struct mc_pool *pool, struct mc_chains *chains);
/* Frees memory alone: the tree, which still names the pool's blocks, can only be freed after it. NULL is
 * fine. */
void mc_pool_free(struct mc_pool *pool);

/*
 * Lease a prompt's blocks id[0 .. n-1]: present ones are pinned, missing ones are inserted as promised and
 * pinned, evicting as needed. When nothing more can be evicted the lease ends there: shorter than n, the rest
 * is refused.
 */
struct mc_lease mc_pool_acquire(struct mc_pool *pool, const uint64_t *id, uint32_t n);
/* Pin the leading n blocks, all present (asserted), without inserting: the source of a fetch. */
struct mc_lease mc_pool_pin(struct mc_pool *pool, const uint64_t *id, uint32_t n);
/*
 * Blocks from .. depth-1 of the lease (from <= depth <= held) are there now, and become resident; blocks
 * before `from` are not the caller's and are left as they are. Residency must stay a leading part of a chain,
 * so while block from-1 is still promised (a fetch ended before a producer ahead in the queue did its part)
 * nothing is changed: the commit at the end of prefill, with an earlier `from`, makes up for it.
 */
void mc_pool_commit(struct mc_pool *pool, const struct mc_lease *lease, uint32_t from, uint32_t depth);
/* How many leading blocks of the lease are there. */
uint32_t mc_pool_resident(const struct mc_pool *pool, const struct mc_lease *lease);
/*
 * Unpin, tail first, so that the root counts as used last, and empty the lease. A block that is still
 * promised when its last lease ends will never come: it is dropped. Hence every unpinned block is resident.
 */
void mc_pool_release(struct mc_pool *pool, struct mc_lease *lease);

/*
 * Memory that is shared with what has no name: VRAM, of which outputs and the ends of prompts take blocks,
 * and what those leave caches prefixes. Take n more blocks, evicting as needed; false, and nothing has
 * changed, when too much is pinned or taken already. Give n of them back.
 */
bool mc_pool_take(struct mc_pool *pool, uint32_t n);
void mc_pool_give(struct mc_pool *pool, uint32_t n);
/* Blocks that are neither pinned nor taken: what could be taken now. */
uint32_t mc_pool_spare(const struct mc_pool *pool);
/* By how much a lease on id[0 .. n-1] would lower that; what is spare has to suffice, or the lease is
 * shorter. resident: leading blocks that are there. Changes nothing. */
uint32_t mc_pool_need(const struct mc_pool *pool, const uint64_t *id, uint32_t n, uint32_t *resident);

/* Give up this pool's blocks of a run, if nobody leases them and no longer prompt hangs on them. Returns how
 * many that were. The run goes with its last copy. */
uint32_t mc_pool_discard(struct mc_pool *pool, uint32_t run);

/*
 * The node's memory is gone: so are all its blocks, pinned or not, and what its evictor remembered. Its
 * leases are void: they must not be used or released any more.
 */
void mc_pool_clear(struct mc_pool *pool);

struct mc_pool_stats mc_pool_stats(const struct mc_pool *pool);
/* Invariants from scratch: chains closed, counts right, tree agrees, pins of a chain never grow towards its
 * tail. */
int mc_pool_check(const struct mc_pool *pool, struct mc_err *err);

#endif
