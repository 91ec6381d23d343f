#include "sched/conductor.h"

const char *mc_refusal_name(enum mc_refusal r)
{
	static const char *const name[MC_REFUSALS] = {"none",         "decode_capacity", "no_instance",
						      "prefill_load", "decode_load",     "decode_check"};

	return name[r];
}

int mc_conductor_init(struct mc_conductor *c, const struct mc_conductor_params *params, struct mc_err *err)
{
	*c = (struct mc_conductor){.policy = mc_policy_find(params->policy),
				   .decode_policy = mc_decode_policy_find(params->decode_policy),
				   .admission = mc_admission_find(params->admission),
				   .length = mc_length_predictor_find(params->length_predictor)};
	if (!c->policy)
		return mc_err_set(err, MC_USAGE, "no policy \"%s\"; see `mooncake list policies`",
				  params->policy);
	if (!c->decode_policy)
		return mc_err_set(err, MC_USAGE, "no decode policy \"%s\"; see `mooncake list policies`",
				  params->decode_policy);
	if (!c->admission)
		return mc_err_set(err, MC_USAGE, "no admission rule \"%s\"; see `mooncake list policies`",
				  params->admission);
	if (!c->length)
		return mc_err_set(err, MC_USAGE, "no predictor \"%s\"; see `mooncake list policies`",
				  params->length_predictor);
	if (!c->admission->uses_length)
		c->length = NULL;
	if (c->policy->create)
		c->policy_state = c->policy->create(&params->policy_params);
	if (c->decode_policy->create)
		c->decode_state = c->decode_policy->create(&params->policy_params);
	if (c->length && c->length->create)
		c->length_state = c->length->create(&params->length_params);
	return MC_OK;
}

void mc_conductor_fini(struct mc_conductor *c)
{
	if (c->policy && c->policy->destroy)
		c->policy->destroy(c->policy_state);
	if (c->decode_policy && c->decode_policy->destroy)
		c->decode_policy->destroy(c->decode_state);
	if (c->length && c->length->destroy)
		c->length->destroy(c->length_state);
}

void mc_conductor_decide(struct mc_conductor *c, const struct mc_view *view, const struct mc_prompt *prompt,
			 struct mc_decision *out)
{
	*out = (struct mc_decision){.decode = MC_NONE};
	if (!mc_view_can_hold(view, prompt)) {
		out->refusal = MC_REFUSED_DECODE_CAPACITY;
		return;
	}
	if (!view->prefill_living.n || (prompt->max_tokens > 1 && !view->decode_living.n)) {
		out->refusal = MC_REFUSED_NO_INSTANCE;
		return;
	}
	c->policy->place(c->policy_state, view, prompt, &out->placed);
	if (prompt->max_tokens > 1)
		out->decode = view->coupled ? out->placed.prefill
					    : c->decode_policy->place(c->decode_state, view, prompt);
	if (c->length)
		out->length = c->length->predict(c->length_state, prompt);
	out->refusal = c->admission->arrive(view, prompt, out);
}

enum mc_refusal mc_conductor_prefilled(const struct mc_conductor *c, const struct mc_view *view,
				       const struct mc_prompt *prompt, uint32_t decode)
{
	return c->admission->prefilled ? c->admission->prefilled(view, prompt, decode) : MC_TAKEN;
}

void mc_conductor_observe(struct mc_conductor *c, const struct mc_prompt *prompt, uint32_t output)
{
	if (c->length && c->length->observe)
		c->length->observe(c->length_state, prompt, output);
}

void mc_conductor_decide_decode(struct mc_conductor *c, const struct mc_view *view,
				const struct mc_prompt *prompt, struct mc_decision *out)
{
	out->refusal = view->decode_living.n ? MC_TAKEN : MC_REFUSED_NO_INSTANCE;
	out->decode = out->refusal ? MC_NONE : c->decode_policy->place(c->decode_state, view, prompt);
}
