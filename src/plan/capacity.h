/*
 * The capacity of one or several sides (a scenario, or one across the values of a setting): the highest
 * trace.rate that keeps a metric where it should be, one search for each side and seed; seeds are paired over
 * the sides.
 */
#ifndef MC_PLAN_CAPACITY_H
#define MC_PLAN_CAPACITY_H

#include <stdint.h>

#include "plan/bisect.h"
#include "stat/ci.h"

/* One search, over trace.rate. */
struct mc_capacity_search {
	int64_t seed;
	struct mc_bisect bisect;
	char bottleneck[256]; /* of the run at bisect.fail */
};

struct mc_capacity_side {
	const char *name;
	struct mc_capacity_search *search; /* n, by seed; a side that was not come to has none */
	size_t n;
	double arrivals_per_s; /* of its trace at trace.rate 1 */
	bool random;           /* false: all seeds would give the same, and one was run */
};

struct mc_capacity {
	const char *scenario;
	const char *across; /* the setting whose values are the sides; NULL: one side */
	const char *metric;
	bool at_most; /* the metric shall be at most `keep`; else at least */
	double keep, precision;
	struct mc_capacity_side *side;
	size_t n;
	bool incomplete; /* interrupted */
};

void mc_capacity_fini(struct mc_capacity *c);

static inline bool mc_capacity_passes(const struct mc_capacity *c, double value)
{
	return c->at_most ? value <= c->keep : value >= c->keep;
}

/* What the searches of a side say together. */
struct mc_capacity_summary {
	struct mc_ci pass; /* of bisect.pass, where all searches have found one; else n is 0 */
	double fail;       /* mean of bisect.fail, likewise */
	double min, max;   /* of bisect.pass */
	struct mc_ci
	    ratio; /* pass over that of the first side with the same seed; n is 0 where one lacks it */
	size_t never, always;             /* searches without an answer */
	double lowest_fail, highest_pass; /* of those: below all of the one, above all of the other */
	size_t again, unsteady; /* searches that passed again above; whose run at the answer was not steady */
};

void mc_capacity_summarize(const struct mc_capacity *c, size_t side, struct mc_capacity_summary *out);

#endif
