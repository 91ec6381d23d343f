/* Tables of operators' times against the sums that they are made of. */
#include "unit.h"

#include <math.h>

#include "des/stream.h"
#include "hw/profile.h"
#include "model/compose.h"
#include "model/mixed.h"
#include "model/pipeline.h"
#include "model/roofline.h"

START_TEST(octaves_are_found)
{
	for (int bits = 0; bits < 6; bits++) {
		struct mc_octaves k = mc_octaves_to(5000, bits);

		ck_assert_double_eq(k.top, 8192);
		ck_assert_double_eq(mc_octaves_at(&k, k.n - 1), k.top);
		for (size_t i = 0; i + 1 < k.n; i++) {
			double at = mc_octaves_at(&k, i), next = mc_octaves_at(&k, i + 1), share;

			ck_assert_uint_eq(mc_octaves_find(&k, at, &share), i);
			ck_assert_double_eq(share, 0);
			ck_assert_uint_eq(mc_octaves_find(&k, at + (next - at) / 4, &share), i);
			ck_assert_double_eq(share, 0.25);
			ck_assert_double_le(next / at, 1 + ldexp(1, -bits));
		}
	}
	ck_assert_double_eq(mc_octaves_to(0, 3).top, 2);
	ck_assert_double_eq(mc_octaves_to(4, 3).top, 4);
}
END_TEST

static struct mc_steps steps_of(int64_t top, int bits)
{
	struct mc_marks marks = {0};
	struct mc_steps s;

	mc_vec_push(&marks, 333);
	mc_vec_push(&marks, top + 1);
	mc_vec_push(&marks, 7);
	mc_vec_push(&marks, -3);
	mc_vec_push(&marks, 333);
	mc_steps_init(&s, top, bits, &marks);
	mc_vec_fini(&marks);
	return s;
}

/* Below and above what the table of whole numbers holds. */
START_TEST(steps_are_found)
{
	for (int64_t top = 2; top < 40000; top = top * 3 + 1) {
		struct mc_steps s = steps_of(top, 2);
		size_t at = 0;

		ck_assert_double_eq(s.at[0], 1);
		ck_assert_double_eq(mc_steps_top(&s), (double)top);
		for (int64_t x = 1; x <= top; x++) {
			double share;

			while (at + 1 < s.n && s.at[at + 1] <= (double)x)
				at++;
			ck_assert_uint_eq(mc_steps_find(&s, (double)x, &share), at);
			if (at + 1 < s.n)
				ck_assert_double_eq_tol(s.at[at] + share * (s.at[at + 1] - s.at[at]),
							(double)x, 1e-9);
			else
				ck_assert_double_eq(share, 0);
			if (x == 333)
				ck_assert_double_eq(s.at[at], 333);
		}
		mc_steps_fini(&s);
	}
}
END_TEST

static double bilinear(void *arg, int64_t x, int64_t y)
{
	const double *c = arg;

	return c[0] + c[1] * (double)x + c[2] * (double)y + c[3] * (double)x * (double)y;
}

/* A step after 332. */
static double stairs(void *arg, int64_t x, int64_t y)
{
	(void)arg;
	return (double)x * (double)x + (x >= 333 ? 1e6 : 0) + (double)y;
}

START_TEST(lines_and_planes)
{
	double c[4] = {3, 0.5, 0.25, 1e-3};
	struct mc_steps x[3] = {steps_of(20000, 4), steps_of(20000, 4), steps_of(20000, 1)};
	struct mc_plane p;
	struct mc_line l, s;

	mc_line_init(&l, &x[0], bilinear, c);
	mc_line_init(&s, &x[1], stairs, NULL);
	mc_plane_init(&p, &x[2], mc_octaves_to(4096, 2), bilinear, c);
	for (int64_t k = 1; k <= 20000; k += k < 1000 ? 1 : 77) {
		double n = (double)k;

		ck_assert_double_eq_tol(mc_line_value(&l, n), 3 + 0.5 * n, 1e-9);
		if (k <= 16 || k == 333)
			ck_assert_double_eq_tol(mc_line_value(&s, n), stairs(NULL, k, 0), 1e-9);
		else if (k > 333)
			ck_assert_double_eq_tol((mc_line_value(&s, n) - 1e6) / (n * n), 1,
						1. / 4 / 256 + 1e-9);
		for (double y = 1; y <= 4096; y *= 1.7)
			ck_assert_double_eq_tol(
			    mc_plane_value(&p, n, y) / (3 + 0.5 * n + 0.25 * y + 1e-3 * n * y), 1, 1e-9);
	}
	ck_assert_double_eq_tol(mc_plane_value(&p, 20000, 4096), bilinear(c, 20000, 4096), 1e-6);
	mc_line_fini(&l);
	mc_line_fini(&s);
	mc_plane_fini(&p);
}
END_TEST

