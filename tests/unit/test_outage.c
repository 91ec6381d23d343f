/* Faults carried out, every number by hand: who is late by how much, what is lost, what becomes of it. */
#include "outage_fixture.h"

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

static Suite *suite(void)
{
	Suite *s = suite_create("outage");
	TCase *t = tcase_create("outage");

	tcase_add_test(t, prefill_node_lost);
	tcase_add_test(t, back_before_it_is_known);
	tcase_add_test(t, decode_node_lost_while_it_answers);
	tcase_add_test(t, decode_node_lost_before_it_has_the_kv);
	tcase_add_test(t, source_of_a_fetch_lost);
	tcase_add_test(t, no_decode_instance_left);
	tcase_add_test(t, no_prefill_instance_left);
	tcase_add_test(t, given_up);
	tcase_add_test(t, ssd_outlives_the_node);
	tcase_add_test(t, group_lost);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
