/* Admission in a cluster: what is refused when, what that wastes, and that nothing of it stays behind. */
#include "cluster_random.h"

#include <string.h>

#define MS INT64_C(1000000)

/* One prefill and one decode node. The first prompt decodes for long and leaves no room for the second. */
static void crowded(struct setup *u, const char *admission)
{
	static const uint64_t a[2] = {1, 2}, b[2] = {3, 4};

	setup_init(u, 100);
	setup_set(u, "conductor.admission=%s", admission);
	setup_set(u, "run.check=true");
	setup_set(u, "cluster.prefill=1");
	setup_set(u, "cluster.decode=1");
	u->cost.vram_kv_tokens = 6000;
	add(u, 0, 4000, 1000, a, 0);      /* 0.40 s of prefill, 14 s of decode */
	add(u, 1000 * MS, 3000, 5, b, 0); /* 0.31 s */
}

static void outcome(const char *admission, enum mc_refusal want, bool wasted)
{
	struct setup u;
	struct mc_result r;

	crowded(&u, admission);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[0].outcome, MC_COMPLETED);
	ck_assert_int_eq(r.row[1].outcome, want ? MC_REJECTED : MC_COMPLETED);
	ck_assert_int_eq(r.row[1].refusal, want);
	ck_assert_int_eq(r.row[1].prefill_end >= 0, wasted || !want);
	ck_assert_uint_eq(r.wasted_prefills, wasted);
	ck_assert(r.row[1].wasted_s == (wasted ? r.row[1].compute_s + r.row[1].load_s : 0));
	mc_result_fini(&r);
	setup_fini(&u);
}

/* KV of 5,000 of 6,000 tokens is taken when the second comes: early and baseline see it, on arrival and after
 * prefill. Predictions know nobody's stay yet, so they see it, too. */
START_TEST(no_room)
{
	outcome("none", MC_TAKEN, false);
	outcome("baseline", MC_REFUSED_DECODE_LOAD, true);
	outcome("early", MC_REFUSED_DECODE_LOAD, false);
	outcome("predict", MC_REFUSED_DECODE_LOAD, false);
	outcome("predict-length", MC_REFUSED_DECODE_LOAD, false);
}
END_TEST

/* The first one's output is short by the mean of those that ended, so all but the oracle expect it to be
 * gone; the decode node knows better. */
static void surprised(const char *admission, const char *predictor, enum mc_refusal want)
{
	static const uint64_t small[2] = {7, 8}, late[2] = {9, 10}, other[2] = {11, 12};
	struct setup u;
	struct mc_result r;

	crowded(&u, admission);
	mc_trace_fini(&u.trace);
	mc_trace_init(&u.trace, 100);
	setup_set(&u, "conductor.length_predictor=%s", predictor);
	add(&u, 0, 4000, 3, small, 0);           /* ends within 0.6 s, after 3 tokens */
	add(&u, 1000 * MS, 4000, 1000, late, 0); /* of the same class: predicted to make 3, too */
	add(&u, 3000 * MS, 3000, 5, other, 0);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[1].outcome, MC_COMPLETED);
	ck_assert_int_eq(r.row[2].refusal, want);
	ck_assert_int_eq(r.wasted_prefills, want == MC_REFUSED_DECODE_CHECK);
	mc_result_fini(&r);
	setup_fini(&u);
}

START_TEST(double_check)
{
	surprised("predict", "oracle", MC_REFUSED_DECODE_CHECK);
	surprised("predict-length", "class-mean", MC_REFUSED_DECODE_CHECK);
	surprised("predict-length", "oracle", MC_REFUSED_DECODE_LOAD);
}
END_TEST

/* The first token of an output is prefill's: one of two stays for one, and is gone when a prompt joins that
 * takes one and a half times as long. */
START_TEST(first_token_is_not_decoded)
{
	static const uint64_t a[2] = {1, 2}, b[2] = {3, 4}, c[2] = {5, 6};
	struct setup u;
	struct mc_result r;
	mc_time stay;

	setup_init(&u, 100);
	setup_set(&u, "conductor.admission=predict-length");
	setup_set(&u, "conductor.length_predictor=oracle");
	setup_set(&u, "run.check=true");
	setup_set(&u, "cluster.prefill=1");
	setup_set(&u, "cluster.decode=1");
	u.cost.vram_kv_tokens = 4100;
	u.cost.net_bytes_per_s = 1e9;
	add(&u, 0, 4000, 2, a, 0); /* tells how long a token takes */
	add(&u, 1000 * MS, 4000, 2, b, 0);
	add(&u, 1000 * MS, 215, 2, c, 0); /* after it, and not beside it */
	setup_run(&u, &r);
	stay = r.row[0].end - r.row[0].handover_end;
	ck_assert_int_gt(r.row[2].prefill_end - r.row[2].prefill_start, stay);
	ck_assert_int_lt(r.row[2].prefill_end - r.row[2].prefill_start, 2 * stay);
	ck_assert_int_eq(r.row[2].outcome, MC_COMPLETED);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* It is a setting of its own: alone it refuses what has no room; switched off nothing does, after a wrong
 * prediction, and the request waits. */
START_TEST(double_check_alone)
{
	struct setup u;
	struct mc_result r;

	crowded(&u, "none");
	setup_set(&u, "conductor.decode_check=on");
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[1].refusal, MC_REFUSED_DECODE_CHECK);
	ck_assert_int_eq(r.row[1].handover_end >= 0, true);
	mc_result_fini(&r);
	setup_set(&u, "slo.tbt=0s"); /* no objective to miss */
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[1].outcome, MC_COMPLETED);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* What was computed for nothing is cached: the same prompt again computes its last token alone. */
START_TEST(wasted_is_cached)
{
	static const uint64_t a[2] = {1, 2}, b[2] = {3, 4};
	struct setup u;
	struct mc_result r;

	crowded(&u, "baseline");
	add(&u, 20000 * MS, 3000, 5, b, 0);
	add(&u, 40000 * MS, 50, 1, a, 0);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[1].refusal, MC_REFUSED_DECODE_LOAD);
	ck_assert_int_eq(r.row[2].outcome, MC_COMPLETED);
	ck_assert_uint_eq(r.row[2].local_hit, 2999);
	ck_assert_int_eq(r.row[3].outcome, MC_COMPLETED);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Refused after each of its four attempts: engine time is that of what completes and all that was wasted. */
