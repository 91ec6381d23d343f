/*
 * Eviction policies of one node's pool: a struct of functions, one policy a file, registered by local.mk.
 * An evictor orders the entries of a pool (indices 0 .. capacity-1); the pool tells it what happens and asks
 * for victims. It must never name a pinned entry, nor one that another present entry is chained to.
 */
#ifndef MC_KV_EVICT_H
#define MC_KV_EVICT_H

#include <stdint.h>

#define MC_NONE UINT32_MAX

struct mc_evictor {
	const char *name;
	const char *help; /* one line */
	void *(*create)(uint32_t capacity);
	void (*destroy)(void *state);
	void (*insert)(void *state, uint32_t entry); /* a new entry; it is pinned */
	void (*pin)(void *state, uint32_t entry);    /* pins 0 -> 1 */
	void (*unpin)(void *state, uint32_t entry);  /* pins 1 -> 0: was used until now; tails come before roots */
	void (*remove)(void *state, uint32_t entry); /* evicted or dropped, unpinned */
	uint32_t (*victim)(void *state);             /* MC_NONE: nothing can go */
};

/* Sorted by name, NULL-terminated. */
extern const struct mc_evictor *const mc_evictors[];
const struct mc_evictor *mc_evictor_find(const char *name); /* NULL: unknown */

#endif
