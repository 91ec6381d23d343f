/*
 * As frugal, but a prompt that will miss its objective of TTFT wherever it goes is not put where it makes
 * others miss theirs: it goes behind the longest queue. So one instance takes what is lost, and the others
 * stay below the objective. It is lost only under pressure: while more than half of the instances have a wait
 * of at most a quarter of the objective it is placed like any other. What is lost is served, too, but may
 * wait for as long as the overload lasts and longer: where that is worse than a refusal, refuse
 * (conductor.admission).
 *
 * Up to two searches a decision.
 */
#include "base/vec.h"
#include "sched/burden.h"
#include "sched/search.h"

static void *create(const struct mc_policy_params *params)
{
	(void)params;
	return mc_xcalloc(1, sizeof(struct mc_burden));
}

/* The placement at one instance. */
static void at_instance(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
			uint32_t i, struct mc_score *out)
{
	struct mc_found best = mc_search_best(view, prompt);

	*out = (struct mc_score){.prefill = i, .local = mc_view_match(view, prompt, i)};
	out->ssd = mc_search_ssd(view, prompt, i);
	mc_search_score(s, view, prompt, &best, out);
}

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	struct mc_burden *b = state;
	struct mc_waits waits = mc_burden_look(view, prompt->ttft / 4);
	struct mc_search s = {
	    .fetch = true, .priced = true, .threshold = 1, .burden = mc_burden_weight(b, &waits)};
	struct mc_score soonest;
	mc_time left = prompt->arrival + prompt->ttft - view->now;

	mc_search_run(&s, view, prompt, out);
	if (prompt->ttft && out->total > left) {
		s.burden = 0;
		mc_search_run(&s, view, prompt, &soonest);
		if (soonest.total <= left)
			*out = soonest;
		else if (2 * waits.open <= view->prefill_living.n)
			at_instance(&s, view, prompt, waits.longest, out);
	}
	mc_burden_note(b, view, prompt, out);
}

const struct mc_policy mc_policy_triage = {
    .name = "triage",
    .help = "frugal, but prompts that miss their TTFT objective anyhow queue where they harm least",
    .fetches = true,
    .create = create,
    .destroy = free,
    .place = place,
};
