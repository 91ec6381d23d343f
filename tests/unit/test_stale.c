/* A Conductor that learns late, every number by hand: what it knows, when, and what comes of it. */
#include "outage_fixture.h"

/* A prompt of n tokens whose blocks are all named alike. */
static void add_named(struct setup *u, mc_time at, uint32_t n, uint32_t out, uint64_t k)
{
	uint64_t both[2] = {k, k};

	add(u, at, n, out, both, 0);
}

/*
 * Two decode nodes. The first request, of a short prompt, decodes for long at node 0; the second, of a longer
 * one, ends early at node 1, which is idle then. Who does not know it yet takes node 0 to have less to do.
 */
static uint32_t third_goes_to(mc_time late, mc_time *ended, mc_time *decided)
{
	struct mc_result r;
	struct setup u;
	uint32_t node;

	init(&u, 1, 2);
	setup_set(&u, "conductor.staleness=%lldns", (long long)late);
	add_named(&u, 0, 160, 1000, 1);
	add_named(&u, 0, 1600, 3, 2);
	add_named(&u, 1500 * MS, 160, 3, 3);
	setup_run(&u, &r);
	ck_assert_uint_eq(r.row[0].decode, 0);
	ck_assert_uint_eq(r.row[1].decode, 1);
	ck_assert_int_gt(r.row[0].end, r.row[2].end);
	*ended = r.row[1].end;
	*decided = r.row[2].decided;
	node = r.row[2].decode;
	mc_result_fini(&r);
	setup_fini(&u);
	return node;
}

START_TEST(learns_of_an_end_when_its_time_has_come)
{
	mc_time ended, decided, late;

	ck_assert_uint_eq(third_goes_to(0, &ended, &decided), 1);
	ck_assert_int_eq(decided, 1550 * MS);
	late = decided - ended;
	ck_assert(late > 500 * MS && late < 1500 * MS);
	ck_assert_uint_eq(third_goes_to(late, &ended, &decided), 1);
	ck_assert_uint_eq(third_goes_to(late + 1, &ended, &decided), 0);
	ck_assert_uint_eq(third_goes_to(3000 * MS, &ended, &decided), 0);
}
END_TEST

/* Room for 150 blocks: the second prompt evicts half of the first, which comes again while that is not known.
 * What is left of it is used, the rest is computed. */
