/* The ordered set of entries, against scans of an array. */
#include "unit.h"

#include <string.h>

#include "kv/order.h"
#include "kv_prompts.h"

enum { ENTRIES = 40, RANKS = 4, TIMES = 5, STEPS = 20000 };

struct thing {
	uint64_t rank, time;
	uint32_t first, n, uses;
	bool known, in;
};

struct model {
	struct thing at[ENTRIES];
	uint32_t next[RANKS]
		     [TIMES]; /* blocks of one rank and time are of one prompt: where its next ones begin */
};

/* Is a before the place, by the words of the header? */
static bool before(const struct thing *a, uint64_t rank, uint64_t time, uint32_t block)
{
	return a->rank < rank ||
	       (a->rank == rank && (a->time < time || (a->time == time && a->first > block)));
}

static uint32_t seek(const struct model *m, uint64_t rank, uint64_t time, uint32_t block)
{
	uint32_t best = MC_NONE;

	for (uint32_t e = 0; e < ENTRIES; e++) {
		const struct thing *a = &m->at[e], *b = best == MC_NONE ? NULL : &m->at[best];

		if (a->in && !before(a, rank, time, block) && (!b || before(a, b->rank, b->time, b->first)))
			best = e;
	}
	return best;
}

static void compare(const struct model *m, const struct mc_order *o, struct rng *r)
{
	uint64_t rank = rng_below(r, RANKS + 1), time = rng_below(r, TIMES + 1);
	uint32_t block = rng_below(r, 5) ? rng_below(r, m->next[0][0] + 2) : UINT32_MAX;

	if (mc_order_first(o) != seek(m, 0, 0, UINT32_MAX))
		ck_assert_uint_eq(mc_order_first(o), seek(m, 0, 0, UINT32_MAX));
	if (mc_order_rank(o, rank) != seek(m, rank, 0, UINT32_MAX))
		ck_assert_uint_eq(mc_order_rank(o, rank), seek(m, rank, 0, UINT32_MAX));
	if (mc_order_seek(o, rank, time, block) != seek(m, rank, time, block))
		ck_assert_uint_eq(mc_order_seek(o, rank, time, block), seek(m, rank, time, block));
	for (uint32_t e = 0; e < ENTRIES; e++) {
		const struct thing *a = &m->at[e];
		const struct mc_item *it = &o->item.at[e];

		if (a->known && (it->rank != a->rank || it->time != a->time || it->first != a->first ||
				 it->n != a->n || it->uses != a->uses || it->in != a->in))
			ck_abort_msg("item %u is not what it was", e);
	}
}

static void insert(struct model *m, struct mc_order *o, uint32_t e, struct rng *r)
{
	struct thing *a = &m->at[e];
	uint32_t rank = rng_below(r, RANKS), time = rng_below(r, TIMES), n = 1 + rng_below(r, 6);
	struct mc_blocks b = {.n = n, .first = m->next[rank][time]};
	struct mc_item *it = mc_order_insert(o, e, &b);

	ck_assert(!it->rank && !it->time && !it->uses && !it->ready && !it->in);
	m->next[rank][time] += n;
	*a = (struct thing){rank, time, b.first, n, rng_below(r, 9), true, false};
	it->rank = rank;
	it->time = time;
	it->uses = a->uses;
	it->ready = rng_below(r, 2);
}

/* Lead is any entry that is not in the set. */
static void split(struct model *m, struct mc_order *o, uint32_t rest, struct rng *r)
{
	uint32_t lead = rng_below(r, ENTRIES), n;

	if (m->at[rest].n < 2 || lead == rest || m->at[lead].in)
		return;
	n = 1 + rng_below(r, m->at[rest].n - 1);
	mc_order_split(o, lead, rest, n);
	ck_assert(!o->item.at[lead].ready);
	m->at[lead] = m->at[rest];
	m->at[lead].in = false;
	m->at[lead].n = n;
	m->at[rest].first += n;
	m->at[rest].n -= n;
}

START_TEST(equals_scans)
{
	struct rng r = {.at = (uint64_t)_i << 32};
	struct model m = {0};
	struct mc_order o;
	uint32_t most = 0;

	mc_order_init(&o);
	ck_assert_uint_eq(mc_order_first(&o), MC_NONE);
	for (uint32_t e = 0; e < ENTRIES; e++)
		insert(&m, &o, e, &r);
	for (int step = 0; step < STEPS; step++) {
		uint32_t e = rng_below(&r, ENTRIES), in = 0;

		switch (rng_below(&r, 6)) {
		case 0:
			if (!m.at[e].in)
				insert(&m, &o, e, &r);
			break;
		case 1:
			split(&m, &o, e, &r);
			break;
		case 2:
			mc_order_take(&o, e); /* also when it is not there */
			m.at[e].in = false;
			break;
		default:
			mc_order_put(&o, e); /* also when it is */
			m.at[e].in = true;
		}
		for (uint32_t k = 0; k < ENTRIES; k++)
			in += m.at[k].in;
		most = in > most ? in : most;
		compare(&m, &o, &r);
	}
	ck_assert_uint_gt(most, ENTRIES / 2);
	for (uint32_t left = ENTRIES; left; left--) { /* one after the other, in order */
		uint32_t e = mc_order_first(&o);

		if (e == MC_NONE)
			break;
		ck_assert_uint_eq(e, seek(&m, 0, 0, UINT32_MAX));
		mc_order_take(&o, e);
		m.at[e].in = false;
	}
	ck_assert_uint_eq(mc_order_first(&o), MC_NONE);
	mc_order_fini(&o);
}
END_TEST

/* The functions for policies that are an order alone. */
START_TEST(a_policy_that_is_an_order)
{
	struct mc_order *o = mc_order_create(8);
	uint32_t most = UINT32_MAX;

	ck_assert_uint_eq(mc_order_victim(o, &most), MC_NONE);
	for (uint32_t e = 0; e < 3; e++)
		mc_order_insert(o, e, &(struct mc_blocks){.n = 4});
	mc_order_on_unpin(o, 2);
	mc_order_on_ready(o, 2);
	mc_order_on_unpin(o, 0);
	mc_order_on_ready(o, 0);
	mc_order_on_unpin(o, 1); /* has children: not ready */
	ck_assert(o->item.at[2].time < o->item.at[0].time && o->item.at[0].time < o->item.at[1].time);
	ck_assert_uint_eq(mc_order_victim(o, &most), 2);
	mc_order_on_split(o, 7, 2, 1, true);
	ck_assert_uint_eq(mc_order_victim(o, &most), 2);
	mc_order_on_leave(o, 2);
	ck_assert_uint_eq(mc_order_victim(o, &most), 0);
	mc_order_on_ready(o, 7); /* as old as what it was split from */
	ck_assert_uint_eq(mc_order_victim(o, &most), 7);
	ck_assert_uint_eq(most, UINT32_MAX);
	mc_order_destroy(o);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("order");
	TCase *t = tcase_create("order");

	tcase_add_loop_test(t, equals_scans, 0, 8);
	tcase_add_test(t, a_policy_that_is_an_order);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
