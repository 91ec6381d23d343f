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
	struct mc_pool **pool; /* DRAM of every node, then their SSDs */
	uint32_t pools;
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
	uint32_t decode = 1 + (uint32_t)draw(rnd, 3), all = nodes + decode;
	bool ssd = draw(rnd, 3) > 0;

	*w = (struct world){.cost = plain_cost(), .tree = mc_tree_new(), .pools = ssd ? 2 * all : all};
	mc_tree_groups(w->tree, nodes, all);
	mc_view_init(&w->view, nodes, decode);
	w->view.sources = (enum mc_sources)draw(rnd, 3);
	if (ssd)
		w->view.ssd = all;
	w->cost.ssd_read_bytes_per_s = w->cost.net_bytes_per_s * (draw(rnd, 2) ? 3 : 0.2);
	w->cost.ssd_latency_s = 1e-4;
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
	w->pool = mc_xcalloc(w->pools, sizeof *w->pool);
	w->lease = mc_xcalloc(w->pools * 8, sizeof *w->lease);
	w->lease_at = mc_xcalloc(w->pools * 8, sizeof *w->lease_at);
	for (uint32_t i = 0; i < w->pools; i++)
		w->pool[i] = mc_pool_new(w->tree, i, i < all ? 60 : 120, mc_evictor_find("lru"));
	for (uint32_t i = 0; i < all; i++) {
		w->view.node[i].sends = (uint32_t)draw(rnd, 3);
		w->view.node[i].streams = (uint32_t)draw(rnd, 3);
		w->view.node[i].stream_bytes_per_s = w->view.node[i].streams * (int64_t)draw(rnd, 8000000);
		w->view.node[i].reads = (uint32_t)draw(rnd, 3);
	}
	for (uint32_t i = 0; i < nodes; i++)
		mc_view_prefill_set(&w->view, i, w->view.now + (mc_time)draw(rnd, 4) * 3000000 - 6000000);
	for (uint32_t i = 0; i < w->pools - (w->view.sources == MC_SOURCES_ALL ? 0 : ssd ? decode : 0); i++)
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
	for (uint32_t i = 0; i < w->pools; i++)
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
	static const double burden[] = {0, 0, 0.7, 12};
	struct mc_score fast, slow;

	s.burden = burden[draw(rnd, 4)];
	if (draw(rnd, 2)) {
		s.priced = true;
		s.threshold = 1;
	}
	p.n_steps = mc_tree_trail(w->tree, id, n, way);
	mc_search_run(&s, &w->view, &p, &fast);
	mc_search_scan(&s, &w->view, &p, &slow);
	ck_assert_uint_eq(fast.prefill, slow.prefill);
	ck_assert_uint_eq(fast.local, slow.local);
	ck_assert_uint_eq(fast.hit, slow.hit);
	ck_assert_uint_eq(fast.ssd, slow.ssd);
	ck_assert_uint_eq(fast.n_parts, slow.n_parts);
	for (uint32_t k = 0; k < fast.n_parts; k++) {
		ck_assert_uint_eq(fast.part[k].node, slow.part[k].node);
		ck_assert_uint_eq(fast.part[k].from, k ? fast.part[k - 1].to : fast.local);
		ck_assert_uint_eq(fast.part[k].to, slow.part[k].to);
	}
	ck_assert_uint_eq(fast.hit, fast.n_parts ? fast.part[fast.n_parts - 1].to : fast.local);
	ck_assert_int_eq(fast.total, slow.total);
	ck_assert_int_eq(fast.cost, slow.cost);
	if (s.burden > 0)
		ck_assert_int_gt(fast.cost, fast.total);
	else
		ck_assert_int_eq(fast.cost, fast.total);
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
			if (round % 2) { /* nodes go and come back; a node holds what it held */
				uint32_t node = (uint32_t)draw(&rnd, w.view.n_prefill + w.view.n_decode);

				if (w.view.node[node].down || w.view.prefill_living.n > 1)
					mc_view_down(&w.view, node, !w.view.node[node].down);
			}
		}
		world_fini(&w);
	}
}
END_TEST

