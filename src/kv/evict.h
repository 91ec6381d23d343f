/*
 * Eviction policies of one node's pool: a struct of functions, one policy a file (evict_NAME.c), registered
 * in local.mk. A policy is defined block by block; what it is told of are the entries of the pool (small
 * indices, used anew): stretches of a prompt whose blocks were always treated alike. So an entry stands for
 * its blocks, the last one first, and only where they would part does a policy have to say so.
 *
 * What can go is an entry that is unpinned and that no present entry is chained to; of it the last block.
 * When a request needs room, all of it is made first, then its missing blocks are inserted.
 */
#ifndef MC_KV_EVICT_H
#define MC_KV_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#define MC_NONE UINT32_MAX

struct mc_future; /* kv/future.h */

/* A stretch of a prompt. */
struct mc_blocks {
	const uint64_t *id; /* n of them, borrowed for the call */
	uint32_t n, first;  /* first: blocks of the prompt before it */
};

/* Those that may be NULL: the policy does not care. */
struct mc_evictor {
	const char *name;
	const char *help;                   /* one line */
	void *(*create)(uint32_t capacity); /* cheap: most of a large pool may never be used */
	void (*destroy)(void *state);
	/* Needs the future: it is told it, borrowed, before the first entry comes. What it decides is a bound
	 * for other policies, not to be had in a real pool. NULL: needs none, as all that can be built. */
	void (*foresee)(void *state, const struct mc_future *future);
	/* How many leading ids of a missing stretch, 1 .. n, are to be one entry: those before the first that
	 * the policy would treat in another way. Changes nothing. NULL: all. */
	uint32_t (*alike)(const void *state, const uint64_t *id, uint32_t n);
	/* A new entry; it is pinned. Of the entries that one request inserts, the last of the prompt comes
	 * first. The index may be a removed one's. */
	void (*insert)(void *state, uint32_t entry, const struct mc_blocks *b);
	void (*pin)(void *state, uint32_t entry); /* pins 0 -> 1: it can't go */
	/* A lease, also one for a fetch, has found the entry present; it is pinned. May be NULL. */
	void (*hit)(void *state, uint32_t entry);
	void (*unpin)(void *state, uint32_t entry); /* pins 1 -> 0: used until now; tails before roots. May be
						       NULL */
	/* Unpinned and nothing is chained to it: from now to its next pin or removal it can go. Comes after
	 * unpin, or when its last child was evicted. May be NULL: for a policy whose order keeps parents
	 * behind their children anyway. */
	void (*ready)(void *state, uint32_t entry);
	/* The last n blocks of an unpinned entry, at most all, go: evicted (id: theirs, in the order of the
	 * prompt), or promised and never came, or given up (id NULL). May be NULL. */
	void (*cut)(void *state, uint32_t entry, const uint64_t *id, uint32_t n);
	void (*remove)(void *state, uint32_t entry); /* nothing is left of it; unpinned before */
	/* The leading n blocks of `rest` are the new entry `lead` from now on: of the same history, and its
	 * parent, so not ready. */
	void (*split)(void *state, uint32_t lead, uint32_t rest, uint32_t n, bool unpinned);
	/* The entry whose last block goes next; MC_NONE, and no change: nothing can go. *most, UINT32_MAX
	 * before, may be lowered to how many of its blocks (>= 1) would go in a row. What it names does go.
	 */
	uint32_t (*victim)(void *state, uint32_t *most);
};

/* Sorted by name, NULL-terminated. */
extern const struct mc_evictor *const mc_evictors[];
extern const char *const mc_evictors_names[];               /* the same, names alone */
const struct mc_evictor *mc_evictor_find(const char *name); /* NULL: unknown */

#endif
