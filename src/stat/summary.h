/*
 * Summaries with exact percentiles by nearest rank: the p-th percentile of n values is the smallest value
 * such that at least p % of them are <= it, the one at rank ceil(p n / 100) in ascending order. Nothing is
 * interpolated. With weights: the smallest value such that the values <= it carry at least p % of the weight.
 */
#ifndef MC_STAT_SUMMARY_H
#define MC_STAT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

/* All zero when count is. Times are in seconds here. */
struct mc_summary {
	double mean, p50, p90, p95, p99, max;
	int64_t count;
};

#define MC_SUMMARY_PERCENTILES 4
extern const int mc_summary_percentile[MC_SUMMARY_PERCENTILES]; /* 50, 90, 95, 99 */

/* Rank (from 0) of the p-th percentile, 0 < p <= 100, of n > 0 values in ascending order. */
size_t mc_stat_rank(size_t n, int p);

/* Of n times in ns, in seconds; sorts v. The mean is that of the exact sum. */
void mc_summary_times(mc_time *v, size_t n, struct mc_summary *out);
/* Of n numbers, none NaN; sorts v. The mean adds them up in ascending order. */
void mc_summary_reals(double *v, size_t n, struct mc_summary *out);

#endif