static void keep(struct mc_pool *pool, const uint64_t *id, uint32_t n)
{
	struct mc_lease l = mc_pool_acquire(pool, id, n);

	mc_pool_commit(pool, &l, 0, n);
	mc_pool_release(pool, &l);
}

/* By hand: node 0 holds four blocks and is busy, node 1 is idle and holds nothing. */
START_TEST(fetch_when_it_pays)
{
	struct mc_cost cost = plain_cost();
	struct mc_view v;
	struct mc_tree *tree = mc_tree_new();
	uint64_t id[5] = {11, 12, 13, 14, 15};
	struct mc_step way[5];
	struct mc_prompt p = {.tokens = 5000, .block = id, .n_blocks = 5, .step = way};
	struct mc_search global = {.fetch = true, .threshold = 1}, local = {.threshold = 1};
	struct mc_pool *pool[2];
	struct mc_score s;

	mc_view_init(&v, 2, 1);
	v.cost = &cost;
	v.tree = tree;
	v.block_tokens = 1000;
	v.group = 1;
	v.chunk = 1000;
	for (uint32_t i = 0; i < 2; i++)
		pool[i] = mc_pool_new(tree, i, 10, mc_evictor_find("lru"));
	keep(pool[0], id, 4);
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
	ck_assert_uint_eq(s.n_parts, 1);
	ck_assert_uint_eq(s.part[0].node, 0);
	ck_assert_uint_eq(s.part[0].from, 0);
	ck_assert_uint_eq(s.hit, 4);
	ck_assert_int_eq(s.transfer, mc_time_from_s(0.4001));
	mc_search_run(&local, &v, &p, &s); /* 526 ms on node 1 against 450 + 114 on node 0 */
	ck_assert_uint_eq(s.prefill, 1);
	ck_assert_uint_eq(s.n_parts, 0);
	v.node[0].sends = 1; /* a busy sender halves the share: 800.1 + 114 against 564 */
	mc_search_run(&global, &v, &p, &s);
	ck_assert_uint_eq(s.prefill, 0);
	v.node[0] = (struct mc_view_node){.streams = 1, .stream_bytes_per_s = 1000000}; /* leaves 90 % */
	mc_search_run(&global, &v, &p, &s);
	ck_assert_uint_eq(s.prefill, 1);
	ck_assert_int_eq(s.transfer, mc_time_from_s(1e-4 + 4e6 / 9e6));
	for (uint32_t i = 0; i < 2; i++)
		mc_pool_free(pool[i]);
	mc_tree_free(tree);
	mc_view_fini(&v);
}
END_TEST

/* By hand: node 0 holds four of five blocks, node 1 three. A threshold of 1.5 does not fetch one block, which
 * takes 100.1 ms and saves 106; priced it is fetched, while engine time is cheap: standing still for it is
 * engine time, too. */
