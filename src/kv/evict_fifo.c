/*
 * First in, first out: of the blocks that can go, the one that came first; a hit changes nothing. A parent
 * came before its children and goes after them all the same, as soon as the last of them is gone.
 */
#include "kv/order.h"

static void insert(void *state, uint32_t entry, const struct mc_blocks *b)
{
	struct mc_order *o = state;

	mc_order_insert(o, entry, b)->time = ++o->clock;
}

const struct mc_evictor mc_evictor_fifo = {
    .name = "fifo",
    .help = "the block that came first goes first, whatever its hits",
    .create = mc_order_create,
    .destroy = mc_order_destroy,
    .insert = insert,
    .pin = mc_order_on_leave,
    .ready = mc_order_on_ready,
    .remove = mc_order_on_leave,
    .split = mc_order_on_split,
    .victim = mc_order_victim,
};
