/* Nodes that change between prefill and decode, carried out. Of this room alone; see roles.c. */
#ifndef MC_CLUSTER_ROLES_H
#define MC_CLUSTER_ROLES_H

#include <stdint.h>

#include "base/err.h"
#include "cluster/scenario.h"
#include "des/loop.h"
#include "sched/roles.h"

struct mc_cluster;

enum mc_role { MC_ROLE_PREFILL, MC_ROLE_DECODE };

enum mc_role_state {
	MC_ROLE_WORKS,
	MC_ROLE_DRAINS, /* finishes what it has of its role */
	MC_ROLE_AWAY,   /* does nothing: the engine restarts */
};

/* A node that may change: an instance of each kind, of which one is at work. */
struct mc_role_node {
	struct mc_cluster *cluster;
	uint32_t at[2];    /* its nodes in the view, by role */
	enum mc_role role; /* the one that it has; while it is away: the one that it will have */
	enum mc_role_state state;
	mc_time since; /* it is in that state */
	struct mc_event back;
};

struct mc_role_switch {
	struct mc_role_node *node;
	struct mc_role_node **of; /* by node of the view; NULL: it does not change */
	uint32_t n, draining;
	uint32_t looks; /* since the last decision */
	struct mc_roles policy;
	struct mc_event look, drained;
};

/* Extra instances of each kind that a scenario needs: nodes of the other kind that may change. */
struct mc_role_extra {
	uint32_t prefill, decode;
};

struct mc_role_extra mc_roles_extra(const struct mc_scenario *s);

/* Settings that don't go together: MC_USAGE, with the key. */
int mc_roles_check(const struct mc_scenario *s, struct mc_err *err);

#endif
