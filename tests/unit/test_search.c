/* Algorithm 1: the bounded search chooses exactly as the scan over all instances and blocks does. */
#include "fixture.h"
#include "unit.h"

#include "base/vec.h"
#include "kv/pool.h"
#include "model/pipeline.h"
#include "sched/search.h"

#define DEPTH 24

struct world {
	struct mc_cost cost;
	struct mc_view view;
	struct mc_tree *tree;
	struct mc_pool **pool;
	struct mc_lease *lease; /* those still promised */
	size_t n_leases;
	uint32_t *lease_at;
};

/* Prompt number k of a family: blocks shared with others down to a depth that its bits say. */
static uint32_t make_prompt(uint64_t k, uint64_t *id)
{
	uint32_t n = 1 + (uint32_t)(k % DEPTH);
	uint64_t chain = 7;

	for (uint32_t b = 0; b < n; b++) {
		chain = mc_hash_pair(chain, b < 2 ? 0 : (k >> (2 * (b / 4))) % 4);
		id[b] = chain;
	}
	return n;
}

static void world_init(struct world *w, uint64_t *rnd, uint32_t nodes)
{
	*w = (struct world){.cost = plain_cost(), .tree = mc_tree_new()};
	mc_view_init(&w->view, nodes, 1);
	w->view.cost = &w->cost;
	w->view.tree = w->tree;
	w->view.block_tokens = 16;
	w->view.group = draw(rnd, 4) ? 1 : 3;
	w->view.chunk = 50;
	w->view.now = 1000000000;
	if (draw(rnd, 5) == 0)
		w->cost.pf_load_overlaps = true;
	if (draw(rnd, 5) == 0)
		w->cost.pf_load = 2e-4; /* loading costs more than computing */
	w->pool = mc_xcalloc(nodes, sizeof *w->pool);
	w->lease = mc_xcalloc(nodes * 8, sizeof *w->lease);
	w->lease_at = mc_xcalloc(nodes * 8, sizeof *w->lease_at);
	for (uint32_t i = 0; i < nodes; i++) {
		w->pool[i] = mc_pool_new(w->tree, i, 60, mc_evictor_find("lru"));
		w->view.node[i].sends = (uint32_t)draw(rnd, 3);
		mc_view_prefill_set(&w->view, i, w->view.now + (mc_time)draw(rnd, 4) * 3000000 - 6000000);
	}
	for (uint32_t i = 0; i < nodes; i++)
		for (uint64_t k = draw(rnd, 8); k-- > 0;) {
			uint64_t id[DEPTH];
			uint32_t n = make_prompt(draw(rnd, 4096), id);
			struct mc_lease l = mc_pool_acquire(w->pool[i], id, n);

			if (draw(rnd, 3)) {
				mc_pool_commit(w->pool[i], &l, 0, l.held);
				mc_pool_release(w->pool[i], &l);
			} else {
				w->lease_at[w->n_leases] = i;
				w->lease[w->n_leases++] = l;
			}
		}
}

static void world_fini(struct world *w)
{
	for (size_t k = 0; k < w->n_leases; k++)
		mc_pool_release(w->pool[w->lease_at[k]], &w->lease[k]);
	for (uint32_t i = 0; i < w->view.n_prefill; i++)
		mc_pool_free(w->pool[i]);
	mc_tree_free(w->tree);
	mc_view_fini(&w->view);
	free(w->pool);
	free(w->lease);
	free(w->lease_at);
}

static void same_choice(struct world *w, uint64_t *rnd)
{
	uint64_t id[DEPTH];
	struct mc_step way[DEPTH];
	uint32_t n = make_prompt(draw(rnd, 4096), id);
	struct mc_prompt p = {
	    .tokens = n * 16 - (uint32_t)draw(rnd, 16), .block = id, .n_blocks = n, .step = way};
	struct mc_search s = {.fetch = draw(rnd, 3) > 0, .threshold = 1 + (double)draw(rnd, 5) / 2};
	struct mc_score fast, slow;

	p.n_steps = mc_tree_trail(w->tree, id, n, way);
	mc_search_run(&s, &w->view, &p, &fast);
	mc_search_scan(&s, &w->view, &p, &slow);
	ck_assert_uint_eq(fast.prefill, slow.prefill);
	ck_assert_uint_eq(fast.local, slow.local);
	ck_assert_uint_eq(fast.hit, slow.hit);
	ck_assert_uint_eq(fast.source, slow.source);
	ck_assert_int_eq(fast.total, slow.total);
}

START_TEST(search_equals_scan)
{
	uint64_t rnd = 42;

	for (int round = 0; round < 300; round++) {
		struct world w;

		world_init(&w, &rnd, round % 3 ? 1 + (uint32_t)draw(&rnd, 12) : 120);
		for (int k = 0; k < 40; k++) {
			same_choice(&w, &rnd);
			mc_view_prefill_set(&w.view, (uint32_t)draw(&rnd, w.view.n_prefill),
					    w.view.now + (mc_time)draw(&rnd, 5) * 2000000 - 4000000);
		}
		world_fini(&w);
	}
}
END_TEST

