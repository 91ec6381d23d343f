/*
 * Belady (IBM Systems Journal, 1966): of the blocks that can go, the one whose next use, in the trace, is
 * farthest; one that is never used again before all others. It needs the future, so it is no policy to build
 * but the bound that no other can pass.
 *
 * Ties: a request uses blocks of one prompt, and of those the latest in it goes first. Of blocks that are
 * never used again it is the one that was last unpinned longest ago.
 *
 * The bound holds for the hit blocks of one pool that all requests of the trace come to, in its order, and
 * with it for every choice of victims that the pool's rules allow (leaves first; a request is looked up
 * whole; its blocks and those of requests not yet ended are pinned; what is missing comes in as far as there
 * is room):
 * - how many blocks have to go is the same whatever was chosen, and so is what is pinned. A prompt that is
 *   longer than the room leaves no choice: all else goes, its beginning comes in;
 * - without the rule for chains the farthest next use is the best choice, by the exchange of one block that
 *   a request needs for one that none needs earlier, as for single pages;
 * - a block's next use is never before its parent's, so with this rule for ties leaves go first by
 *   themselves, and the best choice without the rule for chains is one with it.
 *
 * It is not exact, a good guess only, where that does not hold: in a cluster the next use may be on another
 * node, or be refused; the next use counts from the last request that was decided on. And it is not the
 * most hit tokens to the last one, as the last, partial block of a prompt counts as much as a full one.
 */
#include <assert.h>

#include "kv/future.h"
#include "kv/order.h"

struct belady {
	struct mc_order order; /* first: its functions work on this. Rank: of the last block, farthest first;
				  time: of the last unpinning; uses: a request that names the blocks, or
				  MC_NONE: the trace does not */
	const struct mc_future *future;
};

static void *create(uint32_t capacity)
{
	struct belady *b = mc_xcalloc(1, sizeof *b);

	(void)capacity;
	mc_order_init(&b->order);
	return b;
}

static void foresee(void *state, const struct mc_future *future)
{
	struct belady *b = state;

	b->future = future;
}

/* As the trace names a block with all before it, those it does not name are the last ones. */
static uint32_t alike(const void *state, const uint64_t *id, uint32_t n)
{
	const struct belady *b = state;
	uint32_t lo = 1, hi = n;

	assert(b->future);
	if (mc_future_request(b->future, id[0]) == MC_NONE ||
	    mc_future_request(b->future, id[n - 1]) != MC_NONE)
		return n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (mc_future_request(b->future, id[mid]) == MC_NONE)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void insert(void *state, uint32_t entry, const struct mc_blocks *blocks)
{
	struct belady *b = state;

	mc_order_insert(&b->order, entry, blocks)->uses =
	    mc_future_request(b->future, blocks->id[blocks->n - 1]);
}

/* The request that uses this block of the entry next. */
static uint32_t next_of(const struct belady *b, const struct mc_item *it, uint32_t block)
{
	return it->uses == MC_NONE ? MC_NONE : mc_future_next(b->future, it->uses, it->first + block);
}

static void ready(void *state, uint32_t entry)
{
	struct belady *b = state;
	struct mc_item *it = &b->order.item.at[entry];

	it->rank = UINT32_MAX - next_of(b, it, it->n - 1);
	mc_order_put(&b->order, entry);
}

static void cut(void *state, uint32_t entry, const uint64_t *id, uint32_t n)
{
	struct belady *b = state;
	bool in = b->order.item.at[entry].in;

	(void)id;
	mc_order_take(&b->order, entry);
	b->order.item.at[entry].n -= n;
	if (in && b->order.item.at[entry].n)
		ready(b, entry);
}

/* Uses that have passed: the request went to another pool. */
static void look_again(struct belady *b)
{
	uint64_t passed = UINT64_C(1) + UINT32_MAX - mc_future_come(b->future); /* ranks from here on */
	uint32_t e;

	while ((e = mc_order_rank(&b->order, passed)) != MC_NONE) {
		mc_order_take(&b->order, e);
		ready(b, e);
	}
}

/* All its last blocks that the same request uses next. */
static uint32_t victim(void *state, uint32_t *most)
{
	struct belady *b = state;
	uint32_t e, next, lo = 0, hi;
	const struct mc_item *it;

	look_again(b);
	e = mc_order_first(&b->order);
	if (e == MC_NONE)
		return e;
	it = &b->order.item.at[e];
	hi = it->n - 1;
	next = next_of(b, it, hi);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (next_of(b, it, mid) == next)
			hi = mid;
		else
			lo = mid + 1;
	}
	*most = it->n - lo;
	return e;
}

const struct mc_evictor mc_evictor_belady = {
    .name = "belady",
    .help = "the block whose next use is farthest goes first: the bound of the others",
    .create = create,
    .destroy = mc_order_destroy,
    .foresee = foresee,
    .alike = alike,
    .insert = insert,
    .pin = mc_order_on_leave,
    .unpin = mc_order_on_unpin,
    .ready = ready,
    .cut = cut,
    .remove = mc_order_on_leave,
    .split = mc_order_on_split,
    .victim = victim,
};
