/*
 * The highest x up to which something passes, by bisection on a logarithmic scale. Whoever uses it asks for
 * the next x, tries it, and tells how it went:
 *
 *     struct mc_bisect b;
 *     mc_bisect_init(&b, &params);
 *     while (mc_bisect_next(&b, &x))
 *             mc_bisect_tell(&b, &(struct mc_bisect_probe){.x = x, .pass = ..., .value = ...});
 *     b.state, b.pass, b.fail, b.again
 *     mc_bisect_fini(&b);
 *
 * What passes need not be monotone in x (a schedule is chaotic): once the bracket is narrow, a few x below
 * and above are tried as well. A failure below moves the search down to it, so that all that was tried up to
 * `pass` passed; a pass above is told as `again`.
 */
#ifndef MC_PLAN_BISECT_H
#define MC_PLAN_BISECT_H

#include <stdbool.h>

#include "base/vec.h"

#define MC_BISECT_PROBES    100   /* tried at most */
#define MC_BISECT_REACH     1024  /* a bracket is looked for up to `start` times and divided by this */
#define MC_BISECT_PRECISION 0.001 /* the finest: x have six digits */

struct mc_bisect_params {
	double low, high; /* where to look; 0: a bracket is found by doubling and halving from `start` */
	double start;     /* > 0 */
	double precision; /* relative: the search ends with fail <= pass * (1 + precision) */
};

struct mc_bisect_probe {
	double x, value; /* value: what it was judged by; not used here */
	bool pass, steady;
};

enum mc_bisect_state {
	MC_BISECT_SEARCHING, /* was not ended */
	MC_BISECT_FOUND,     /* between pass and fail */
	MC_BISECT_NEVER,     /* failed at the lowest x, which is `fail` */
	MC_BISECT_ALWAYS,    /* passed at the highest x, which is `pass` */
};

/* "searching", "found", "never", "always". */
const char *mc_bisect_state_name(enum mc_bisect_state s);

struct mc_bisect {
	struct mc_bisect_params params;
	enum mc_bisect_state state;
	double fail;  /* the lowest x that failed; INFINITY: none did */
	double pass;  /* the highest x below it that passed; 0: none did */
	double again; /* the highest x above `fail` that passed; 0: none did */
	struct {
		MC_VEC(struct mc_bisect_probe)
	} probe; /* in the order in which they were tried */
};

void mc_bisect_init(struct mc_bisect *b, const struct mc_bisect_params *params);
void mc_bisect_fini(struct mc_bisect *b);

/* The x to try next, of six significant digits; false: the search has ended, see state. */
bool mc_bisect_next(struct mc_bisect *b, double *x);
/* Of the x that was asked for last. */
void mc_bisect_tell(struct mc_bisect *b, const struct mc_bisect_probe *probe);

/* The probe at an x; NULL: it was not tried. */
const struct mc_bisect_probe *mc_bisect_at(const struct mc_bisect *b, double x);

/* How many more it may take, about. */
int mc_bisect_left(const struct mc_bisect *b);

#endif
