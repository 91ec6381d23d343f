/* The true length with an error of a given size: what a predictor of that quality would be worth. */
#include <gsl/gsl_randist.h>
#include <math.h>

#include "base/vec.h"
#include "des/stream.h"
#include "sched/length.h"

struct noisy {
	double error;
	uint64_t seed;
};

static void *create(const struct mc_length_params *params)
{
	struct noisy *n = mc_xmalloc(sizeof *n);

	*n = (struct noisy){params->error, params->seed};
	return n;
}

/* A stream a request: what is predicted for it depends on no other. */
static uint32_t predict(void *state, const struct mc_prompt *prompt)
{
	const struct noisy *n = state;
	double tokens = prompt->true_output ? prompt->true_output : mc_length_unknown(prompt);
	gsl_rng *rng = mc_stream_new(n->seed, "length.noise", prompt->request);

	tokens = rint(tokens * exp(gsl_ran_gaussian_ziggurat(rng, n->error)));
	gsl_rng_free(rng);
	return tokens < 1 ? 1 : tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX;
}

const struct mc_length_predictor mc_length_predictor_noisy_oracle = {
    .name = "noisy-oracle",
    .help = "the true length times a log-normal error (conductor.length_error)",
    .uses_error = true,
    .create = create,
    .destroy = free,
    .predict = predict,
};
