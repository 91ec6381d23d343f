/*
 * The measuring core of mooncake-calib: something is done again and again until the median of its times is
 * known well enough. No I/O, no clock of its own (a test has a made-up one).
 *
 * A repeat is disturbed if its thread did not compute for as long as it took: somebody else had the
 * processor. Disturbed repeats are left out as long as others are there; where most are disturbed the result
 * is flagged "busy".
 */
#ifndef MC_CALIB_MEASURE_H
#define MC_CALIB_MEASURE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

/* Seconds of a steady clock, and those that the thread computed. cpu NULL: not looked at (work of devices and
 * disks). */
struct mc_calib_clock {
	double (*wall)(void *arg);
	double (*cpu)(void *arg);
	void *arg;
};
/* The machine's: CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID. */
extern const struct mc_calib_clock mc_calib_clock;

struct mc_calib_series {
	MC_VEC(double)
};

struct mc_calib_summary {
	double median;
	double spread;   /* half of the range that holds the middle 90 %, over the median */
	double interval; /* half of the 95 % confidence interval of the median (order statistics), over it */
	int64_t n;
	int64_t outliers; /* more than half away from the median */
};

/* Of one value at least; they are sorted. */
void mc_calib_summarise(struct mc_calib_series *s, struct mc_calib_summary *out);

struct mc_calib_goal {
	double precision; /* go on until the interval is that narrow */
	double warm_s;    /* repeats of so long come before, at least one, and don't count; 0: none */
	double cap_s;     /* stop after so long, with what there is (but for the fewest, in thrice that) */
	int fewest, most; /* repeats */
	bool tolerant;    /* flag nothing, leave nothing out */
	const volatile sig_atomic_t *stop; /* set: at once; NULL: never */
	struct mc_calib_clock clock;
};

struct mc_calib_task {
	/* Do it once; *seconds: how long it took, by whatever clock is right. 0, or an error. */
	int (*once)(void *arg, double *seconds, struct mc_err *err);
	/* The repeat just done counts. NULL: nobody wants to know. */
	void (*counts)(void *arg);
	void *arg;
};

struct mc_calib_result {
	struct mc_calib_summary time;
	int64_t disturbed; /* repeats that were, counted or not */
	double elapsed_s;  /* of it all */
	bool stopped;      /* before it was done */
	/* "", "busy" (see above), or "noisy": a quarter of the repeats are outliers, or the median is known
	 * worse than five times the precision that was wanted, at the most repeats or the end of the time */
	char flag[16];
};

/* The error of `once`, or 0. Stopped without any repeat: result->time.n is 0. */
int mc_calib_measure(const struct mc_calib_goal *goal, const struct mc_calib_task *task,
		     struct mc_calib_result *result, struct mc_err *err);

/* A reference point, measured now and then, tells whether the machine is still the same. */
struct mc_calib_drift {
	double limit;     /* relative change that counts */
	double reference; /* seconds when last measured; 0: not yet */
};

/* It took `seconds` now, which becomes the reference. Did it move by more than the limit since before? */
bool mc_calib_drift_moved(struct mc_calib_drift *d, double seconds);

#endif
