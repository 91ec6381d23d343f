/* Load balancing: the instance with the least predicted wait; the cache plays no part in the choice. */
#include "sched/policy.h"
#include "sched/search.h"

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	(void)state;
	mc_search_here(view, prompt, mc_rank_first(&view->prefill_rank), out);
}

const struct mc_policy mc_policy_least_loaded = {
    .name = "least-loaded",
    .help = "least predicted wait, whatever is cached",
    .place = place,
};
