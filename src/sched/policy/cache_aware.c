/* Local cache-aware scheduling: the cost of Algorithm 1 with each instance's own cache; blocks are never
 * fetched. */
#include "sched/policy.h"
#include "sched/search.h"

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	static const struct mc_search local = {.fetch = false, .threshold = 1};

	(void)state;
	mc_search_run(&local, view, prompt, out);
}

const struct mc_policy mc_policy_cache_aware = {
    .name = "cache-aware",
    .help = "least predicted TTFT from each instance's own cache; never fetches",
    .place = place,
};
