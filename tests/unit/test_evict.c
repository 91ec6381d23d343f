#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "kv/evict.h"
#include "kv/future.h"
#include "kv/pool.h"
#include "kv_prompts.h"

enum { PROMPTS = 600 };

START_TEST(registry_is_sorted)
{
	for (int i = 0; mc_evictors[i]; i++) {
		ck_assert(mc_evictors[i]->name && *mc_evictors[i]->name);
		ck_assert(mc_evictors[i]->help && !strchr(mc_evictors[i]->help, '\n'));
		ck_assert(!i || strcmp(mc_evictors[i - 1]->name, mc_evictors[i]->name) < 0);
		ck_assert_ptr_eq(mc_evictor_find(mc_evictors[i]->name), mc_evictors[i]);
	}
	ck_assert_ptr_nonnull(mc_evictors[0]);
	ck_assert_ptr_null(mc_evictor_find("no-such-policy"));
	ck_assert_ptr_null(mc_evictor_find(""));
}
END_TEST

/* Prompts at random; in the end a chain that nothing shares, as long as the pool. */
static void random_prompts(struct mc_trace *t, uint32_t capacity, uint64_t seed)
{
	struct rng r = {.at = seed + 2000000};
	uint64_t id[24];

	mc_trace_init(t, 1);
	for (int i = 0; i < PROMPTS; i++) {
		uint32_t n = prompt(&r, 24, id);

		mc_trace_push(t, i, n, 0, id);
	}
	for (uint32_t i = 0; i < capacity; i++)
		id[i] = mc_hash_u64(seed + 1000000 + i);
	mc_trace_push(t, PROMPTS, capacity, 0, id);
}

/* Every policy, at random: the pool asserts that victims are unpinned leaves, and the check finds the rest.
 */
static void random_leases(const struct mc_evictor *ev, uint32_t capacity, uint64_t seed)
{
	struct mc_tree *tree = mc_tree_new();
	struct mc_pool *pool = mc_pool_new(tree, 0, capacity, ev);
	struct mc_lease lease[4] = {
	    {.tail = MC_NONE}, {.tail = MC_NONE}, {.tail = MC_NONE}, {.tail = MC_NONE}};
	struct rng r = {.at = seed};
	struct mc_err err = {0};
	struct mc_trace t;
	struct mc_future *future;

	random_prompts(&t, capacity, seed);
	future = mc_future_new(&t);
	mc_pool_foresee(pool, future);
	for (int i = 0; i < PROMPTS; i++) {
		struct mc_lease *l = &lease[rng_below(&r, 4)];
		uint32_t n = t.input[i];

		if (rng_below(&r, 8)) /* it may also have come late */
			mc_future_advance(future, i);
		if (l->held) {
			if (rng_below(&r, 8))
				mc_pool_commit(pool, l, 0, l->held);
			mc_pool_release(pool, l);
		} else {
			*l = mc_pool_acquire(pool, t.block + t.first[i], n);
			/* Short only if nothing could go: all that is here is pinned. */
			ck_assert(l->held == n || mc_pool_stats(pool).pinned == capacity);
		}
		ck_assert_msg(!mc_pool_check(pool, &err), "%s: %s", ev->name, err.text);
	}
	for (int k = 0; k < 4; k++)
		mc_pool_release(pool, &lease[k]);
	*lease = mc_pool_acquire(pool, t.block + t.first[PROMPTS], capacity); /* pushes all else out */
	ck_assert_uint_eq(lease->held, capacity);
	ck_assert_uint_eq(mc_tree_blocks(tree), capacity);
	ck_assert_uint_eq(mc_tree_runs(tree), 1);
	mc_pool_free(pool);
	mc_tree_free(tree);
	mc_future_free(future);
	mc_trace_fini(&t);
}

START_TEST(never_a_pinned_or_chained_victim)
{
	for (int i = 0; mc_evictors[i]; i++)
		for (uint32_t capacity = 1; capacity <= 24; capacity++)
			random_leases(mc_evictors[i], capacity, (uint64_t)capacity << 20);
}
END_TEST

static uint32_t victim(const struct mc_evictor *ev, void *state)
{
	uint32_t most = UINT32_MAX, e = ev->victim(state, &most);

	ck_assert_uint_eq(most, UINT32_MAX);
	return e;
}

