/* Wall-clock time for the programs here. */
#ifndef MC_TESTS_BENCH_H
#define MC_TESTS_BENCH_H

#include <time.h>

static inline double bench_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
