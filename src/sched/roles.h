/*
 * Which nodes should change between prefill and decode: the policy of roles.policy "load". Both pools have a
 * load of which 1 is full (sched/load.h; what of the prefill pool is busy counts, too, since nothing waits
 * before it is full). Looks are many an interval, since arrivals come in bunches; a decision is made on their
 * mean. A node changes when
 * - the pool that asks is loaded over `threshold`, nodes on their way to it counted in, and
 * - the pool that gives would, with a node less, still be loaded less than the one that asks with a node
 * more, by `hysteresis`: so that it does not swing back.
 */
#ifndef MC_SCHED_ROLES_H
#define MC_SCHED_ROLES_H

#include "sched/view.h"

struct mc_roles_params {
	mc_time ttft, tbt; /* objectives; 0: none */
	double threshold, hysteresis;
};

enum mc_roles_move { MC_ROLES_STAY, MC_ROLES_TO_PREFILL, MC_ROLES_TO_DECODE };

/* What was seen since the last decision. */
struct mc_roles {
	struct mc_roles_params params;
	double prefill, decode; /* sums of loads */
	uint32_t looks;
};

/* Loads now, of living instances. */
double mc_roles_prefill_load(const struct mc_view *view, mc_time ttft);
double mc_roles_decode_load(const struct mc_view *view, mc_time tbt);

void mc_roles_look(struct mc_roles *r, const struct mc_view *view);

/* Nodes that are on their way to a pool. */
struct mc_roles_coming {
	uint32_t prefill, decode;
};

/* Decide, and forget what was seen. */
enum mc_roles_move mc_roles_decide(struct mc_roles *r, const struct mc_view *view,
				   const struct mc_roles_coming *coming);

#endif
