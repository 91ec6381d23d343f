/*
 * Simulated time: int64_t nanoseconds since the start of the run. Cost models compute seconds in double and
 * round once, here.
 */
#ifndef MC_BASE_TIME_H
#define MC_BASE_TIME_H

#include <math.h>
#include <stdint.h>

typedef int64_t mc_time; /* nanoseconds */

#define MC_NS_PER_S  INT64_C(1000000000)
#define MC_NS_PER_MS INT64_C(1000000)
#define MC_NS_PER_US INT64_C(1000)
#define MC_TIME_MAX  INT64_MAX /* "never" */

/* Nearest nanosecond (half away from zero), saturating at MC_TIME_MAX; s must not be NaN. */
static inline mc_time mc_time_from_s(double s)
{
	double ns = s * 1e9;

	if (ns >= 9.2e18)
		return MC_TIME_MAX;
	return (mc_time)(ns + (ns >= 0 ? 0.5 : -0.5));
}

static inline double mc_time_to_s(mc_time t)
{
	return (double)t / 1e9;
}

#endif
