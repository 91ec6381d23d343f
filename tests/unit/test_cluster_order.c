/* Prompts served by deadline in a cluster: overtaking, what they count on, and who is late. */
#include "cluster_random.h"

/*
 * One prefill node, 0.1 ms a token: a long prompt is computed while two more wait, of 30,000 and of 2,000
 * tokens, that begin alike. The first of them cannot be in time with the other one, so that one overtakes it,
 * though it counted on its blocks: it computes them, and the long one finds them there.
 */
START_TEST(overtaken)
{
	struct setup u;
	struct mc_result r;
	const uint64_t one[2] = {1, 1}, two[2] = {7, 2}, three[2] = {7, 3};

	setup_init(&u, 100);
	u.cost.vram_kv_tokens = 1000000;
	u.cost.schedule_s = 0;
	setup_set(&u, "run.check=true");
	setup_set(&u, "cluster.prefill=1");
	setup_set(&u, "cluster.decode=1");
	setup_set(&u, "kv.dram_tokens=1M");
	setup_set(&u, "slo.ttft=4s");
	setup_set(&u, "cluster.prefill_order=deadline");
	add(&u, 0, 10000, 2, one, 0);
	add(&u, 1000, 30000, 2, two, 15);
	add(&u, 2000, 2000, 2, three, 15);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[2].prefill_start, r.row[0].prefill_end);
	ck_assert_int_eq(r.row[1].prefill_start, r.row[2].prefill_end);
	ck_assert_uint_eq(r.row[2].local_hit, 0);
	ck_assert_double_eq(r.row[2].compute_s, mc_cost_prefill_compute_s(&u.cost, 2000, 0));
	ck_assert_uint_eq(r.row[1].local_hit, 1500);
	ck_assert_double_eq(r.row[1].compute_s, mc_cost_prefill_compute_s(&u.cost, 30000, 1500));
	mc_result_fini(&r);
	setup_set(&u, "cluster.prefill_order=fifo");
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[1].prefill_start, r.row[0].prefill_end);
	ck_assert_uint_eq(r.row[1].local_hit, 0);
	ck_assert_uint_eq(r.row[2].local_hit, 1500);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static int64_t in_time(const struct mc_result *r, mc_time ttft)
{
	int64_t n = 0;

	for (int64_t i = 0; i < r->n_rows; i++)
		n += r->row[i].prefill_end >= 0 && r->row[i].prefill_end - r->row[i].arrival <= ttft;
	return n;
}

/* Random clusters keep all invariants (run.check), end what they began, and are in time more often than not
 * served in order: in sum, as a single run may have bad luck. */
START_TEST(random_clusters)
{
	uint64_t rnd = 11;
	int64_t fifo = 0, deadline = 0;

	for (int round = 0; round < 40; round++) {
		mc_time ttft = (1 + (mc_time)draw(&rnd, 5)) * 100000000;
		struct setup u;
		struct mc_result r;

		setup_init(&u, 16);
		add_sessions(&u, draw(&rnd, 1 << 20), 150);
		random_scenario(&u, &rnd);
		setup_set(&u, "slo.ttft=%gs", mc_time_to_s(ttft));
		setup_set(&u, "cluster.prefill_late_share=%g", (double)draw(&rnd, 3) / 4);
		setup_run(&u, &r);
		fifo += in_time(&r, ttft);
		mc_result_fini(&r);
		setup_set(&u, "cluster.prefill_order=deadline");
		setup_set(&u, "conductor.staleness=%dms", (int)draw(&rnd, 2) * 100);
		setup_run(&u, &r);
		deadline += in_time(&r, ttft);
		for (int64_t i = 0; i < r.n_rows; i++)
			ck_assert_int_ne(r.row[i].outcome, MC_UNFINISHED);
		mc_result_fini(&r);
		setup_fini(&u);
	}
	ck_assert_msg(deadline > fifo, "%lld of %lld", (long long)deadline, (long long)fifo);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cluster_order");
	TCase *t = tcase_create("order");

	tcase_add_test(t, overtaken);
	tcase_add_test(t, random_clusters);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
