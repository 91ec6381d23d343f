/* Random placement: the baseline that every other policy must beat. */
#include "des/stream.h"
#include "sched/policy.h"
#include "sched/search.h"

static void *create(const struct mc_policy_params *params)
{
	return mc_stream_new(params->seed, "policy.random", 0);
}

static void destroy(void *state)
{
	gsl_rng_free(state);
}

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	const struct mc_view_living *l = &view->prefill_living;

	mc_search_here(view, prompt, l->at[gsl_rng_uniform_int(state, l->n)], out);
}

const struct mc_policy mc_policy_random = {
    .name = "random",
    .help = "any instance with equal chance (seeded)",
    .uses_seed = true,
    .create = create,
    .destroy = destroy,
    .place = place,
};