START_TEST(uses_what_is_left)
{
	for (int late = 0; late < 2; late++) {
		struct mc_result r;
		struct setup u;

		init(&u, 1, 1);
		setup_set(&u, "kv.dram_tokens=2400");
		setup_set(&u, "conductor.staleness=%ds", 5 * late);
		add_named(&u, 0, 1600, 1, 1);
		add_named(&u, 2000 * MS, 1600, 1, 2);
		add_named(&u, 3000 * MS, 1600, 1, 1);
		setup_run(&u, &r);
		ck_assert_uint_eq(r.row[2].local_hit, 800);
		ck_assert_int_eq(r.row[2].prefill_end, 3050 * MS + prefill_time(&u, 1600, 800));
		ck_assert_int_eq(r.row[2].predicted_ttft,
				 50 * MS + prefill_time(&u, 1600, late ? 1599 : 800));
		ck_assert_uint_eq(r.stale_blocks, late ? 50 : 0);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* What the source of a fetch has lost: all of it (room for 200 blocks), or half (300). */
static void fetch_from(int room, mc_time late, uint32_t left, uint32_t lost)
{
	struct mc_result r;
	struct setup u;
	mc_time gpu;

	init(&u, 2, 1);
	u.cost.net_bytes_per_s = 1e8;
	setup_set(&u, "kv.dram_tokens=%d", 16 * room);
	setup_set(&u, "conductor.staleness=%lldns", (long long)late);
	add_named(&u, 0, 1600, 1, 1);                              /* node 0 */
	add_named(&u, 2000 * MS, 160, 1, 2);                       /* node 1, idle for longer */
	add_named(&u, 4000 * MS, room == 200 ? 3200 : 4000, 1, 3); /* node 0; evicts */
	add_named(&u, 4000 * MS, 1600, 1, 1); /* node 1, as the other has just got work */
	setup_run(&u, &r);
	ck_assert_uint_eq(r.row[2].prefill, 0);
	ck_assert_uint_eq(r.row[3].prefill, 1);
	ck_assert_uint_eq(r.row[3].remote_hit, 16 * left);
	ck_assert_uint_eq(r.row[3].source, left ? 0 : MC_NONE);
	ck_assert_uint_eq(r.stale_blocks, lost);
	near((mc_time)r.fetched_bytes, 16 * left * 1000);
	gpu = prefill_time(&u, 1600, 16 * left);
	/* Asked for in vain, it takes a start-up to find out; else computing goes on while blocks arrive. */
	if (!left && late)
		gpu += mc_time_from_s(u.cost.net_startup_s);
	ck_assert_int_eq(r.row[3].prefill_end, 4050 * MS + gpu);
	mc_result_fini(&r);
	setup_fini(&u);
}

START_TEST(fetches_what_the_source_has_left)
{
	fetch_from(200, 0, 0, 0);
	fetch_from(200, 3000 * MS, 0, 100);
	fetch_from(300, 0, 50, 0);
	fetch_from(300, 3000 * MS, 50, 50);
}
END_TEST

/* Own placements and reports of them are never counted twice, nor not at all: without fetches and evictions
 * the wait that is predicted is the wait, however late reports are. */
START_TEST(nothing_is_counted_twice)
{
	static const char *const late[] = {"0s", "1ns", "40ms", "300ms", "2s", "1e6s"};

	for (int nodes = 1; nodes < 4; nodes++) {
		for (int k = 0; k < 6; k++) {
			uint64_t rnd = 7;
			struct mc_result r;
			struct setup u;
			mc_time at = 0;

			init(&u, nodes, 1);
			setup_set(&u, "conductor.policy=%s", k % 2 ? "least-loaded" : "cache-aware");
			setup_set(&u, "conductor.staleness=%s", late[k]);
			for (uint64_t i = 0; i < 200; i++) {
				at += draw(&rnd, 3) ? (mc_time)draw(&rnd, 300 * MS) : 0;
				add_named(&u, at, 1 + (uint32_t)draw(&rnd, 3000), 1, 100 + i);
			}
			setup_run(&u, &r);
			for (int i = 0; i < 200; i++)
				near(r.row[i].predicted_ttft, r.row[i].prefill_end - r.row[i].arrival);
			mc_result_fini(&r);
			setup_fini(&u);
		}
	}
}
END_TEST

enum { NODES = 3, NAMES = 5, REQUESTS = 150 };

/*
 * It never hears of anything: then least-loaded is greedy on its own predictions, in which a node holds all
 * prompts that it was ever given. Pools forget, so others who know choose otherwise.
 */
START_TEST(knows_its_own_placements_alone)
{
	mc_time free_at[NODES] = {-1, -1, -1}, at = 0;
	bool given[NODES][NAMES] = {0};
	struct mc_result r, fresh;
	uint64_t rnd = 3;
	struct setup u;
	int other = 0;

	init(&u, NODES, 1);
	setup_set(&u, "conductor.policy=least-loaded");
	setup_set(&u, "kv.dram_tokens=3200");
	for (int i = 0; i < REQUESTS; i++) {
		uint32_t k = (uint32_t)draw(&rnd, NAMES);

		at += (mc_time)draw(&rnd, 90 * MS);
		add_named(&u, at, 1000 + 300 * k, 1, k);
	}
	setup_run(&u, &fresh);
	setup_set(&u, "conductor.staleness=1e9s");
	setup_run(&u, &r);
	for (int i = 0; i < REQUESTS; i++) {
		uint32_t n = r.row[i].input, k = (n - 1000) / 300, pick = 0;
		mc_time now = r.row[i].decided;

		for (uint32_t j = 1; j < NODES; j++)
			pick = free_at[j] < free_at[pick] ? j : pick;
		ck_assert_uint_eq(r.row[i].prefill, pick);
		free_at[pick] = (free_at[pick] > now ? free_at[pick] : now) +
				prefill_time(&u, n, given[pick][k] ? n - 1 : 0);
		near(r.row[i].predicted_ttft, free_at[pick] - r.row[i].arrival);
		given[pick][k] = true;
		other += r.row[i].prefill != fresh.row[i].prefill;
	}
	ck_assert_int_gt(other, 20);
	ck_assert_uint_gt(r.stale_blocks, 1000);
	mc_result_fini(&r);
	mc_result_fini(&fresh);
	setup_fini(&u);
}
END_TEST

/* Its own placements count at once: with the whole cluster idle, prompts of one instant are spread. */
START_TEST(spreads_what_comes_at_once)
{
	struct mc_result r;
	struct setup u;

	init(&u, 4, 4);
	setup_set(&u, "conductor.policy=least-loaded");
	setup_set(&u, "conductor.staleness=1e6s");
	for (uint64_t i = 0; i < 8; i++)
		add_named(&u, 0, 1000, 100, i);
	setup_run(&u, &r);
	for (uint32_t i = 0; i < 8; i++) {
		ck_assert_uint_eq(r.row[i].prefill, i % 4);
		ck_assert_uint_eq(r.row[i].decode, i % 4);
	}
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("stale");
	TCase *t = tcase_create("stale");

	tcase_add_test(t, learns_of_an_end_when_its_time_has_come);
	tcase_add_test(t, uses_what_is_left);
	tcase_add_test(t, fetches_what_the_source_has_left);
	tcase_add_test(t, nothing_is_counted_twice);
	tcase_add_test(t, knows_its_own_placements_alone);
	tcase_add_test(t, spreads_what_comes_at_once);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
