/* Processor time of this process: other load on the machine counts less than with a wall clock. */
#ifndef MC_TESTS_BENCH_H
#define MC_TESTS_BENCH_H

#include <time.h>

static inline double bench_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
