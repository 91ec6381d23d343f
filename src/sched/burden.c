#include "sched/burden.h"

#define LATELY 100 /* prompts that the mean is over */

static mc_time all(const struct mc_view *view, uint32_t i)
{
	return mc_view_queue(view, i) + view->prefill[i].late;
}

struct mc_waits mc_burden_look(const struct mc_view *view, mc_time open)
{
	const struct mc_view_living *l = &view->prefill_living;
	struct mc_waits w = {0, 0, l->at[0]};
	double sum = 0;

	for (uint32_t k = 0; k < l->n; k++) {
		mc_time q = mc_view_queue(view, l->at[k]);

		sum += mc_time_to_s(q);
		w.open += q <= open;
		if (all(view, l->at[k]) > all(view, w.longest))
			w.longest = l->at[k];
	}
	w.mean_s = sum / l->n;
	return w;
}

double mc_burden_weight(const struct mc_burden *b, const struct mc_waits *waits)
{
	return b->mean_s > 0 ? waits->mean_s / b->mean_s : 0;
}

void mc_burden_note(struct mc_burden *b, const struct mc_view *view, const struct mc_prompt *prompt,
		    const struct mc_score *placed)
{
	uint32_t cached = mc_view_hit_tokens(view, prompt, placed->hit);
	double s = mc_time_to_s(mc_view_prefill_occupancy(view, prompt->tokens, cached));

	b->n += b->n < LATELY;
	b->mean_s += (s - b->mean_s) / (double)b->n;
}
