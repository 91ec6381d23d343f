/*
 * The Conductor: for every request it decides whether to take it, which prefill and which decode instance
 * serve it, and where cached blocks come from. It reads the view and returns a decision; carrying it out is
 * the composition root's part.
 */
#ifndef MC_SCHED_CONDUCTOR_H
#define MC_SCHED_CONDUCTOR_H

#include "base/err.h"
#include "sched/admission.h"
#include "sched/decision.h"
#include "sched/length.h"
#include "sched/policy.h"

struct mc_conductor_params {
	const char *policy, *decode_policy, *admission, *length_predictor;
	struct mc_policy_params policy_params;
	struct mc_length_params length_params;
};

struct mc_conductor {
	const struct mc_policy *policy;
	const struct mc_decode_policy *decode_policy;
	const struct mc_admission *admission;
	const struct mc_length_predictor *length; /* NULL: admission asks for none */
	void *policy_state, *decode_state, *length_state;
};

/* Unknown names are errors (MC_USAGE). */
int mc_conductor_init(struct mc_conductor *c, const struct mc_conductor_params *params, struct mc_err *err);
void mc_conductor_fini(struct mc_conductor *c);
void mc_conductor_decide(struct mc_conductor *c, const struct mc_view *view, const struct mc_prompt *prompt,
			 struct mc_decision *out);
/* The prefill of a request that goes on to decode has ended: may it? */
enum mc_refusal mc_conductor_prefilled(const struct mc_conductor *c, const struct mc_view *view,
				       const struct mc_prompt *prompt, uint32_t decode);
/* The output of a request has ended, with so many tokens. */
void mc_conductor_observe(struct mc_conductor *c, const struct mc_prompt *prompt, uint32_t output);
/* Another decode instance for a request whose first one was lost before it began there; out->placed is left
 * as it is. */
void mc_conductor_decide_decode(struct mc_conductor *c, const struct mc_view *view,
				const struct mc_prompt *prompt, struct mc_decision *out);

#endif
