/* Metrics against a recount from scratch, small cases by hand, and the verdicts on made-up time series. */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "unit.h"
#include "result_fixture.h"

struct list {
	MC_VEC(double)
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Nearest rank, as written in the definition. */
static void same_summary(struct list *l, const struct mc_summary *s)
{
	const int p[] = {50, 90, 95, 99};
	const double *v[] = {&s->p50, &s->p90, &s->p95, &s->p99};
	double sum = 0;

	ck_assert_int_eq(s->count, (int64_t)l->n);
	if (!l->n)
		return;
	qsort(l->at, l->n, sizeof *l->at, by_value);
	for (size_t i = 0; i < l->n; i++)
		sum += l->at[i];
	ck_assert_double_eq_tol(s->mean, sum / (double)l->n, 1e-9 * (1 + s->mean));
	for (int k = 0; k < 4; k++)
		ck_assert_double_eq_tol(*v[k], l->at[(l->n * (size_t)p[k] + 99) / 100 - 1], 1e-12);
	ck_assert_double_eq_tol(s->max, l->at[l->n - 1], 1e-12);
}

/* Every latency of every counted request, listed. */
static void check_latencies(const struct made *m, const struct mc_metrics *x)
{
	struct list ttft = {0}, handover = {0}, both = {0}, tbt = {0}, tpot = {0}, e2e = {0};
	struct list *all[] = {&ttft, &handover, &both, &tbt, &tpot, &e2e};

	for (int64_t i = 0; i < m->result.n_rows; i++) {
		const struct mc_row *r = &m->result.row[i];
		double first = mc_time_to_s(r->prefill_end - r->arrival),
		       late = mc_time_to_s(r->handover_end - r->prefill_end);

		if (!r->counted || r->prefill_end < 0)
			continue;
		mc_vec_push(&ttft, first);
		if (r->output > 1 && r->handover_end >= 0)
			mc_vec_push(&handover, late);
		if (r->output < 2 || r->handover_end >= 0)
			mc_vec_push(&both, r->output < 2 ? first : first + late);
		if (r->outcome != MC_COMPLETED)
			continue;
		mc_vec_push(&e2e, mc_time_to_s(r->end - r->arrival));
		if (r->output < 2)
			continue;
		mc_vec_push(&tbt, mc_time_to_s(r->tbt));
		mc_vec_push(&tpot,
			    mc_time_to_s(llround((double)(r->end - r->handover_end) / (r->output - 1))));
	}
	same_summary(&ttft, &x->ttft);
	same_summary(&handover, &x->handover);
	same_summary(&both, &x->ttft_handover);
	same_summary(&tbt, &x->tbt);
	same_summary(&tpot, &x->tpot);
	same_summary(&e2e, &x->e2e);
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		mc_vec_fini(all[k]);
}

/* Every token interval of every counted member, one by one. */
static void check_intervals(const struct made *m, const struct mc_metrics *x)
{
	struct list all = {0};
	int64_t iterations = 0, members = 0, fit = 0, trust = 0;

	for (size_t k = 0; k < m->result.first.n; k++)
		mc_vec_push(&all, mc_time_to_s(m->result.first.at[k]));
	for (uint32_t d = 0; d < 2; d++) {
		for (size_t k = 0; k < m->result.segment[d].n; k++) {
			const struct mc_segment *g = &m->result.segment[d].at[k];

			for (uint32_t j = 0; j < g->count; j++) {
				mc_time t =
				    mc_cost_decode_ns(&m->cost, g->batch, g->context + (int64_t)j * g->batch);

				for (uint32_t c = 0; c < g->counted - (j ? 0 : g->joined); c++)
					mc_vec_push(&all, mc_time_to_s(t));
				iterations++;
				members += g->batch;
				fit += g->batch > 2;
				trust += g->batch > 5;
			}
		}
	}
	same_summary(&all, &x->itl);
	ck_assert_int_eq(x->iterations, iterations);
	ck_assert_double_eq_tol(x->batch_mean, (double)members / (double)iterations, 1e-12);
	ck_assert_double_eq_tol(x->batch_outside_fit_ratio, (double)fit / (double)iterations, 1e-12);
	ck_assert_double_eq_tol(x->batch_outside_trust_ratio, (double)trust / (double)iterations, 1e-12);
	mc_vec_fini(&all);
}

static void check_counts(const struct made *m, const struct mc_metrics *x)
{
	int64_t total = 0, effective = 0, tokens = 0, input = 0, hit = 0, requests = 0, warmup = 0;

	for (int64_t i = 0; i < m->result.n_rows; i++) {
		const struct mc_row *r = &m->result.row[i];

		warmup += !r->counted;
		if (!r->counted)
			continue;
		total++;
		input += r->prefill != MC_NONE ? r->input : 0;
		hit += r->local_hit + r->remote_hit;
		if (r->outcome == MC_COMPLETED && r->prefill_end - r->arrival <= 30 * MC_NS_PER_S &&
		    (r->output < 2 || r->tbt <= 100 * MC_NS_PER_MS)) {
			effective++;
			tokens += r->output;
		}
	}
	ck_assert_int_eq(x->total, total);
	ck_assert_int_eq(x->warmup, warmup);
	ck_assert_double_eq_tol(x->goodput_requests_per_s * x->duration_s, (double)effective, 1e-9);
	ck_assert_double_eq_tol(x->goodput_tokens_per_s * x->duration_s, (double)tokens, 1e-6);
	ck_assert_int_eq(x->completed + x->rejected + x->failed + x->unfinished, total);
	ck_assert_int_eq(x->rejected_by[MC_REFUSED_DECODE_CAPACITY], x->rejected);
	ck_assert_int_eq(x->effective, effective);
	ck_assert_double_eq_tol(x->effective_ratio, total ? (double)effective / (double)total : 0, 1e-12);
	ck_assert_int_eq(x->input_tokens, input);
	ck_assert_int_eq(x->hit_tokens, hit);
	ck_assert_int_eq(x->local_hit_tokens + x->remote_hit_tokens, hit);
	for (int c = 0; c < MC_LENGTH_CLASSES; c++)
		requests += x->by_length[c].requests;
	ck_assert_int_eq(requests, total);
}

static double share(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* Means over prefills, rates, ranges, and hits by length. */
static void check_means(const struct made *m, const struct mc_metrics *x)
{
	double n = 0, compute = 0, load = 0, queue = 0, fetch = 0, out = 0, in = 0, fit = 0, trust = 0,
	       done = 0;
	double hit[2] = {0}, input[2] = {0}, span = mc_time_to_s(m->result.end) - 2;

	for (int64_t i = 0; i < m->result.n_rows; i++) {
		const struct mc_row *r = &m->result.row[i];
		double context = r->output > 1 ? (double)r->input + r->output - 1 : 0;
		int c = r->input <= 65536;

		if (!r->counted || r->prefill == MC_NONE)
			continue;
		fit += r->input > 20000 || context > 15000; /* no decode: no context */
		trust += r->input > 50000 || context > 50000;
		hit[c] += r->input > 32768 ? r->local_hit + r->remote_hit : 0;
		input[c] += r->input > 32768 ? r->input : 0;
		out += r->outcome == MC_COMPLETED ? r->output : 0;
		done += r->outcome == MC_COMPLETED;
		if (r->prefill_end < 0)
			continue;
		n++;
		in += r->input;
		compute += r->compute_s;
		load += r->load_s;
		queue += mc_time_to_s(r->prefill_start - r->decided);
		fetch += mc_time_to_s(r->fetch_wait);
	}
	ck_assert_double_eq_tol(x->compute_s_mean, share(compute, n), 1e-9);
	ck_assert_double_eq_tol(x->gpu_time_s_mean, share(compute + load, n), 1e-9);
	ck_assert_double_eq_tol(x->queue_s_mean, share(queue, n), 1e-9);
	ck_assert_double_eq_tol(x->fetch_wait_s_mean, share(fetch, n), 1e-9);
	ck_assert_double_eq_tol(x->outside_fit_ratio, share(fit, (double)x->total), 1e-12);
	ck_assert_double_eq_tol(x->outside_trust_ratio, share(trust, (double)x->total), 1e-12);
	ck_assert_double_eq_tol(x->by_length[4].hit_ratio, share(hit[1], input[1]), 1e-12);
	ck_assert_double_eq_tol(x->by_length[5].hit_ratio, share(hit[0], input[0]), 1e-12);
	ck_assert_int_eq(x->output_tokens, (int64_t)out);
	ck_assert_double_eq_tol(x->duration_s, span > 0 ? span : 0, 1e-9);
	ck_assert_double_eq_tol(x->requests_per_s, share(done, span), 1e-9);
	ck_assert_double_eq_tol(x->output_tokens_per_s, share(out, span), 1e-6);
	ck_assert_double_eq_tol(x->input_tokens_per_s, share(in, span), 1e-6);
}

/* The busiest of links of several speeds, by their share. */
static void check_network(const struct made *m, const struct mc_metrics *x)
{
	uint32_t top = 0;

	for (uint32_t l = 1; l < m->result.n_links; l++)
		if (m->result.link_bytes[l] / m->result.link_capacity[l] >
		    m->result.link_bytes[top] / m->result.link_capacity[top])
			top = l;
	ck_assert_uint_eq(x->busiest_link, top);
	ck_assert_double_eq_tol(
	    x->busiest_link_ratio,
	    m->result.link_bytes[top] / m->result.link_capacity[top] / mc_time_to_s(m->result.end), 1e-12);
	ck_assert_double_eq(x->network_bytes, 7);
}

/* A group of one has no boundaries; of two or three, 12 MB or 6 MB a boundary over a node's 500 MB/s. */
static void check_stages(const struct made *m, const struct mc_metrics *x)
{
	uint32_t group = m->result.prefill_group;

	ck_assert_int_eq(x->stage_bytes, group > 1 ? 18000000 : 0);
	if (group == 1)
		ck_assert_double_eq(x->stage_nic_ratio, 0);
	else
		ck_assert_double_eq_tol(x->stage_nic_ratio,
					12e6 / (group - 1) / 5e8 / mc_time_to_s(m->result.end), 1e-12);
}

START_TEST(recount)
{
	struct made m;
	struct mc_metrics x;

	made_init(&m, (uint64_t)_i + 1, 1 + 37 * _i);
	m.cost.fit_context_max = 15000;
	m.result.fetched_bytes = 3;
	m.result.handover_bytes = 4;
	m.result.link_capacity[_i % 8] *= 2;
	m.result.prefill_group = 1 + (uint32_t)_i % 3;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	check_latencies(&m, &x);
	check_intervals(&m, &x);
	check_counts(&m, &x);
	check_means(&m, &x);
	check_network(&m, &x);
	check_stages(&m, &x);
	ck_assert_double_eq_tol(x.prefill_busy_ratio, 0.25 / m.result.prefill_group, 1e-6);
	ck_assert_double_eq_tol(x.decode_busy_ratio, 0.125, 1e-6);
	made_fini(&m);
}
END_TEST

/* One request by hand, on both sides of each objective. */
START_TEST(one_request)
{
	struct made m;
	struct mc_metrics x;
	struct mc_row *r;

	made_init(&m, 5, 1);
	r = m.result.row;
	*r = (struct mc_row){.arrival = 0,
			     .decided = 50000000,
			     .prefill_start = 1050000000,
			     .prefill_end = 30000000000,
			     .handover_end = 30500000000,
			     .end = 30800000000,
			     .predicted_ttft = 28000000000,
			     .tbt = 100000000,
			     .compute_s = 2,
			     .load_s = 0.5,
			     .input = 8192,
			     .output = 4,
			     .local_hit = 1024,
			     .remote_hit = 2048,
			     .outcome = MC_COMPLETED,
			     .counted = true};
	m.result.end = r->end;
	m.scenario.run.warmup = 0;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_double_eq_tol(x.ttft.mean, 30, 1e-12);
	ck_assert_double_eq_tol(x.handover.mean, 0.5, 1e-12);
	ck_assert_double_eq_tol(x.ttft_handover.mean, 30.5, 1e-12);
	ck_assert_double_eq_tol(x.tpot.mean, 0.1, 1e-12);
	ck_assert_double_eq_tol(x.e2e.mean, 30.8, 1e-12);
	ck_assert_double_eq_tol(x.queue_s_mean, 1, 1e-12);
	ck_assert_double_eq_tol(x.gpu_time_s_mean, 2.5, 1e-12);
	ck_assert_double_eq_tol(x.ttft_error_mean_s, 2, 1e-12);
	ck_assert_double_eq_tol(x.hit_ratio, 0.375, 1e-12);
	ck_assert_int_eq(x.effective, 1); /* exactly on both objectives */
	ck_assert_int_eq(x.by_length[1].effective, 1);
	r->tbt++;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_int_eq(x.effective + x.tbt_met, 0);
	r->output = 1; /* no interval: met */
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_int_eq(x.effective, 1);
	ck_assert_int_eq(x.handover.count, 0);
	ck_assert_double_eq_tol(x.ttft_handover.mean, 30, 1e-12);
	r->prefill_end++;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_int_eq(x.effective + x.ttft_met, 0);
	made_fini(&m);
}
END_TEST

/* A request that arrives after the run was cut off is not one of its requests. */
START_TEST(not_arrived)
{
	struct made m;
	struct mc_metrics x;

	made_init(&m, 9, 100);
	for (int64_t i = 60; i < 100; i++)
		m.result.row[i] = (struct mc_row){.arrival = i * 100 * MC_NS_PER_MS,
						  .decided = -1,
						  .prefill = MC_NONE,
						  .prefill_end = -1,
						  .input = 1,
						  .counted = true};
	m.result.end = 6 * MC_NS_PER_S + 1; /* request 60 just arrived */
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_int_eq(x.total + x.warmup, 61);
	m.result.end--; /* in this very instant */
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_int_eq(x.total + x.warmup, 61);
	m.result.end--;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_int_eq(x.total + x.warmup, 60);
	made_fini(&m);
}
END_TEST

/* Loads up to the last arrival: of a trace, or the last that a client of a closed loop took (the rest has no
 * arrival), and from the end of the warm-up on. */
START_TEST(loads)
{
	struct made m;
	struct mc_metrics x;

	made_init(&m, 2, 4000);
	m.scenario.run.warmup = 0;
	made_samples(&m, 41);
	for (int i = 0; i < 41; i++) {
		m.result.samples.at[i].prefill_load = i < 20 ? i : 1000;
		m.result.samples.at[i].decode_load = i < 20 ? 40 - 2 * i : 1000;
	}
	for (int64_t i = 2000; i < 4000; i++) /* the last one came at 199.9 s */
		m.result.row[i] = (struct mc_row){.arrival = _i ? -1 : MC_TIME_MAX,
						  .decided = -1,
						  .prefill = MC_NONE,
						  .prefill_start = -1,
						  .prefill_end = -1};
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_double_eq_tol(x.prefill_load_mean, 9.5, 1e-12);
	ck_assert_double_eq_tol(x.decode_load_mean, 21, 1e-12);
	ck_assert_double_eq_tol(x.load_correlation, -1, 1e-12);
	m.scenario.run.warmup = 50 * MC_NS_PER_S;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_double_eq_tol(x.prefill_load_mean, 12, 1e-12);
	for (int i = 0; i < 20; i++)
		m.result.samples.at[i].decode_load = 3;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_double_eq(x.load_correlation, 0);
	made_fini(&m);
}
END_TEST

START_TEST(steadiness)
{
	struct made m;
	struct mc_metrics x;

	made_init(&m, 2, 4000); /* arrivals of 400 s, samples of 10 s */
	m.scenario.run.warmup = 0;
	made_samples(&m, 41);
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert(x.steady);
	ck_assert_double_eq_tol(x.queue_growth, 1, 1e-12);
	for (size_t i = 0; i < 41; i++)
		m.result.samples.at[i].prefill_wait_mean = (mc_time)i * MC_NS_PER_S;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert(!x.steady);           /* even growth: 35 s after 25 s */
	for (size_t i = 0; i < 41; i++) /* full early, then level but for a ripple */
		m.result.samples.at[i].prefill_wait_mean =
		    (i < 10 ? (mc_time)i : 10 + (mc_time)(i % 3)) * MC_NS_PER_S;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert(x.steady);
	for (size_t i = 0; i < 41; i++)
		m.result.samples.at[i].prefill_wait_mean = (mc_time)(i * i) * MC_NS_PER_S / 10;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert(!x.steady);
	ck_assert_double_gt(x.queue_growth, 1.5);
	for (size_t i = 0; i < 41; i++) /* the same shape, but of no weight beside an objective of 30 s */
		m.result.samples.at[i].prefill_wait_mean = (mc_time)(i * i) * MC_NS_PER_MS;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert(x.steady);
	for (size_t i = 0; i < 41; i++)
		m.result.samples.at[i].decode_waiting = i > 30 ? 50 : 0;
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert(!x.steady);
	made_samples(&m, 3);
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert(x.steady && x.queue_growth == 0);
	made_fini(&m);
}
END_TEST

static void expect_bottleneck(struct made *m, const char *start, const char *part)
{
	struct mc_metrics x;

	mc_metrics_compute(&m->scenario, &m->cost, &m->result, &x);
	ck_assert_msg(!strncmp(x.bottleneck, start, strlen(start)), "%s", x.bottleneck);
	ck_assert_msg(strstr(x.bottleneck, part), "%s has no '%s'", x.bottleneck, part);
}

/* Both prefill instances compute from one second to another. */
static void prefill_between(struct made *m, mc_time from, mc_time to)
{
	for (int64_t i = 0; i < m->result.n_rows; i++) {
		m->result.row[i].prefill_start = i < 2 ? from * MC_NS_PER_S : -1;
		m->result.row[i].prefill_end = i < 2 ? to * MC_NS_PER_S : -1;
	}
}

START_TEST(bottlenecks)
{
	struct made m;
	struct mc_sample *s;

	made_init(&m, 2, 10);
	prefill_between(&m, 0, 0);
	expect_bottleneck(&m, "unknown", "run.sample");
	made_samples(&m, 100);
	s = m.result.samples.at;
	expect_bottleneck(&m, "none", "never full");
	m.result.evicted_blocks = 7;
	expect_bottleneck(&m, "none", "7 blocks");
	m.result.coupled = true;
	for (int i = 0; i < 10; i++) {
		m.result.row[i].tbt = (i < 2) * MC_NS_PER_S; /* over a tenth */
		m.result.row[i].output = 9;
		m.result.row[i].outcome = MC_COMPLETED;
		m.result.row[i].counted = true;
	}
	expect_bottleneck(&m, "none", "7 blocks; TBT is missed as prompts hold up decodes");
	m.result.coupled = false;
	for (int i = 40; i < 60; i++)
		s[i].link_ratio_max = 0.8, s[i].link_max = 5;
	expect_bottleneck(&m, "link decode0.in, 80 % busy from 390 s to 590 s", "");
	prefill_between(&m, 100, 200);
	for (int i = 10; i < 21; i++)
		s[i].prefill_wait_mean = 3 * MC_NS_PER_S, s[i].prefill_wait_max = 5 * MC_NS_PER_S;
	expect_bottleneck(&m, "prefill pool, 100 % busy from 100 s to 200 s", "3.0 s on average, 5.0 s");
	for (int i = 70; i < 90; i++)
		s[i].decode_iteration_max = 150 * MC_NS_PER_MS, s[i].decode_batch_max = 9;
	expect_bottleneck(&m, "decode pool, iterations of 150 ms at batch 9", "from 690 s to 890 s");
	/* One busy sample is no bottleneck: the window is a twentieth of the run. */
	made_samples(&m, 100);
	prefill_between(&m, 503, 513);
	expect_bottleneck(&m, "none", "prefill pool 20 %");
	/* 100 s in a group of four nodes that all work for 10 of them is no full group. */
	prefill_between(&m, 100, 200);
	m.result.prefill_group = 4;
	m.result.row[0].compute_s = m.result.row[1].compute_s = 30;
	m.result.row[0].load_s = m.result.row[1].load_s = 10;
	expect_bottleneck(&m, "none", "prefill pool 10 %");
	made_fini(&m);
}
END_TEST

START_TEST(definitions)
{
	for (const struct mc_metric_def *d = mc_metric_defs; d->key; d++) {
		ck_assert_ptr_eq(mc_metric_find(d->key), d);
		ck_assert_uint_gt(strlen(d->text), 10);
	}
	ck_assert_str_eq(mc_metric_find("ttft_s.p99")->key, "ttft_s");
	ck_assert_str_eq(mc_metric_find("cache.hit_ratio")->key, "cache.hit_ratio");
	ck_assert_ptr_null(mc_metric_find("ttft_seconds"));
	ck_assert_ptr_null(mc_metric_find("cache"));
	ck_assert_str_eq(mc_metric_unit("ttft_s.count"), "count");
	ck_assert_str_eq(mc_metric_unit("tbt_s.p50"), "s");
	ck_assert_str_eq(mc_metric_unit("nonsense"), "");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("metrics");
	TCase *t = tcase_create("metrics");

	tcase_add_loop_test(t, recount, 0, 12);
	tcase_add_test(t, one_request);
	tcase_add_test(t, not_arrived);
	tcase_add_loop_test(t, loads, 0, 2);
	tcase_add_test(t, steadiness);
	tcase_add_test(t, bottlenecks);
	tcase_add_test(t, definitions);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
