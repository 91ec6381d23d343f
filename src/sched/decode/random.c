/* Any decode instance with equal chance. */
#include "des/stream.h"
#include "sched/policy.h"

static void *create(const struct mc_policy_params *params)
{
	return mc_stream_new(params->seed, "decode.random", 0);
}

static void destroy(void *state)
{
	gsl_rng_free(state);
}

static uint32_t place(void *state, const struct mc_view *view, const struct mc_prompt *prompt)
{
	(void)prompt;
	return view->decode_living.at[gsl_rng_uniform_int(state, view->decode_living.n)];
}

const struct mc_decode_policy mc_decode_policy_random = {
    .name = "random",
    .help = "any instance with equal chance (seeded)",
    .uses_seed = true,
    .create = create,
    .destroy = destroy,
    .place = place,
};
