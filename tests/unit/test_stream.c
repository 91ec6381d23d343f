#include "unit.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "des/stream.h"

static unsigned long first(uint64_t seed, const char *component, uint64_t index)
{
	gsl_rng *rng = mc_stream_new(seed, component, index);
	unsigned long x = gsl_rng_get(rng);

	gsl_rng_free(rng);
	return x;
}

START_TEST(same_name_same_draws)
{
	gsl_rng *a = mc_stream_new(7, "policy", 3), *b = mc_stream_new(7, "policy", 3);

	for (int i = 0; i < 1000; i++)
		ck_assert_uint_eq(gsl_rng_get(a), gsl_rng_get(b));
	gsl_rng_free(a);
	gsl_rng_free(b);
}
END_TEST

/* Published results depend on these: a change of the hash must be seen. */
START_TEST(draws_are_pinned)
{
	ck_assert_uint_eq(first(0, "", 0), 3289594718UL);
	ck_assert_uint_eq(first(1, "policy", 0), 3033007236UL);
	ck_assert_uint_eq(first(UINT64_MAX, "spread", UINT64_MAX), 3650357813UL);
}
END_TEST

/* One number a name: pinned, even over [0, 1), and no two names agree. */
START_TEST(single_draws)
{
	enum { N = 20000 };
	static double x[N];
	double mean;

	ck_assert(mc_stream_draw(1, "clients.think", 0) == 0x1.92ba73527d48p-2);
	for (uint64_t i = 0; i < N; i++)
		x[i] = mc_stream_draw(3, "x", i);
	mean = gsl_stats_mean(x, 1, N);
	ck_assert_double_eq_tol(mean, 0.5, 0.01);
	ck_assert_double_eq_tol(gsl_stats_variance_m(x, 1, N, mean), 1.0 / 12, 0.003);
	ck_assert_double_eq_tol(gsl_stats_lag1_autocorrelation_m(x, 1, N, mean), 0, 0.03);
	for (int i = 0; i < N; i++)
		ck_assert(x[i] >= 0 && x[i] < 1);
	ck_assert(mc_stream_draw(3, "y", 0) != x[0] && mc_stream_draw(4, "x", 0) != x[0]);
}
END_TEST

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

/* 3,200 names: the expected number of equal first draws is n^2 / 2^33, about 0.001. */
START_TEST(names_differ)
{
	static const char *const component[] = {
	    "",       "a", "b",       "ab",       "ba",     "policy",        "policy ",
	    "spread", "x", "arrival", "arrivals", "decode", "decode_policy", "gen",
	    "len",    "0"};
	static unsigned long draw[3200];
	size_t n = 0;

	for (uint64_t seed = 0; seed < 10; seed++)
		for (size_t c = 0; c < 16; c++)
			for (uint64_t i = 0; i < 20; i++)
				draw[n++] = first(seed, component[c], i);
	qsort(draw, n, sizeof *draw, compare);
	for (size_t i = 1; i < n; i++)
		ck_assert_uint_ne(draw[i - 1], draw[i]);
}
END_TEST

/* Neighbours (next seed, next index, one letter apart) are not correlated: |r| < 4 / sqrt(n). */
START_TEST(neighbours_are_independent)
{
	enum { N = 20000 };
	static double x[4][N];
	gsl_rng *rng[4] = {mc_stream_new(1, "a", 0), mc_stream_new(2, "a", 0), mc_stream_new(1, "a", 1),
			   mc_stream_new(1, "b", 0)};

	for (int s = 0; s < 4; s++) {
		for (int i = 0; i < N; i++)
			x[s][i] = gsl_rng_uniform(rng[s]);
		gsl_rng_free(rng[s]);
	}
	for (int a = 0; a < 4; a++)
		for (int b = a + 1; b < 4; b++)
			ck_assert_double_lt(fabs(gsl_stats_correlation(x[a], 1, x[b], 1, N)), 4 / sqrt(N));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("stream");
	TCase *t = tcase_create("stream");

	tcase_add_test(t, same_name_same_draws);
	tcase_add_test(t, draws_are_pinned);
	tcase_add_test(t, single_draws);
	tcase_add_test(t, names_differ);
	tcase_add_test(t, neighbours_are_independent);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
