/* The prefix tree: how prompts cut it into runs, and that it forgets what nobody holds. test_pool compares it
 * with naive pools. */
#include <string.h>

#include "unit.h"

#include "base/hash.h"
#include "kv/pool.h"
#include "kv_prompts.h"

enum { N = 40 };

struct world {
	struct mc_tree *tree;
	struct mc_pool *pool[2];
	uint64_t a[N], b[N]; /* b leaves a after 10 blocks */
	struct mc_step way[N];
};

static struct world world_new(uint32_t capacity)
{
	struct world w = {.tree = mc_tree_new()};

	for (uint32_t i = 0; i < 2; i++)
		w.pool[i] = mc_pool_new(w.tree, i, capacity, mc_evictor_find("lru"));
	for (uint32_t i = 0; i < N; i++) {
		w.a[i] = mc_hash_u64(i);
		w.b[i] = i < 10 ? w.a[i] : mc_hash_u64(1000 + i);
	}
	return w;
}

static void world_free(struct world *w)
{
	struct mc_err err = {0};

	ck_assert_msg(!mc_tree_check(w->tree, &err), "%s", err.text);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_msg(!mc_pool_check(w->pool[i], &err), "%s", err.text);
		mc_pool_free(w->pool[i]);
	}
	mc_tree_free(w->tree);
}

/* Blocks computed and let go of at once. */
static void store(struct mc_pool *pool, const uint64_t *id, uint32_t n)
{
	struct mc_lease l = mc_pool_acquire(pool, id, n);

	mc_pool_commit(pool, &l, 0, l.held);
	mc_pool_release(pool, &l);
}

START_TEST(prompts_cut_runs)
{
	struct world w = world_new(100);

	ck_assert_uint_eq(mc_tree_trail(w.tree, w.a, N, w.way), 0);
	store(w.pool[0], w.a, 30);
	ck_assert_uint_eq(mc_tree_runs(w.tree), 1);
	ck_assert_uint_eq(mc_tree_trail(w.tree, w.a, N, w.way), 1);
	ck_assert_uint_eq(w.way[0].end, 30);
	ck_assert_uint_eq(mc_tree_trail(w.tree, w.b, N, w.way),
			  1); /* as far as it goes along, nothing is cut yet */
	ck_assert_uint_eq(w.way[0].end, 10);
	store(w.pool[0], w.b, 20);
	ck_assert_uint_eq(mc_tree_runs(w.tree), 3); /* 10 shared, 20 of a, 10 of b */
	ck_assert_uint_eq(mc_tree_blocks(w.tree), 40);
	ck_assert_uint_eq(mc_tree_trail(w.tree, w.b, N, w.way), 2);
	ck_assert_uint_eq(mc_tree_first(w.tree, w.way[1].run), 10);
	store(w.pool[0], w.a, 25); /* ends within a run: the rest was used less recently from now on */
	ck_assert_uint_eq(mc_tree_runs(w.tree), 4);
	world_free(&w);
}
END_TEST

START_TEST(best_match_is_resident)
{
	struct world w = world_new(100);
	struct mc_lease l = mc_pool_acquire(w.pool[0], w.a, 30);
	uint32_t steps = mc_tree_trail(w.tree, w.a, N, w.way);

	ck_assert_uint_eq(mc_tree_match(w.tree, w.way, steps, 0), 30);
	ck_assert_uint_eq(mc_tree_best(w.tree, 0, w.way, steps), 0);
	mc_pool_commit(w.pool[0], &l, 0, 12);
	ck_assert_uint_eq(mc_tree_best(w.tree, 0, w.way, steps), 12);
	store(w.pool[1], w.a, 20); /* the other node computed more of it itself */
	steps = mc_tree_trail(w.tree, w.a, N, w.way);
	ck_assert_uint_eq(mc_tree_best(w.tree, 0, w.way, steps), 20);
	ck_assert_uint_eq(mc_tree_match_resident(w.tree, w.way, steps, 0), 12);
	mc_pool_commit(w.pool[0], &l, 12, 30);
	ck_assert_uint_eq(mc_tree_best(w.tree, 0, w.way, steps), 30);
	mc_pool_release(w.pool[0], &l);
	world_free(&w);
}
END_TEST

