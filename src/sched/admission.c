#include "sched/admission.h"

#include <string.h>

#include "sched/load.h"

const struct mc_admission *mc_admission_find(const char *name)
{
	for (const struct mc_admission *const *a = mc_admissions; *a; a++)
		if (!strcmp((*a)->name, name))
			return *a;
	return NULL;
}

enum mc_refusal mc_admission_prefill(const struct mc_view *view, const struct mc_prompt *prompt,
				     const struct mc_decision *placed)
{
	return mc_load_ttft(view, prompt, &placed->placed) > prompt->admit_load ? MC_REFUSED_PREFILL_LOAD
										: MC_TAKEN;
}

enum mc_refusal mc_admission_decode(const struct mc_view *view, const struct mc_prompt *prompt,
				    struct mc_tally_sum others)
{
	struct mc_tally_sum all = {others.n + 1, others.context + prompt->tokens,
				   others.kv + mc_prompt_kv(prompt)};

	return mc_load_decode(view, &all, prompt->tbt) > prompt->admit_load ? MC_REFUSED_DECODE_LOAD
									    : MC_TAKEN;
}

mc_time mc_admission_starts(const struct mc_view *view, const struct mc_decision *placed)
{
	return view->now + placed->placed.queue + placed->placed.transfer;
}

mc_time mc_admission_joins(const struct mc_view *view, const struct mc_decision *placed)
{
	return view->now + placed->placed.total;
}
