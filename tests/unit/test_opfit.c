/* Curves fitted to times that are known, with noise, outliers and holes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "fit/opfit.h"
#include "hw/operators.h"
#include "unit.h"

static const struct mc_op_limits limits = {312e12, 2e12, 300e9, 25e9, 0, 0, 0};
static uint64_t state = 1;

static double uniform(double low, double high)
{
	state = mc_hash_u64(state);
	return low + (high - low) * (double)(state >> 11) / 9007199254740992.;
}

/* Samples in memory: of no file. */
static void add(struct mc_opsamples *s, struct mc_op_point p, double seconds)
{
	mc_vec_push(s, ((struct mc_opsample){.point = p, .seconds = seconds, .repeats = 1}));
}

static struct mc_opsamples samples(void)
{
	return (struct mc_opsamples){.device = (char *)"d",
				     .software = (char *)"w",
				     .dtype = (char *)"bf16",
				     .date = (char *)"2026-01-01",
				     .source = (char *)"here"};
}

static struct mc_op_point gemm(int64_t rows)
{
	return (struct mc_op_point){MC_OP_GEMM, {[MC_DIM_ROWS] = rows, [MC_DIM_N] = 8192, [MC_DIM_K] = 1024}};
}

static struct mc_op_point decode(int64_t seqs, int64_t context)
{
	return (struct mc_op_point){MC_OP_ATTENTION_DECODE,
				    {[MC_DIM_SEQS] = seqs,
				     [MC_DIM_CONTEXT] = context,
				     [MC_DIM_HEADS] = 8,
				     [MC_DIM_KV_HEADS] = 1,
				     [MC_DIM_HEAD_DIM] = 128}};
}

/* A launch, and work at 70 % of the hardware. */
static double truth(struct mc_op_point p)
{
	return 5e-6 + mc_op_work_s(&p, &limits, 2) / 0.7;
}

static void fit(struct mc_opfit *f, const struct mc_opsamples *s)
{
	struct mc_err err = {0};

	ck_assert_msg(!mc_opfit_samples(f, s, 1, &limits, &err), "%s", err.text);
}

/* The definition: max over j <= i of min over k >= i of the mean of j .. k. */
static double isotonic(const double *y, int n, int i)
{
	double best = -INFINITY;

	for (int j = 0; j <= i; j++) {
		double least = INFINITY;

		for (int k = i; k < n; k++) {
			double sum = 0;

			for (int m = j; m <= k; m++)
				sum += y[m];
			least = fmin(least, sum / (k - j + 1));
		}
		best = fmax(best, least);
	}
	return best;
}

START_TEST(grid_is_isotonic_regression)
{
	for (int round = 0; round < 50; round++) {
		struct mc_opgrid_basis b = {.fixed = gemm(0), .axes = 1, .dim = {MC_DIM_ROWS}};
		struct mc_opgrid_point p[12];
		struct mc_opgrid g;
		double y[12];

		for (int i = 0; i < 12; i++) {
			y[i] = uniform(0, 0.4); /* no contradiction that makes an outlier */
			p[11 - i] = (struct mc_opgrid_point){gemm(1 + 3 * i), y[i], 0};
		}
		ck_assert(mc_opgrid_init(&g, &b, p, 12));
		ck_assert_uint_eq(g.outliers, 0);
		for (int i = 0; i < 12; i++) {
			ck_assert_uint_eq(p[11 - i].cell, (size_t)i);
			ck_assert_double_eq_tol(g.log_s[i], isotonic(y, 12, i), 1e-12);
		}
		mc_opgrid_fini(&g);
	}
}
END_TEST

