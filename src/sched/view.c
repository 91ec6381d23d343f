#include "sched/view.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/vec.h"

void mc_view_init(struct mc_view *view, uint32_t n_prefill, uint32_t n_decode)
{
	*view = (struct mc_view){.n_prefill = n_prefill, .n_decode = n_decode};
	view->prefill = mc_xcalloc(n_prefill, sizeof *view->prefill);
	view->decode = mc_xcalloc(n_decode, sizeof *view->decode);
	view->prefill_order = mc_xcalloc(n_prefill, sizeof *view->prefill_order);
	view->decode_order = mc_xcalloc(n_decode, sizeof *view->decode_order);
	for (uint32_t i = 0; i < n_prefill; i++)
		view->prefill_order[i] = view->prefill[i].rank = i;
	for (uint32_t i = 0; i < n_decode; i++)
		view->decode_order[i] = view->decode[i].rank = i;
}

void mc_view_fini(struct mc_view *view)
{
	free(view->prefill);
	free(view->decode);
	free(view->prefill_order);
	free(view->decode_order);
}

static bool prefill_before(const struct mc_view *view, uint32_t a, uint32_t b)
{
	mc_time x = view->prefill[a].free_at, y = view->prefill[b].free_at;

	return x < y || (x == y && a < b);
}

static bool decode_before(const struct mc_view *view, uint32_t a, uint32_t b)
{
	const struct mc_view_decode *x = &view->decode[a], *y = &view->decode[b];

	if (x->load != y->load)
		return x->load < y->load;
	return x->batch < y->batch || (x->batch == y->batch && a < b);
}

void mc_view_prefill_set(struct mc_view *view, uint32_t i, mc_time free_at)
{
	uint32_t *order = view->prefill_order, at = view->prefill[i].rank;

	view->prefill[i].free_at = free_at;
	for (; at > 0 && prefill_before(view, i, order[at - 1]); at--)
		view->prefill[order[at] = order[at - 1]].rank = at;
	for (; at + 1 < view->n_prefill && prefill_before(view, order[at + 1], i); at++)
		view->prefill[order[at] = order[at + 1]].rank = at;
	view->prefill[order[at] = i].rank = at;
}

void mc_view_decode_add(struct mc_view *view, uint32_t i, int64_t batch, int64_t context)
{
	struct mc_view_decode *d = &view->decode[i];
	uint32_t *order = view->decode_order, at = d->rank;

	d->batch += batch;
	d->context += context;
	assert(d->batch >= 0 && d->context >= 0);
	d->load = d->batch ? mc_cost_decode_ns(view->cost, d->batch, d->context) : 0;
	for (; at > 0 && decode_before(view, i, order[at - 1]); at--)
		view->decode[order[at] = order[at - 1]].rank = at;
	for (; at + 1 < view->n_decode && decode_before(view, order[at + 1], i); at++)
		view->decode[order[at] = order[at + 1]].rank = at;
	view->decode[order[at] = i].rank = at;
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
	hop = view->cost->hop_s_per_token * ((double)(n - cached) / chunks);
	return mc_time_from_s(gpu / view->group * (chunks + view->group - 1) / chunks + hop * (view->group - 1));
}
