/*
 * The prefix index over all nodes: which node holds which block. A block's id names its whole prefix, and a
 * pool holds a block only together with all blocks before it, so what a node holds of a prompt is always a
 * leading part. Open addressing from id to slot; slots are reused once the last holder drops the block, so
 * memory follows the capacity of the pools, not the length of the trace. A slot's copies are sorted by node:
 * finding one node's copy among k takes log2(k) steps, so a pool needs no table of its own.
 */
#ifndef MC_KV_INDEX_H
#define MC_KV_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kv/evict.h"

struct mc_index;

/* One node's copy. */
struct mc_holder {
	uint32_t node;
	uint32_t entry : 31;   /* in that node's pool */
	uint32_t resident : 1; /* computed or received; else promised: counts on its own node only */
};

struct mc_index *mc_index_new(void);
void mc_index_free(struct mc_index *ix);

/* The slot of a block that anyone holds, else MC_NONE. Slots are valid until the next change. */
uint32_t mc_index_find(const struct mc_index *ix, uint64_t id);
/* Slots of the leading ids that anyone holds, at most n; returns how many. slot has room for n. */
uint32_t mc_index_resolve(const struct mc_index *ix, const uint64_t *id, uint32_t n, uint32_t *slot);
/* Copies of a block (at least one), sorted by node; valid until the next change. */
const struct mc_holder *mc_index_holders(const struct mc_index *ix, uint32_t slot, uint32_t *n);
/* One node's copy, NULL: it has none. Valid until the next change. */
const struct mc_holder *mc_index_at(const struct mc_index *ix, uint32_t slot, uint32_t node);
/* Number of resident copies. */
uint32_t mc_index_residents(const struct mc_index *ix, uint32_t slot);
uint64_t mc_index_id(const struct mc_index *ix, uint32_t slot);
uint32_t mc_index_size(const struct mc_index *ix); /* blocks held by anyone */

/* Invariants from scratch: every slot is found by its id, copies sorted, counts right. */
int mc_index_check(const struct mc_index *ix, struct mc_err *err);

/* For the pools alone. */
/* Record a copy that node does not have yet (asserted); entry < 2^31. Returns the slot. */
uint32_t mc_index_add(struct mc_index *ix, uint64_t id, uint32_t node, uint32_t entry, bool resident);
/* Bring a block's bucket, or a slot, into the cache some work before it is needed. */
void mc_index_prefetch(const struct mc_index *ix, uint64_t id);
void mc_index_prefetch_slot(const struct mc_index *ix, uint32_t slot);
/* Both assert that the node has a copy. */
void mc_index_set_resident(struct mc_index *ix, uint32_t slot, uint32_t node);
void mc_index_remove(struct mc_index *ix, uint32_t slot, uint32_t node);

#endif