START_TEST(grid_rises_with_holes)
{
	for (int round = 0; round < 30; round++) {
		struct mc_opgrid_basis b = {.fixed = decode(0, 0),
					    .axes = 2,
					    .dim = {MC_DIM_SEQS, MC_DIM_CONTEXT},
					    .limits = limits,
					    .element_bytes = 2};
		struct mc_opgrid_point p[100];
		struct mc_opgrid g;
		size_t n = 0;

		for (int i = 0; i < 100; i++) {
			struct mc_op_point q = decode(1 + i / 10, 100 * (1 + i % 10));

			if (uniform(0, 1) < 0.6 || i == 0 || i == 99)
				p[n++] = (struct mc_opgrid_point){q, log(truth(q) * uniform(0.8, 1.25)), 0};
		}
		b.over_work = round & 1;
		ck_assert(mc_opgrid_init(&g, &b, p, n));
		for (size_t i = 0; i < g.cells; i++) {
			struct mc_op_point q = mc_opgrid_point_of(&g, i);

			ck_assert(g.log_s[i] >= log(mc_op_floor_s(&q, &limits, 2)) - 1e-12);
			ck_assert(fabs(g.log_s[i] - log(truth(q))) < 0.5);
			ck_assert(i % g.n[1] == 0 || g.log_s[i] >= g.log_s[i - 1] - 1e-12);
			ck_assert(i < g.n[1] || g.log_s[i] >= g.log_s[i - g.n[1]] - 1e-12);
		}
		mc_opgrid_fini(&g);
	}
}
END_TEST

/* Noise of 1 %, and every 20th sample takes eight times as long, or an eighth. */
static struct mc_opsamples noisy_gemm(double noise, bool outliers)
{
	struct mc_opsamples s = samples();

	state = 7;
	for (int64_t rows = 8; rows <= 8192; rows += rows < 1024 ? 8 : 256) {
		double t = truth(gemm(rows)) * uniform(1 - noise, 1 + noise);

		if (outliers && s.n % 20 == 11)
			t *= s.n % 40 == 11 ? 8 : 0.125;
		add(&s, gemm(rows), t);
	}
	return s;
}

START_TEST(fit_recovers_the_truth)
{
	struct mc_opsamples s = noisy_gemm(0.01, true);
	struct mc_opfit f;
	double before = 0;

	fit(&f, &s);
	ck_assert_uint_eq(f.n, 1);
	ck_assert_uint_ge(f.at[0].outliers + f.total[MC_OP_GEMM].unphysical, s.n / 20 - 2);
	for (int64_t rows = 8; rows <= 8192; rows++) {
		struct mc_op_point p = gemm(rows);
		double t = mc_curve_s(&f.at[0].curve, &p);

		ck_assert_double_le(fabs(t / truth(p) - 1), 0.03);
		ck_assert_double_ge(t, before * (1 - 1e-3));
		before = t;
	}
	/* Half of the noise at the median; outliers are one in 20, so p95 is next to them. */
	ck_assert_double_ge(f.at[0].curve.error.median, 0.002);
	ck_assert_double_le(f.at[0].curve.error.median, 0.01);
	ck_assert_double_ge(f.at[0].curve.error.worst, 0.5);
	mc_opfit_fini(&f);
	mc_vec_fini(&s);
}
END_TEST

/* What can't be predicted must show, however near the curve comes to the points it was fitted to. */
START_TEST(error_is_that_of_points_not_seen)
{
	struct mc_opsamples s = noisy_gemm(0.2, false), few = samples();
	struct mc_opfit f;

	fit(&f, &s);
	ck_assert_double_ge(f.at[0].curve.error.median, 0.06);
	ck_assert_double_ge(f.at[0].curve.error.p95, 0.15);
	ck_assert_int_ge(f.at[0].curve.error.points, (int64_t)s.n - 5);
	mc_opfit_fini(&f);
	/* A step that rises: knots meet every point, and none of them can be told from the others. */
	for (int i = 0; i < 8; i++)
		add(&few, gemm(1 << i), 1e-4 * pow(4, i / 2) * (i % 2 ? 1.001 : 1));
	fit(&f, &few);
	for (size_t i = 0; i < few.n; i++)
		ck_assert_double_eq_tol(mc_curve_s(&f.at[0].curve, &few.at[i].point) / few.at[i].seconds, 1,
					0.02);
	ck_assert_double_ge(f.at[0].curve.error.median, 0.3);
	mc_opfit_fini(&f);
	mc_vec_fini(&few);
	mc_vec_fini(&s);
}
END_TEST

