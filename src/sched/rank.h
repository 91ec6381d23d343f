/*
 * Instances ordered by a key, ties by their number: an indexed 4-ary heap, and a walk through it in ascending
 * order that costs O(k log k) for the first k. What a scheduler needs of a thousand nodes is the few that are
 * free first.
 */
#ifndef MC_SCHED_RANK_H
#define MC_SCHED_RANK_H

#include <stdbool.h>
#include <stdint.h>

struct mc_rank {
	uint32_t n;
	int64_t *key;     /* by instance */
	uint32_t *heap;   /* instances */
	uint32_t *at;     /* position in heap, by instance */
	uint32_t *border; /* scratch of a walk: heap positions whose parents were visited, itself a heap */
};

/* One at a time on a rank; ends when the rank changes. */
struct mc_rank_walk {
	const struct mc_rank *rank;
	uint32_t n;
};

/* n instances with key 0. */
void mc_rank_init(struct mc_rank *r, uint32_t n);
void mc_rank_fini(struct mc_rank *r);
void mc_rank_set(struct mc_rank *r, uint32_t i, int64_t key);

static inline bool mc_rank_before(const struct mc_rank *r, uint32_t a, uint32_t b)
{
	return r->key[a] < r->key[b] || (r->key[a] == r->key[b] && a < b);
}

static inline uint32_t mc_rank_first(const struct mc_rank *r)
{
	return r->heap[0];
}

void mc_rank_walk(struct mc_rank_walk *w, const struct mc_rank *r);
/* The next instance in ascending order; false when all were visited. */
bool mc_rank_next(struct mc_rank_walk *w, uint32_t *i);

#endif
