/* Clusters of coupled nodes: random ones under all invariants, and what they refuse. */
#include "cluster_random.h"

/* Of what random_scenario sets, all that coupled nodes can have; with little VRAM, so that it runs out. */
static void random_coupled(struct setup *u, uint64_t *r)
{
	static const char *const admission[] = {"none", "none", "early", "predict", "predict-length"};

	random_scenario(u, r);
	setup_set(u, "kv.ssd_write=never");
	setup_set(u, "kv.pool=%s", draw(r, 3) ? "local" : "off");
	if (!strcmp(u->s.kv.evict, "belady"))
		setup_set(u, "kv.evict=lru");
	setup_set(u, "conductor.admission=%s", admission[draw(r, 5)]);
	setup_set(u, "conductor.decode_check=auto");
	setup_set(u, "conductor.staleness=%dms", (int)draw(r, 2) * (1 + (int)draw(r, 900)));
	setup_set(u, "cluster.coupled=%d", 1 + (int)draw(r, 5));
	setup_set(u, "cluster.batching=%s", draw(r, 2) ? "chunked" : "prefill-first");
	setup_set(u, "cluster.max_batched_tokens=%d", 20 + (int)draw(r, draw(r, 2) ? 100 : 3000));
	u->cost.vram_kv_tokens = 800 + (int64_t)draw(r, draw(r, 4) ? 600 : 8000);
}

static void sums(const struct mc_result *r, uint64_t *preemptions, uint64_t *hits)
{
	*preemptions += r->preemptions;
	for (int64_t i = 0; i < r->n_rows; i++)
		*hits += r->row[i].local_hit;
	ck_assert_double_eq(r->fetched_bytes + r->handover_bytes + r->write_back_bytes, 0);
}

/* The time series counts the hits that there were, not those that placements expected. */
static void hits_add_up(const struct mc_result *r)
{
	uint64_t hit = 0;

	for (int64_t i = 0; i < r->n_rows; i++)
		hit += mc_row_hit(&r->row[i]);
	ck_assert_uint_gt(r->samples.n, 0);
	ck_assert_uint_eq(r->samples.at[r->samples.n - 1].hit_tokens, hit);
}

