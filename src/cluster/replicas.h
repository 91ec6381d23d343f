/*
 * Replica counts of the n-th hottest blocks over time (paper, figure 11): how many prefill instances have a
 * block of that rank resident in DRAM, at every sample of the time series. Who wants them hands one of these
 * to the run (mc_cluster_hooks); else nothing is counted.
 */
#ifndef MC_CLUSTER_REPLICAS_H
#define MC_CLUSTER_REPLICAS_H

#include "base/time.h"
#include "base/vec.h"
#include "trace/hot.h"

#define MC_REPLICA_RANKS 5 /* the hottest; 10, 100, 1,000 and 10,000, as the figure has them */

struct mc_replicas {
	uint32_t n; /* ranks that the trace has */
	struct mc_trace_ranked block[MC_REPLICA_RANKS];
	struct {
		MC_VEC(mc_time)
	} at; /* samples */
	struct {
		MC_VEC(uint32_t)
	} copies; /* n a sample, by rank */
};

void mc_replicas_fini(struct mc_replicas *r);

#endif