START_TEST(both_branches_priced)
{
	struct mc_cost cost = plain_cost();
	struct mc_view v;
	struct mc_tree *tree = mc_tree_new();
	uint64_t id[5] = {11, 12, 13, 14, 15};
	struct mc_step way[5];
	struct mc_prompt p = {.tokens = 5000, .block = id, .n_blocks = 5, .step = way};
	struct mc_search s = {.fetch = true, .threshold = 1.5};
	mc_time local = mc_time_from_s(0.220), fetched = mc_time_from_s(0.1001 + 0.114);
	struct mc_pool *pool[2];
	struct mc_score at;

	mc_view_init(&v, 2, 1);
	v.cost = &cost;
	v.tree = tree;
	v.block_tokens = 1000;
	v.group = 1;
	v.chunk = 1000;
	for (uint32_t i = 0; i < 2; i++) {
		pool[i] = mc_pool_new(tree, i, 10, mc_evictor_find("lru"));
		keep(pool[i], id, 4 - i);
	}
	p.n_steps = mc_tree_trail(tree, id, 5, way);
	mc_view_prefill_set(&v, 0, mc_time_from_s(9));
	mc_search_run(&s, &v, &p, &at);
	ck_assert_uint_eq(at.n_parts, 0);
	ck_assert_int_eq(at.cost, local);
	s.threshold = 1;
	s.priced = true;
	mc_search_run(&s, &v, &p, &at);
	ck_assert_uint_eq(at.n_parts, 1);
	ck_assert_int_eq(at.cost, fetched);
	ck_assert_int_eq(at.total, fetched);
	s.burden = 1; /* 220 + 220 ms; 214.1 + 114 computing + 100.1 standing still */
	mc_search_run(&s, &v, &p, &at);
	ck_assert_int_eq(at.cost, 2 * fetched);
	mc_view_prefill_set(&v, 1, mc_time_from_s(0.05)); /* half of it passes while the prompt waits */
	mc_search_run(&s, &v, &p, &at);
	ck_assert_int_eq(at.cost, 2 * fetched);
	ck_assert_int_eq(at.total, fetched + mc_time_from_s(0.05));
	cost.net_bytes_per_s *= 0.9; /* 111.2 ms: more than computing it */
	mc_search_run(&s, &v, &p, &at);
	ck_assert_uint_eq(at.n_parts, 1); /* 275.2 + 175.2 against 270 + 220 */
	s.burden = 0;
	mc_search_run(&s, &v, &p, &at);
	ck_assert_uint_eq(at.n_parts, 0);
	s.burden = 1e30; /* a time, still */
	mc_search_run(&s, &v, &p, &at);
	ck_assert_int_ge(at.cost, 1000000000000000000);
	for (uint32_t i = 0; i < 2; i++)
		mc_pool_free(pool[i]);
	mc_tree_free(tree);
	mc_view_fini(&v);
}
END_TEST

/* Of ten blocks of 1,000 tokens node 0 has one in DRAM and three on its SSD, node 1 has five in DRAM, and
 * seven on its SSD. */
struct tiers {
	struct mc_cost cost;
	struct mc_tree *tree;
	uint64_t id[10];
	struct mc_step way[10];
	struct mc_pool *pool[6];
	struct mc_view v;
	struct mc_prompt p;
};

static void tiers_init(struct tiers *t)
{
	static const uint32_t kept[6] = {1, 5, 0, 3, 7, 0};

	*t = (struct tiers){.cost = plain_cost(), .tree = mc_tree_new()};
	mc_tree_groups(t->tree, 2, 3);
	mc_view_init(&t->v, 2, 1);
	t->v.cost = &t->cost;
	t->v.tree = t->tree;
	t->v.block_tokens = 1000;
	t->v.group = 1;
	t->v.chunk = 1000;
	t->v.ssd = 3;
	t->cost.net_bytes_per_s = 1e9;
	t->cost.ssd_read_bytes_per_s = 1e8;
	t->cost.ssd_latency_s = 1e-3;
	for (uint64_t k = 0; k < 10; k++)
		t->id[k] = 11 + k;
	for (uint32_t i = 0; i < 6; i++) {
		t->pool[i] = mc_pool_new(t->tree, i, 10, mc_evictor_find("lru"));
		keep(t->pool[i], t->id, kept[i]);
	}
	t->p = (struct mc_prompt){.tokens = 10000, .block = t->id, .n_blocks = 10, .step = t->way};
	t->p.n_steps = mc_tree_trail(t->tree, t->id, 10, t->way);
}

static struct mc_score score_of_node_0(struct tiers *t, double threshold)
{
	struct mc_search s = {.fetch = true, .threshold = threshold};
	struct mc_found best = mc_search_best(&t->v, &t->p);
	struct mc_score at = {.prefill = 0, .local = 1, .ssd = mc_search_ssd(&t->v, &t->p, 0)};

