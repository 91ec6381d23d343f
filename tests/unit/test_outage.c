/* Faults carried out, every number by hand: who is late by how much, what is lost, what becomes of it. */
#include "cluster_fixture.h"

#define MS MC_NS_PER_MS

static const uint64_t name[6][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}};

static void init(struct setup *u, int prefill, int decode)
{
	setup_init(u, 16);
	setup_set(u, "run.check=true");
	setup_set(u, "cluster.prefill=%d", prefill);
	setup_set(u, "cluster.decode=%d", decode);
}

static mc_time prefill_time(const struct setup *u, uint32_t n, uint32_t cached)
{
	return mc_time_from_s(mc_cost_prefill_gpu_s(&u->cost, n, cached));
}

static void near(mc_time got, mc_time expected)
{
	ck_assert_int_ge(got, expected - 3);
	ck_assert_int_le(got, expected + 3);
}

static void outcomes(const struct mc_result *r, int completed, int rejected, int failed, int unfinished)
{
	int n[4] = {0};

	for (int64_t i = 0; i < r->n_rows; i++)
		n[r->row[i].outcome]++;
	ck_assert_int_eq(n[MC_COMPLETED], completed);
	ck_assert_int_eq(n[MC_REJECTED], rejected);
	ck_assert_int_eq(n[MC_FAILED], failed);
	ck_assert_int_eq(n[MC_UNFINISHED], unfinished);
}

/*
 * Prompts of 526 ms, in turn on nodes 0, 1, 0. Node 0 is lost at 300 ms, 250 ms into the first; the Conductor
 * knows at 500 ms, and until then places the third there, too. Both then queue at node 1, behind the second.
 * Node 0 is back for the last two.
 */
