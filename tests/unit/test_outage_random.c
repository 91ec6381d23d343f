/* Random faults on random scenarios: no request is lost, nothing stays pinned, and the invariants hold. */
#include "cluster_random.h"

/* What happened in all rounds together: every way was gone. */
struct sums {
	uint64_t outcome[4], retried, no_instance;
	struct mc_outages o;
	double resent;
};

static void count(struct sums *s, const struct setup *u, const struct mc_result *r)
{
	uint64_t retried = 0;

	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];

		s->outcome[row->outcome]++;
		s->no_instance += row->outcome == MC_REJECTED && row->refusal == MC_REFUSED_NO_INSTANCE;
		retried += row->retries;
		ck_assert_int_le(row->retries, u->s.faults.retries);
		ck_assert(row->outcome != MC_FAILED || row->retries == u->s.faults.retries);
		ck_assert(row->outcome != MC_UNFINISHED); /* there is always a NIC to come */
		if (row->outcome == MC_COMPLETED)
			ck_assert(row->end >= row->prefill_end && row->prefill_start >= row->decided &&
				  (row->output < 2 || row->handover_end >= row->prefill_end));
	}
	ck_assert_uint_ge(r->outages.restarts + r->outages.moves, retried);
	s->retried += retried;
	s->o.nodes += r->outages.nodes;
	s->o.nics += r->outages.nics;
	s->o.lost_blocks += r->outages.lost_blocks;
	s->o.restarts += r->outages.restarts;
	s->o.moves += r->outages.moves;
	s->o.failed_fetches += r->outages.failed_fetches;
	s->o.lost_prefill += r->outages.lost_prefill;
	s->o.lost_tokens += r->outages.lost_tokens;
	s->resent += r->resent_bytes;
}

START_TEST(no_request_is_lost)
{
	uint64_t rnd = 99;
	struct sums s = {0};

	for (int round = 0; round < 150; round++) {
		struct setup u;
		struct mc_result a, b;

		setup_init(&u, 16);
		random_scenario(&u, &rnd);
		add_faults(&u, &rnd);
		add_sessions(&u, rnd, 10 + (int)draw(&rnd, 150));
		setup_run(&u, &a);
		count(&s, &u, &a);
		setup_set(&u, "run.fast_forward=%s", round % 2 ? "true" : "false");
		setup_run(&u, &b);
		same_rows(&a, &b);
		ck_assert_mem_eq(&a.outages, &b.outages, sizeof a.outages);
		ck_assert(round % 2 == 0 || a.events == b.events);
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
	ck_assert(s.outcome[MC_COMPLETED] > 1000 && s.outcome[MC_FAILED] > 10 && s.no_instance > 10);
	ck_assert(s.o.nodes > 100 && s.o.nics > 100 && s.o.lost_blocks > 1000);
	ck_assert(s.o.restarts > 100 && s.o.moves > 20 && s.o.failed_fetches > 5 && s.retried > 100);
	ck_assert(s.o.lost_prefill > MC_NS_PER_S && s.o.lost_tokens > 100 && s.resent > 1000);
}
END_TEST

/* A run cut off anywhere, while nodes are away and transfers wait. */
START_TEST(cut_off_anywhere)
{
	uint64_t rnd = 5;

	for (int round = 0; round < 60; round++) {
		struct setup u;

		setup_init(&u, 16);
		random_scenario(&u, &rnd);
		add_faults(&u, &rnd);
		add_sessions(&u, rnd, 10 + (int)draw(&rnd, 100));
		cut_anywhere(&u, &rnd);
		setup_fini(&u);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("outage_random");
	TCase *t = tcase_create("outage_random");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, no_request_is_lost);
	tcase_add_test(t, cut_off_anywhere);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
