/*
 * Length-aware LFU: of the blocks that can go, the one with the fewest leases since it came; of those the
 * latest in its prompt; of those the one that was last unpinned longest ago.
 *
 * Descriptions of it can be read both ways: that blocks late in a prompt are kept, or that they go first.
 * Here they go first, as in Mooncake's technical report (arXiv 2407.00079, the comparison of cache policies),
 * whose LengthAwareCache is an LFU that evicts blocks that occur later in requests first. It also is what
 * chains ask for: a late block is of use only to prompts that share all before it, and can never outlive
 * those.
 */
#include "kv/order.h"

/* Fewest leases first, then the latest last block. */
static uint64_t rank_of(const struct mc_item *it)
{
	return (uint64_t)it->uses << 32 | (UINT32_MAX - (it->first + it->n));
}

static void insert(void *state, uint32_t entry, const struct mc_blocks *b)
{
	mc_order_insert(state, entry, b)->uses = 1;
}

static void hit(void *state, uint32_t entry)
{
	struct mc_order *o = state;

	o->item.at[entry].uses++;
}

static void ready(void *state, uint32_t entry)
{
	struct mc_order *o = state;

	o->item.at[entry].rank = rank_of(&o->item.at[entry]);
	mc_order_put(o, entry);
}

static void cut(void *state, uint32_t entry, const uint64_t *id, uint32_t n)
{
	struct mc_order *o = state;
	bool in = o->item.at[entry].in;

	(void)id;
	mc_order_take(o, entry);
	o->item.at[entry].n -= n;
	if (in)
		ready(o, entry);
}

/* As long as its last block stays later than that of the next entry with as few uses. */
static uint32_t victim(void *state, uint32_t *most)
{
	const struct mc_order *o = state;
	uint32_t e = mc_order_first(o), next;
	const struct mc_item *a, *b;

	if (e == MC_NONE)
		return e;
	a = &o->item.at[e];
	next = mc_order_seek(o, a->rank, a->time + 1, UINT32_MAX);
	if (next == MC_NONE)
		return e;
	b = &o->item.at[next];
	if (a->uses == b->uses)
		*most = a->first + a->n - (b->first + b->n) + (a->time < b->time);
	return e;
}

const struct mc_evictor mc_evictor_length_aware = {
    .name = "length-aware",
    .help = "the block with the fewest uses goes first, then the latest in its prompt",
    .create = mc_order_create,
    .destroy = mc_order_destroy,
    .insert = insert,
    .pin = mc_order_on_leave,
    .hit = hit,
    .unpin = mc_order_on_unpin,
    .ready = ready,
    .cut = cut,
    .remove = mc_order_on_leave,
    .split = mc_order_on_split,
    .victim = victim,
};