/* Models and degrees of the shipped profile of an A100 node. */
struct world {
	struct mc_profile p;
	struct mc_compose compose;
	struct mc_optable t;
	gsl_rng *r;
	double worst, sum;
	int n;
};

static const struct {
	const char *model;
	int64_t t, chunk;
} cases[] = {{"llama3-70b", 8, 2048},
	     {"llama2-70b", 4, 8192},
	     {"llama3-8b", 1, 512},
	     {"qwen2.5-72b", 8, 700},
	     {"llama3-8b", 8, 1 << 18}};

static void world_init(struct world *w, int i)
{
	struct mc_err err = {0};

	memset(w, 0, sizeof *w);
	ck_assert_int_eq(mc_profile_load(&w->p, "a100-x8-vidur", NULL), 0);
	ck_assert_msg(mc_compose_init(&w->compose, &w->p.operators, mc_shape_find(cases[i].model), cases[i].t,
				      &err) == 0,
		      "%s", err.text);
	ck_assert_msg(mc_optable_init(&w->t, &w->compose, cases[i].chunk, &err) == 0, "%s: %s",
		      cases[i].model, err.text);
	w->r = mc_stream_new(3, "test", (uint64_t)i);
}

static void world_fini(struct world *w)
{
	gsl_rng_free(w->r);
	mc_optable_fini(&w->t);
	mc_profile_fini(&w->p);
}

/* 1 to top, small numbers as often as large ones. */
static int64_t any(struct world *w, double top)
{
	return (int64_t)exp(gsl_rng_uniform(w->r) * log(top + 0.999));
}

static double sum_s(struct world *w, struct mc_iteration i)
{
	struct mc_parts sum = {0};

	ck_assert_int_eq(mc_compose_add(&w->compose, &i, &sum, NULL), 0);
	return sum.seconds;
}

static void compare(struct world *w, double table, double sum)
{
	double error = fabs(table / sum - 1);

	w->worst = fmax(w->worst, error);
	w->sum += error;
	w->n++;
}

/* Off the knots and beyond the largest ones of a curve. */
START_TEST(table_against_sums)
{
	struct world w;

	world_init(&w, _i);
	for (int k = 0; k < 1500; k++) {
		struct mc_iteration p = {any(&w, fmin((double)cases[_i].chunk, 20000)), any(&w, 200000) - 1,
					 1, k & 1},
				    d = {1, any(&w, 200000) - 1, any(&w, 1000), 0};

		d.logits = d.seqs;
		compare(&w, mc_optable_chunk_s(&w.t, (double)p.rows, (double)p.context, k & 1), sum_s(&w, p));
		compare(&w, mc_optable_decode_s(&w.t, (double)d.seqs, (double)d.seqs * (double)d.context),
			sum_s(&w, d));
	}
	ck_assert_double_lt(w.worst, 0.01);
	ck_assert_double_lt(w.sum / w.n, 0.001);
	world_fini(&w);
}
END_TEST

static void cost_init(struct mc_cost *c, const char *model, int64_t chunk)
{
	const struct mc_cost_params params = {MC_TIMES_AUTO, chunk};
	struct mc_profile p;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_profile_load(&p, "a100-x8-vidur", NULL), 0);
	ck_assert_msg(mc_cost_init(c, &p, mc_shape_find(model), &params, &err) == 0, "%s", err.text);
	ck_assert_int_eq(c->times, MC_TIMES_OPERATORS);
	mc_profile_fini(&p);
}

