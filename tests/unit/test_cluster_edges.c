/* The simulated cluster at its edges: runs that are cut off, sizes that no clock or counter holds, events
 * that fall into one instant. */
#include "cluster_fixture.h"

#include "cluster/metrics.h"

/* A prompt that computes for 526 ms (5,000 tokens), cut off after 250 ms of it. */
START_TEST(busy_no_longer_than_the_run)
{
	struct setup u;
	struct mc_result r;
	struct mc_metrics m;
	const uint64_t name[2] = {1, 2};

	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	setup_set(&u, "cluster.prefill=1");
	setup_set(&u, "run.until=300ms");
	add(&u, 0, 5000, 5, name, 0);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[0].prefill_start, 50000000);
	ck_assert_int_eq(r.prefill_busy[0], 250000000);
	mc_metrics_compute(&u.s, &u.cost, &r, &m);
	ck_assert_double_eq_tol(m.prefill_busy_ratio, 250.0 / 300, 1e-9);
	mc_result_fini(&r);
	/* The same in a group, where a node's share of it is spread over the stages. */
	setup_set(&u, "cluster.prefill=4");
	setup_set(&u, "cluster.prefill_group=4");
	setup_run(&u, &r);
	ck_assert_int_gt(r.prefill_busy[0], 0);
	ck_assert_int_lt(r.prefill_busy[0], 526000000);
	/* As much of its 5,000 tokens x 100 bytes x 3 boundaries. */
	ck_assert_double_eq_tol((double)r.stage_bytes[0] / 1.5e6, (double)r.prefill_busy[0] / 526e6, 1e-6);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* A transfer that is cut off counts what went over the links. */
START_TEST(bytes_of_a_cut_off_transfer)
{
	struct setup u;
	struct mc_result r;
	const uint64_t name[2] = {1, 2};

	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	setup_set(&u, "cluster.prefill=1");
	setup_set(&u, "cluster.decode=1");
	setup_set(&u, "run.until=300ms");
	add(&u, 0, 5000, 5, name, 0);
	setup_run(&u, &r);
	ck_assert_double_gt(r.handover_bytes, 1e6);
	ck_assert_double_lt(r.handover_bytes, 3e6); /* of 5 MB, 250 of 526 ms */
	ck_assert_double_eq_tol(r.handover_bytes, r.link_bytes[3], 1e-6);
	ck_assert_double_eq(r.fetched_bytes, 0);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* The last bytes of a hand-over may arrive in the very nanosecond in which the prefill ends: the blocks stay
 * all the same. */
START_TEST(handover_in_no_time)
{
	struct setup u;
	struct mc_result r;
	const uint64_t name[2] = {1, 1};

	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	setup_set(&u, "cluster.prefill=1");
	u.cost.kv_bytes = 1;
	u.cost.net_bytes_per_s = 1e15;
	add(&u, 0, 100, 5, name, 0);
	add(&u, MC_NS_PER_S, 100, 5, name, 0);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[0].handover_end, r.row[0].prefill_end);
	ck_assert_uint_eq(r.row[1].local_hit, 99);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Pools as large as they can be: their sum is beyond 32 bits. */
START_TEST(blocks_of_huge_pools)
{
	struct setup u;
	struct mc_result r;
	const uint64_t name[2] = {1, 1};

	setup_init(&u, 512);
	setup_set(&u, "cluster.prefill=8");
	setup_set(&u, "kv.dram_tokens=1e12");
	add(&u, 0, 100, 5, name, 0);
	setup_run(&u, &r);
	ck_assert_uint_gt(r.samples.n, 0);
	ck_assert_uint_eq(r.samples.at[0].pool_blocks, 16 * UINT64_C(1953125000));
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* One wrong time stamp in a log: refused by name, before the time series eats all memory. */
START_TEST(gap_of_sixty_years)
{
	struct setup u;
	struct mc_result r;
	struct mc_err err = {0};
	const uint64_t name[2] = {1, 1};

	setup_init(&u, 16);
	add(&u, 0, 100, 5, name, 0);
	add(&u, 2000000000 * MC_NS_PER_S, 100, 5, name, 0);
	ck_assert_int_eq(setup_try(&u, &r, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "run.sample");
	setup_set(&u, "run.until=100s"); /* the gap is not simulated */
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[0].outcome, MC_COMPLETED);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* A prefill that outlasts the clock: 4 billion tokens, 580 years. */
START_TEST(longer_than_the_clock)
{
	static uint64_t id[4096];
	struct setup u;
	struct mc_result r;
	struct mc_err err = {0};

	for (uint64_t b = 0; b < 4096; b++)
		id[b] = b;
	setup_init(&u, 1 << 20);
	setup_set(&u, "kv.dram_tokens=1e10");
	mc_trace_push(&u.trace, 0, UINT32_MAX, 1, id);
	ck_assert_int_eq(setup_try(&u, &r, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "trace.path");
	setup_fini(&u);
}
END_TEST

/* A prompt that no transfer can carry: 48 TB of KV. One of half of that, in blocks of as much, is fine. */
START_TEST(more_than_a_transfer)
{
	static uint64_t id[512];

	for (uint64_t b = 0; b < 512; b++)
		id[b] = b;
	for (int half = 0; half < 2; half++) {
		struct setup u;
		struct mc_result r;
		struct mc_err err = {0};

		setup_init(&u, 1 << 20);
		setup_set(&u, "kv.dram_tokens=1e10");
		setup_set(&u, "run.sample=1e6s");
		u.cost.kv_bytes = 163840;
		u.cost.vram_kv_tokens = 1000000000;
		mc_trace_push(&u.trace, 0, half ? 150000000 : 300000000, 2, id);
		if (half) {
			setup_run(&u, &r);
			ck_assert_int_eq(r.row[0].outcome, MC_COMPLETED);
			mc_result_fini(&r);
		} else {
			ck_assert_int_eq(setup_try(&u, &r, &err), MC_USAGE);
			ck_assert_str_eq(err.key, "trace.path");
		}
		setup_fini(&u);
	}
}
END_TEST

/* Ctrl-C is heeded while few requests take long, too. */
START_TEST(interrupted_in_the_tail)
{
	static const volatile sig_atomic_t now = 1;
	struct mc_cluster_hooks hooks = {.interrupted = &now};
	struct setup u;
	struct mc_result r;
	const uint64_t name[2] = {1, 1};

	setup_init(&u, 16);
	setup_set(&u, "run.sample=200ms");
	add(&u, 0, 100, 10000, name, 0);
	ck_assert_int_eq(
	    mc_cluster_run(&(struct mc_cluster_setup){&u.s, &u.cost, &u.trace, &hooks}, &r, NULL), 0);
	ck_assert(r.interrupted);
	ck_assert_int_eq(r.row[0].outcome, MC_UNFINISHED);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cluster_edges");
	TCase *t = tcase_create("edges");

	tcase_add_test(t, busy_no_longer_than_the_run);
	tcase_add_test(t, bytes_of_a_cut_off_transfer);
	tcase_add_test(t, handover_in_no_time);
	tcase_add_test(t, blocks_of_huge_pools);
	tcase_add_test(t, gap_of_sixty_years);
	tcase_add_test(t, longer_than_the_clock);
	tcase_add_test(t, more_than_a_transfer);
	tcase_add_test(t, interrupted_in_the_tail);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
