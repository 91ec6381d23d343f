/*
 * SIEVE (Zhang et al., NSDI 2024): blocks stand in the order in which they came, and stay there; a hit marks
 * them. A hand goes from the oldest to the newest, then begins anew: it takes a block's mark, or evicts the
 * block if it has none, and waits behind it.
 *
 * Here: of what one request brings, the last block of the prompt stands first, so that the hand meets tails
 * before roots. The hand takes marks of all blocks that it passes, and passes those that cannot go. It begins
 * anew when nothing is left before it, or when a block comes while it stands behind all that ever came (else
 * it would follow the newcomers for good). When nothing can go it does not move.
 */
#include "kv/order.h"

struct sieve {
	struct mc_order order; /* by time of coming; in the set: marked (uses) or ready */
	uint64_t hand;         /* the next block to look at: of this time, and not later in its prompt */
	uint32_t hand_block;
	uint32_t newest_first; /* of the last entry that came, when it came */
	uint32_t ready;        /* entries */
};

static void *create(uint32_t capacity)
{
	struct sieve *s = mc_xcalloc(1, sizeof *s);

	(void)capacity;
	mc_order_init(&s->order);
	s->hand_block = UINT32_MAX;
	return s;
}

static void destroy(void *state)
{
	struct sieve *s = state;

	mc_order_fini(&s->order);
	free(s);
}

static void begin(struct sieve *s)
{
	s->hand = 0;
	s->hand_block = UINT32_MAX;
}

/* The hand goes on behind this block of its entry's prompt, towards the root. */
static void pass(struct sieve *s, const struct mc_item *it, uint32_t block)
{
	s->hand = it->time + !block;
	s->hand_block = block - 1; /* 0: the greatest, before all of the next time */
}

static void insert(void *state, uint32_t entry, const struct mc_blocks *b)
{
	struct sieve *s = state;
	struct mc_order *o = &s->order;

	if (s->hand > o->clock || (s->hand == o->clock && s->hand_block < s->newest_first))
		begin(s);
	mc_order_insert(o, entry, b)->time = ++o->clock;
	s->newest_first = b->first;
}

static void settle(struct sieve *s, uint32_t entry)
{
	const struct mc_item *it = &s->order.item.at[entry];

	if (it->ready || it->uses)
		mc_order_put(&s->order, entry);
	else
		mc_order_take(&s->order, entry);
}

static void set_ready(struct sieve *s, uint32_t entry, bool ready)
{
	struct mc_item *it = &s->order.item.at[entry];

	s->ready += ready - it->ready;
	it->ready = ready;
	settle(s, entry);
}

static void pin(void *state, uint32_t entry)
{
	set_ready(state, entry, false);
}

static void hit(void *state, uint32_t entry)
{
	struct sieve *s = state;

	s->order.item.at[entry].uses = 1;
	settle(s, entry);
}

static void ready(void *state, uint32_t entry)
{
	set_ready(state, entry, true);
}

static void cut(void *state, uint32_t entry, const uint64_t *id, uint32_t n)
{
	struct sieve *s = state;
	struct mc_item *it = &s->order.item.at[entry];

	it->n -= n;
	if (id)
		pass(s, it, it->first + it->n);
}

static void leave(void *state, uint32_t entry)
{
	struct sieve *s = state;

	s->order.item.at[entry].uses = 0;
	set_ready(s, entry, false);
}

static void split(void *state, uint32_t lead, uint32_t rest, uint32_t n, bool unpinned)
{
	struct sieve *s = state;

	(void)unpinned;
	mc_order_split(&s->order, lead, rest, n);
	settle(s, lead);
}

static uint32_t victim(void *state, uint32_t *most)
{
	struct sieve *s = state;

	(void)most;
	while (s->ready) {
		uint32_t e = mc_order_seek(&s->order, 0, s->hand, s->hand_block);
		struct mc_item *it;

		if (e == MC_NONE) {
			begin(s);
			continue;
		}
		it = &s->order.item.at[e];
		if (!it->uses)
			return e;
		it->uses = 0;
		settle(s, e);
		pass(s, it, it->first);
	}
	return MC_NONE;
}

const struct mc_evictor mc_evictor_sieve = {
    .name = "sieve",
    .help = "a hand goes round in the order of coming: hit since it last passed, or out",
    .create = create,
    .destroy = destroy,
    .insert = insert,
    .pin = pin,
    .hit = hit,
    .ready = ready,
    .cut = cut,
    .remove = leave,
    .split = split,
    .victim = victim,
};