/* Wrong as a whole: the curve of another operator's samples errs on this one's by what they differ. */
START_TEST(two_grids_are_two_curves)
{
	struct mc_opsamples s = noisy_gemm(0.01, false);
	struct mc_op_point wide = gemm(64);
	struct mc_opfit f;

	wide.dim[MC_DIM_N] = 16384;
	add(&s, wide, 1e-3);
	for (int i = 0; i < 60; i++) {
		struct mc_op_point p = decode(1 << i % 6, 100 << i / 6);

		add(&s, p, truth(p));
	}
	fit(&f, &s);
	ck_assert_uint_eq(f.n, 3);
	ck_assert_int_eq(f.at[1].curve.error.points, 0); /* one point, nothing to hold it against */
	ck_assert_int_eq(f.at[2].curve.axes, 2);
	/* Points are twice apart, and a held-out corner is extrapolated. */
	ck_assert_double_le(f.at[2].curve.error.median, 0.05);
	ck_assert_double_le(f.at[2].curve.error.p95, 0.15);
	ck_assert_uint_eq(f.total[MC_OP_GEMM].curves, 2);
	ck_assert_uint_eq(f.total[MC_OP_ATTENTION_DECODE].points, 60);
	mc_opfit_fini(&f);
	mc_vec_fini(&s);
}
END_TEST

/* Three widths, the last one twice as slow: left out, it is predicted twice as fast, and the middle one by
 * the square root of two too slow. */
START_TEST(a_shape_left_out_comes_from_the_others)
{
	const struct mc_curve_error *e;
	struct mc_opsamples s = samples();
	struct mc_opfit f;

	for (int i = 0; i < 3; i++)
		for (int64_t rows = 1; rows <= 8192; rows *= 2) {
			struct mc_op_point p = gemm(rows);

			p.dim[MC_DIM_N] = 4096 << i;
			add(&s, p, mc_op_work_s(&p, &limits, 2) / (i == 2 ? 0.35 : 0.7));
		}
	fit(&f, &s);
	e = &f.total[MC_OP_GEMM].left_out[MC_LEFT_SHAPE];
	ck_assert_int_eq(e->points, (int64_t)s.n);
	ck_assert_double_eq_tol(e->worst, 0.5, 0.015);
	ck_assert_double_eq_tol(e->median, sqrt(2) - 1, 0.015);
	ck_assert_ptr_nonnull(strstr(e->worst_at, "n 16384"));
	ck_assert_double_le(f.total[MC_OP_GEMM].left_out[MC_LEFT_POINT].worst, 0.05);
	mc_opfit_fini(&f);
	mc_vec_fini(&s);
}
END_TEST

/* Pairs of points on a stair: without every second one the stair is a slope, which is twice too slow. */
START_TEST(every_second_left_out_shows_what_is_between)
{
	const struct mc_curve_error *e;
	struct mc_opsamples s = samples();
	struct mc_opfit f;

	for (int i = 0; i < 8; i++)
		add(&s, gemm(1 << i), 1e-4 * pow(4, i / 2) * (i % 2 ? 1.001 : 1));
	fit(&f, &s);
	e = &f.total[MC_OP_GEMM].left_out[MC_LEFT_SECOND];
	ck_assert_int_eq(e->points, 3);
	ck_assert_double_eq_tol(e->median, 1, 0.05);
	ck_assert_int_eq(f.total[MC_OP_GEMM].left_out[MC_LEFT_SHAPE].points, 0);
	mc_opfit_fini(&f);
	mc_vec_fini(&s);
}
END_TEST

static char *text_of(const struct mc_opsamples *s)
{
	struct mc_opfit f;
	json_t *o = json_object();
	char *text;

	fit(&f, s);
	text = mc_opfit_profile_text(&f, o, "x", NULL);
	mc_opfit_fini(&f);
	json_decref(o);
	return text;
}

