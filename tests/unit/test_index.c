#include "unit.h"

#include "kv/index.h"
#include "kv_prompts.h"

/* The oracle: all copies in one list, in no order. */
struct copy {
	uint64_t id;
	uint32_t node, entry;
	bool resident;
};

enum { COPIES = 300 };

struct model {
	struct copy at[COPIES];
	uint32_t n;
};

static uint32_t count(const struct model *m, uint64_t id, bool resident)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		n += m->at[i].id == id && (!resident || m->at[i].resident);
	return n;
}

static const struct copy *get(const struct model *m, uint64_t id, uint32_t node)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->at[i].id == id && m->at[i].node == node)
			return &m->at[i];
	return NULL;
}

static void compare(const struct mc_index *ix, const struct model *m)
{
	uint32_t distinct = 0;
	struct mc_err err = {0};

	for (uint32_t i = 0; i < m->n; i++) {
		const struct copy *c = &m->at[i];
		uint32_t slot = mc_index_find(ix, c->id), n;
		const struct mc_holder *h;

		ck_assert_uint_ne(slot, MC_NONE);
		ck_assert_uint_eq(mc_index_id(ix, slot), c->id);
		ck_assert_uint_eq(mc_index_residents(ix, slot), count(m, c->id, true));
		mc_index_holders(ix, slot, &n);
		ck_assert_uint_eq(n, count(m, c->id, false));
		h = mc_index_at(ix, slot, c->node);
		ck_assert(h && h->node == c->node && h->entry == c->entry && h->resident == c->resident);
		ck_assert(get(m, c->id, c->node + 1) || !mc_index_at(ix, slot, c->node + 1));
		for (n = 0; m->at[n].id != c->id; n++)
			;
		distinct += n == i;
	}
	ck_assert_uint_eq(mc_index_size(ix), distinct);
	ck_assert_msg(!mc_index_check(ix, &err), "%s", err.text);
}

/* Adds, removes and promotes one random copy. */
static void step(struct mc_index *ix, struct model *m, struct rng *r, uint32_t ids, uint32_t nodes)
{
	uint32_t what = rng_below(r, 8), i = m->n ? rng_below(r, m->n) : 0;

	if (what < 5 && m->n < COPIES) {
		struct copy c = {
		    .id = rng_below(r, ids), .node = rng_below(r, nodes), .entry = rng_below(r, 1u << 31)};

		c.id = c.id % 3 ? mc_hash_u64(c.id) : c.id; /* sparse and dense ids */
		c.resident = rng_below(r, 2);
		if (get(m, c.id, c.node))
			return;
		mc_index_add(ix, c.id, c.node, c.entry, c.resident);
		m->at[m->n++] = c;
	} else if (m->n && what == 5) {
		mc_index_set_resident(ix, mc_index_find(ix, m->at[i].id), m->at[i].node);
		m->at[i].resident = true;
	} else if (m->n) {
		mc_index_remove(ix, mc_index_find(ix, m->at[i].id), m->at[i].node);
		m->at[i] = m->at[--m->n];
	}
}

/* Many ids on few nodes, few ids on many nodes, and between. */
START_TEST(equals_a_list)
{
	static const uint32_t shape[][2] = {{4000, 2}, {100, 5}, {12, 90}, {2, 1000}};
	const uint32_t *s = shape[_i];
	struct mc_index *ix = mc_index_new();
	struct model m = {.n = 0};
	struct rng r = {.at = 1000 * (uint64_t)_i};

	for (int i = 0; i < 4000; i++) {
		step(ix, &m, &r, s[0], s[1]);
		if (i % 32 == 0)
			compare(ix, &m);
	}
	while (m.n) { /* down to nothing */
		m.n--;
		mc_index_remove(ix, mc_index_find(ix, m.at[m.n].id), m.at[m.n].node);
		if (m.n % 32 == 0)
			compare(ix, &m);
	}
	ck_assert_uint_eq(mc_index_size(ix), 0);
	mc_index_free(ix);
}
END_TEST

START_TEST(holders_are_sorted)
{
	struct mc_index *ix = mc_index_new();
	const struct mc_holder *h;
	uint32_t slot = MC_NONE, n;

	for (uint32_t i = 0; i < 1000; i++)
		slot = mc_index_add(ix, 77, i * 7919 % 1009, i, i % 3 == 0);
	h = mc_index_holders(ix, slot, &n);
	ck_assert_uint_eq(n, 1000);
	for (uint32_t i = 1; i < n; i++)
		ck_assert_uint_lt(h[i - 1].node, h[i].node);
	ck_assert_uint_eq(mc_index_residents(ix, slot), 334);
	mc_index_free(ix);
}
END_TEST

START_TEST(resolve_stops_at_the_first_unknown)
{
	struct mc_index *ix = mc_index_new();
	uint64_t id[64];
	uint32_t slot[64];

	for (uint32_t i = 0; i < 64; i++)
		id[i] = i * UINT64_C(0x100000001);
	ck_assert_uint_eq(mc_index_resolve(ix, id, 64, slot), 0);
	for (uint32_t i = 0; i < 64; i++) {
		mc_index_add(ix, id[i], 3, i, false);
		ck_assert_uint_eq(mc_index_resolve(ix, id, 64, slot), i + 1);
		ck_assert_uint_eq(mc_index_id(ix, slot[i]), id[i]);
	}
	ck_assert_uint_eq(mc_index_resolve(ix, id, 10, slot), 10);
	ck_assert_uint_eq(mc_index_resolve(ix, id, 0, slot), 0);
	mc_index_remove(ix, mc_index_find(ix, id[20]), 3);
	ck_assert_uint_eq(mc_index_resolve(ix, id, 64, slot), 20);
	mc_index_free(ix);
}
END_TEST

/* A trace without end must not make the index grow: slot numbers stay below the copies that are held at once.
 */
START_TEST(slots_are_recycled)
{
	struct mc_index *ix = mc_index_new();

	for (uint64_t i = 0; i < 20000; i++) {
		ck_assert_uint_le(mc_index_add(ix, mc_hash_u64(i), 0, 0, true), 50);
		if (i >= 50)
			mc_index_remove(ix, mc_index_find(ix, mc_hash_u64(i - 50)), 0);
	}
	ck_assert_uint_eq(mc_index_size(ix), 50);
	mc_index_free(ix);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("index");
	TCase *t = tcase_create("index");

	tcase_add_loop_test(t, equals_a_list, 0, 4);
	tcase_add_test(t, holders_are_sorted);
	tcase_add_test(t, resolve_stops_at_the_first_unknown);
	tcase_add_test(t, slots_are_recycled);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
