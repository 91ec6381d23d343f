/*
 * Who comes when: requests come to the cluster, are decided on a fixed time later, and end, each once. The
 * inside of a cluster's list of them.
 */
#ifndef MC_CLUSTER_ARRIVALS_H
#define MC_CLUSTER_ARRIVALS_H

#include "base/vec.h"
#include "des/loop.h"

/* A decision that is due. */
struct mc_due {
	mc_time at;
	int64_t request;
};

struct mc_arrivals {
	struct mc_event come, decide;
	int64_t came;    /* requests so far, in the order of the trace */
	int64_t decided; /* those that were decided on at least once */
	int64_t ended;   /* completed, refused, failed */
	struct {
		MC_VEC(struct mc_due)
	} due;       /* in order of time: all come the same time after their request */
	size_t head; /* of `due`: the next one */
};

#endif
