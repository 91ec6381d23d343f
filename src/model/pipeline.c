#include "model/pipeline.h"

#include <assert.h>

double mc_cost_prefill_group(const struct mc_cost *c, const struct mc_pipeline_job *job, double *stage_free_s)
{
	double n = (double)job->n, p = (double)job->p, stages = (double)job->stages, done = job->start_s;
	/* The fixed time, and what of the load computing does not hide. */
	double extra = mc_cost_prefill_gpu_s(c, n, p) - mc_cost_prefill_compute_s(c, n, p) + c->pf_a;

	assert(job->p >= 0 && job->p < job->n && job->chunk >= 1 && job->stages >= 1);
	if (job->stages == 1) {
		done = done > stage_free_s[0] ? done : stage_free_s[0];
		return stage_free_s[0] = done + mc_cost_prefill_gpu_s(c, n, p);
	}
	for (int64_t at = job->p; at < job->n; at += job->chunk) {
		double from = (double)at;
		double to = (double)(job->n - at < job->chunk ? job->n : at + job->chunk);
		double work = extra + mc_cost_chunk_s(c, to, from, to == n);
		double hop = c->net_startup_s + (to - from) * c->hop_s_per_token;

		extra = 0;
		done = job->start_s;
		for (int64_t s = 0; s < job->stages; s++) {
			double ready = s ? done + hop : done;

			done = (ready > stage_free_s[s] ? ready : stage_free_s[s]) + work / stages;
			stage_free_s[s] = done;
		}
	}
	return done;
}
