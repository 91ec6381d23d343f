#include "sched/rank.h"

#include <stdlib.h>

#include "base/vec.h"

#define ARITY 4

void mc_rank_init(struct mc_rank *r, uint32_t n)
{
	r->n = n;
	r->key = mc_xcalloc(n, sizeof *r->key);
	r->heap = mc_xcalloc(n, sizeof *r->heap);
	r->at = mc_xcalloc(n, sizeof *r->at);
	r->border = mc_xcalloc(n, sizeof *r->border);
	for (uint32_t i = 0; i < n; i++)
		r->heap[i] = r->at[i] = i;
}

void mc_rank_fini(struct mc_rank *r)
{
	free(r->key);
	free(r->heap);
	free(r->at);
	free(r->border);
}

static void put(struct mc_rank *r, uint32_t at, uint32_t i)
{
	r->heap[at] = i;
	r->at[i] = at;
}

void mc_rank_set(struct mc_rank *r, uint32_t i, int64_t key)
{
	uint32_t at = r->at[i], child;

	r->key[i] = key;
	for (; at > 0 && mc_rank_before(r, i, r->heap[(at - 1) / ARITY]); at = (at - 1) / ARITY)
		put(r, at, r->heap[(at - 1) / ARITY]);
	while ((child = at * ARITY + 1) < r->n) {
		uint32_t end = child + ARITY < r->n ? child + ARITY : r->n, least = child;

		while (++child < end)
			if (mc_rank_before(r, r->heap[child], r->heap[least]))
				least = child;
		if (mc_rank_before(r, i, r->heap[least]))
			break;
		put(r, at, r->heap[least]);
		at = least;
	}
	put(r, at, i);
}

void mc_rank_walk(struct mc_rank_walk *w, const struct mc_rank *r)
{
	w->rank = r;
	w->n = r->n ? 1 : 0;
	if (r->n)
		r->border[0] = 0;
}

static bool border_before(const struct mc_rank *r, uint32_t a, uint32_t b)
{
	return mc_rank_before(r, r->heap[a], r->heap[b]);
}

static void border_push(struct mc_rank_walk *w, uint32_t position)
{
	const struct mc_rank *r = w->rank;
	uint32_t at = w->n++;

	for (; at > 0 && border_before(r, position, r->border[(at - 1) / 2]); at = (at - 1) / 2)
		r->border[at] = r->border[(at - 1) / 2];
	r->border[at] = position;
}

static uint32_t border_pop(struct mc_rank_walk *w)
{
	const struct mc_rank *r = w->rank;
	uint32_t top = r->border[0], last = r->border[--w->n], at = 0, child;

	while ((child = 2 * at + 1) < w->n) {
		if (child + 1 < w->n && border_before(r, r->border[child + 1], r->border[child]))
			child++;
		if (!border_before(r, r->border[child], last))
			break;
		r->border[at] = r->border[child];
		at = child;
	}
	if (w->n)
		r->border[at] = last;
	return top;
}

bool mc_rank_next(struct mc_rank_walk *w, uint32_t *i)
{
	uint32_t at;

	if (!w->n)
		return false;
	at = border_pop(w);
	*i = w->rank->heap[at];
	for (uint32_t child = at * ARITY + 1; child <= at * ARITY + ARITY && child < w->rank->n; child++)
		border_push(w, child);
	return true;
}
