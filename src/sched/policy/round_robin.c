/* Round robin: instances in turn. */
#include "base/vec.h"
#include "sched/policy.h"
#include "sched/search.h"

static void *create(const struct mc_policy_params *params)
{
	(void)params;
	return mc_xcalloc(1, sizeof(uint32_t));
}

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	uint32_t *next = state, i = mc_view_living_from(&view->prefill_living, *next);

	mc_search_here(view, prompt, i, out);
	*next = i + 1;
}

const struct mc_policy mc_policy_round_robin = {
    .name = "round-robin",
    .help = "instances in turn",
    .create = create,
    .destroy = free,
    .place = place,
};