	ck_assert_uint_eq(at.ssd, 3);
	ck_assert_uint_eq(best.dram.blocks, 5);
	ck_assert_uint_eq(best.ssd.blocks, 7);
	mc_search_score(&s, &t->v, &t->p, &best, &at);
	return at;
}

static void same_part(const struct mc_part *part, uint32_t node, uint32_t from, uint32_t to)
{
	ck_assert_uint_eq(part->node, node);
	ck_assert_uint_eq(part->from, from);
	ck_assert_uint_eq(part->to, to);
}

/* By hand. Computing is 0.1 ms a token and more, loading one from DRAM 1 us. */
START_TEST(parts_from_every_tier)
{
	struct mc_score at;
	struct tiers t;

	tiers_init(&t);
	/* Two blocks of its own SSD take 21 ms; so do two of the other's and their 0.1 ms of start-up. From
	 * DRAM, the four that it lacks take 4.1 ms: without its own SSD all is there as soon. */
	at = score_of_node_0(&t, 1);
	ck_assert_uint_eq(at.n_parts, 2);
	same_part(&at.part[0], 1, 1, 5);
	same_part(&at.part[1], 4, 5, 7);
	ck_assert_uint_eq(at.hit, 7);
	ck_assert_int_eq(at.transfer, mc_time_from_s(1e-3 + 1e-4 + 2e6 / 1e8));
	/* A node that sends much: its own SSD is the better source, and all three move side by side. */
	t.v.node[1].sends = 399;
	at = score_of_node_0(&t, 1);
	ck_assert_uint_eq(at.n_parts, 3);
	same_part(&at.part[0], 3, 1, 3);
	same_part(&at.part[1], 1, 3, 5);
	same_part(&at.part[2], 4, 5, 7);
	ck_assert_int_eq(at.transfer, mc_time_from_s(1e-3 + 1e-4 + 2e6 / 2.5e6));
	/* Its SSD alone, when all else would take longer than computing: 5 < 2 x 3. */
	t.v.node[1].sends = 99999;
	at = score_of_node_0(&t, 2);
	ck_assert_uint_eq(at.n_parts, 1);
	same_part(&at.part[0], 3, 1, 3);
	ck_assert_int_eq(at.transfer, mc_time_from_s(1e-3 + 2e6 / 1e8));
	for (uint32_t i = 0; i < 6; i++)
		mc_pool_free(t.pool[i]);
	mc_tree_free(t.tree);
	mc_view_fini(&t.v);
}
END_TEST

/* A stream leaves to others what it does not need, and no less than a fair share where it wants all. */
START_TEST(share_of_a_sender)
{
	struct mc_cost cost = plain_cost(); /* 10 MB/s */
	struct mc_view v;

	mc_view_init(&v, 1, 1);
	v.cost = &cost;
	v.group = 2;
	ck_assert_double_eq(mc_view_send_share(&v, 0), 2e7);
	ck_assert_double_eq(mc_view_send_share(&v, 1), 1e7);
	v.node[0].sends = 3;
	ck_assert_double_eq(mc_view_send_share(&v, 0), 5e6);
	v.node[0] = (struct mc_view_node){.sends = 1, .streams = 2, .stream_bytes_per_s = 4000000};
	ck_assert_double_eq(mc_view_send_share(&v, 0), 8e6);
	v.node[0].stream_bytes_per_s = 30000000;
	ck_assert_double_eq(mc_view_send_share(&v, 0), 5e6);
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
	tcase_add_test(t, both_branches_priced);
	tcase_add_test(t, share_of_a_sender);
	tcase_add_test(t, parts_from_every_tier);
	tcase_add_test(t, last_token_is_computed);
	tcase_add_test(t, group_prediction);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
