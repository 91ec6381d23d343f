/*
 * First in, first out: of the blocks that can go, the one that came first; a hit changes nothing. A parent
 * came before its children and goes after them all the same, as soon as the last of them is gone.
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

static void insert(void *state, uint32_t entry, const struct mc_blocks *b)
{
	struct mc_order *o = state;

	mc_order_insert(o, entry, b)->time = ++o->clock;
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

const struct mc_evictor mc_evictor_fifo = {
    .name = "fifo",
    .help = "the block that came first goes first, whatever its hits",
    .create = create,
    .destroy = destroy,
    .insert = insert,
    .pin = take,
    .ready = put,
    .remove = take,
    .split = split,
    .victim = victim,
};