START_TEST(lru_order)
{
	const struct mc_evictor *ev = mc_evictor_find("lru");
	void *s = ev->create(8);

	ck_assert_uint_eq(victim(ev, s), MC_NONE);
	for (uint32_t e = 0; e < 4; e++)
		ev->insert(s, e, NULL);
	ck_assert_uint_eq(victim(ev, s), MC_NONE);
	ev->unpin(s, 3);
	ev->unpin(s, 2);
	ev->unpin(s, 0);
	ck_assert_uint_eq(victim(ev, s), 3);
	ck_assert_uint_eq(victim(ev, s), 3);
	ev->pin(s, 3);
	ck_assert_uint_eq(victim(ev, s), 2);
	ev->unpin(s, 3); /* used again: now last */
	ev->unpin(s, 1);
	ev->remove(s, 0);
	ev->insert(s, 0, NULL); /* the index is used anew, pinned */
	ck_assert_uint_eq(victim(ev, s), 2);
	ev->remove(s, 2);
	ck_assert_uint_eq(victim(ev, s), 3);
	ev->remove(s, 3);
	ck_assert_uint_eq(victim(ev, s), 1);
	ev->remove(s, 1);
	ck_assert_uint_eq(victim(ev, s), MC_NONE);
	ev->unpin(s, 0);
	ck_assert_uint_eq(victim(ev, s), 0);
	ev->insert(s, 1, NULL);
	ev->unpin(s, 1);
	ev->split(s, 2, 0, 1, true); /* the leading part goes after the rest, before what was used later */
	ev->insert(s, 3, NULL);
	ev->split(s, 4, 3, 1, false); /* pinned ones are in no order yet */
	ck_assert_uint_eq(victim(ev, s), 0);
	ev->remove(s, 0);
	ck_assert_uint_eq(victim(ev, s), 2);
	ev->remove(s, 2);
	ck_assert_uint_eq(victim(ev, s), 1);
	ev->remove(s, 1);
	ck_assert_uint_eq(victim(ev, s), MC_NONE);
	ev->destroy(s);
}
END_TEST

/*
 * Prompts of blocks with a letter each, whose prefix is always the same: a-b-c, d-e, f-g, i, j. The last two
 * are foreseen, but not yet there.
 */
static const char *const trace[] = {"i", "a", "abc", "j", "ab", "i", "fg", "j", "de", "ab", "fg", NULL};

/* What a pool of 4 blocks holds after it, worked out with tests/unit/kv_naive.h, fifo and lru by hand too. */
static const struct {
	const char *name, *present;
} outcome[] = {
    {"2q", "defi"},  {"belady", "adef"}, {"fifo", "defg"},   {"length-aware", "adei"},
    {"lfu", "abde"}, {"lru", "defj"},    {"s3fifo", "deij"}, {"sieve", "adej"},
};

static uint32_t word(const char *text, uint64_t *id)
{
	uint32_t n = 0;

	for (uint64_t at = 0; text[n]; n++)
		id[n] = at = mc_hash_pair(at, (uint64_t)text[n]);
	return n;
}

static struct mc_trace words(void)
{
	struct mc_trace t;
	uint64_t id[8];

	mc_trace_init(&t, 1);
	for (int i = 0; trace[i]; i++) {
		uint32_t n = word(trace[i], id);

		mc_trace_push(&t, i, n, 0, id);
	}
	return t;
}

static void replay(const struct mc_evictor *ev, char *present)
{
	struct mc_tree *tree = mc_tree_new();
	struct mc_pool *pool = mc_pool_new(tree, 0, 4, ev);
	struct mc_trace t = words();
	struct mc_future *future = mc_future_new(&t);
	struct mc_step way[8];
	uint64_t id[8];

	mc_pool_foresee(pool, future);
	for (int64_t i = 0; i < t.n - 2; i++) {
		struct mc_lease l;

		mc_future_advance(future, i);
		l = mc_pool_acquire(pool, t.block + t.first[i], t.input[i]);
		mc_pool_commit(pool, &l, 0, t.input[i]);
		mc_pool_release(pool, &l);
	}
	for (const char *const *w = (const char *const[]){"abc", "de", "fg", "i", "j", NULL}; *w; w++) {
		uint32_t n = word(*w, id), m = mc_tree_match(tree, way, mc_tree_trail(tree, id, n, way), 0);

		present += sprintf(present, "%.*s", (int)m, *w);
	}
	mc_pool_free(pool);
	mc_tree_free(tree);
	mc_future_free(future);
	mc_trace_fini(&t);
}

START_TEST(every_policy_differs_from_all_others)
{
	size_t n = sizeof outcome / sizeof *outcome;

	for (size_t i = 0; mc_evictors[i]; i++) {
		char present[16];

		ck_assert_msg(i < n && !strcmp(outcome[i].name, mc_evictors[i]->name),
			      "%s is not among the outcomes", mc_evictors[i]->name);
		replay(mc_evictors[i], present);
		ck_assert_str_eq(present, outcome[i].present);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(present, outcome[k].present);
	}
	ck_assert_ptr_null(mc_evictors[n]);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("evict");
	TCase *t = tcase_create("evict");

	tcase_add_test(t, registry_is_sorted);
	tcase_add_test(t, never_a_pinned_or_chained_victim);
	tcase_add_test(t, lru_order);
	tcase_add_test(t, every_policy_differs_from_all_others);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