/* Order and repeats change nothing: repeats never stand on both sides of a held-out part. */
START_TEST(order_and_repeats_change_nothing)
{
	struct mc_opsamples s = noisy_gemm(0.1, true), twice = samples();
	char *a, *b, *c;

	for (size_t i = s.n; i--;)
		add(&twice, s.at[i].point, s.at[i].seconds);
	b = text_of(&twice);
	for (size_t i = 0; i < s.n; i++)
		add(&twice, s.at[i].point, s.at[i].seconds);
	c = text_of(&twice);
	a = text_of(&s);
	ck_assert_str_eq(a, b);
	ck_assert_str_eq(a, c);
	free(a);
	free(b);
	free(c);
	mc_vec_fini(&twice);
	mc_vec_fini(&s);
}
END_TEST

START_TEST(section_loads_with_the_same_times)
{
	struct mc_opsamples s = noisy_gemm(0.05, true);
	struct mc_operators o;
	struct mc_err err = {0};
	struct mc_opfit f;
	json_t *section;

	for (int i = 0; i < 60; i++) {
		struct mc_op_point p = decode(1 << i % 6, 100 << i / 6);

		/* Some so near the bound that rounding could take them below it. */
		add(&s, p, fmax(mc_op_floor_s(&p, &limits, 2), uniform(0, 2) * truth(p)));
	}
	fit(&f, &s);
	section = mc_opfit_section(&f);
	ck_assert_msg(!mc_operators_load(&o, section, &limits, &err), "%s: %s", err.key, err.text);
	ck_assert_uint_eq(o.n, f.n);
	for (size_t i = 0; i < s.n; i++)
		for (size_t k = 0; k < o.n; k++)
			if (mc_curve_matches(&o.curve[k], &s.at[i].point))
				ck_assert_double_eq_tol(mc_curve_s(&o.curve[k], &s.at[i].point) /
							    mc_curve_s(&f.at[k].curve, &s.at[i].point),
							1, 1e-5);
	json_decref(section);
	mc_operators_fini(&o);
	mc_opfit_fini(&f);
	mc_vec_fini(&s);
}
END_TEST

START_TEST(fit_leaves_out)
{
	struct mc_opsamples s = noisy_gemm(0.01, false);
	struct mc_opfit f;

	strcpy(s.at[5].flag, "bump");
	s.at[9].seconds = 1e-9;
	fit(&f, &s);
	ck_assert_uint_eq(f.total[MC_OP_GEMM].flagged, 1);
	ck_assert_uint_eq(f.total[MC_OP_GEMM].unphysical, 1);
	ck_assert_uint_eq(f.total[MC_OP_GEMM].points, s.n - 2);
	mc_opfit_fini(&f);
	mc_vec_fini(&s);
}
END_TEST

START_TEST(fit_refuses)
{
	struct mc_opsamples s[2] = {noisy_gemm(0.01, false), samples()};
	struct mc_err err = {0};
	struct mc_opfit f;

	s[1].dtype = (char *)"f32";
	ck_assert_int_eq(mc_opfit_samples(&f, s, 2, &limits, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "dtype"));
	memset(&err, 0, sizeof err);
	ck_assert_int_eq(mc_opfit_samples(&f, s + 1, 1, &limits, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "no sample"));
	memset(&err, 0, sizeof err);
	for (int i = 0; i < 1000; i++)
		add(&s[1], decode(1 + i, 5 + i), 1);
	ck_assert_int_eq(mc_opfit_samples(&f, s + 1, 1, &limits, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "grid"));
	mc_vec_fini(&s[0]);
	mc_vec_fini(&s[1]);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("opfit");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, grid_is_isotonic_regression);
	tcase_add_test(t, grid_rises_with_holes);
	tcase_add_test(t, fit_recovers_the_truth);
	tcase_add_test(t, error_is_that_of_points_not_seen);
	tcase_add_test(t, two_grids_are_two_curves);
	tcase_add_test(t, a_shape_left_out_comes_from_the_others);
	tcase_add_test(t, every_second_left_out_shows_what_is_between);
	tcase_add_test(t, order_and_repeats_change_nothing);
	tcase_add_test(t, section_loads_with_the_same_times);
	tcase_add_test(t, fit_leaves_out);
	tcase_add_test(t, fit_refuses);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