START_TEST(prefill_node_lost)
{
	struct setup u;
	struct mc_result r;
	mc_time gpu;

	init(&u, 2, 1);
	setup_set(&u, "conductor.policy=round-robin");
	setup_set(&u, "faults.detect=200ms");
	setup_set(&u, "faults.events=[{\"at\": \"300ms\", \"what\": \"node_down\", \"node\": \"prefill0\", "
		      "\"for\": 10}]");
	for (int i = 0; i < 5; i++)
		add(&u, i < 2 ? 0 : i < 3 ? 350 * MS : 20000 * MS, 5000, 1, name[i], 0);
	setup_run(&u, &r);
	gpu = prefill_time(&u, 5000, 0);
	ck_assert_int_eq(gpu, 526 * MS);
	outcomes(&r, 5, 0, 0, 0);
	ck_assert_int_eq(r.row[1].prefill_end, 50 * MS + gpu);
	ck_assert_int_eq(r.row[0].decided, 500 * MS);
	ck_assert_int_eq(r.row[0].prefill_end, 50 * MS + 2 * gpu);
	ck_assert_int_eq(r.row[2].decided, 500 * MS);
	ck_assert_int_eq(r.row[2].prefill_end, 50 * MS + 3 * gpu);
	ck_assert_int_eq(r.row[3].prefill_end, 20050 * MS + gpu);
	ck_assert_int_eq(r.row[4].prefill_end, 20050 * MS + gpu);
	ck_assert_uint_ne(r.row[3].prefill, r.row[4].prefill);
	for (int i = 0; i < 5; i++)
		ck_assert_uint_eq(r.row[i].retries, i == 0 || i == 2);
	ck_assert_uint_eq(r.outages.nodes, 1);
	ck_assert_uint_eq(r.outages.restarts, 2);
	ck_assert_int_eq(r.outages.node_down, 10000 * MS);
	ck_assert_int_eq(r.outages.lost_prefill, 250 * MS);
	ck_assert_uint_eq(r.outages.lost_blocks, 0); /* promised ones never came */
	ck_assert_int_eq(r.prefill_busy[0], 250 * MS + gpu);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Back before anyone noticed, with nothing left of what was there: the same node begins anew. */
START_TEST(back_before_it_is_known)
{
	struct setup u;
	struct mc_result r;

	init(&u, 1, 1);
	setup_set(&u, "faults.events=[{\"at\": \"700ms\", \"what\": \"node_down\", \"node\": \"prefill0\", "
		      "\"for\": \"100ms\"}]");
	add(&u, 0, 5000, 1, name[0], 0);
	add(&u, 500 * MS, 5000, 1, name[1], 0);
	add(&u, 5000 * MS, 5000, 1, name[0], 0);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[0].prefill_end, 576 * MS);
	ck_assert_int_eq(r.row[1].decided, 800 * MS);
	ck_assert_int_eq(r.row[1].prefill_end, 800 * MS + 526 * MS);
	ck_assert_uint_eq(r.row[1].retries, 1);
	ck_assert_uint_eq(r.row[2].local_hit, 0);
	ck_assert_uint_eq(r.outages.lost_blocks, 313);
	ck_assert_int_eq(r.outages.node_down, 100 * MS);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/*
 * 1,000 tokens, then ten iterations from 162.1 ms on. The decode node is lost after three of them. The prompt
 * is cached at the prefill node, and all of its KV goes to the other decode node.
 */
START_TEST(decode_node_lost_while_it_answers)
{
	struct setup u;
	struct mc_result r;
	mc_time gpu, last;

	init(&u, 1, 2);
	setup_set(&u, "faults.detect=100ms");
	setup_set(&u, "faults.events=[{\"at\": \"200ms\", \"what\": \"node_down\", \"node\": \"decode0\"}]");
	add(&u, 0, 1000, 11, name[0], 0);
	setup_run(&u, &r);
	gpu = prefill_time(&u, 1000, 999);
	outcomes(&r, 1, 0, 0, 0);
	ck_assert_uint_eq(r.row[0].retries, 1);
	ck_assert_int_eq(r.row[0].decided, 300 * MS);
	ck_assert_uint_eq(r.row[0].local_hit, 999);
	ck_assert_uint_eq(r.row[0].decode, 1);
	ck_assert_int_eq(r.row[0].prefill_end, 300 * MS + gpu);
	near(r.row[0].handover_end, 300 * MS + 100000 + 100 * MS);
	last = r.row[0].handover_end + 100000;
	for (int k = 0; k < 10; k++)
		last += 10000000 + (1000 + k) * 1000;
	ck_assert_int_eq(r.row[0].end, last);
	ck_assert_int_eq(r.outages.lost_tokens, 3);
	ck_assert_int_eq(r.outages.lost_prefill, 0);
	ck_assert_uint_eq(r.outages.restarts, 1);
	ck_assert_uint_eq(r.outages.lost_blocks, 63);
	ck_assert_int_eq(r.outages.node_down, r.end - 200 * MS); /* it stays away */
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* The decode node is lost during prefill, or during the hand-over: another one gets all KV from the moment
 * when it is known, while the first token comes when it would have. */
START_TEST(decode_node_lost_before_it_has_the_kv)
{
	static const struct {
		const char *at, *detect;
		mc_time known;
		uint32_t retries;
	} c[] = {
	    {"100ms", "30ms", 130 * MS, 0}, {"155ms", "45ms", 200 * MS, 1}, {"10ms", "20ms", 52 * MS, 0}};

	for (int k = 0; k < 3; k++) {
		struct setup u;
		struct mc_result r;

		init(&u, 1, 2);
		setup_set(&u, "faults.detect=%s", c[k].detect);
		setup_set(&u,
			  "faults.events=[{\"at\": \"%s\", \"what\": \"node_down\", \"node\": \"decode0\"}]",
			  c[k].at);
		add(&u, 0, 1000, 11, name[0], 0);
		setup_run(&u, &r);
		outcomes(&r, 1, 0, 0, 0);
		ck_assert_int_eq(r.row[0].prefill_end, 152 * MS);
		ck_assert_uint_eq(r.row[0].decode, 1);
		ck_assert_uint_eq(r.row[0].retries, c[k].retries);
		ck_assert_uint_eq(r.outages.moves,
				  k < 2); /* the last time it was known before the decision */
		ck_assert_uint_eq(r.outages.restarts, 0);
		if (k < 2)
			near(r.row[0].handover_end, c[k].known + 100000 + 100 * MS);
		else
			near(r.row[0].handover_end, 162 * MS);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* As one_fetch_by_closed_form in test_cluster.c, and the source is lost 50 ms into the fetch: node 1 has
 * stood still for 150 ms when it knows, then computes all but the 320 tokens that it has. */
START_TEST(source_of_a_fetch_lost)
{
	const uint64_t prompt[4][2] = {{1, 1}, {1, 2}, {3, 3}, {1, 4}};
	struct setup u;
	struct mc_result r;
	const struct mc_row *f;

	init(&u, 2, 1);
	setup_set(&u, "faults.detect=100ms");
	setup_set(&u,
		  "faults.events=[{\"at\": \"1200ms\", \"what\": \"node_down\", \"node\": \"prefill0\"}]");
	add(&u, 0, 1600, 1, prompt[0], 100);
	add(&u, 0, 1700, 3, prompt[1], 20);
	add(&u, MC_NS_PER_S, 5000, 1, prompt[2], 0);
	add(&u, 1100 * MS, 2400, 3, prompt[3], 100);
	setup_run(&u, &r);
	f = &r.row[3];
	outcomes(&r, 4, 0, 0, 0);
	ck_assert_uint_eq(f->prefill, 1);
	ck_assert_uint_eq(f->retries, 0);
	ck_assert_uint_eq(f->local_hit, 320);
	ck_assert_uint_eq(f->remote_hit, 0);
	ck_assert_uint_eq(f->source, MC_NONE);
	ck_assert_int_eq(f->fetch_wait, 150 * MS);
	ck_assert_int_eq(f->prefill_end, 1300 * MS + prefill_time(&u, 2400, 320));
	ck_assert_uint_eq(r.outages.failed_fetches, 1);
	ck_assert_double_eq_tol(r.fetched_bytes, 0.0499 * 1e7, 20); /* that came, of 1.28 MB */
	ck_assert_uint_eq(r.row[2].retries, 1);
	ck_assert_int_eq(r.row[2].prefill_start, f->prefill_end);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

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

/* Without a decode instance what is to go there is refused: at its arrival, when its prefill is over, or at
 * once when that was over already; unless one is back by then. One-token outputs go on. */
START_TEST(no_decode_instance_left)
{
	for (int back = 0; back < 2; back++) {
		struct setup u;
		struct mc_result r;

		init(&u, 2, 1);
		setup_set(&u, "faults.detect=20ms");
		setup_set(
		    &u,
		    "faults.events=[{\"at\": \"155ms\", \"what\": \"node_down\", \"node\": \"decode0\", "
		    "\"for\": \"%s\"}]",
		    back ? "200ms" : "1h");
		add(&u, 0, 1000, 11, name[0], 0); /* until 152 ms, then handed over */
		add(&u, 0, 5000, 11, name[1], 0); /* until 576 ms */
		add(&u, 170 * MS, 1000, 11, name[2], 0);
		add(&u, 170 * MS, 1000, 1, name[3], 0);
		setup_run(&u, &r);
		outcomes(&r, 1 + back, 3 - back, 0, 0);
		ck_assert_int_eq(r.row[0].outcome, MC_REJECTED);
		ck_assert_int_eq(r.row[0].refusal, MC_REFUSED_NO_INSTANCE);
		ck_assert_int_eq(r.row[1].outcome, back ? MC_COMPLETED : MC_REJECTED);
		ck_assert_int_eq(r.row[1].prefill_end, 576 * MS);
		ck_assert_int_eq(r.row[2].outcome, MC_REJECTED);
		ck_assert_int_eq(r.row[2].prefill_end, -1);
		ck_assert_int_eq(r.row[3].outcome, MC_COMPLETED);
		if (back) /* all of it is sent when the prefill is over */
			near(r.row[1].handover_end, 576 * MS + 100000 + 500 * MS);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

START_TEST(no_prefill_instance_left)
{
	struct setup u;
	struct mc_result r;

	init(&u, 1, 1);
	setup_set(&u, "faults.detect=50ms");
	setup_set(&u, "faults.events=[{\"at\": \"100ms\", \"what\": \"node_down\", \"node\": \"prefill0\"}]");
	add(&u, 0, 1000, 2, name[0], 0);
	add(&u, 1000 * MS, 1000, 1, name[1], 0);
	setup_run(&u, &r);
	outcomes(&r, 0, 2, 0, 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(r.row[i].refusal, MC_REFUSED_NO_INSTANCE);
		ck_assert_int_eq(r.row[i].prefill_start, -1);
		ck_assert_uint_eq(r.row[i].prefill, MC_NONE);
	}
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* The limit of retries: the prefill node is lost again and again, 20 ms after it is back. */
START_TEST(given_up)
{
	for (int retries = 0; retries < 4; retries++) {
		struct setup u;
		struct mc_result r;

		init(&u, 1, 1);
		setup_set(&u, "faults.retries=%d", retries);
		setup_set(
		    &u,
		    "faults.events=["
		    "{\"at\": \"70ms\", \"what\": \"node_down\", \"node\": \"prefill0\", \"for\": \"10ms\"},"
		    "{\"at\": \"100ms\", \"what\": \"node_down\", \"node\": \"prefill0\", \"for\": \"10ms\"},"
		    "{\"at\": \"130ms\", \"what\": \"node_down\", \"node\": \"prefill0\", \"for\": "
		    "\"10ms\"}]");
		add(&u, 0, 1000, 1, name[0], 0);
		setup_run(&u, &r);
		outcomes(&r, retries == 3, 0, retries < 3, 0);
		ck_assert_uint_eq(r.row[0].retries, retries);
		ck_assert_int_eq(r.row[0].prefill_end, retries == 3 ? (140 + 102) * MS : -1);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* What a lost node wrote to its SSD is there when it is back, and while it is away nobody counts on it. */
START_TEST(ssd_outlives_the_node)
{
	struct setup u;
	struct mc_result r;

	init(&u, 2, 1);
	setup_set(&u, "kv.ssd_write=through");
	setup_set(&u, "kv.ssd_tokens=16000");
	u.cost.ssd_read_bytes_per_s = u.cost.ssd_write_bytes_per_s = 1e8;
	setup_set(&u, "faults.detect=0s");
	setup_set(&u,
		  "faults.events=[{\"at\": 2, \"what\": \"node_down\", \"node\": \"prefill0\", \"for\": 2},"
		  "{\"at\": 1, \"what\": \"ssd_slow\", \"node\": \"prefill0\", \"factor\": 0.5}]");
	add(&u, 0, 1600, 1, name[0], 0);
	add(&u, 3000 * MS, 800, 1, name[0], 0);
	add(&u, 5000 * MS, 1600, 1, name[0], 0);
	setup_run(&u, &r);
	outcomes(&r, 3, 0, 0, 0);
	ck_assert_uint_eq(r.row[1].prefill, 1);
	ck_assert_uint_eq(mc_row_hit(&r.row[1]), 0);
	ck_assert_uint_eq(r.row[2].prefill, 0);
	ck_assert_uint_eq(r.row[2].ssd_hit, 1599);
	ck_assert_uint_eq(r.outages.lost_blocks, 100);
	mc_result_fini(&r);
	setup_fini(&u);
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
	add(&u, 60000 * MS, 1000, 1, name[1], 0);
	setup_run(&u, &r);
	outcomes(&r, 1, 0, 0, 1);
	ck_assert_int_eq(r.row[0].handover_end, -1);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* One node of a group takes the instance with it. */
START_TEST(group_lost)
{
	struct setup u;
	struct mc_result r;

	init(&u, 4, 1);
	setup_set(&u, "cluster.prefill_group=2");
	setup_set(&u, "cluster.prefill_chunk=1000");
	setup_set(&u, "faults.detect=0s");
	setup_set(&u, "faults.events=[{\"at\": \"200ms\", \"what\": \"node_down\", \"node\": \"prefill0\"}]");
	for (int i = 0; i < 4; i++)
		add(&u, 0, 5000, 3, name[i], 0);
	setup_run(&u, &r);
	outcomes(&r, 4, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(r.row[i].prefill, 1);
	ck_assert_uint_eq(r.outages.restarts, 2);
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
	Suite *s = suite_create("outage");
	TCase *t = tcase_create("outage");

	tcase_add_test(t, prefill_node_lost);
	tcase_add_test(t, back_before_it_is_known);
	tcase_add_test(t, decode_node_lost_while_it_answers);
	tcase_add_test(t, decode_node_lost_before_it_has_the_kv);
	tcase_add_test(t, source_of_a_fetch_lost);
	tcase_add_test(t, nic_lost_in_mid_transfer);
	tcase_add_test(t, slow_links);
	tcase_add_test(t, no_decode_instance_left);
	tcase_add_test(t, no_prefill_instance_left);
	tcase_add_test(t, given_up);
	tcase_add_test(t, ssd_outlives_the_node);
	tcase_add_test(t, nothing_can_go_on);
	tcase_add_test(t, group_lost);
	tcase_add_test(t, what_the_cluster_has_not);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
