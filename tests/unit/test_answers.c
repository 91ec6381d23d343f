/* KV of answers for the prompts that go on from them (kv.write_back), by hand: hits, bytes and times. */
#include "cluster_fixture.h"

static const uint64_t one[2] = {1, 1}, other[2] = {2, 2};

/*
 * A prompt of 40 tokens in blocks of 16, an answer of 30, all but the last with KV: blocks 2 and 3 of the
 * next prompt (90 tokens) are whole. They are 32,000 B, 3.3 ms from the decode node to the prefill node.
 */
#define SENT_NS (INT64_C(3300000))

static void two_turns(struct setup *u, mc_time second)
{
	setup_init(u, 16);
	setup_set(u, "run.check=true");
	setup_set(u, "cluster.prefill=1");
	setup_set(u, "cluster.decode=1");
	add(u, 0, 40, 30, one, 0);
	add_turn(u, second, 0, 20, 5);
}

START_TEST(hits_and_bytes)
{
	static const struct {
		const char *set;
		uint32_t local, remote;       /* hit tokens of the second */
		double write_back, hand_over; /* bytes; the first hand-over is 40,000 */
	} way[] = {
	    {"kv.write_back=true", 64, 0, 32000, 26000}, {"kv.write_back=false", 32, 0, 0, 58000},
	    {"kv.pool=global", 32, 32, 0, 26000}, /* the decode node is the source */
	    {"kv.pool=local", 32, 0, 0, 26000},          {"kv.pool=off", 0, 0, 0, 90000},
	    {"kv.decode_share=0", 64, 0, 32000, 90000}, /* sent from VRAM */
	};

	for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
		struct setup u;
		struct mc_result r;

		two_turns(&u, 9 * MC_NS_PER_S);
		setup_set(&u, "%s", way[k].set);
		setup_run(&u, &r);
		ck_assert_uint_eq(r.row[1].local_hit, way[k].local);
		ck_assert_uint_eq(r.row[1].remote_hit, way[k].remote);
		ck_assert_double_eq(r.write_back_bytes, way[k].write_back);
		ck_assert_double_eq(r.handover_bytes, 40000 + way[k].hand_over);
		ck_assert_double_eq(r.fetched_bytes, way[k].remote * 1000.0);
		ck_assert_uint_eq(r.write_backs, k != 1 && k != 4);
		ck_assert_uint_eq(r.write_back_homeless, 0);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* Blocks count once all have come, and not before. */
START_TEST(of_use_when_they_have_come)
{
	struct setup u;
	struct mc_result r;
	mc_time first;

	two_turns(&u, 9 * MC_NS_PER_S);
	setup_run(&u, &r);
	first = r.row[0].end;
	mc_result_fini(&r);
	for (int late = 0; late < 2; late++) {
		u.trace.arrival[1] = first + SENT_NS - 50 * MC_NS_PER_MS + (late ? 1000 : -1000);
		setup_run(&u, &r);
		ck_assert_int_eq(r.row[0].end, first);
		ck_assert_uint_eq(r.row[1].local_hit, late ? 64 : 32);
		ck_assert_double_eq(r.write_back_bytes, 32000);
		mc_result_fini(&r);
	}
	/* Cut off half way: what was sent counts, and nothing stays pinned. */
	u.trace.arrival[1] = 9 * MC_NS_PER_S;
	setup_set(&u, "run.until=%lldns", (long long)first + 1700000);
	setup_run(&u, &r);
	ck_assert_double_eq_tol(r.write_back_bytes, 16000, 1);
	ck_assert_double_eq(r.handover_bytes, 40000);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* The next turn came before the answer was over: nothing is left to send. */
START_TEST(next_turn_was_faster)
{
	struct setup u;
	struct mc_result r;

	two_turns(&u, 60 * MC_NS_PER_MS);
	setup_run(&u, &r);
	ck_assert_int_lt(r.row[1].prefill_end, r.row[0].end);
	ck_assert_uint_eq(r.row[1].local_hit, 32);
	ck_assert_double_eq(r.write_back_bytes, 0);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* A prefill pool of six blocks, which another prompt fills while the first is answered: its answer has no
 * home there. The decode node keeps it. */
START_TEST(prompt_is_gone)
{
	struct setup u;
	struct mc_result r;

	two_turns(&u, 9 * MC_NS_PER_S);
	setup_set(&u, "kv.dram_tokens=96");
	setup_set(&u, "kv.decode_share=10");
	mc_trace_fini(&u.trace);
	mc_trace_init(&u.trace, 16);
	add(&u, 0, 40, 30, one, 0);
	add(&u, 100 * MC_NS_PER_MS, 96, 1, other, 0);
	add_turn(&u, 9 * MC_NS_PER_S, 0, 20, 5);
	setup_run(&u, &r);
	ck_assert_int_lt(r.row[1].prefill_end, r.row[0].end);
	ck_assert_uint_eq(r.row[2].local_hit, 0);
	ck_assert_uint_eq(r.write_backs, 1);
	ck_assert_uint_eq(r.write_back_homeless, 1);
	ck_assert_double_eq(r.handover_bytes, 40000 + 26000);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Another prefill instance has the prompt: it gets the answer. The first one's pool was filled with others.
 */
START_TEST(another_home)
{
	struct setup u;
	struct mc_result r;
	uint32_t home;

	two_turns(&u, 9 * MC_NS_PER_S);
	setup_set(&u, "cluster.prefill=2");
	setup_set(&u, "conductor.policy=round-robin");
	setup_set(&u, "kv.dram_tokens=96");
	setup_set(&u, "kv.decode_share=10");
	mc_trace_fini(&u.trace);
	mc_trace_init(&u.trace, 16);
	add(&u, 0, 40, 30, one, 0);
	add(&u, 100 * MC_NS_PER_MS, 40, 1, one, 0); /* on the other node, the same prompt */
	add(&u, 110 * MC_NS_PER_MS, 96, 1, other, 0);
	add_turn(&u, 9 * MC_NS_PER_S, 0, 20, 1);
	setup_run(&u, &r);
	home = r.row[1].prefill;
	ck_assert_uint_ne(home, r.row[0].prefill);
	ck_assert_uint_eq(r.row[2].prefill, r.row[0].prefill);
	ck_assert_int_lt(r.row[2].prefill_end, r.row[0].end);
	ck_assert_uint_eq(r.row[3].prefill, home);
	ck_assert_uint_eq(r.row[3].local_hit, 64);
	ck_assert_double_eq(r.write_back_bytes, 32000);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("answers");
	TCase *t = tcase_create("answers");

	tcase_add_test(t, hits_and_bytes);
	tcase_add_test(t, of_use_when_they_have_come);
	tcase_add_test(t, next_turn_was_faster);
	tcase_add_test(t, prompt_is_gone);
	tcase_add_test(t, another_home);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
