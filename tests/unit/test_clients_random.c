/* Clients of all kinds on random clusters that fail: each request ends once, and attempts add up. */
#include "cluster_random.h"

#include "cluster/clients.h"
#include "cluster/metrics.h"

struct sums {
	uint64_t outcome[4], resent, refusals, wasted, waited;
};

static void random_clients(struct setup *u, uint64_t *r)
{
	static const char *const jitter[] = {"off", "half", "full"};
	static const char *const admission[] = {"none", "baseline", "early", "predict", "predict-length"};

	setup_set(u, "seed=%d", (int)draw(r, 1000));
	setup_set(u, "clients.mode=%s", draw(r, 2) ? "closed" : "open");
	setup_set(u, "clients.number=%d", 1 + (int)(draw(r, 2) ? draw(r, 5) : draw(r, 300)));
	setup_set(u, "clients.think=%dms", (int)(draw(r, 4) * draw(r, 500)));
	setup_set(u, "clients.think_shape=%s", draw(r, 2) ? "constant" : "exponential");
	setup_set(u, "clients.concurrency=%d", (int)(draw(r, 2) * draw(r, 40)));
	setup_set(u, "clients.retries=%d", (int)draw(r, 5));
	setup_set(u, "clients.backoff=%dms", (int)(draw(r, 3) * draw(r, 400)));
	setup_set(u, "clients.backoff_max=%dms", 1000 + (int)draw(r, 1000));
	setup_set(u, "clients.jitter=%s", jitter[draw(r, 3)]);
	setup_set(u, "faults.node_mtbf=%dms", 1000 + (int)draw(r, 20000));
	setup_set(u, "faults.node_mttr=%dms", 10 + (int)draw(r, 6000));
	setup_set(u, "faults.retries=%d", (int)draw(r, 3));
	setup_set(u, "faults.detect=%dms", (int)(draw(r, 2) * draw(r, 400)));
	setup_set(u, "conductor.admission=%s", admission[draw(r, 5)]);
	setup_set(u, "slo.ttft=%dms", 300 + (int)draw(r, 3000));
	setup_set(u, "slo.tbt=%dms", 10 + (int)draw(r, 40));
	if (draw(r, 2))
		setup_set(u, "classes=[{\"name\": \"a\"}, {\"name\": \"b\", \"ttft\": \"none\", "
			     "\"tbt\": \"none\", \"admit_load\": 0.5}]");
	if (!draw(r, 4))
		setup_set(u, "run.until=%dms", 200 + (int)draw(r, 10000));
}

static void adds_up(const struct setup *u, const struct mc_result *r, struct sums *all)
{
	struct mc_metrics m;
	int64_t resent = 0, refusals = 0, arrived = 0;
	mc_time last = 0;

	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];
		uint32_t attempts = row->attempts;

		all->outcome[row->outcome]++;
		if (row->arrival >= 0 && (row->arrival <= r->end || row->outcome != MC_UNFINISHED))
			arrived++;
		ck_assert(row->arrival < 0 || row->arrival >= last);
		last = row->arrival < 0 ? last : row->arrival;
		ck_assert(!attempts || row->arrival >= 0);
		ck_assert_int_le(attempts, u->s.clients.retries + 1);
		if (row->outcome == MC_REJECTED)
			ck_assert_uint_eq(row->refusals, attempts);
		else if (row->outcome != MC_UNFINISHED)
			ck_assert_uint_eq(row->refusals, attempts - 1);
		else
			ck_assert(row->refusals == attempts || row->refusals + 1 == attempts);
		if (row->outcome == MC_REJECTED && row->refusal != MC_REFUSED_DECODE_CAPACITY)
			ck_assert_int_eq(attempts, u->s.clients.retries + 1);
		ck_assert(row->wasted_s == 0 || row->refusals);
		resent += attempts > 1 ? attempts - 1 : 0;
		refusals += row->refusals;
		all->wasted += row->wasted_s > 0;
		all->waited += row->decided > row->arrival + 50 * MC_NS_PER_MS && attempts == 1;
	}
	mc_metrics_compute(&u->s, &u->cost, r, &m);
	ck_assert_int_eq(m.resent, resent);
	ck_assert_int_eq(m.refusals, refusals);
	ck_assert_int_eq(m.total, arrived);
	ck_assert_int_eq(m.total, m.completed + m.rejected + m.failed + m.unfinished);
	all->resent += (uint64_t)resent;
	all->refusals += (uint64_t)refusals;
}

START_TEST(random_runs)
{
	struct sums all = {0};

	for (uint64_t round = 0; round < 80; round++) {
		uint64_t state = round * 977 + 3;
		struct mc_result r, again;
		struct setup u;

		setup_init(&u, 16);
		random_scenario(&u, &state);
		random_clients(&u, &state);
		add_sessions(&u, round, 150);
		setup_run(&u, &r);
		adds_up(&u, &r, &all);
		if (u.s.run.until == MC_TIME_MAX)
			for (int64_t i = 0; i < r.n_rows; i++)
				ck_assert_int_ne(r.row[i].outcome, MC_UNFINISHED);
		setup_run(&u, &again);
		same_rows(&r, &again);
		mc_result_fini(&again);
		mc_result_fini(&r);
		setup_fini(&u);
	}
	/* Every way was gone. */
	for (int k = 0; k < 4; k++)
		ck_assert_uint_gt(all.outcome[k], 0);
	ck_assert_uint_gt(all.resent, 100);
	ck_assert_uint_gt(all.refusals, all.resent);
	ck_assert_uint_gt(all.wasted, 0);
	ck_assert_uint_gt(all.waited, 100);
}
END_TEST

/* What clients draw is not what faults or policies draw: nothing else moves. */
START_TEST(draws_of_their_own)
{
	struct setup u;
	struct mc_result a, b;
	uint64_t state = 5;

	setup_init(&u, 16);
	random_scenario(&u, &state);
	setup_set(&u, "conductor.policy=random");
	add_sessions(&u, 9, 150);
	setup_run(&u, &a);
	setup_set(&u, "clients.retries=3");
	setup_set(&u, "clients.number=7");
	setup_set(&u, "clients.concurrency=100000");
	setup_run(&u, &b);
	same_rows(&a, &b);
	mc_result_fini(&a);
	mc_result_fini(&b);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("clients at random");
	TCase *t = tcase_create("clients at random");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, random_runs);
	tcase_add_test(t, draws_of_their_own);
	suite_add_tcase(s, t);
	return s;
}
UNIT_MAIN