/* A lease holds on to its blocks through any cutting of its runs by others. */
START_TEST(leases_survive_cuts)
{
	struct world w = world_new(40);
	struct mc_lease l = mc_pool_acquire(w.pool[0], w.a, 30);
	uint32_t steps;

	for (uint32_t n = 29; n > 0; n--)
		store(w.pool[1], w.a, n);
	ck_assert_uint_eq(mc_tree_runs(w.tree), 30);
	ck_assert_uint_eq(mc_pool_stats(w.pool[0]).pinned, 30);
	mc_pool_commit(w.pool[0], &l, 0, 30);
	store(w.pool[0], w.b + 10, 30); /* only ten fit beside the lease */
	ck_assert_uint_eq(mc_pool_stats(w.pool[0]).refused, 20);
	mc_pool_release(w.pool[0], &l);
	steps = mc_tree_trail(w.tree, w.a, N, w.way);
	ck_assert_uint_eq(mc_tree_match_resident(w.tree, w.way, steps, 0), 30);
	world_free(&w);
}
END_TEST

/* What no pool holds any more is not kept: memory follows capacity, however many prompts go by. */
START_TEST(forgets_what_nobody_holds)
{
	struct world w = world_new(50);
	uint64_t id[30];

	for (uint64_t p = 0; p < 2000; p++) {
		for (uint64_t i = 0; i < 30; i++)
			id[i] = mc_hash_pair(i < 5 ? 1 : p, i);
		store(w.pool[p % 2], id, 1 + (uint32_t)(p * 7 % 30));
		ck_assert_uint_le(mc_tree_runs(w.tree), 100);
		ck_assert_uint_le(mc_tree_blocks(w.tree), 100 + 2 * 30);
	}
	world_free(&w);
}
END_TEST

/* Keep in the second pool what the first evicts. No chain says what one before it has said. */
static void spill(struct world *w, struct mc_chains *chains)
{
	uint32_t from = 0;

	for (size_t k = 0; k < chains->end.n; k++) {
		const uint64_t *id = chains->id.at + from;
		uint32_t n = chains->end.at[k] - from, start = 0;

		for (size_t j = 0; j < k; start = chains->end.at[j++])
			ck_assert(chains->end.at[j] - start < n ||
				  memcmp(chains->id.at + start, id, n * sizeof *id));
		store(w->pool[1], id, n);
		from = chains->end.at[k];
	}
	chains->id.n = chains->end.n = 0;
}

/* Whatever the first pool evicts is noted with all that is before it: with a second pool nothing is ever
 * lost. */
START_TEST(evicted_is_noted)
{
	for (const struct mc_evictor *const *e = mc_evictors; *e; e++) {
		struct world w = {0};
		struct mc_chains chains = {0};
		struct rng rnd = {77};
		uint64_t id[400][24];
		uint32_t n[400], steps;

		if ((*e)->foresee)
			continue;
		w.tree = mc_tree_new();
		w.pool[0] = mc_pool_new(w.tree, 0, 40, *e);
		w.pool[1] = mc_pool_new(w.tree, 1, 100000, mc_evictor_find("lru"));
		mc_pool_note_evicted(w.pool[0], &chains);
		for (int p = 0; p < 400; p++) {
			n[p] = prompt(&rnd, 24, id[p]);
			store(w.pool[0], id[p], n[p]);
			spill(&w, &chains);
			for (int k = p; k >= 0; k -= 1 + p / 20) {
				steps = mc_tree_trail(w.tree, id[k], n[k], w.way);
				ck_assert(mc_tree_match(w.tree, w.way, steps, 0) == n[k] ||
					  mc_tree_match(w.tree, w.way, steps, 1) == n[k]);
			}
		}
		ck_assert_uint_gt(mc_pool_stats(w.pool[0]).evicted, 1000);
		mc_vec_fini(&chains.id);
		mc_vec_fini(&chains.end);
		world_free(&w);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("tree");
	TCase *t = tcase_create("tree");

	tcase_add_test(t, prompts_cut_runs);
	tcase_add_test(t, best_match_is_resident);
	tcase_add_test(t, leases_survive_cuts);
	tcase_add_test(t, forgets_what_nobody_holds);
	tcase_add_test(t, evicted_is_noted);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