/* Chunks of a prompt add up to it, in passes and in the stages of a group alike; the floor is one. */
START_TEST(prompts_are_their_chunks)
{
	gsl_rng *r = mc_stream_new(4, "test", 0);
	struct mc_cost c;

	cost_init(&c, "llama3-70b", 2048);
	for (int k = 0; k < 2000; k++) {
		int64_t n = 2 + (int64_t)gsl_rng_uniform_int(r, 100000),
			p = (int64_t)gsl_rng_uniform_int(r, (unsigned long)n), chunk = k & 1 ? 2048 : 777;
		struct mc_pipeline_job job = {n, p, chunk, 1 + k % 4, 5};
		double sum = 0, free_s[4] = {0}, longest = 0, done, s;

		for (int64_t at = p; at < n; at += chunk) {
			int64_t to = at + chunk < n ? at + chunk : n;

			s = mc_cost_chunk_s(&c, (double)to, (double)at, to == n);
			longest = fmax(longest, s);
			sum += s;
		}
		s = mc_cost_passes_s(&c, n, p, chunk);
		ck_assert_double_eq_tol(s / sum, 1, 1e-12);
		ck_assert_double_le(mc_cost_prefill_floor_s(&c, (double)n, (double)p, true), s);
		if (p)
			ck_assert_double_lt(mc_cost_prefill_floor_s(&c, (double)n, (double)p, true),
					    mc_cost_prefill_floor_s(&c, (double)n, (double)p - 1, true));
		if (chunk != 2048)
			continue;
		ck_assert_double_eq(mc_cost_prefill_compute_s(&c, (double)n, (double)p), s);
		sum += mc_cost_prefill_gpu_s(&c, (double)n, (double)p) - s; /* what is seen of the load */
		done = mc_cost_prefill_group(&c, &job, free_s) - 5;
		ck_assert_double_ge(done * (1 + 1e-9), sum / (double)job.stages);
		ck_assert_double_ge(free_s[0] - 5 + 1e-9, sum / (double)job.stages);
		ck_assert_double_le(
		    done,
		    sum + 1e-9 + 4 * (double)job.stages * (c.net_startup_s + (double)n * c.hop_s_per_token));
	}
	mc_cost_fini(&c);
	gsl_rng_free(r);
}
END_TEST

/* Dense layers over the rows of all, attention of each. */
START_TEST(mixed_passes)
{
	struct mc_slices none = {0}, two = {0}, one = {0};
	struct mc_cost c;
	const struct mc_optable *t;
	double s, shares;

	cost_init(&c, "llama3-8b", 512);
	t = c.table;
	mc_slices_add(&two, &c, 3000, 2700, false);
	mc_slices_add(&two, &c, 100, 100, false); /* nothing */
	mc_slices_add(&two, &c, 200, 0, true);
	ck_assert_double_eq(two.tokens, 500);
	s = mc_optable_dense_s(t, 500) + mc_optable_attention_s(t, 300, 2700) +
	    mc_optable_attention_s(t, 200, 0) + t->sample_s;
	ck_assert_double_eq_tol(mc_cost_mixed_s(&c, &two, 0, 0), s, 1e-12);
	s += mc_optable_dense_s(t, 512) - mc_optable_dense_s(t, 500) + mc_optable_decode_s(t, 12, 9000) -
	     mc_optable_dense_s(t, 12);
	ck_assert_double_eq_tol(mc_cost_mixed_s(&c, &two, 12, 9000), s, 1e-12);
	ck_assert_double_eq(mc_cost_mixed_s(&c, &none, 12, 9000), mc_cost_decode_s(&c, 12, 9000));
	mc_slices_add(&one, &c, 200, 0, true);
	shares = mc_slices_share(&two, &c, &one);
	one = none;
	mc_slices_add(&one, &c, 3000, 2700, false);
	ck_assert_double_gt(mc_slices_share(&two, &c, &one), 0.5);
	ck_assert_double_eq_tol(shares + mc_slices_share(&two, &c, &one), 1, 1e-12);
	/* Attention of what is running grows with its context. */
	ck_assert_double_gt(mc_cost_mixed_s(&c, &two, 12, 90000), mc_cost_mixed_s(&c, &two, 12, 9000));
	mc_cost_fini(&c);
}
END_TEST

