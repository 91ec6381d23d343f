/* Why a request went where it went: the terms of Algorithm 1 at every instance, at the moment of the
 * decision. */
#include <stdlib.h>

#include "cluster/state.h"
#include "sched/search.h"

void mc_cluster_explain(struct mc_cluster *c, const struct mc_prompt *prompt,
			const struct mc_decision *decision)
{
	struct mc_explanation *x = c->hooks->explain;
	const struct mc_policy *policy = c->conductor.policy;
	struct mc_search s = {
	    .fetch = policy->fetches,
	    .priced = !policy->uses_threshold,
	    .threshold = policy->uses_threshold ? c->scenario->conductor.balancing_threshold : 1,
	};
	struct mc_found best = mc_search_best(&c->view, prompt);

	x->found = true;
	x->decision = *decision;
	x->decided = c->loop.now;
	x->n = c->view.n_prefill;
	x->n_decode = c->view.n_decode;
	free(x->score);
	free(x->decode_load);
	x->score = mc_xcalloc(x->n, sizeof *x->score);
	x->decode_load = mc_xcalloc(x->n_decode, sizeof *x->decode_load);
	for (uint32_t i = 0; i < x->n; i++) {
		struct mc_score *at = &x->score[i];

		at->prefill = c->view.node[i].down ? MC_NONE : i;
		if (c->view.node[i].down)
			continue;
		at->local = mc_view_match(&c->view, prompt, i);
		at->ssd = mc_search_ssd(&c->view, prompt, i);
		mc_search_score(&s, &c->view, prompt, &best, at);
	}
	for (uint32_t i = 0; i < x->n_decode; i++)
		x->decode_load[i] =
		    c->view.node[mc_view_decode_node(&c->view, i)].down ? -1 : c->view.decode[i].load;
}
