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
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cluster_edges");
	TCase *t = tcase_create("edges");

	tcase_add_test(t, busy_no_longer_than_the_run);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
