#include "sched/conductor.h"

const char *mc_refusal_name(enum mc_refusal r)
{
	static const char *const name[MC_REFUSALS] = {"none",         "decode_capacity", "no_instance",
						      "prefill_load", "decode_load",     "decode_check"};

	return name[r];
}

int mc_conductor_init(struct mc_conductor *c, const struct mc_conductor_params *params, struct mc_err *err)
{
	*c = (struct mc_conductor){mc_policy_find(params->policy),
				   mc_decode_policy_find(params->decode_policy), NULL, NULL};
	if (!c->policy)
		return mc_err_set(err, MC_USAGE, "no policy \"%s\"; see `mooncake list policies`",
				  params->policy);
	if (!c->decode_policy)
		return mc_err_set(err, MC_USAGE, "no decode policy \"%s\"; see `mooncake list policies`",
				  params->decode_policy);
	if (c->policy->create)
		c->policy_state = c->policy->create(&params->policy_params);
	if (c->decode_policy->create)
		c->decode_state = c->decode_policy->create(&params->policy_params);
	return MC_OK;
}

void mc_conductor_fini(struct mc_conductor *c)
{
	if (c->policy && c->policy->destroy)
		c->policy->destroy(c->policy_state);
	if (c->decode_policy && c->decode_policy->destroy)
		c->decode_policy->destroy(c->decode_state);
}

void mc_conductor_decide(struct mc_conductor *c, const struct mc_view *view, const struct mc_prompt *prompt,
			 struct mc_decision *out)
{
	out->refusal = MC_TAKEN;
	out->decode = MC_NONE;
	/* A one-token output never reaches decode. */
	if (prompt->max_tokens > 1 && mc_prompt_kv(prompt) > view->cost->vram_kv_tokens) {
		out->refusal = MC_REFUSED_DECODE_CAPACITY;
		return;
	}
	if (!view->prefill_living.n || (prompt->max_tokens > 1 && !view->decode_living.n)) {
		out->refusal = MC_REFUSED_NO_INSTANCE;
		return;
	}
	c->policy->place(c->policy_state, view, prompt, &out->placed);
	if (prompt->max_tokens > 1)
		out->decode = c->decode_policy->place(c->decode_state, view, prompt);
}

void mc_conductor_decide_decode(struct mc_conductor *c, const struct mc_view *view,
				const struct mc_prompt *prompt, struct mc_decision *out)
{
	out->refusal = view->decode_living.n ? MC_TAKEN : MC_REFUSED_NO_INSTANCE;
	out->decode = out->refusal ? MC_NONE : c->decode_policy->place(c->decode_state, view, prompt);
}
