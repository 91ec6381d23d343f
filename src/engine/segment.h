/*
 * What a node that decodes leaves behind: the iterations that it made, those of an unchanged batch as one
 * record, from which every token interval can be told.
 */
#ifndef MC_ENGINE_SEGMENT_H
#define MC_ENGINE_SEGMENT_H

#include <stdint.h>

#include "base/time.h"
#include "base/vec.h"

/* Iterations of one unchanged batch: the k-th (from 0) of `count` takes mc_cost_decode_ns(batch, context + k
 * batch). */
struct mc_segment {
	mc_time start;
	mc_time lead; /* before it the batch stood still, or shared a pass with prompts (coupled instances):
			 part of the first interval of those that were members already */
	int64_t context;
	uint32_t count, batch;
	uint32_t counted; /* members that count for the metrics */
	uint32_t joined;  /* of those, the ones whose first iteration is this segment's first */
};

struct mc_segments {
	MC_VEC(struct mc_segment)
};
struct mc_intervals {
	MC_VEC(mc_time)
};

#endif
