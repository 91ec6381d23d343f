/*
 * S3-FIFO (Yang et al., SOSP 2023): a new block goes to a small queue, first in first out, or to the main one
 * if the ghost queue has its id. A block counts its hits, up to 3. The small queue, while it has its share of
 * a tenth of the pool, is the one to evict from: its first block moves to the main queue if it had two hits
 * or more, its count cleared, else it is evicted and remembered in the ghost queue. In the main queue the
 * first block goes to the end with one hit less, or out if it has none. The ghost queue has as many ids as
 * the main one has blocks at most.
 *
 * Here: of what one request brings, the last block of the prompt stands first. Blocks that cannot go are
 * moved as any other, and passed where they would be evicted. If none in the main queue can go, or none in
 * the small one after its moves, the turn is the other's. When nothing can go nothing moves.
 */
#include "kv/ghost.h"
#include "kv/order.h"

enum { SMALL, MAIN, QUEUES };                          /* rank; time: when it came to its place */
enum { MOST_HITS = 3, HITS_SMALL = 2, HITS_MAIN = 1 }; /* hits that save a block from eviction */

struct s3fifo {
	struct mc_order order; /* in the set: saved by its hits, or ready */
	struct mc_ghost ghost;
	uint32_t blocks[QUEUES], ready[QUEUES]; /* ready: entries */
	uint32_t share;                         /* of the small queue, blocks */
};

static void *create(uint32_t capacity)
{
	struct s3fifo *s = mc_xcalloc(1, sizeof *s);

	mc_order_init(&s->order);
	s->share = capacity > 10 ? capacity / 10 : 1;
	mc_ghost_init(&s->ghost, capacity > s->share ? capacity - s->share : 1);
	return s;
}

static void destroy(void *state)
{
	struct s3fifo *s = state;

	mc_order_fini(&s->order);
	mc_ghost_fini(&s->ghost);
	free(s);
}

static uint32_t alike(const void *state, const uint64_t *id, uint32_t n)
{
	const struct s3fifo *s = state;

	return mc_ghost_alike(&s->ghost, id, n);
}

static void insert(void *state, uint32_t entry, const struct mc_blocks *b)
{
	struct s3fifo *s = state;
	struct mc_item *it = mc_order_insert(&s->order, entry, b);

	it->rank = mc_ghost_has(&s->ghost, b->id[0]) ? MAIN : SMALL;
	it->time = ++s->order.clock;
	s->blocks[it->rank] += b->n;
	if (it->rank == MAIN)
		mc_ghost_drop(&s->ghost, b->id, b->n);
}

static bool saved(const struct mc_item *it)
{
	return it->uses >= (it->rank == SMALL ? HITS_SMALL : HITS_MAIN);
}

static void settle(struct s3fifo *s, uint32_t entry)
{
	if (s->order.item.at[entry].ready || saved(&s->order.item.at[entry]))
		mc_order_put(&s->order, entry);
	else
		mc_order_take(&s->order, entry);
}

static void set_ready(struct s3fifo *s, uint32_t entry, bool ready)
{
	struct mc_item *it = &s->order.item.at[entry];

	s->ready[it->rank] += ready - it->ready;
	it->ready = ready;
	settle(s, entry);
}

static void pin(void *state, uint32_t entry)
{
	set_ready(state, entry, false);
}

static void hit(void *state, uint32_t entry)
{
	struct s3fifo *s = state;
	struct mc_item *it = &s->order.item.at[entry];

	it->uses += it->uses < MOST_HITS;
	settle(s, entry);
}

static void ready(void *state, uint32_t entry)
{
	set_ready(state, entry, true);
}

static void cut(void *state, uint32_t entry, const uint64_t *id, uint32_t n)
{
	struct s3fifo *s = state;
	struct mc_item *it = &s->order.item.at[entry];

	it->n -= n;
	s->blocks[it->rank] -= n;
	if (id && it->rank == SMALL)
		mc_ghost_push(&s->ghost, id, n);
}

static void leave(void *state, uint32_t entry)
{
	struct s3fifo *s = state;

	s->order.item.at[entry].uses = 0;
	set_ready(s, entry, false);
}

static void split(void *state, uint32_t lead, uint32_t rest, uint32_t n, bool unpinned)
{
	struct s3fifo *s = state;

	(void)unpinned;
	mc_order_split(&s->order, lead, rest, n);
	settle(s, lead);
}

/* To the end of the main queue. */
static void move(struct s3fifo *s, uint32_t entry, uint32_t uses)
{
	struct mc_item *it = &s->order.item.at[entry];

	mc_order_take(&s->order, entry);
	s->ready[it->rank] -= it->ready;
	s->blocks[it->rank] -= it->n;
	it->rank = MAIN;
	it->time = ++s->order.clock;
	it->uses = uses;
	s->ready[MAIN] += it->ready;
	s->blocks[MAIN] += it->n;
	settle(s, entry);
}

static uint32_t victim_small(struct s3fifo *s)
{
	uint32_t e;

	while ((e = mc_order_first(&s->order)) != MC_NONE && s->order.item.at[e].rank == SMALL) {
		if (!saved(&s->order.item.at[e]))
			return e;
		move(s, e, 0);
	}
	return MC_NONE;
}

/* Something there can go. */
static uint32_t victim_main(struct s3fifo *s)
{
	for (;;) {
		uint32_t e = mc_order_rank(&s->order, MAIN);

		if (!saved(&s->order.item.at[e]))
			return e;
		move(s, e, s->order.item.at[e].uses - 1);
	}
}

static uint32_t victim(void *state, uint32_t *most)
{
	struct s3fifo *s = state;

	if (!s->ready[SMALL] && !s->ready[MAIN])
		return MC_NONE;
	if (s->blocks[SMALL] >= s->share || !s->ready[MAIN]) {
		uint32_t e = victim_small(s);

		/* Its moves may have left the small queue with less than its share. */
		if (e != MC_NONE && s->ready[MAIN])
			*most = s->blocks[SMALL] > s->share ? s->blocks[SMALL] - s->share + 1 : 1;
		if (e != MC_NONE)
			return e;
	}
	return victim_main(s);
}

const struct mc_evictor mc_evictor_s3fifo = {
    .name = "s3fifo",
    .help = "new blocks pass a small FIFO; those with hits there or that come back are kept in a main one",
    .create = create,
    .destroy = destroy,
    .alike = alike,
    .insert = insert,
    .pin = pin,
    .hit = hit,
    .ready = ready,
    .cut = cut,
    .remove = leave,
    .split = split,
    .victim = victim,
};
