/* A Conductor that learns late, on random scenarios with and without faults: no request is lost, invariants
 * hold, and once it has heard all it knows what is (run.check). */
#include "cluster_random.h"

#include "sched/admission.h"

static void set_staleness(struct setup *u, uint64_t *r)
{
	static const char *const late[] = {"1ns", "3ms", "60ms", "500ms", "5s", "1e6s"};

	setup_set(u, "conductor.staleness=%s", late[draw(r, 6)]);
}

/* Refusals after prefill, too: what had been told of those must be taken back. */
static void set_admission(struct setup *u, uint64_t *r)
{
	uint64_t n = 0;

	while (mc_admissions_names[n])
		n++;
	setup_set(u, "conductor.admission=%s", mc_admissions_names[draw(r, n)]);
	setup_set(u, "conductor.decode_check=%s", draw(r, 2) ? "auto" : "on");
	setup_set(u, "slo.ttft=%dms", 200 + (int)draw(r, 5000));
	setup_set(u, "slo.tbt=%dms", 5 + (int)draw(r, 40));
}

/* What happened in all rounds together. */
struct sums {
	uint64_t refused[MC_REFUSALS];
	uint64_t requests, completed, stale_blocks, faced, other, lost_nodes, retried, copies, dropped;
};

static void count(struct sums *s, const struct mc_result *r)
{
	s->stale_blocks += r->stale_blocks;
	s->faced += r->stale_blocks > 0;
	s->lost_nodes += r->outages.nodes;
	s->copies += r->replica_copies;
	s->dropped += r->replica_dropped_blocks;
	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];

		s->requests++;
		s->completed += row->outcome == MC_COMPLETED;
		s->refused[row->outcome == MC_REJECTED ? row->refusal : MC_TAKEN]++;
		s->retried += row->retries > 0;
		ck_assert(row->outcome != MC_UNFINISHED);
		ck_assert_uint_lt(mc_row_hit(row), row->input);
		ck_assert(row->source != MC_NONE || !row->remote_hit);
		if (row->outcome == MC_COMPLETED)
			ck_assert(row->end >= row->prefill_end && row->prefill_start >= row->decided &&
				  (row->output < 2 || row->handover_end >= row->prefill_end));
	}
}

static void rounds(struct sums *s, uint64_t seed, int n, bool faults)
{
	for (int round = 0; round < n; round++) {
		struct mc_result a, b, fresh;
		struct setup u;

		setup_init(&u, 16);
		random_scenario(&u, &seed);
		if (faults)
			add_faults(&u, &seed);
		if (draw(&seed, 3) == 0)
			set_admission(&u, &seed);
		add_sessions(&u, seed, 10 + (int)draw(&seed, 150));
		setup_run(&u, &fresh);
		ck_assert_uint_eq(fresh.stale_blocks, 0);
		set_staleness(&u, &seed);
		setup_run(&u, &a);
		count(s, &a);
		setup_set(&u, "run.fast_forward=false");
		setup_run(&u, &b);
		same_rows(&a, &b);
		ck_assert_uint_eq(a.stale_blocks, b.stale_blocks);
		for (int64_t i = 0; i < a.n_rows; i++)
			s->other += a.row[i].prefill != fresh.row[i].prefill;
		mc_result_fini(&fresh);
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
}

START_TEST(invariants_hold)
{
	struct sums s = {0};

	rounds(&s, 4, 120, false);
	ck_assert_uint_gt(s.completed, s.requests / 2);
	ck_assert_uint_gt(s.other, 500); /* it does decide otherwise */
	ck_assert_uint_gt(s.faced, 15);
	ck_assert_uint_gt(s.stale_blocks, 1000);
	ck_assert(s.copies > 10 && s.dropped > 20);
	ck_assert(s.refused[MC_REFUSED_PREFILL_LOAD] > 10 && s.refused[MC_REFUSED_DECODE_LOAD] > 100 &&
		  s.refused[MC_REFUSED_DECODE_CHECK] > 50);
}
END_TEST

START_TEST(invariants_hold_with_faults)
{
	struct sums s = {0};

	rounds(&s, 5, 120, true);
	ck_assert_uint_gt(s.completed, s.requests / 2);
	ck_assert_uint_gt(s.other, 500);
	ck_assert_uint_gt(s.faced, 15);
	ck_assert(s.lost_nodes > 50 && s.retried > 50);
}
END_TEST

/* Cut off anywhere, with news that nobody has heard. */
START_TEST(cut_off_anywhere)
{
	uint64_t rnd = 6;

	for (int round = 0; round < 60; round++) {
		struct setup u;

		setup_init(&u, 16);
		random_scenario(&u, &rnd);
		set_staleness(&u, &rnd);
		if (round % 2)
			add_faults(&u, &rnd);
		add_sessions(&u, rnd, 10 + (int)draw(&rnd, 100));
		cut_anywhere(&u, &rnd);
		setup_fini(&u);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("stale_random");
	TCase *t = tcase_create("stale_random");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, invariants_hold);
	tcase_add_test(t, invariants_hold_with_faults);
	tcase_add_test(t, cut_off_anywhere);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
