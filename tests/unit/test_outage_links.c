/* Faults of NICs, links and SSDs carried out, and what a cluster does not have. */
#include "outage_fixture.h"

/* 1 MB over four NICs of 2.5 MB/s; one fails after 40 ms, with 150 kB to go: 600 kB over three take 80 ms. */
START_TEST(nic_lost_in_mid_transfer)
{
	static const char *const node[] = {"prefill0", "decode0"};

	for (int k = 0; k < 2; k++) {
		struct setup u;
		struct mc_result r;

		init(&u, 1, 1);
		u.cost.nics = (struct mc_nics){
		    .n = 4, .sockets = 1, .switches = 1, .bytes_per_s = {2.5e6, 2.5e6, 2.5e6, 2.5e6}};
		setup_set(&u, "cluster.stream=after");
		setup_set(&u, "net.slice=1");
		setup_set(&u, "net.failover=0s");
		setup_set(&u,
			  "faults.events=[{\"at\": \"192.1ms\", \"what\": \"nic_down\", \"node\": \"%s\", "
			  "\"nic\": 2, "
			  "\"for\": \"1s\"}]",
			  node[k]);
		add(&u, 0, 1000, 2, name[0], 0);
		add(&u, 3000 * MS, 1000, 2, name[1], 0);
		setup_run(&u, &r);
		outcomes(&r, 2, 0, 0, 0);
		ck_assert_int_eq(r.row[0].prefill_end, 152 * MS);
		near(r.row[0].handover_end, 152 * MS + 100000 + 120 * MS);
		near(r.row[1].handover_end - r.row[1].prefill_end, 100000 + 100 * MS);
		ck_assert_uint_eq(r.outages.nics, 1);
		ck_assert_int_eq(r.outages.nic_down, 1000 * MS);
		ck_assert_double_le(r.resent_bytes, 2);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* Slow from 202.1 ms on, when half of the KV is over: the other half takes twice as long; two causes
 * multiply. */
START_TEST(slow_links)
{
	static const struct {
		const char *events;
		mc_time more;
	} c[] = {
	    {"[{\"at\": \"202.1ms\", \"what\": \"link_slow\", \"node\": \"prefill0\", \"factor\": 0.5}]",
	     50 * MS},
	    {"[{\"at\": \"202.1ms\", \"what\": \"link_slow\", \"link\": \"decode0.in\", \"factor\": 0.5}]",
	     50 * MS},
	    {"[{\"at\": \"202.1ms\", \"what\": \"link_slow\", \"link\": \"decode0.out\", \"factor\": 0.5}]",
	     0},
	    {"[{\"at\": \"202.1ms\", \"what\": \"link_slow\", \"node\": \"decode0\", \"nic\": 0, \"factor\": "
	     "0.5},"
	     "{\"at\": 0, \"what\": \"link_slow\", \"link\": \"decode0.nic0.in\", \"factor\": 0.1, \"for\": "
	     "\"10ms\"},"
	     "{\"at\": \"202.1ms\", \"what\": \"link_slow\", \"node\": \"decode0\", \"factor\": 0.5, "
	     "\"for\": \"100ms\"}]",
	     /* 25 kB in the first 100 of them, ... 250 kB then, the rest at half speed */ 100 * MS},
	};

	for (int k = 0; k < 4; k++) {
		struct setup u;
		struct mc_result r;

		init(&u, 1, 1);
		setup_set(&u, "cluster.stream=after");
		setup_set(&u, "faults.events=%s", c[k].events);
		add(&u, 0, 1000, 2, name[0], 0);
		setup_run(&u, &r);
		near(r.row[0].handover_end, 152 * MS + 100000 + 100 * MS + c[k].more);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* Its only NIC is down for good: the hand-over waits for ever, and the run ends all the same. */
START_TEST(nothing_can_go_on)
{
	struct setup u;
	struct mc_result r;

	init(&u, 1, 1);
	setup_set(
	    &u,
	    "faults.events=[{\"at\": \"100ms\", \"what\": \"nic_down\", \"node\": \"decode0\", \"nic\": 0}]");
	add(&u, 0, 1000, 2, name[0], 0);
	setup_set(&u, "conductor.replicas=2");
	add(&u, 60000 * MS, 1000, 1, name[1], 0);
	setup_run(&u, &r);
	outcomes(&r, 1, 0, 0, 1);
	ck_assert_int_eq(r.row[0].handover_end, -1);
	ck_assert_int_lt(r.end, 100000 * MS);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

START_TEST(what_the_cluster_has_not)
{
	static const struct {
		const char *event, *key, *text;
	} c[] = {
	    {"\"what\": \"link_slow\", \"link\": \"prefill7.out\", \"factor\": 0.5", ".link", "no link"},
	    {"\"what\": \"ssd_slow\", \"node\": \"prefill0\", \"factor\": 0.5", ".node", "no SSD tier"},
	    {"\"what\": \"nic_down\", \"node\": \"prefill0\", \"nic\": 1", ".nic", "expected 0 to 0"},
	    {"\"what\": \"link_slow\", \"node\": \"prefill0\", \"factor\": 1e-300", "", "a run holds"},
	};

	for (int k = 0; k < 4; k++) {
		struct setup u;
		struct mc_result r;
		struct mc_err err = {0};
		char key[64];

		init(&u, 1, 1);
		setup_set(&u, "faults.events=[{\"at\": 1, %s}]", c[k].event);
		add(&u, 0, 1000, 2, name[0], 0);
		ck_assert_int_eq(setup_try(&u, &r, &err), MC_USAGE);
		snprintf(key, sizeof key, "faults.events[0]%s", c[k].key);
		ck_assert_str_eq(err.key, k < 3 ? key : "trace.path");
		ck_assert_msg(strstr(err.text, c[k].text), "%s", err.text);
		setup_fini(&u);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("outage_links");
	TCase *t = tcase_create("outage_links");

	tcase_add_test(t, nic_lost_in_mid_transfer);
	tcase_add_test(t, slow_links);
	tcase_add_test(t, nothing_can_go_on);
	tcase_add_test(t, what_the_cluster_has_not);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
