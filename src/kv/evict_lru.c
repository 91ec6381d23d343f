/*
 * Least recently used, by the moment of the last unpinning. Unpinned entries are in a list, least recent
 * first; a pin takes an entry out, an unpin appends it.
 *
 * Why the first of the list never has a child: let C be chained to P, both present. Each lease on C is a
 * lease on P as well, so a pinned C has a pinned P, which is not listed. If both are listed, the last lease
 * on C unpinned P after C (tails come first), and any later lease on P alone only moved P further back: P
 * stands behind C. So the first entry's children would have to stand before it, and nothing does. Roots
 * outlive their leaves without a rule for it.
 */
#include "kv/evict.h"

#include "base/vec.h"

struct link {
	uint32_t prev, next;
};

struct lru {
	struct {
		MC_VEC(struct link)
	} link; /* by entry; grows with the entries in use, not with the capacity */
	uint32_t first, last;
};

static void *create(uint32_t capacity)
{
	struct lru *l = mc_xcalloc(1, sizeof *l);

	(void)capacity;
	l->first = l->last = MC_NONE;
	return l;
}

static void destroy(void *state)
{
	struct lru *l = state;

	mc_vec_fini(&l->link);
	free(l);
}

static void insert(void *state, uint32_t entry, const struct mc_blocks *b)
{
	struct lru *l = state;

	(void)b;
	mc_vec_reserve(&l->link, (size_t)entry + 1);
}

static void leave(void *state, uint32_t entry)
{
	struct lru *l = state;
	struct link k = l->link.at[entry];

	*(k.prev == MC_NONE ? &l->first : &l->link.at[k.prev].next) = k.next;
	*(k.next == MC_NONE ? &l->last : &l->link.at[k.next].prev) = k.prev;
}

static void append(void *state, uint32_t entry)
{
	struct lru *l = state;

	l->link.at[entry] = (struct link){.prev = l->last, .next = MC_NONE};
	*(l->last == MC_NONE ? &l->first : &l->link.at[l->last].next) = entry;
	l->last = entry;
}

/* Right behind it: used as recently, and as a parent longer to stay. */
static void split(void *state, uint32_t lead, uint32_t rest, uint32_t n, bool unpinned)
{
	struct lru *l = state;
	uint32_t next;

	(void)n;
	insert(state, lead, NULL);
	if (!unpinned)
		return;
	next = l->link.at[rest].next;
	l->link.at[lead] = (struct link){.prev = rest, .next = next};
	l->link.at[rest].next = lead;
	*(next == MC_NONE ? &l->last : &l->link.at[next].prev) = lead;
}

static uint32_t victim(void *state, uint32_t *most)
{
	const struct lru *l = state;

	(void)most;
	return l->first;
}

const struct mc_evictor mc_evictor_lru = {
    .name = "lru",
    .help = "the least recently used block goes first, leaves before their roots",
    .create = create,
    .destroy = destroy,
    .insert = insert,
    .pin = leave,
    .unpin = append,
    .remove = leave,
    .split = split,
    .victim = victim,
};
