/* The mean output of prompts of the same length class (powers of two), of those that have ended. */
#include <stdlib.h>

#include "base/vec.h"
#include "sched/length.h"

struct class
{
	uint64_t n, tokens;
};

static void *create(const struct mc_length_params *params)
{
	(void)params;
	return mc_xcalloc(MC_LENGTH_PROMPTS, sizeof(struct class));
}

static uint32_t predict(void *state, const struct mc_prompt *prompt)
{
	const struct class *c = (const struct class *)state + mc_length_class(prompt->tokens);

	uint32_t mean = c->n ? (uint32_t)((c->tokens + c->n / 2) / c->n) : mc_length_unknown(prompt);

	return mean ? mean : 1; /* outputs of no token are seen, too */
}

static void observe(void *state, const struct mc_prompt *prompt, uint32_t output)
{
	struct class *c = (struct class *)state + mc_length_class(prompt->tokens);

	c->n++;
	c->tokens += output;
}

const struct mc_length_predictor mc_length_predictor_class_mean = {
    .name = "class-mean",
    .help = "the mean output of prompts of about that length, so far",
    .create = create,
    .destroy = free,
    .predict = predict,
    .observe = observe,
};
