#include "unit.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdbool.h>

#include "stat/ci.h"

#define close_to(a, b) ck_assert_double_eq_tol(a, b, 1e-3)

START_TEST(table_of_student)
{
	/* The printed tables. */
	close_to(mc_ci_student(0.95, 1), 12.706);
	close_to(mc_ci_student(0.95, 10), 2.228);
	close_to(mc_ci_student(0.99, 4), 4.604);
	close_to(mc_ci_student(0.90, 30), 1.697);
	close_to(mc_ci_student(0.95, 1000000), 1.960);
}
END_TEST

START_TEST(by_hand)
{
	static const double x[] = {2, 4, 4, 4, 6}, y[] = {1, 3, 2, 4, 5};
	struct mc_ci ci;

	mc_ci_mean(x, 5, 0.95, &ci);
	ck_assert(ci.n == 5 && ci.mean == 4);
	close_to(ci.sd, sqrt(2));
	close_to(ci.half, 2.776 * sqrt(2) / sqrt(5));
	/* Differences 1 1 2 0 1: mean 1, sd sqrt(1/2). */
	mc_ci_paired(x, y, 5, 0.95, &ci);
	ck_assert(ci.mean == 1);
	close_to(ci.half, 2.776 * sqrt(0.5) / sqrt(5));
	/* Batches of two after dropping the first: means 4, 5. */
	mc_ci_batch_means(x, 5, 2, 0.95, &ci);
	ck_assert(ci.n == 2 && ci.mean == 4.5);
	close_to(ci.half, 12.706 * 0.5);
}
END_TEST

START_TEST(too_few)
{
	static const double x[] = {3, 5};
	struct mc_ci ci;

	mc_ci_mean(x, 0, 0.95, &ci);
	ck_assert(ci.n == 0 && ci.mean == 0 && isinf(ci.half));
	mc_ci_mean(x, 1, 0.95, &ci);
	ck_assert(ci.n == 1 && ci.mean == 3 && isinf(ci.half));
	mc_ci_batch_means(x, 0, 10, 0.95, &ci);
	ck_assert(ci.n == 0 && isinf(ci.half));
	mc_ci_batch_means(x, 2, 10, 0.95, &ci);
	ck_assert(ci.n == 2 && ci.mean == 4);
	mc_ci_paired(x, x, 0, 0.95, &ci);
	ck_assert(ci.n == 0);
}
END_TEST

/* Of 4,000 intervals at 90 % as many hold the true mean as a binomial of 3,600 +- 19 allows (4 sigma: 76). */
START_TEST(intervals_cover)
{
	gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
	int hit = 0;

	for (int round = 0; round < 4000; round++) {
		struct mc_ci ci;
		double x[6];

		for (int i = 0; i < 6; i++)
			x[i] = 10 + gsl_ran_gaussian(r, 3);
		mc_ci_mean(x, 6, 0.90, &ci);
		hit += fabs(ci.mean - 10) <= ci.half;
	}
	gsl_rng_free(r);
	ck_assert_msg(abs(hit - 3600) < 76, "%d of 4000", hit);
}
END_TEST

/* Neighbours correlated by 0.9: batch means cover; taking the values for independent misses far too often. */
START_TEST(batch_means_cover)
{
	gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
	int batch = 0, naive = 0;
	static double x[4000];

	for (int round = 0; round < 1000; round++) {
		struct mc_ci ci;
		double v = gsl_ran_gaussian(r, 1 / sqrt(1 - 0.81));

		for (int i = 0; i < 4000; i++)
			x[i] = v = 0.9 * v + gsl_ran_gaussian(r, 1);
		mc_ci_batch_means(x, 4000, 20, 0.90, &ci);
		batch += fabs(ci.mean) <= ci.half;
		mc_ci_mean(x, 4000, 0.90, &ci);
		naive += fabs(ci.mean) <= ci.half;
	}
	gsl_rng_free(r);
	ck_assert_msg(batch > 850 && batch < 940, "%d of 1000", batch);
	ck_assert_msg(naive < 500, "%d of 1000", naive);
}
END_TEST

/* Values that are equal have no spread, not one of rounding. */
START_TEST(equal_values)
{
	double x[7];
	struct mc_ci ci;

	for (int i = 0; i < 7; i++)
		x[i] = 1.34971646004;
	mc_ci_mean(x, 7, 0.95, &ci);
	ck_assert(ci.mean == x[0]);
	ck_assert(ci.half == 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ci");
	TCase *t = tcase_create("ci");

	tcase_add_test(t, equal_values);
	tcase_add_test(t, table_of_student);
	tcase_add_test(t, by_hand);
	tcase_add_test(t, too_few);
	tcase_add_test(t, intervals_cover);
	tcase_add_test(t, batch_means_cover);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
