/* Who comes when: closed loops, limits of what is under way, and refused requests that are sent again. */
#include "outage_fixture.h"

#include <math.h>

#include "cluster/clients.h"
#include "cluster/metrics.h"

#define SCHEDULE (50 * MS)

/* n prompts of one output token that share nothing, at random times. */
static void add_many(struct setup *u, int n, uint32_t tokens, mc_time gap)
{
	mc_time at = 0;
	uint64_t r = 77;

	for (int i = 0; i < n; i++) {
		uint64_t id[2] = {0, 100 + (uint64_t)i};

		add(u, at, tokens, 1, id, 0);
		at += (mc_time)draw(&r, (uint64_t)gap);
	}
}

/* One client: its requests follow each other to the nanosecond, whatever the trace says. */
START_TEST(one_client_alternates)
{
	struct setup u;
	struct mc_result r;

	init(&u, 2, 1);
	setup_set(&u, "clients.mode=closed");
	setup_set(&u, "clients.number=1");
	setup_set(&u, "clients.think=3s");
	setup_set(&u, "clients.think_shape=constant");
	for (uint32_t i = 0; i < 6; i++)
		add(&u, i * MS, 100 + 300 * i, i % 3, name[i], 0);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[0].arrival, 3 * MC_NS_PER_S);
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(r.row[i].decided, r.row[i].arrival + SCHEDULE);
		ck_assert_int_eq(r.row[i].prefill_start, r.row[i].decided);
		if (i)
			ck_assert_int_eq(r.row[i].arrival, r.row[i - 1].end + 3 * MC_NS_PER_S);
	}
	outcomes(&r, 6, 0, 0, 0);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* The machine repairman, by hand: clients think, and one server takes them in order of arrival. */
static void closed_oracle(const struct setup *u, mc_time service, mc_time *arrival, mc_time *end)
{
	int64_t n = u->s.clients.number;
	mc_time *ready = mc_xcalloc((size_t)n, sizeof *ready), free_at = 0;

	for (int64_t k = 0; k < n; k++)
		ready[k] = mc_clients_first(&u->s, k);
	for (int64_t i = 0; i < u->trace.n; i++) {
		int64_t next = 0;

		for (int64_t k = 1; k < n; k++)
			next = ready[k] < ready[next] ? k : next;
		arrival[i] = ready[next];
		free_at = (free_at > arrival[i] + SCHEDULE ? free_at : arrival[i] + SCHEDULE) + service;
		end[i] = free_at;
		ready[next] = end[i] + mc_clients_think(&u->s, i);
	}
	free(ready);
}

static void closed_network(int clients, const char *shape, double think_s)
{
	struct setup u;
	struct mc_result r;
	struct mc_metrics m;
	mc_time arrival[400], end[400];
	double law;

	init(&u, 1, 1);
	setup_set(&u, "kv.pool=off");
	setup_set(&u, "clients.mode=closed");
	setup_set(&u, "clients.number=%d", clients);
	setup_set(&u, "clients.think=%gs", think_s);
	setup_set(&u, "clients.think_shape=%s", shape);
	add_many(&u, 400, 2000, MC_NS_PER_S);
	setup_run(&u, &r);
	closed_oracle(&u, prefill_time(&u, 2000, 0), arrival, end);
	for (int i = 0; i < 400; i++) {
		ck_assert_int_eq(r.row[i].arrival, arrival[i]);
		ck_assert_int_eq(r.row[i].end, end[i]);
	}
	/* Little: clients = throughput x (think time + response); the ends of the run are no steady state. */
	mc_metrics_compute(&u.s, &u.cost, &r, &m);
	law = m.requests_per_s * (mc_time_to_s(u.s.clients.think) + m.e2e.mean);
	ck_assert_double_eq_tol(law, clients, 0.12 * clients);
	if (think_s == 0 && clients > 1) /* the server never waits: but for the first one */
		ck_assert_double_eq_tol(m.duration_s, 0.05 + 400 * mc_time_to_s(prefill_time(&u, 2000, 0)),
					1e-6);
	mc_result_fini(&r);
	setup_fini(&u);
}