/* By hand: node 0 holds four blocks and is busy, node 1 is idle and holds nothing. */
START_TEST(fetch_when_it_pays)
{
	struct mc_cost cost = plain_cost();
	struct mc_view v;
	struct mc_tree *tree = mc_tree_new();
	uint64_t id[5] = {11, 12, 13, 14, 15};
	struct mc_step way[5];
	struct mc_prompt p = {.tokens = 5000, .block = id, .n_blocks = 5, .step = way};
	struct mc_search global = {true, 1}, local = {false, 1};
	struct mc_pool *pool[2];
	struct mc_lease l;
	struct mc_score s;

	mc_view_init(&v, 2, 1);
	v.cost = &cost;
	v.tree = tree;
	v.block_tokens = 1000;
	v.group = 1;
	v.chunk = 1000;
	for (uint32_t i = 0; i < 2; i++)
		pool[i] = mc_pool_new(tree, i, 10, mc_evictor_find("lru"));
	l = mc_pool_acquire(pool[0], id, 4);
	mc_pool_commit(pool[0], &l, 0, 4);
	mc_pool_release(pool[0], &l);
	p.n_steps = mc_tree_trail(tree, id, 5, way);
	ck_assert_uint_eq(p.n_steps, 1);
	ck_assert_uint_eq(way[0].end, 4);

	/* Alone, 5,000 tokens take 1 + 500 + 25 ms, with 4,000 cached 1 + 100 + 9 + 4 ms; moving those takes
	 * 400.1 ms. */
	mc_view_prefill_set(&v, 0, mc_time_from_s(0.3));
	mc_search_run(&global, &v, &p, &s);
	ck_assert_uint_eq(s.prefill, 0);
	ck_assert_int_eq(s.total, mc_time_from_s(0.3) + mc_time_from_s(0.114));
	mc_view_prefill_set(&v, 0, mc_time_from_s(0.45));
	mc_search_run(&global, &v, &p, &s);
	ck_assert_uint_eq(s.prefill, 1);
	ck_assert_uint_eq(s.source, 0);
	ck_assert_uint_eq(s.hit, 4);
	ck_assert_int_eq(s.transfer, mc_time_from_s(0.4001));
	mc_search_run(&local, &v, &p, &s); /* 526 ms on node 1 against 450 + 114 on node 0 */
	ck_assert_uint_eq(s.prefill, 1);
	ck_assert_uint_eq(s.source, MC_NONE);
	v.node[0].sends = 1; /* a busy sender halves the share: 800.1 + 114 against 564 */
	mc_search_run(&global, &v, &p, &s);
	ck_assert_uint_eq(s.prefill, 0);
	for (uint32_t i = 0; i < 2; i++)
		mc_pool_free(pool[i]);
	mc_tree_free(tree);
	mc_view_fini(&v);
}
END_TEST

/* A fully cached prompt still computes its last token. */
START_TEST(last_token_is_computed)
{
	struct mc_cost cost = plain_cost();
	struct mc_view v = {.cost = &cost, .block_tokens = 16, .group = 1};
	struct mc_prompt p = {.tokens = 32};

	ck_assert_uint_eq(mc_view_hit_tokens(&v, &p, 2), 31);
	ck_assert_uint_eq(mc_view_hit_tokens(&v, &p, 1), 16);
	p.tokens = 20;
	ck_assert_uint_eq(mc_view_hit_tokens(&v, &p, 2), 19);
	ck_assert_uint_eq(mc_view_span_tokens(&v, &p, 0, 2), 20);
	ck_assert_uint_eq(mc_view_span_tokens(&v, &p, 1, 2), 4);
}
END_TEST

/* What is predicted of a group is what its pipeline does, where all chunks cost the same. */
START_TEST(group_prediction)
{
	struct mc_cost cost = plain_cost();
	struct mc_view v = {.cost = &cost, .block_tokens = 16, .group = 4, .chunk = 250};
	double stage[4] = {0};
	struct mc_pipeline_job job = {2000, 0, 250, 4, 0};

	cost.pf_a = cost.pf_c = 0;
	cost.hop_s_per_token = 1e-6;
	ck_assert_int_eq(mc_view_prefill_time(&v, 2000, 0),
			 mc_time_from_s(mc_cost_prefill_group(&cost, &job, stage)));
	ck_assert_int_eq(mc_view_prefill_occupancy(&v, 2000, 0), mc_time_from_s(0.05));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("search");
	TCase *t = tcase_create("search");

	tcase_add_test(t, search_equals_scan);
	tcase_add_test(t, fetch_when_it_pays);
	tcase_add_test(t, last_token_is_computed);
	tcase_add_test(t, group_prediction);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
