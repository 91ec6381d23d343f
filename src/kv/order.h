/*
 * Entries in the order of a policy, for the policies to share: what is known of each entry, and an ordered
 * set of those that may be next. A treap whose priorities are hashes of the entries: every step O(log n), no
 * randomness.
 *
 * Order: by rank, then time, then the later in the prompt first. Blocks of equal rank and time must be of one
 * prompt; then the order of blocks does not depend on how they were cut into entries.
 */
#ifndef MC_KV_ORDER_H
#define MC_KV_ORDER_H

#include "base/vec.h"
#include "kv/evict.h"

struct mc_item {
	uint64_t rank, time; /* the policy's; fixed while in the set */
	uint32_t first, n;   /* blocks of the prompt before it; its blocks */
	uint32_t uses;       /* the policy's */
	bool ready;          /* the policy's */
	bool in;             /* the set */
	uint32_t left, right;
};

struct mc_order {
	struct {
		MC_VEC(struct mc_item)
	} item; /* by entry; grows with the entries in use, not with the capacity */
	uint32_t root;
	uint64_t clock; /* the policy's */
};

void mc_order_init(struct mc_order *o);
void mc_order_fini(struct mc_order *o);
/* Forget what the index was; the rest of the item is zero. Valid until the next insert or split. */
struct mc_item *mc_order_insert(struct mc_order *o, uint32_t entry, const struct mc_blocks *b);
/* As struct mc_evictor's split: lead is a copy of rest's item, not in the set and not ready. */
void mc_order_split(struct mc_order *o, uint32_t lead, uint32_t rest, uint32_t n);
void mc_order_put(struct mc_order *o, uint32_t entry);  /* into the set, if not there */
void mc_order_take(struct mc_order *o, uint32_t entry); /* out of it, if there */
/* The first of the set; the first with at least this rank; with a block at or after this place. MC_NONE. */
uint32_t mc_order_first(const struct mc_order *o);
uint32_t mc_order_rank(const struct mc_order *o, uint64_t rank);
uint32_t mc_order_seek(const struct mc_order *o, uint64_t rank, uint64_t time, uint32_t block);

/*
 * Functions of struct mc_evictor for policies whose state is an order and nothing else: who can go is in the
 * set, and its first goes next.
 */
void *mc_order_create(uint32_t capacity);
void mc_order_destroy(void *state);
void mc_order_on_unpin(void *state, uint32_t entry); /* time: the clock's next tick */
void mc_order_on_ready(void *state, uint32_t entry);
void mc_order_on_leave(void *state, uint32_t entry); /* pin and remove */
void mc_order_on_split(void *state, uint32_t lead, uint32_t rest, uint32_t n, bool unpinned);
uint32_t mc_order_victim(void *state, uint32_t *most);

#endif
