/* The decode instance with the least predicted iteration time (Algorithm 1's choice of decode). */
#include "sched/policy.h"

static uint32_t place(void *state, const struct mc_view *view, const struct mc_prompt *prompt)
{
	(void)state;
	(void)prompt;
	return mc_rank_first(&view->decode_rank);
}

const struct mc_decode_policy mc_decode_policy_least_loaded = {
    .name = "least-loaded",
    .help = "least predicted iteration time of the requests assigned to it",
    .place = place,
};
