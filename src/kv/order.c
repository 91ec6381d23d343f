#include "kv/order.h"

#include <assert.h>

#include "base/hash.h"

void mc_order_init(struct mc_order *o)
{
	*o = (struct mc_order){.root = MC_NONE};
}

void mc_order_fini(struct mc_order *o)
{
	mc_vec_fini(&o->item);
}

static bool before(const struct mc_item *a, const struct mc_item *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->time != b->time)
		return a->time < b->time;
	return a->first > b->first;
}

static uint64_t priority(uint32_t entry)
{
	return mc_hash_u64(entry); /* a bijection: no two are equal */
}

static struct mc_item *item_new(struct mc_order *o, uint32_t entry)
{
	while (o->item.n <= entry)
		mc_vec_push(&o->item, (struct mc_item){0});
	assert(!o->item.at[entry].in);
	return &o->item.at[entry];
}

struct mc_item *mc_order_insert(struct mc_order *o, uint32_t entry, const struct mc_blocks *b)
{
	struct mc_item *it = item_new(o, entry);

	*it = (struct mc_item){.first = b->first, .n = b->n};
	return it;
}

/* The rest's place in the set does not change: its blocks stand where they stood. */
void mc_order_split(struct mc_order *o, uint32_t lead, uint32_t rest, uint32_t n)
{
	struct mc_item *to = item_new(o, lead), *from = &o->item.at[rest];

	assert(n && n < from->n);
	*to = *from;
	to->n = n;
	to->in = to->ready = false;
	from->first += n;
	from->n -= n;
}

void mc_order_put(struct mc_order *o, uint32_t entry)
{
	struct mc_item *item = o->item.at, *it = &item[entry];
	uint32_t *at = &o->root, *left = &it->left, *right = &it->right, below;

	if (it->in)
		return;
	it->in = true;
	while (*at != MC_NONE && priority(*at) > priority(entry))
		at = before(it, &item[*at]) ? &item[*at].left : &item[*at].right;
	below = *at;
	*at = entry;
	while (below != MC_NONE) { /* parted by the new one */
		if (before(&item[below], it)) {
			*left = below;
			left = &item[below].right;
			below = *left;
		} else {
			*right = below;
			right = &item[below].left;
			below = *right;
		}
	}
	*left = *right = MC_NONE;
}

void mc_order_take(struct mc_order *o, uint32_t entry)
{
	struct mc_item *item = o->item.at, *it = &item[entry];
	uint32_t *at = &o->root, left = it->left, right = it->right;

	if (!it->in)
		return;
	it->in = false;
	while (*at != entry) {
		assert(*at != MC_NONE);
		at = before(it, &item[*at]) ? &item[*at].left : &item[*at].right;
	}
	while (left != MC_NONE && right != MC_NONE) { /* joined without it */
		if (priority(left) > priority(right)) {
			*at = left;
			at = &item[left].right;
			left = *at;
		} else {
			*at = right;
			at = &item[right].left;
			right = *at;
		}
	}
	*at = left != MC_NONE ? left : right;
}

uint32_t mc_order_seek(const struct mc_order *o, uint64_t rank, uint64_t time, uint32_t block)
{
	const struct mc_item place = {.rank = rank, .time = time, .first = block};
	uint32_t best = MC_NONE, at = o->root;

	while (at != MC_NONE) {
		if (before(&o->item.at[at], &place)) {
			at = o->item.at[at].right;
		} else {
			best = at;
			at = o->item.at[at].left;
		}
	}
	return best;
}

uint32_t mc_order_rank(const struct mc_order *o, uint64_t rank)
{
	return mc_order_seek(o, rank, 0, UINT32_MAX);
}

uint32_t mc_order_first(const struct mc_order *o)
{
	return mc_order_rank(o, 0);
}

void *mc_order_create(uint32_t capacity)
{
	struct mc_order *o = mc_xmalloc(sizeof *o);

	(void)capacity;
	mc_order_init(o);
	return o;
}

void mc_order_destroy(void *state)
{
	mc_order_fini(state);
	free(state);
}

void mc_order_on_unpin(void *state, uint32_t entry)
{
	struct mc_order *o = state;

	o->item.at[entry].time = ++o->clock;
}

void mc_order_on_ready(void *state, uint32_t entry)
{
	mc_order_put(state, entry);
}

void mc_order_on_leave(void *state, uint32_t entry)
{
	mc_order_take(state, entry);
}

void mc_order_on_split(void *state, uint32_t lead, uint32_t rest, uint32_t n, bool unpinned)
{
	(void)unpinned;
	mc_order_split(state, lead, rest, n);
}

uint32_t mc_order_victim(void *state, uint32_t *most)
{
	(void)most;
	return mc_order_first(state);
}
