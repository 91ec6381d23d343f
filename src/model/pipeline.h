/*
 * Chunked pipeline parallelism (paper, section 4.2; report, section 5.1): X nodes form a prefill group, each
 * holds 1/X of the layers, and the chunks of a prompt flow through the stages.
 *
 *     start[s][j] = max(done[s-1][j] + hop(j), done[s][j-1]),   done[s][j] = start[s][j] + work(j) / X
 *
 * work(j) is the prefill time of chunk j on one node: b and c of the cost model over its tokens; the fixed
 * time a and the load of the cached prefix belong to the first chunk, so all chunks add up to gpu(n, p).
 * hop(j) carries the chunk's activations over the network.
 */
#ifndef MC_MODEL_PIPELINE_H
#define MC_MODEL_PIPELINE_H

#include <stdint.h>

#include "model/cost.h"

struct mc_pipeline_job {
	int64_t n, p;   /* prompt tokens and cached ones; 0 <= p < n */
	int64_t chunk;  /* tokens of a chunk at most, >= 1 */
	int64_t stages; /* X, >= 1 */
	double start_s; /* not before */
};

/*
 * Run a prompt through the group. stage_free_s[stages]: when each stage is done with what came before;
 * updated to when it is done with this prompt. Returns when the last chunk leaves the last stage. With one
 * stage that is max(start_s, stage_free_s[0]) + gpu(n, p), exactly.
 */
double mc_cost_prefill_group(const struct mc_cost *c, const struct mc_pipeline_job *job,
			     double *stage_free_s);

#endif
