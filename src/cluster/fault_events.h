/* faults.events as a list of spells, for cluster/faults.c alone. */
#ifndef MC_CLUSTER_FAULT_EVENTS_H
#define MC_CLUSTER_FAULT_EVENTS_H

#include "base/vec.h"
#include "cluster/faults.h"

/* From fault.at until `end`; MC_TIME_MAX: for good. */
struct mc_spell {
	struct mc_fault fault;
	mc_time end;
};

struct mc_spells {
	MC_VEC(struct mc_spell)
};

/* In order of their beginnings. Names of links belong to the scenario. shape.nics 0: not known yet. */
int mc_spells_read(const struct mc_scenario *s, const struct mc_faults_shape *shape, struct mc_spells *out,
		   struct mc_err *err);

#endif
