/*
 * Least frequently used: of the blocks that can go, the one with the fewest leases since it came; of those
 * the one that was last unpinned longest ago. Counts are exact, do not age, and end with the block. (A parent
 * has at least the leases of each of its children, and is unpinned after them.)
 */
#include "kv/order.h"

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

const struct mc_evictor mc_evictor_lfu = {
    .name = "lfu",
    .help = "the block with the fewest uses goes first, then the least recently used",
    .create = mc_order_create,
    .destroy = mc_order_destroy,
    .insert = insert,
    .pin = mc_order_on_leave,
    .hit = hit,
    .unpin = mc_order_on_unpin,
    .ready = mc_order_on_ready,
    .remove = mc_order_on_leave,
    .split = mc_order_on_split,
    .victim = mc_order_victim,
};