/* Every dense shape whose operators can be had, at any chunk: no faster than the hardware. */
START_TEST(never_below_the_roofline)
{
	static const char *const profiles[] = {"a100-x8-vidur", "a800-x8-vidur"};
	const struct mc_cost_params params = {MC_TIMES_OPERATORS, 512 << _i};
	struct mc_profile p;
	int fit = 0;

	ck_assert_int_eq(mc_profile_load(&p, profiles[_i], NULL), 0);
	for (const struct mc_shape *s = mc_shapes; s->name[0]; s++) {
		struct mc_roofline_margin m;
		struct mc_err err = {0};
		struct mc_cost c;

		if (mc_cost_init(&c, &p, s, &params, &err)) {
			ck_assert_msg(!strcmp(err.key, "hardware.vram") || !strcmp(err.key, "hardware_times"),
				      "%s: %s: %s", s->name, err.key, err.text);
			continue;
		}
		fit++;
		mc_roofline_margins(&c, &p, &m);
		ck_assert_double_ge(m.prefill, 1);
		ck_assert_double_ge(m.decode, 1);
		mc_cost_fini(&c);
	}
	ck_assert_int_ge(fit, 5);
	mc_profile_fini(&p);
}
END_TEST

/* auto takes the first that there is; what is asked for and is not there is named. */
START_TEST(which_times)
{
	const struct mc_cost_params measured = {MC_TIMES_MEASURED, 2048},
				    analytic = {MC_TIMES_ANALYTIC, 2048},
				    operators = {MC_TIMES_OPERATORS, 2048};
	const struct mc_shape *llama = mc_shape_find("llama3-70b"), *qwen = mc_shape_find("qwen2.5-14b");
	struct mc_profile a800, vidur;
	struct mc_err err = {0};
	struct mc_cost c;

	ck_assert_int_eq(mc_profile_load(&a800, "a800-x8", NULL), 0);
	ck_assert_int_eq(mc_profile_load(&vidur, "a100-x8-vidur", NULL), 0);
	ck_assert_int_eq(mc_cost_init(&c, &a800, llama, NULL, NULL), 0);
	ck_assert(c.times == MC_TIMES_MEASURED && !c.table && !c.no_operators[0]);
	ck_assert_int_eq(mc_cost_init(&c, &a800, llama, &analytic, NULL), 0);
	ck_assert(c.times == MC_TIMES_ANALYTIC && !c.table);
	ck_assert_int_eq(mc_cost_init(&c, &a800, llama, &operators, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "hardware_times");
	ck_assert_ptr_nonnull(strstr(err.text, "a800-x8"));
	err = (struct mc_err){0};
	ck_assert_int_eq(mc_cost_init(&c, &vidur, llama, &measured, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "llama3-70b at tensor parallelism 8"));
	ck_assert_int_eq(mc_cost_init(&c, &vidur, llama, &analytic, NULL), 0);
	ck_assert(c.times == MC_TIMES_ANALYTIC && !c.table);
	err = (struct mc_err){0};
	ck_assert_int_eq(mc_cost_init(&c, &vidur, qwen, &operators, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "attention_prefill of rows 64, context 0, seqs 1, heads 5"));
	ck_assert_int_eq(mc_cost_init(&c, &vidur, qwen, NULL, NULL), 0);
	ck_assert(c.times == MC_TIMES_ANALYTIC && !c.table && strstr(c.no_operators, "heads 5"));
	mc_profile_fini(&a800);
	mc_profile_fini(&vidur);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("optable");
	TCase *t = tcase_create("optable");

	suite_add_tcase(s, t);
	tcase_add_test(t, prompts_are_their_chunks);
	tcase_add_test(t, mixed_passes);
	tcase_add_loop_test(t, never_below_the_roofline, 0, 2);
	tcase_add_test(t, which_times);
	tcase_add_test(t, octaves_are_found);
	tcase_add_test(t, steps_are_found);
	tcase_add_test(t, lines_and_planes);
	tcase_add_loop_test(t, table_against_sums, 0, sizeof cases / sizeof *cases);
	return s;
}

UNIT_MAIN
