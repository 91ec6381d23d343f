#include "sched/search.h"

#include <stddef.h>

/* Up to this many holders of a run are looked at one by one; beyond it the run counts as common. */
#define RARE 32

/* Is a better than b? Equal costs: idle for longer (or free earlier) first, then the lower number. */
static bool better(const struct mc_view *view, const struct mc_score *a, const struct mc_score *b)
{
	if (b->prefill == MC_NONE || a->cost != b->cost)
		return b->prefill == MC_NONE || a->cost < b->cost;
	return mc_rank_before(&view->prefill_rank, a->prefill, b->prefill);
}

/* The first step of the prompt whose run at most RARE instances have any of; n_steps when there is none. */
static uint32_t rare_step(const struct mc_view *view, const struct mc_prompt *prompt)
{
	uint32_t s = 0, n;

	for (; s < prompt->n_steps; s++) {
		mc_tree_copies(view->tree, prompt->step[s].run, &n);
		if (n <= RARE)
			break;
	}
	return s;
}

/* A search under way. */
struct hunt {
	const struct mc_search *s;
	const struct mc_view *view;
	const struct mc_prompt *prompt;
	struct mc_found best;
	struct mc_score *out; /* the best placement so far */
};

/* Of a node that may be an instance. */
static void consider(struct hunt *h, uint32_t i)
{
	struct mc_score at = {.prefill = i};

	if (i >= h->view->n_prefill || h->view->node[i].down)
		return;
	at.local = mc_view_match(h->view, h->prompt, i);
	at.ssd = mc_search_ssd(h->view, h->prompt, i);
	mc_search_score(h->s, h->view, h->prompt, &h->best, &at);
	if (better(h->view, &at, h->out))
		*h->out = at;
}

void mc_search_run(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		   struct mc_score *out)
{
	struct hunt h = {s, view, prompt, mc_search_best(view, prompt), out};
	uint32_t rare = rare_step(view, prompt), n, i;
	struct mc_rank_walk walk;
	mc_time low;

	out->prefill = MC_NONE;
	if (rare < prompt->n_steps) {
		const struct mc_copy *c = mc_tree_copies(view->tree, prompt->step[rare].run, &n);

		for (uint32_t k = 0; k < n; k++)
			consider(&h, mc_view_home(view, c[k].node));
	}
	/* All others hold at most what is before the rare run. */
	low = mc_search_bound(s, view, prompt, &h.best, rare ? prompt->step[rare - 1].end : 0);
	mc_rank_walk(&walk, &view->prefill_rank);
	while (mc_rank_next(&walk, &i)) {
		mc_time least = mc_view_queue(view, i) + low;

		if (view->node[i].down) /* and so are all behind it */
			break;
		if (out->prefill != MC_NONE &&
		    (least > out->cost ||
		     (least == out->cost && mc_rank_before(&view->prefill_rank, out->prefill, i))))
			break;
		consider(&h, i);
	}
}

/* Leading blocks that instance i holds, looking through all copies of every run. */
static uint32_t scan_match(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t i,
			   bool resident)
{
	uint32_t blocks = 0;

	for (uint32_t s = 0; s < prompt->n_steps; s++) {
		uint32_t n, has = 0, first = mc_tree_first(view->tree, prompt->step[s].run);
		const struct mc_copy *c = mc_tree_copies(view->tree, prompt->step[s].run, &n);

		for (uint32_t k = 0; k < n; k++)
			if (c[k].node == i)
				has = resident ? c[k].resident : c[k].held;
		if (first != blocks || !has)
			break;
		blocks = first + has < prompt->step[s].end ? first + has : prompt->step[s].end;
	}
	return blocks;
}

/* Who has most of it, resident; the fastest of those. */
static struct mc_match scan_best(const struct mc_view *view, const struct mc_prompt *prompt, bool ssd)
{
	struct mc_match best = {0, MC_NONE};
	double most = 0;

	for (uint32_t i = 0; i < mc_search_sources(view); i++) {
		uint32_t node = ssd ? view->ssd + i : i;
		uint32_t m = view->node[i].down ? 0 : scan_match(view, prompt, node, true);
		double speed = mc_search_speed(view, node);

		if (m > best.blocks || (m && m == best.blocks && speed > most)) {
			best = (struct mc_match){m, node};
			most = speed;
		}
	}
	return best;
}

void mc_search_scan(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		    struct mc_score *out)
{
	struct mc_found best = {{0, MC_NONE}, {0, MC_NONE}};

	if (view->sources)
		best.dram = scan_best(view, prompt, false);
	if (view->sources && view->ssd != MC_NONE)
		best.ssd = scan_best(view, prompt, true);
	out->prefill = MC_NONE;
	for (uint32_t i = 0; i < view->n_prefill; i++) {
		struct mc_score at = {.prefill = i, .local = scan_match(view, prompt, i, false)};

		if (view->node[i].down)
			continue;
		if (view->ssd != MC_NONE)
			at.ssd = scan_match(view, prompt, view->ssd + i, true);
		mc_search_score(s, view, prompt, &best, &at);
		if (better(view, &at, out))
			*out = at;
	}
}
