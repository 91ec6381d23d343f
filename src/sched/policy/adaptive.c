/*
 * Algorithm 1 without its threshold: at every instance both branches are priced, and the cheaper one counts.
 * Greedy: where the network is slow and an instance is idle, computing looks cheaper to the prompt than
 * fetching, and all that come after it pay (frugal minds that).
 */
#include "sched/policy.h"
#include "sched/search.h"

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	static const struct mc_search s = {.fetch = true, .priced = true, .threshold = 1};

	(void)state;
	mc_search_run(&s, view, prompt, out);
}

const struct mc_policy mc_policy_adaptive = {
    .name = "adaptive",
    .help = "Algorithm 1 without a threshold: fetches wherever that is predicted to be faster than computing",
    .fetches = true,
    .place = place,
};
