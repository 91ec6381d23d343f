/* Loads of both pools over time, from the samples: means, and how they go together. */
#ifndef MC_CLUSTER_LOADS_H
#define MC_CLUSTER_LOADS_H

#include "cluster/metrics.h"

/* Fills the load_ fields of *m, from samples between the end of the warm-up and the last arrival. */
void mc_metrics_loads(const struct mc_scenario *s, const struct mc_result *r, struct mc_metrics *m);

#endif
