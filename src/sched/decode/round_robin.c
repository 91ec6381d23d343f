/* Decode instances in turn. */
#include "base/vec.h"
#include "sched/policy.h"

static void *create(const struct mc_policy_params *params)
{
	(void)params;
	return mc_xcalloc(1, sizeof(uint32_t));
}

static uint32_t place(void *state, const struct mc_view *view, const struct mc_prompt *prompt)
{
	uint32_t *next = state, i = mc_view_living_from(&view->decode_living, *next);

	(void)prompt;
	*next = i + 1;
	return i;
}

const struct mc_decode_policy mc_decode_policy_round_robin = {
    .name = "round-robin",
    .help = "instances in turn",
    .create = create,
    .destroy = free,
    .place = place,
};