START_TEST(closed_networks)
{
	closed_network(1, "constant", 1);
	closed_network(1, "exponential", 1);
	closed_network(4, "constant", 0);
	closed_network(7, "exponential", 0);
	closed_network(5, "constant", 2);
	closed_network(20, "exponential", 1.5);
	closed_network(40, "exponential", 20);
}
END_TEST

/* Cut off: who has not come is no request of the run; the warm-up counts from when they come. */
START_TEST(closed_and_cut_off)
{
	struct setup u;
	struct mc_result r;
	struct mc_metrics m;
	int64_t came = 0, warmup = 0;

	init(&u, 1, 1);
	setup_set(&u, "clients.mode=closed");
	setup_set(&u, "clients.number=3");
	setup_set(&u, "clients.think=1s");
	setup_set(&u, "run.until=20s");
	setup_set(&u, "run.warmup=5s");
	add_many(&u, 300, 2000, MS);
	setup_run(&u, &r);
	for (int64_t i = 0; i < r.n_rows; i++) {
		ck_assert(r.row[i].arrival < 0 || i == came);
		came += r.row[i].arrival >= 0;
		warmup += r.row[i].arrival >= 0 && r.row[i].arrival < 5 * MC_NS_PER_S;
	}
	ck_assert_int_gt(came, 20);
	ck_assert_int_lt(came, 100);
	mc_metrics_compute(&u.s, &u.cost, &r, &m);
	ck_assert_int_eq(m.warmup, warmup);
	ck_assert_int_eq(m.total, came - warmup);
	ck_assert_int_le(m.unfinished, 3);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* At most so many under way; the rest waits in order, and not longer than it must. */
static void limited(int limit)
{
	struct setup u;
	struct mc_result r;
	mc_time sent[120];

	init(&u, 3, 1);
	setup_set(&u, "kv.pool=off");
	setup_set(&u, "clients.concurrency=%d", limit);
	add_many(&u, 120, 3000, 150 * MS);
	setup_run(&u, &r);
	for (int i = 0; i < 120; i++) {
		mc_time expected = r.row[i].arrival;
		int under_way = 0;

		/* It is sent when it comes, when the one before is, or when one of those has ended. */
		sent[i] = r.row[i].decided - SCHEDULE;
		ck_assert_int_eq(r.row[i].arrival, u.trace.arrival[i]);
		expected = i && sent[i - 1] > expected ? sent[i - 1] : expected;
		for (int k = 0; k < i; k++)
			under_way += r.row[k].end > sent[i];
		ck_assert_int_lt(under_way, limit);
		for (int k = 0; k < i && sent[i] > expected; k++)
			if (r.row[k].end == sent[i])
				expected = sent[i];
		ck_assert_int_eq(sent[i], expected);
		if (sent[i] == r.row[i].arrival)
			continue;
		for (int k = under_way = 0; k < i; k++)
			under_way += r.row[k].end >= sent[i];
		ck_assert_int_ge(under_way, limit); /* it did have to wait until then */
		ck_assert_int_ge(r.row[i].predicted_ttft, sent[i] - r.row[i].arrival);
	}
	mc_result_fini(&r);
	setup_fini(&u);
}

START_TEST(concurrency_limits)
{
	limited(1);
	limited(2);
	limited(5);
	limited(200);
}
END_TEST

/* The only prefill node is down until 20 s: attempts come after 1, 2, 4 and 5 s. */
static void down_for_a_while(struct setup *u, int retries)
{
	init(u, 1, 1);
	setup_set(u, "clients.retries=%d", retries);
	setup_set(u, "clients.backoff=1s");
	setup_set(u, "clients.backoff_max=5s");
	setup_set(u, "clients.jitter=off");
	setup_set(u, "faults.detect=0s");
	setup_set(
	    u, "faults.events=[{\"at\": 0, \"what\": \"node_down\", \"node\": \"prefill0\", \"for\": 20}]");
	add(u, MC_NS_PER_S, 1000, 5, name[0], 0);
	add(u, 30 * MC_NS_PER_S, 1000, 5, name[1], 0);
}

START_TEST(backoffs_exactly)
{
	struct setup u;
	struct mc_result r;
	struct mc_metrics m;

	down_for_a_while(&u, 9);
	setup_run(&u, &r);
	outcomes(&r, 2, 0, 0, 0);
	/* Sent at 1, 2.05, 4.1, 8.15, 13.2, 18.25 and 23.3 s. */
	ck_assert_uint_eq(r.row[0].attempts, 7);
	ck_assert_uint_eq(r.row[0].refusals, 6);
	ck_assert_int_eq(r.row[0].arrival, MC_NS_PER_S);
	ck_assert_int_eq(r.row[0].decided, 23350 * MS);
	ck_assert_int_eq(r.row[0].predicted_ttft, r.row[0].prefill_end - MC_NS_PER_S);
	ck_assert_uint_eq(r.row[1].attempts, 1);
	mc_metrics_compute(&u.s, &u.cost, &r, &m);
	ck_assert_int_eq(m.resent, 6);
	ck_assert_int_eq(m.refusals, 6);
	ck_assert_int_eq(m.rejected, 0);
	ck_assert_double_eq_tol(m.ttft.max, mc_time_to_s(r.row[0].prefill_end) - 1, 1e-9);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

START_TEST(and_then_it_gives_up)
{
	struct setup u;
	struct mc_result r;
	struct mc_metrics m;

	for (int retries = 0; retries <= 5; retries++) {
		down_for_a_while(&u, retries);
		setup_run(&u, &r);
		outcomes(&r, 1, 1, 0, 0);
		ck_assert_uint_eq(r.row[0].attempts, (unsigned)retries + 1);
		ck_assert_uint_eq(r.row[0].refusals, (unsigned)retries + 1);
		ck_assert_uint_eq(r.row[0].refusal, MC_REFUSED_NO_INSTANCE);
		mc_metrics_compute(&u.s, &u.cost, &r, &m);
		ck_assert_int_eq(m.resent, retries);
		ck_assert_int_eq(m.rejected_by[MC_REFUSED_NO_INSTANCE], 1);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* While it waits to try again it is unfinished, and under way for those that wait for its place. */
START_TEST(it_keeps_its_place)
{
	struct setup u;
	struct mc_result r;

	down_for_a_while(&u, 9);
	add(&u, 30 * MC_NS_PER_S, 1000, 5, name[2], 0);
	u.trace.arrival[1] = 2 * MC_NS_PER_S;
	u.trace.arrival[2] = 3 * MC_NS_PER_S;
	setup_set(&u, "clients.concurrency=1");
	setup_run(&u, &r);
	outcomes(&r, 3, 0, 0, 0);
	ck_assert_int_eq(r.row[1].decided, r.row[0].end + SCHEDULE);
	ck_assert_int_eq(r.row[2].decided, r.row[1].end + SCHEDULE);
	mc_result_fini(&r);
	setup_set(&u, "run.until=6s");
	setup_run(&u, &r);
	outcomes(&r, 0, 0, 0, 3);
	ck_assert_uint_eq(r.row[0].attempts, 3);
	ck_assert_int_eq(r.row[0].decided, -1);
	ck_assert_uint_eq(r.row[1].attempts, 0);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* A client is told at once that a request can never be served. */
START_TEST(what_never_fits_is_sent_once)
{
	struct setup u;
	struct mc_result r;

	init(&u, 1, 1);
	setup_set(&u, "clients.retries=5");
	u.cost.vram_kv_tokens = 500;
	add(&u, 0, 1000, 5, name[0], 0);
	add(&u, 0, 100, 5, name[1], 0);
	setup_run(&u, &r);
	outcomes(&r, 1, 1, 0, 0);
	ck_assert_uint_eq(r.row[0].attempts, 1);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* The decode node is gone when the prompt has been computed: it is refused then, and computed again. */
START_TEST(a_prefill_is_wasted)
{
	struct setup u;
	struct mc_result r;

	init(&u, 1, 1);
	setup_set(&u, "kv.pool=off");
	setup_set(&u, "faults.detect=0s");
	setup_set(&u, "faults.events=[{\"at\": \"100ms\", \"what\": \"node_down\", \"node\": \"decode0\", "
		      "\"for\": 20}]");
	add(&u, 0, 5000, 5, name[0], 0);
	setup_run(&u, &r);
	outcomes(&r, 0, 1, 0, 0);
	ck_assert_double_eq(r.row[0].wasted_s, r.row[0].compute_s + r.row[0].load_s);
	ck_assert_double_gt(r.row[0].wasted_s, 0.5);
	mc_result_fini(&r);
	setup_set(&u, "clients.retries=1");
	setup_set(&u, "clients.backoff=30s");
	setup_set(&u, "clients.jitter=off");
	setup_run(&u, &r);
	outcomes(&r, 1, 0, 0, 0);
	ck_assert_double_gt(r.row[0].wasted_s, 0.5);
	ck_assert_uint_eq(r.row[0].attempts, 2);
	near(r.row[0].decided, SCHEDULE + prefill_time(&u, 5000, 0) + 30 * MC_NS_PER_S + SCHEDULE);
	/* It was at work twice. */
	ck_assert_double_eq_tol(mc_time_to_s(r.prefill_busy[0]),
				r.row[0].wasted_s + r.row[0].compute_s + r.row[0].load_s, 1e-6);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Refused for load, which falls: who comes again is taken, since the Conductor sees a new request, and is too
 * late by its own clock. */
START_TEST(a_retry_is_a_new_request)
{
	struct setup u;
	struct mc_result r;
	struct mc_metrics m;
	int64_t late = 0;

	init(&u, 1, 1);
	setup_set(&u, "kv.pool=off");
	setup_set(&u, "conductor.admission=early");
	setup_set(&u, "slo.ttft=2s");
	setup_set(&u, "clients.retries=9");
	setup_set(&u, "clients.jitter=off");
	add_many(&u, 40, 2000, 1);
	setup_run(&u, &r);
	outcomes(&r, 40, 0, 0, 0);
	for (int i = 0; i < 40; i++) {
		ck_assert_int_eq(r.row[i].sent, r.row[i].decided - SCHEDULE);
		ck_assert_int_le(r.row[i].prefill_end - r.row[i].sent, 2 * MC_NS_PER_S);
		late += r.row[i].prefill_end - r.row[i].arrival > 2 * MC_NS_PER_S;
	}
	ck_assert_int_gt(late, 10);
	mc_metrics_compute(&u.s, &u.cost, &r, &m);
	ck_assert_int_eq(m.effective, 40 - late);
	ck_assert_int_gt(m.resent, late);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Each doubles the one before, up to the most; jitter is of the size that was asked for, even, and of its own
 * for every request and attempt. */
START_TEST(backoffs_and_jitter)
{
	struct setup u;
	double half = 0, full = 0;

	setup_init(&u, 16);
	setup_set(&u, "clients.retries=20");
	setup_set(&u, "clients.backoff=300ms");
	setup_set(&u, "clients.backoff_max=10s");
	setup_set(&u, "clients.jitter=off");
	for (uint32_t n = 1; n <= 6; n++)
		ck_assert_int_eq(mc_clients_backoff(&u.s, 5, n),
				 (300 * MS) << (n - 1) > 10000 * MS ? 10000 * MS : (300 * MS) << (n - 1));
	ck_assert_int_eq(mc_clients_backoff(&u.s, 5, 1000), 10000 * MS);
	for (int i = 0; i < 20000; i++) {
		setup_set(&u, "clients.jitter=half");
		half += mc_time_to_s(mc_clients_backoff(&u.s, i, 1 + (uint32_t)i % 3)) / (0.3 * (1 << i % 3));
		ck_assert_int_ge(mc_clients_backoff(&u.s, i, 1), 150 * MS);
		ck_assert_int_le(mc_clients_backoff(&u.s, i, 1), 450 * MS);
		setup_set(&u, "clients.jitter=full");
		full += mc_time_to_s(mc_clients_backoff(&u.s, i, 2)) / 0.6;
		ck_assert_int_le(mc_clients_backoff(&u.s, i, 2), 600 * MS);
	}
	/* 1 / sqrt(12 x 20,000) = 0.002 */
	ck_assert_double_eq_tol(half / 20000, 1, 0.01);
	ck_assert_double_eq_tol(full / 20000, 0.5, 0.01);
	ck_assert_int_ne(mc_clients_backoff(&u.s, 1, 2), mc_clients_backoff(&u.s, 2, 2));
	ck_assert_int_ne(mc_clients_backoff(&u.s, 1, 20), mc_clients_backoff(&u.s, 1, 21));
	setup_set(&u, "clients.backoff=0s");
	ck_assert_int_eq(mc_clients_backoff(&u.s, 1, 1), 0);
	ck_assert(!mc_clients_random(&u.s));
	setup_fini(&u);
}
END_TEST

static int by_time(const void *a, const void *b)
{
	mc_time x = *(const mc_time *)a, y = *(const mc_time *)b;

	return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov, at 0.1 %: exponential, and another draw with another seed, the same with the same.
 */
START_TEST(think_times)
{
	enum { N = 5000 };
	static mc_time t[N];
	struct setup u;
	double d = 0;

	setup_init(&u, 16);
	setup_set(&u, "clients.mode=closed");
	setup_set(&u, "clients.think=4s");
	ck_assert(mc_clients_random(&u.s));
	for (int i = 0; i < N; i++) {
		t[i] = mc_clients_think(&u.s, i);
		ck_assert_int_eq(t[i], mc_clients_think(&u.s, i));
	}
	ck_assert_int_ne(t[3], mc_clients_first(&u.s, 3));
	setup_set(&u, "seed=2");
	ck_assert_int_ne(t[3], mc_clients_think(&u.s, 3));
	qsort(t, N, sizeof *t, by_time);
	for (int i = 0; i < N; i++) {
		double f = 1 - exp(-mc_time_to_s(t[i]) / 4);

		d = fmax(d, fmax(fabs(f - i / (double)N), fabs(f - (i + 1) / (double)N)));
	}
	ck_assert_double_lt(d * sqrt(N), 1.95);
	setup_set(&u, "clients.think_shape=constant");
	ck_assert_int_eq(mc_clients_think(&u.s, 1), 4 * MC_NS_PER_S);
	ck_assert(!mc_clients_random(&u.s));
	setup_fini(&u);
}
END_TEST

START_TEST(bad_settings)
{
	struct setup u;
	struct mc_result r;
	struct mc_err err = {0};

	setup_init(&u, 16);
	setup_set(&u, "trace.path=x");
	setup_set(&u, "clients.backoff=2min");
	ck_assert_int_eq(mc_scenario_check(&u.s, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "clients.backoff_max");
	ck_assert_int_ne(mc_conf_set(&u.conf, "clients.number=0", NULL), 0);
	ck_assert_int_ne(mc_conf_set(&u.conf, "clients.retries=-1", NULL), 0);
	ck_assert_int_ne(mc_conf_set(&u.conf, "clients.mode=half-open", NULL), 0);
	/* No clock holds it: think times of a million seconds. */
	setup_set(&u, "clients.backoff=1s");
	setup_set(&u, "clients.mode=closed");
	setup_set(&u, "clients.think=1000000s");
	add_many(&u, 200, 100, MS);
	ck_assert_int_eq(setup_try(&u, &r, &err), MC_USAGE);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("clients");
	TCase *t = tcase_create("clients");

	tcase_add_test(t, one_client_alternates);
	tcase_add_test(t, closed_networks);
	tcase_add_test(t, closed_and_cut_off);
	tcase_add_test(t, concurrency_limits);
	tcase_add_test(t, backoffs_exactly);
	tcase_add_test(t, and_then_it_gives_up);
	tcase_add_test(t, it_keeps_its_place);
	tcase_add_test(t, what_never_fits_is_sent_once);
	tcase_add_test(t, a_prefill_is_wasted);
	tcase_add_test(t, a_retry_is_a_new_request);
	tcase_add_test(t, backoffs_and_jitter);
	tcase_add_test(t, think_times);
	tcase_add_test(t, bad_settings);
	suite_add_tcase(s, t);
	return s;
}
UNIT_MAIN
