/*
 * Least TTFT, plus what the engine time of the placement costs those who wait (sched/burden.h); both branches
 * of Algorithm 1 are priced so, and nothing is set by hand. It looks at the wait of every instance, and
 * searches as Algorithm 1 does.
 */
#include "base/vec.h"
#include "sched/burden.h"
#include "sched/search.h"

static void *create(const struct mc_policy_params *params)
{
	(void)params;
	return mc_xcalloc(1, sizeof(struct mc_burden));
}

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	struct mc_burden *b = state;
	struct mc_waits waits = mc_burden_look(view, 0);
	struct mc_search s = {
	    .fetch = true, .priced = true, .threshold = 1, .burden = mc_burden_weight(b, &waits)};

	mc_search_run(&s, view, prompt, out);
	mc_burden_note(b, view, prompt, out);
}

const struct mc_policy mc_policy_frugal = {
    .name = "frugal",
    .help = "least predicted TTFT plus what the engine time costs those who wait; no threshold",
    .fetches = true,
    .create = create,
    .destroy = free,
    .place = place,
};
