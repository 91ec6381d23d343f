/*
 * Priority classes of requests (classes): each has objectives of its own, and a load above which an admission
 * rule refuses it, so that some go before others. An element of the list is an object:
 *
 *     name         of letters, digits, '.', '_' and '-', required
 *     share        of the requests that are drawn into it, over the sum of all shares; 1
 *     ttft, tbt    objectives; "none" or 0: without; slo.ttft, slo.tbt
 *     admit_load   load of a pool above which its requests are refused; conductor.admit_load
 *
 * A request's class depends on the seed, its number in the trace and the list alone.
 */
#ifndef MC_CLUSTER_CLASSES_H
#define MC_CLUSTER_CLASSES_H

#include "base/vec.h"
#include "cluster/scenario.h"

#define MC_CLASSES    16 /* at most */
#define MC_CLASS_NAME 32 /* with its end */

struct mc_class {
	char name[MC_CLASS_NAME]; /* "": no classes are given, this is all requests */
	double share;
	mc_time ttft, tbt; /* 0: none */
	double admit_load;
};

struct mc_classes {
	MC_VEC(struct mc_class)
};

/* One at least: without a list that of all requests. mc_vec_fini. MC_USAGE names the key, as
 * "classes[1].share"; *out is empty then. */
int mc_classes_read(const struct mc_scenario *s, struct mc_classes *out, struct mc_err *err);
/* Which is a request's? */
uint32_t mc_classes_draw(const struct mc_classes *all, uint64_t seed, int64_t request);
/* Is more than one drawn? */
bool mc_classes_random(const struct mc_scenario *s);

#endif
