/*
 * Least frequently used: of the blocks that can go, the one with the fewest leases since it came; of those
 * the one that was last unpinned longest ago. Counts are exact, do not age, and end with the block. (A parent
 * has at least the leases of each of its children, and is unpinned after them.)
 */
#include "kv/order.h"

static void *create(uint32_t capacity)
{
	struct mc_order *o = mc_xmalloc(sizeof *o);

	(void)capacity;
	mc_order_init(o);
	return o;
}

static void destroy(void *state)
{
	mc_order_fini(state);
	free(state);
}

/* Rank: leases. Time: last unpinned. */
static void insert(void *state, uint32_t entry, const struct mc_blocks *b)
{
	mc_order_insert(state, entry, b)->rank = 1;
}

static void hit(void *state, uint32_t entry)
{
	struct mc_order *o = state;

	o->item.at[entry].rank++;
}

static void unpin(void *state, uint32_t entry)
{
	struct mc_order *o = state;

	o->item.at[entry].time = ++o->clock;
}

static void take(void *state, uint32_t entry)
{
	mc_order_take(state, entry);
}

static void put(void *state, uint32_t entry)
{
	mc_order_put(state, entry);
}

static void split(void *state, uint32_t lead, uint32_t rest, uint32_t n, bool unpinned)
{
	(void)unpinned;
	mc_order_split(state, lead, rest, n);
}

static uint32_t victim(void *state, uint32_t *most)
{
	(void)most;
	return mc_order_first(state);
}

const struct mc_evictor mc_evictor_lfu = {
    .name = "lfu",
    .help = "the block with the fewest uses goes first, then the least recently used",
    .create = create,
    .destroy = destroy,
    .insert = insert,
    .pin = take,
    .hit = hit,
    .unpin = unpin,
    .ready = put,
    .remove = take,
    .split = split,
    .victim = victim,
};
