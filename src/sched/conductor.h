/*
 * The Conductor: for every request it decides whether to take it, which prefill and which decode instance
 * serve it, and where cached blocks come from. It reads the view and returns a decision; carrying it out is
 * the composition root's part.
 */
#ifndef MC_SCHED_CONDUCTOR_H
#define MC_SCHED_CONDUCTOR_H

#include "base/err.h"
#include "sched/policy.h"

enum mc_refusal {
	MC_TAKEN = 0,
	MC_REFUSED_DECODE_CAPACITY, /* prompt and output exceed the KV memory of any decode instance */
	MC_REFUSED_NO_INSTANCE,     /* all prefill or all decode instances are down */
	MC_REFUSED_PREFILL_LOAD,    /* admission: TTFT would miss its objective */
	MC_REFUSED_DECODE_LOAD,     /* admission: the decode pool is full, or will be */
	MC_REFUSED_DECODE_CHECK,    /* double check at the decode instance, with all KV there */
	MC_REFUSALS,
};

/* "decode_capacity" ...: the key below rejected_by. */
const char *mc_refusal_name(enum mc_refusal r);

struct mc_decision {
	enum mc_refusal refusal;
	struct mc_score placed; /* prefill instance, hits, source, predicted times */
	uint32_t decode;        /* instance */
};

struct mc_conductor_params {
	const char *policy, *decode_policy;
	struct mc_policy_params policy_params;
};

struct mc_conductor {
	const struct mc_policy *policy;
	const struct mc_decode_policy *decode_policy;
	void *policy_state, *decode_state;
};

/* Unknown names are errors (MC_USAGE). */
int mc_conductor_init(struct mc_conductor *c, const struct mc_conductor_params *params, struct mc_err *err);
void mc_conductor_fini(struct mc_conductor *c);
void mc_conductor_decide(struct mc_conductor *c, const struct mc_view *view, const struct mc_prompt *prompt,
			 struct mc_decision *out);
/* Another decode instance for a request whose first one was lost before it began there; out->placed is left
 * as it is. */
void mc_conductor_decide_decode(struct mc_conductor *c, const struct mc_view *view,
				const struct mc_prompt *prompt, struct mc_decision *out);

#endif
