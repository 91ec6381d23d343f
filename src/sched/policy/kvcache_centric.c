/* KVCache-centric scheduling: Algorithm 1 of the paper, with fetches from the best holder. */
#include "base/vec.h"
#include "sched/policy.h"
#include "sched/search.h"

static void *create(const struct mc_policy_params *params)
{
	struct mc_search *s = mc_xmalloc(sizeof *s);

	*s = (struct mc_search){.fetch = true, .threshold = params->balancing_threshold};
	return s;
}

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	mc_search_run(state, view, prompt, out);
}

const struct mc_policy mc_policy_kvcache_centric = {
    .name = "kvcache-centric",
    .help = "least predicted TTFT, fetching cached blocks from the best holder when that pays (Algorithm 1)",
    .uses_threshold = true,
    .fetches = true,
    .create = create,
    .destroy = free,
    .place = place,
};
