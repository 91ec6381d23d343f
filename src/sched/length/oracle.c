/* The true length: the bound on what any prediction of lengths can give. */
#include "sched/length.h"

static uint32_t predict(void *state, const struct mc_prompt *prompt)
{
	(void)state;
	return prompt->true_output ? prompt->true_output : mc_length_unknown(prompt);
}

const struct mc_length_predictor mc_length_predictor_oracle = {
    .name = "oracle",
    .help = "the true length, which only a simulator knows",
    .predict = predict,
};
