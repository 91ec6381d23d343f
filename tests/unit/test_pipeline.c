#include "unit.h"

#include <math.h>
#include <string.h>

#include "des/stream.h"
#include "model/pipeline.h"

#define STAGES_MAX 9
#define CHUNKS_MAX 512

static void resolve(struct mc_cost *c, const char *profile)
{
	struct mc_profile p;

	ck_assert_int_eq(mc_profile_load(&p, profile, NULL), 0);
	ck_assert_int_eq(mc_cost_init(c, &p, mc_shape_find("llama3-70b"), NULL, NULL), 0);
	mc_profile_fini(&p);
}

/* The recurrence as it is written, over whole tables. */
static double oracle(const struct mc_cost *c, const struct mc_pipeline_job *job, double *stage_free)
{
	static double done[STAGES_MAX][CHUNKS_MAX];
	int64_t chunks = 0;

	for (int64_t at = job->p; at < job->n; at += job->chunk, chunks++) {
		double from = (double)at, to = fmin((double)(at + job->chunk), (double)job->n);
		double work = mc_cost_prefill_compute_s(c, to, from) - c->pf_a;

		ck_assert_int_lt(chunks, CHUNKS_MAX);
		if (!chunks)
			work += mc_cost_prefill_gpu_s(c, (double)job->n, (double)job->p) -
				mc_cost_prefill_compute_s(c, (double)job->n, (double)job->p) + c->pf_a;
		for (int64_t s = 0; s < job->stages; s++) {
			double before = chunks ? done[s][chunks - 1] : stage_free[s];
			double hop = c->net_startup_s + (to - from) * c->hop_s_per_token;
			double ready = s ? done[s - 1][chunks] + hop : job->start_s;

			done[s][chunks] = fmax(before, ready) + work / (double)job->stages;
		}
	}
	for (int64_t s = 0; s < job->stages; s++)
		stage_free[s] = done[s][chunks - 1];
	return stage_free[job->stages - 1];
}

static int64_t below(gsl_rng *r, int64_t n)
{
	return (int64_t)(gsl_rng_uniform(r) * (double)n);
}

START_TEST(equals_the_recurrence)
{
	static const char *const profiles[] = {"a800-x8", "a800-x8-analytic"};
	gsl_rng *r;
	struct mc_cost c;

	r = mc_stream_new(3, "test", 0);
	for (int k = 0; k < 2000; k++) {
		struct mc_pipeline_job job = {.n = 1 + below(r, 200000)};
		double a[STAGES_MAX], b[STAGES_MAX], x, y;

		if (k % 1000 == 0)
			resolve(&c, profiles[k / 1000]);
		job.p = below(r, 2) ? below(r, job.n) : 0;
		job.chunk = 400 + below(r, 20000);
		job.stages = 1 + below(r, STAGES_MAX);
		job.start_s = gsl_rng_uniform(r) * 10;
		for (int s = 0; s < STAGES_MAX; s++)
			a[s] = b[s] = gsl_rng_uniform(r) * 12;
		x = mc_cost_prefill_group(&c, &job, a);
		y = oracle(&c, &job, b);
		ck_assert_msg(fabs(x - y) < 1e-9 * y, "%.17g is not %.17g", x, y);
		for (int s = 0; s < STAGES_MAX; s++)
			ck_assert(fabs(a[s] - b[s]) < 1e-9 * b[s]);
		ck_assert(a[job.stages - 1] == x);
	}
	gsl_rng_free(r);
}
END_TEST

START_TEST(one_stage_is_one_node_exactly)
{
	struct mc_cost c;
	struct mc_pipeline_job job = {.n = 100000, .p = 60000, .chunk = 1000, .stages = 1, .start_s = 3};
	double free_s = 2;

	resolve(&c, "a800-x8");
	ck_assert(mc_cost_prefill_group(&c, &job, &free_s) == 3 + mc_cost_prefill_gpu_s(&c, 100000, 60000));
	job.start_s = 0;
	ck_assert(mc_cost_prefill_group(&c, &job, &free_s) ==
		  3 + mc_cost_prefill_gpu_s(&c, 100000, 60000) + mc_cost_prefill_gpu_s(&c, 100000, 60000));
}
END_TEST

/* J equal chunks of t on X stages without hops take (J + X - 1) t / X. */
START_TEST(equal_chunks_have_a_closed_form)
{
	struct mc_cost c;

	memset(&c, 0, sizeof c);
	c.pf_b = 0.25;
	for (int64_t stages = 1; stages <= 8; stages++) {
		for (int64_t chunks = 1; chunks <= 20; chunks++) {
			struct mc_pipeline_job job = {.n = 8 * chunks, .chunk = 8, .stages = stages};
			double free_s[8] = {0}, t = 8 * 0.25;
			double want = (double)(chunks + stages - 1) * t / (double)stages;

			ck_assert(fabs(mc_cost_prefill_group(&c, &job, free_s) - want) < 1e-12 * want);
		}
	}
}
END_TEST

/* With hops, the first chunk pays X - 1 of them and the others hide theirs behind their turn. */
START_TEST(hops_delay_once)
{
	struct mc_cost c;
	struct mc_pipeline_job job = {.n = 80, .chunk = 8, .stages = 4};
	double free_s[4] = {0};

	memset(&c, 0, sizeof c);
	c.pf_b = 0.25;
	c.net_startup_s = 0.125;
	c.hop_s_per_token = 0.015625;
	ck_assert(fabs(mc_cost_prefill_group(&c, &job, free_s) - (13 * 0.5 + 3 * 0.25)) < 1e-12);
}
END_TEST

START_TEST(more_nodes_shorten_a_long_prompt)
{
	struct mc_cost c;
	double last = INFINITY;

	resolve(&c, "a800-x8");
	for (int64_t stages = 1; stages <= 8; stages *= 2) {
		struct mc_pipeline_job job = {.n = 131072, .chunk = 4096, .stages = stages};
		double free_s[8] = {0}, t = mc_cost_prefill_group(&c, &job, free_s);

		ck_assert(t < last && t >= mc_cost_prefill_gpu_s(&c, 131072, 0) / (double)stages);
		last = t;
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pipeline");
	TCase *t = tcase_create("pipeline");

	tcase_add_test(t, equals_the_recurrence);
	tcase_add_test(t, one_stage_is_one_node_exactly);
	tcase_add_test(t, equal_chunks_have_a_closed_form);
	tcase_add_test(t, hops_delay_once);
	tcase_add_test(t, more_nodes_shorten_a_long_prompt);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
