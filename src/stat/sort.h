/* Sorting and selecting 64-bit numbers: results and timings by the million. */
#ifndef MC_STAT_SORT_H
#define MC_STAT_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. Radix sort, least digit first, skipping digits that all values share; insertion sort when short.
 */
void mc_sort_i64(int64_t *v, size_t n);
/* The same for doubles, which must not be NaN; -0.0 comes before 0.0. */
void mc_sort_f64(double *v, size_t n);

/*
 * Sum of the m largest of n values (all of them when m >= n); the sum must fit. Permutes v. Quickselect with
 * pivots from samples, and a sort when that doesn't get anywhere: O(n) expected, radix passes at worst.
 */
int64_t mc_stat_top_sum(int64_t *v, size_t n, size_t m);

#endif
