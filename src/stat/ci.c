#include "stat/ci.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "base/vec.h"

double mc_ci_student(double level, size_t dof)
{
	assert(level > 0 && level < 1 && dof >= 1);
	return gsl_cdf_tdist_Pinv((1 + level) / 2, (double)dof);
}

void mc_ci_mean(const double *x, size_t n, double level, struct mc_ci *out)
{
	double sum = 0, squares = 0;

	*out = (struct mc_ci){.half = INFINITY, .n = n};
	if (!n)
		return;
	for (size_t i = 0; i < n; i++) /* from the first value, so that equal ones have exactly no spread */
		sum += x[i] - x[0];
	out->mean = x[0] + sum / (double)n;
	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - out->mean) * (x[i] - out->mean);
	out->sd = sqrt(squares / (double)(n - 1));
	out->half = mc_ci_student(level, n - 1) * out->sd / sqrt((double)n);
}

void mc_ci_paired(const double *a, const double *b, size_t n, double level, struct mc_ci *out)
{
	double *d = mc_xrealloc(NULL, n, sizeof *d);

	for (size_t i = 0; i < n; i++)
		d[i] = a[i] - b[i];
	mc_ci_mean(d, n, level, out);
	free(d);
}

void mc_ci_batch_means(const double *x, size_t n, size_t batches, double level, struct mc_ci *out)
{
	size_t length;
	double *mean;

	assert(batches >= 2);
	if (batches > n)
		batches = n;
	length = batches ? n / batches : 0;
	mean = mc_xcalloc(batches, sizeof *mean);
	x += n - batches * length;
	for (size_t b = 0; b < batches; b++) {
		for (size_t i = 0; i < length; i++)
			mean[b] += *x++;
		mean[b] /= (double)length;
	}
	mc_ci_mean(mean, batches, level, out);
	free(mean);
}
