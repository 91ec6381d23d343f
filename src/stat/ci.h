/* Confidence intervals of means, by Student's t. */
#ifndef MC_STAT_CI_H
#define MC_STAT_CI_H

#include <stddef.h>

struct mc_ci {
	double mean;
	double half; /* the interval is mean +- half; INFINITY when n < 2 */
	double sd;   /* of the values, with n - 1; 0 when n < 2 */
	size_t n;    /* values, differences or batches */
};

/* Mean of n independent values; level as 0.95. All zero (half: INFINITY) when n is 0. */
void mc_ci_mean(const double *x, size_t n, double level, struct mc_ci *out);

/* Mean of a[i] - b[i], where pair i shares its randomness (seed, request). */
void mc_ci_paired(const double *a, const double *b, size_t n, double level, struct mc_ci *out);

/*
 * Mean of a stationary series whose neighbours depend on each other, from the means of `batches` >= 2 runs of
 * equal length; the first n % batches values are dropped (Law, Simulation Modeling and Analysis, 9.5.3). With
 * fewer values than batches each value is a batch.
 */
void mc_ci_batch_means(const double *x, size_t n, size_t batches, double level, struct mc_ci *out);

/* Student's t: P(|T| <= t) = level with dof >= 1 degrees of freedom. */
double mc_ci_student(double level, size_t dof);

#endif
