#include "sched/view.h"

#include <assert.h>
#include <stdlib.h>

#include "base/vec.h"

static void living_init(struct mc_view_living *l, uint32_t n)
{
	l->at = mc_xcalloc(n, sizeof *l->at);
	for (l->n = 0; l->n < n; l->n++)
		l->at[l->n] = l->n;
}

void mc_view_init(struct mc_view *view, uint32_t n_prefill, uint32_t n_decode)
{
	*view = (struct mc_view){
	    .n_prefill = n_prefill, .n_decode = n_decode, .sources = MC_SOURCES_PREFILL, .ssd = MC_NONE};
	view->prefill = mc_xcalloc(n_prefill, sizeof *view->prefill);
	view->decode = mc_xcalloc(n_decode, sizeof *view->decode);
	view->node = mc_xcalloc(n_prefill + n_decode, sizeof *view->node);
	living_init(&view->prefill_living, n_prefill);
	living_init(&view->decode_living, n_decode);
	mc_rank_init(&view->prefill_rank, n_prefill);
	mc_rank_init(&view->decode_rank, n_decode);
}

void mc_view_fini(struct mc_view *view)
{
	free(view->prefill);
	free(view->decode);
	free(view->node);
	free(view->prefill_living.at);
	free(view->decode_living.at);
	mc_rank_fini(&view->prefill_rank);
	mc_rank_fini(&view->decode_rank);
}

void mc_view_prefill_set(struct mc_view *view, uint32_t i, mc_time free_at)
{
	if (free_at == view->prefill[i].free_at)
		return;
	view->prefill[i].free_at = free_at;
	if (!view->node[i].down)
		mc_rank_set(&view->prefill_rank, i, free_at);
}

void mc_view_decode_add(struct mc_view *view, uint32_t i, int64_t batch, int64_t context)
{
	struct mc_view_decode *d = &view->decode[i];

	d->batch += batch;
	d->context += context;
	assert(d->batch >= 0 && d->context >= 0);
	d->load = d->batch ? mc_cost_decode_ns(view->cost, d->batch, d->context) : 0;
	if (!view->node[mc_view_decode_node(view, i)].down)
		mc_rank_set(&view->decode_rank, i, d->load);
}

void mc_view_decode_announce(struct mc_view *view, uint32_t i, const struct mc_prompt *p, int sign)
{
	view->decode[i].kv += sign * mc_prompt_kv(p);
	assert(view->decode[i].kv >= 0);
}

void mc_view_decode_run(struct mc_view *view, uint32_t i, const struct mc_prompt *p, int sign)
{
	struct mc_view_decode *d = &view->decode[i];

	d->running += sign;
	d->running_context += sign * (int64_t)p->tokens;
	assert(d->running >= 0 && d->running_context >= 0);
}

uint32_t mc_view_living_from(const struct mc_view_living *l, uint32_t number)
{
	for (uint32_t k = 0; k < l->n; k++)
		if (l->at[k] >= number)
			return l->at[k];
	return l->at[0];
}

void mc_view_down(struct mc_view *view, uint32_t node, bool down)
{
	bool prefill = node < view->n_prefill;
	struct mc_view_living *l = prefill ? &view->prefill_living : &view->decode_living;
	uint32_t first = prefill ? 0 : view->n_prefill, n = prefill ? view->n_prefill : view->n_decode;
	int64_t key = prefill ? view->prefill[node].free_at : view->decode[node - first].load;

	view->node[node].down = down;
	mc_rank_set(prefill ? &view->prefill_rank : &view->decode_rank, node - first,
		    down ? MC_TIME_MAX : key);
	l->n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!view->node[first + i].down)
			l->at[l->n++] = i;
}

double mc_view_send_share(const struct mc_view *view, uint32_t node)
{
	const struct mc_view_node *n = &view->node[node];
	double all = view->cost->net_bytes_per_s * mc_view_width(view, node);
	double fair = all / (1.0 + n->sends + n->streams);
	double left = (all - (double)n->stream_bytes_per_s) / (1.0 + n->sends);

	return left > fair ? left : fair;
}

/* Engine time of a prompt that a coupled node computes, in passes that each cost a start. */
static double coupled_s(const struct mc_view *view, uint32_t n, uint32_t cached)
{
	return mc_cost_passes_s(view->cost, n, cached, view->chunk);
}

mc_time mc_view_prefill_occupancy(const struct mc_view *view, uint32_t n, uint32_t cached)
{
	if (view->coupled)
		return mc_time_from_s(coupled_s(view, n, cached));
	return mc_time_from_s(mc_cost_prefill_gpu_s(view->cost, n, cached) / view->group);
}

mc_time mc_view_prefill_time(const struct mc_view *view, uint32_t n, uint32_t cached)
{
	double gpu = mc_cost_prefill_gpu_s(view->cost, n, cached), chunks, hop;

	if (view->coupled)
		return mc_view_prefill_occupancy(view, n, cached);
	if (view->group == 1)
		return mc_time_from_s(gpu);
	/* Equal chunks through equal stages: the fill of the pipeline, then one stage's work. */
	chunks = (double)((n - cached + view->chunk - 1) / view->chunk);
	hop = view->cost->net_startup_s + view->cost->hop_s_per_token * ((double)(n - cached) / chunks);
	return mc_time_from_s(gpu / view->group * (chunks + view->group - 1) / chunks +
			      hop * (view->group - 1));
}
