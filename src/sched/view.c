#include "sched/view.h"

#include <assert.h>
#include <stdlib.h>

#include "base/vec.h"

void mc_view_init(struct mc_view *view, uint32_t n_prefill, uint32_t n_decode)
{
	*view = (struct mc_view){
	    .n_prefill = n_prefill, .n_decode = n_decode, .sources = MC_SOURCES_PREFILL, .ssd = MC_NONE};
	view->prefill = mc_xcalloc(n_prefill, sizeof *view->prefill);
	view->decode = mc_xcalloc(n_decode, sizeof *view->decode);
	view->node = mc_xcalloc(n_prefill + n_decode, sizeof *view->node);
	mc_rank_init(&view->prefill_rank, n_prefill);
	mc_rank_init(&view->decode_rank, n_decode);
}

void mc_view_fini(struct mc_view *view)
{
	free(view->prefill);
	free(view->decode);
	free(view->node);
	mc_rank_fini(&view->prefill_rank);
	mc_rank_fini(&view->decode_rank);
}

void mc_view_prefill_set(struct mc_view *view, uint32_t i, mc_time free_at)
{
	if (free_at == view->prefill[i].free_at)
		return;
	view->prefill[i].free_at = free_at;
	mc_rank_set(&view->prefill_rank, i, free_at);
}

void mc_view_decode_add(struct mc_view *view, uint32_t i, int64_t batch, int64_t context)
{
	struct mc_view_decode *d = &view->decode[i];

	d->batch += batch;
	d->context += context;
	assert(d->batch >= 0 && d->context >= 0);
	d->load = d->batch ? mc_cost_decode_ns(view->cost, d->batch, d->context) : 0;
	mc_rank_set(&view->decode_rank, i, d->load);
}

mc_time mc_view_prefill_occupancy(const struct mc_view *view, uint32_t n, uint32_t cached)
{
	return mc_time_from_s(mc_cost_prefill_gpu_s(view->cost, n, cached) / view->group);
}

mc_time mc_view_prefill_time(const struct mc_view *view, uint32_t n, uint32_t cached)
{
	double gpu = mc_cost_prefill_gpu_s(view->cost, n, cached), chunks, hop;

	if (view->group == 1)
		return mc_time_from_s(gpu);
	/* Equal chunks through equal stages: the fill of the pipeline, then one stage's work. */
	chunks = (double)((n - cached + view->chunk - 1) / view->chunk);
	hop = view->cost->net_startup_s + view->cost->hop_s_per_token * ((double)(n - cached) / chunks);
	return mc_time_from_s(gpu / view->group * (chunks + view->group - 1) / chunks +
			      hop * (view->group - 1));
}