START_TEST(random_clusters)
{
	uint64_t r = (uint64_t)_i + 77, preemptions = 0, hits = 0;

	for (int k = 0; k < 6; k++) {
		struct setup u;
		struct mc_result a, b;

		setup_init(&u, 20);
		random_coupled(&u, &r);
		add_sessions(&u, r, 150);
		setup_run(&u, &a);
		setup_set(&u, "run.fast_forward=false");
		setup_run(&u, &b);
		same_rows(&a, &b);
		ck_assert_uint_eq(a.preemptions, b.preemptions);
		ck_assert_uint_eq(a.recomputed_tokens, b.recomputed_tokens);
		ck_assert_uint_eq(a.evicted_blocks, b.evicted_blocks);
		ck_assert_uint_le(a.events, b.events);
		sums(&a, &preemptions, &hits);
		hits_add_up(&a);
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
	ck_assert_uint_gt(preemptions, 0);
	ck_assert_uint_gt(hits, 0);
}
END_TEST

START_TEST(cut_off_anywhere)
{
	uint64_t r = (uint64_t)_i + 770;

	for (int k = 0; k < 6; k++) {
		struct setup u;
		struct mc_result a, b;

		setup_init(&u, 20);
		random_coupled(&u, &r);
		add_sessions(&u, r, 100);
		setup_set(&u, "run.until=%dms", 300 + (int)draw(&r, 20000));
		setup_run(&u, &a);
		setup_set(&u, "run.fast_forward=false");
		setup_run(&u, &b);
		same_rows(&a, &b);
		for (uint32_t i = 0; i < a.n_prefill; i++) {
			ck_assert_int_eq(a.prefill_busy[i], b.prefill_busy[i]);
			ck_assert_int_eq(a.decode_busy[i], b.decode_busy[i]);
		}
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
}
END_TEST

/* The next turn finds prompt and answer of the one before, where it is placed on the same node. */
START_TEST(answers_stay_in_vram)
{
	uint64_t name[2] = {1, 2};
	struct mc_result r;
	struct setup u;

	setup_init(&u, 10);
	setup_set(&u, "run.check=true");
	setup_set(&u, "cluster.coupled=1");
	setup_set(&u, "kv.pool=local");
	add(&u, 0, 100, 41, name, 0);
	add_turn(&u, 10000000000, 0, 20, 5);
	setup_run(&u, &r);
	ck_assert_uint_eq(r.row[1].local_hit, 140); /* whole blocks of 100 + 41 - 1 tokens */
	ck_assert_uint_eq(r.write_backs, 1);
	ck_assert_int_eq(r.row[1].handover_end, r.row[1].prefill_end);
	mc_result_fini(&r);
	setup_set(&u, "kv.pool=off");
	setup_run(&u, &r);
	ck_assert_uint_eq(r.row[1].local_hit, 0);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* The watermark and whole blocks count; a one-token output needs room for its prompt, too. */
START_TEST(what_never_fits_is_refused)
{
	static const struct {
		uint32_t tokens, output;
		bool fits;
	} cases[] = {
	    {1980, 1, true}, {1981, 1, false}, {1980, 2, false}, {1000, 981, true}, {1000, 982, false}};
	uint64_t name[2] = {1, 2};

	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct mc_result r;
		struct setup u;

		setup_init(&u, 10);
		setup_set(&u, "run.check=true");
		setup_set(&u, "cluster.coupled=1");
		setup_set(&u, "kv.pool=%s", k % 2 ? "local" : "off");
		u.cost.vram_kv_tokens = 2009; /* 200 blocks, 2 of them the watermark */
		add(&u, 0, cases[k].tokens, cases[k].output, name, 0);
		setup_run(&u, &r);
		ck_assert_uint_eq(r.row[0].outcome, cases[k].fits ? MC_COMPLETED : MC_REJECTED);
		if (!cases[k].fits)
			ck_assert_uint_eq(r.row[0].refusal, MC_REFUSED_DECODE_CAPACITY);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

START_TEST(what_they_have_not_is_refused_by_name)
{
	static const char *const bad[][2] = {
	    {"kv.pool=global", "kv.pool"},
	    {"kv.ssd_write=evict", "kv.ssd_write"},
	    {"faults.node_mtbf=100s", "faults.node_mtbf"},
	    {"faults.nic_mtbf=100s", "faults.nic_mtbf"},
	    {"faults.events=[{\"at\": \"1s\", \"what\": \"node_down\", \"node\": \"prefill0\"}]",
	     "faults.events"},
	    {"kv.evict=belady", "kv.evict"},
	    {"conductor.admission=baseline", "conductor.admission"},
	    {"conductor.decode_check=on", "conductor.decode_check"},
	};

	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		struct mc_err err = {0};
		struct setup u;

		setup_init(&u, 10);
		setup_set(&u, "trace.path=x");
		setup_set(&u, "kv.pool=local");
		setup_set(&u, "cluster.coupled=2");
		setup_set(&u, "cluster.prefill_group=3"); /* which does not divide cluster.prefill */
		ck_assert_int_eq(mc_scenario_check(&u.s, &err), 0);
		setup_set(&u, "%s", bad[k][0]);
		ck_assert_int_eq(mc_scenario_check(&u.s, &err), MC_USAGE);
		ck_assert_str_eq(err.key, bad[k][1]);
		setup_fini(&u);
	}
}
END_TEST

/* VRAM of no block, or of more than can be counted. */
START_TEST(vram_has_a_size)
{
	static const int64_t tokens[] = {9, INT64_C(1) << 40};
	uint64_t name[2] = {1, 2};

	for (size_t k = 0; k < 2; k++) {
		struct mc_err err = {0};
		struct mc_result r;
		struct setup u;

		setup_init(&u, 10);
		setup_set(&u, "cluster.coupled=1");
		setup_set(&u, "kv.pool=local");
		u.cost.vram_kv_tokens = tokens[k];
		add(&u, 0, 5, 2, name, 0);
		ck_assert_int_eq(setup_try(&u, &r, &err), MC_USAGE);
		ck_assert_str_eq(err.key, "kv.vram_tokens");
		setup_fini(&u);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("coupled_cluster");
	TCase *t = tcase_create("coupled_cluster");

	suite_add_tcase(s, t);
	tcase_add_loop_test(t, random_clusters, 0, 12);
	tcase_add_loop_test(t, cut_off_anywhere, 0, 6);
	tcase_add_test(t, answers_stay_in_vram);
	tcase_add_test(t, what_never_fits_is_refused);
	tcase_add_test(t, what_they_have_not_is_refused_by_name);
	tcase_add_test(t, vram_has_a_size);
	return s;
}

UNIT_MAIN
