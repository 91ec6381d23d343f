#include "stat/summary.h"

#include <assert.h>

#include "stat/sort.h"

const int mc_summary_percentile[MC_SUMMARY_PERCENTILES] = {50, 90, 95, 99};

size_t mc_stat_rank(size_t n, int p)
{
	assert(n && p > 0 && p <= 100);
	return (size_t)(((unsigned __int128)n * (unsigned)p + 99) / 100) - 1;
}

void mc_summary_times(mc_time *v, size_t n, struct mc_summary *out)
{
	__int128 sum = 0;

	*out = (struct mc_summary){0};
	if (!n)
		return;
	mc_sort_i64(v, n);
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	out->count = (int64_t)n;
	out->mean = (double)sum / (double)n / 1e9;
	out->p50 = mc_time_to_s(v[mc_stat_rank(n, 50)]);
	out->p90 = mc_time_to_s(v[mc_stat_rank(n, 90)]);
	out->p95 = mc_time_to_s(v[mc_stat_rank(n, 95)]);
	out->p99 = mc_time_to_s(v[mc_stat_rank(n, 99)]);
	out->max = mc_time_to_s(v[n - 1]);
}

void mc_summary_reals(double *v, size_t n, struct mc_summary *out)
{
	double sum = 0;

	*out = (struct mc_summary){0};
	if (!n)
		return;
	mc_sort_f64(v, n);
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	out->count = (int64_t)n;
	out->mean = sum / (double)n;
	out->p50 = v[mc_stat_rank(n, 50)];
	out->p90 = v[mc_stat_rank(n, 90)];
	out->p95 = v[mc_stat_rank(n, 95)];
	out->p99 = v[mc_stat_rank(n, 99)];
	out->max = v[n - 1];
}
