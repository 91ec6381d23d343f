/*
 * Threads that compute one thing at a time: the thread that asks takes part as number 0. Work is cut by
 * number (mc_cpu_part), so that the same threads do the same part each time; between jobs the others wait for
 * a short while in a loop, then asleep. Several threads may ask; they come one after another.
 */
#ifndef MC_KERNELS_CPU_POOL_H
#define MC_KERNELS_CPU_POOL_H

#include <stddef.h>

#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mc_cpu_pool;

/* Part `thread` of `threads` of a job. */
typedef void mc_cpu_job(void *arg, int thread, int threads);

/* threads from 1, the caller of run being one of them. MC_FAIL: no memory or threads. */
int mc_cpu_pool_new(struct mc_cpu_pool **out, int threads, struct mc_err *err);
void mc_cpu_pool_free(struct mc_cpu_pool *p); /* NULL is fine */
int mc_cpu_pool_threads(const struct mc_cpu_pool *p);

/* Do the job on at most that many threads, and return when all parts are done. */
void mc_cpu_pool_run(struct mc_cpu_pool *p, int threads, mc_cpu_job *job, void *arg);

/* Part `thread` of 0 .. n - 1, cut at multiples of unit: from .. to - 1. */
static inline void mc_cpu_part(size_t n, size_t unit, int thread, int threads, size_t part[2])
{
	size_t units = (n + unit - 1) / unit;

	for (int i = 0; i < 2; i++) {
		part[i] = units * (size_t)(thread + i) / (size_t)threads * unit;
		if (part[i] > n)
			part[i] = n;
	}
}

#ifdef __cplusplus
}
#endif
#endif