START_TEST(wasted_adds_up)
{
	struct setup u;
	struct mc_result r;
	const struct mc_row *row;

	crowded(&u, "baseline");
	setup_set(&u, "clients.retries=3");
	setup_set(&u, "clients.backoff=1s");
	setup_set(&u, "clients.backoff_max=1s");
	setup_run(&u, &r);
	row = r.row;
	ck_assert_int_eq(row[1].refusal, MC_REFUSED_DECODE_LOAD);
	ck_assert_uint_eq(r.wasted_prefills, 4);
	ck_assert_double_gt(row[1].wasted_s, 3 * (row[1].compute_s + row[1].load_s));
	ck_assert_double_eq_tol(mc_time_to_s(r.prefill_busy[0]),
				row[0].compute_s + row[0].load_s + row[1].wasted_s, 1e-8);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

struct sums {
	uint64_t by[MC_REFUSALS], completed, wasted, retried;
};

static void count(const struct mc_result *r, struct sums *s)
{
	for (int64_t i = 0; i < r->n_rows; i++) {
		ck_assert_int_ne(r->row[i].outcome, MC_UNFINISHED);
		s->completed += r->row[i].outcome == MC_COMPLETED;
		if (r->row[i].outcome == MC_REJECTED)
			s->by[r->row[i].refusal]++;
		s->retried += r->row[i].attempts > 1;
	}
	s->wasted += r->wasted_prefills;
}

/* Every rule with every predictor, on random clusters with invariants on, faults among them. */
START_TEST(random_clusters)
{
	struct sums s = {0};
	uint64_t r = 2026, rules = 0, lengths = 0;

	while (mc_admissions_names[rules])
		rules++;
	while (mc_length_predictors_names[lengths])
		lengths++;
	for (uint64_t i = 0; i < 120; i++) {
		struct setup u;
		struct mc_result a, b;

		setup_init(&u, 100);
		random_scenario(&u, &r);
		setup_set(&u, "conductor.admission=%s", mc_admissions_names[i % rules]);
		setup_set(&u, "conductor.length_predictor=%s", mc_length_predictors_names[draw(&r, lengths)]);
		setup_set(&u, "conductor.admit_load=%g", 0.5 + (double)draw(&r, 8) / 8);
		setup_set(&u, "conductor.decode_check=%s", draw(&r, 2) ? "on" : "auto");
		setup_set(&u, "slo.ttft=%dms", 300 + (int)draw(&r, 3) * 2000);
		setup_set(&u, "slo.tbt=%dms", 12 + (int)draw(&r, 3) * 10);
		setup_set(&u, "clients.retries=%d", (int)draw(&r, 3));
		if (draw(&r, 3) == 0)
			setup_set(&u, "faults.node_mtbf=%ds", 5 + (int)draw(&r, 20));
		setup_set(&u, "faults.node_mttr=2s");
		setup_set(&u, "faults.detect=500ms");
		add_sessions(&u, i, 60);
		setup_run(&u, &a);
		setup_run(&u, &b);
		same_rows(&a, &b);
		count(&a, &s);
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
	ck_assert_uint_gt(s.completed, 1000);
	ck_assert_uint_gt(s.by[MC_REFUSED_PREFILL_LOAD], 100);
	ck_assert_uint_gt(s.by[MC_REFUSED_DECODE_LOAD], 100);
	ck_assert_uint_gt(s.by[MC_REFUSED_DECODE_CHECK], 10);
	ck_assert_uint_gt(s.wasted, 10);
	ck_assert_uint_gt(s.retried, 10);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("admit");
	TCase *t = tcase_create("admit");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, no_room);
	tcase_add_test(t, double_check);
	tcase_add_test(t, first_token_is_not_decoded);
	tcase_add_test(t, double_check_alone);
	tcase_add_test(t, wasted_is_cached);
	tcase_add_test(t, wasted_adds_up);
	tcase_add_test(t, random_clusters);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
