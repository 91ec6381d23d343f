/*
 * Eviction policies of one node's pool: a struct of functions, one policy a file (evict_NAME.c), registered
 * in local.mk. An evictor orders the entries of a pool (small indices, used anew); the pool tells it what
 * happens and asks for victims, which it takes from the tail of, block by block as needed. An evictor must
 * never name a pinned entry, nor one that another present entry is chained to. It is not told the chains: a
 * lease pins whole prefixes and unpins tails first, so the parent of an unpinned entry was pinned at least as
 * often, and unpinned later or not yet.
 */
#ifndef MC_KV_EVICT_H
#define MC_KV_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#define MC_NONE UINT32_MAX

struct mc_evictor {
	const char *name;
	const char *help;                   /* one line */
	void *(*create)(uint32_t capacity); /* cheap: most of a large pool may never be used */
	void (*destroy)(void *state);
	void (*insert)(void *state,
		       uint32_t entry); /* a new entry; it is pinned. Its index may be a removed one's */
	void (*pin)(void *state, uint32_t entry); /* pins 0 -> 1 */
	void (*unpin)(void *state,
		      uint32_t entry); /* pins 1 -> 0: was used until now; tails come before roots */
	void (*remove)(void *state, uint32_t entry); /* evicted or dropped; unpinned before */
	/* The leading blocks of `rest` are the new entry `lead` from now on: of the same history, and its
	 * parent. */
	void (*split)(void *state, uint32_t lead, uint32_t rest, bool unpinned);
	uint32_t (*victim)(void *state); /* MC_NONE: nothing can go */
};

/* Sorted by name, NULL-terminated. */
extern const struct mc_evictor *const mc_evictors[];
extern const char *const mc_evictors_names[];               /* the same, names alone */
const struct mc_evictor *mc_evictor_find(const char *name); /* NULL: unknown */

#endif
