#include "sched/load.h"

#include <math.h>

double mc_load_ttft(const struct mc_view *view, const struct mc_prompt *prompt, const struct mc_score *placed)
{
	mc_time ttft = view->now - prompt->arrival + placed->total;

	return prompt->ttft ? (double)ttft / (double)prompt->ttft : 0;
}

double mc_load_decode(const struct mc_view *view, const struct mc_tally_sum *requests, mc_time tbt)
{
	double batch = (double)requests->n, load;

	load = (double)requests->kv / (double)view->cost->vram_kv_tokens;
	if (tbt && requests->n)
		load = fmax(load, mc_cost_decode_s(view->cost, batch, (double)requests->context) /
				      mc_time_to_s(tbt));
	return view->max_batch ? fmax(load, batch / (double)view->max_batch) : load;
}

struct mc_tally_sum mc_load_running(const struct mc_view *view, uint32_t decode)
{
	const struct mc_view_decode *d = &view->decode[decode];

	return (struct mc_tally_sum){d->running, d->running_context, d->kv};
}

double mc_load_prefill_pool(const struct mc_view *view, mc_time ttft)
{
	const struct mc_view_living *l = &view->prefill_living;
	double wait = 0;

	for (uint32_t k = 0; k < l->n; k++)
		wait += (double)mc_view_queue(view, l->at[k]);
	return ttft && l->n ? wait / l->n / (double)ttft : 0;
}

double mc_load_decode_pool(const struct mc_view *view, mc_time tbt)
{
	const struct mc_view_living *l = &view->decode_living;
	double load = 0;

	for (uint32_t k = 0; k < l->n; k++) {
		struct mc_tally_sum running = mc_load_running(view, l->at[k]);

		load += mc_load_decode(view, &running, tbt);
	}
	return l->n ? load / l->n : 0;
}
