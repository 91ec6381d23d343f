/*
 * 2Q (Johnson and Shasha, VLDB 1994, the full version): a new block goes to A1in, first in first out, and
 * its hits there count for nothing. A1out remembers the ids of the last blocks evicted from A1in. A block
 * that comes while A1out has its id goes to Am, least recently used. The victim is from A1in while that has
 * more than its share, else from Am. A1in's share is a quarter of the pool, A1out as many ids as half the
 * pool has blocks.
 *
 * Here: the victim is the first of a queue that can go, and if none of the queue whose turn it is can, of the
 * other. Use in Am is judged by the last unpinning. A1in loses what it evicts to A1out, whyever it did.
 */
#include "kv/ghost.h"
#include "kv/order.h"

enum { IN, MAIN }; /* rank; time: of coming, of the last unpinning */

struct twoq {
	struct mc_order order; /* in the set: ready */
	struct mc_ghost out;
	uint32_t in, share; /* blocks in A1in */
};

static void *create(uint32_t capacity)
{
	struct twoq *q = mc_xcalloc(1, sizeof *q);

	mc_order_init(&q->order);
	mc_ghost_init(&q->out, capacity > 2 ? capacity / 2 : 1);
	q->share = capacity > 4 ? capacity / 4 : 1;
	return q;
}

static void destroy(void *state)
{
	struct twoq *q = state;

	mc_order_fini(&q->order);
	mc_ghost_fini(&q->out);
	free(q);
}

static uint32_t alike(const void *state, const uint64_t *id, uint32_t n)
{
	const struct twoq *q = state;

	return mc_ghost_alike(&q->out, id, n);
}

static void insert(void *state, uint32_t entry, const struct mc_blocks *b)
{
	struct twoq *q = state;
	struct mc_item *it = mc_order_insert(&q->order, entry, b);

	it->rank = mc_ghost_has(&q->out, b->id[0]) ? MAIN : IN;
	it->time = ++q->order.clock;
	if (it->rank == IN)
		q->in += b->n;
	else
		mc_ghost_drop(&q->out, b->id, b->n);
}

static void take(void *state, uint32_t entry)
{
	struct twoq *q = state;

	mc_order_take(&q->order, entry);
}

static void unpin(void *state, uint32_t entry)
{
	struct twoq *q = state;

	if (q->order.item.at[entry].rank == MAIN)
		q->order.item.at[entry].time = ++q->order.clock;
}

static void ready(void *state, uint32_t entry)
{
	struct twoq *q = state;

	mc_order_put(&q->order, entry);
}

static void cut(void *state, uint32_t entry, const uint64_t *id, uint32_t n)
{
	struct twoq *q = state;
	struct mc_item *it = &q->order.item.at[entry];

	it->n -= n;
	if (it->rank != IN)
		return;
	q->in -= n;
	if (id)
		mc_ghost_push(&q->out, id, n);
}

static void split(void *state, uint32_t lead, uint32_t rest, uint32_t n, bool unpinned)
{
	struct twoq *q = state;

	(void)unpinned;
	mc_order_split(&q->order, lead, rest, n);
}

static uint32_t victim(void *state, uint32_t *most)
{
	struct twoq *q = state;
	uint32_t in = mc_order_first(&q->order), main = mc_order_rank(&q->order, MAIN);

	if (in == main || (main != MC_NONE && q->in <= q->share))
		return main;
	if (main != MC_NONE)
		*most = q->in - q->share;
	return in;
}

const struct mc_evictor mc_evictor_2q = {
    .name = "2q",
    .help = "new blocks pass a FIFO; those that come back soon after are kept in an LRU",
    .create = create,
    .destroy = destroy,
    .alike = alike,
    .insert = insert,
    .pin = take,
    .unpin = unpin,
    .ready = ready,
    .cut = cut,
    .remove = take,
    .split = split,
    .victim = victim,
};
