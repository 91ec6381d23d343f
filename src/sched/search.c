#include "sched/search.h"

#include <stddef.h>

#define LONGEST_S 2e9 /* of a predicted transfer: four of them still fit a time in ns */

/* Up to this many holders of a run are looked at one by one; beyond it the run counts as common. */
#define RARE 32

/* Nodes from here on are not fetched from. */
static uint32_t sources(const struct mc_view *view)
{
	return view->sources == MC_SOURCES_ALL ? view->n_prefill + view->n_decode : view->n_prefill;
}

struct mc_match mc_search_best(const struct mc_view *view, const struct mc_prompt *prompt)
{
	struct mc_match best = {mc_tree_best(view->tree, 0, prompt->step, prompt->n_steps), MC_NONE};

	if (view->sources == MC_SOURCES_ALL) {
		uint32_t decode = mc_tree_best(view->tree, 1, prompt->step, prompt->n_steps);

		best.blocks = decode > best.blocks ? decode : best.blocks;
	}
	return best;
}

void mc_search_source(const struct mc_view *view, const struct mc_prompt *prompt, struct mc_match *best)
{
	uint32_t n, pick = MC_NONE, s = 0, first;
	const struct mc_copy *c;

	while (prompt->step[s].end < best->blocks)
		s++;
	c = mc_tree_copies(view->tree, prompt->step[s].run, &n);
	first = mc_tree_first(view->tree, prompt->step[s].run);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = c[k].node;

		if (first + c[k].resident < best->blocks || i >= sources(view))
			continue;
		if (pick == MC_NONE || view->node[i].sends < view->node[pick].sends)
			pick = i;
	}
	best->source = pick;
}

/* Predicted time to move the KV of that many tokens from a sender that is `width` nodes wide and whose NICs
 * the running sends share. */
static mc_time transfer_time(const struct mc_view *view, uint32_t width, uint32_t sends, uint32_t tokens)
{
	const struct mc_cost *c = view->cost;
	double share = c->net_bytes_per_s * width / (1.0 + sends);
	double s = c->net_startup_s + tokens * c->kv_bytes / share;

	/* Congestion has no bound, sums of times have. */
	return mc_time_from_s(s < LONGEST_S ? s : LONGEST_S);
}

static bool wants_fetch(const struct mc_search *s, const struct mc_view *view, uint32_t best, uint32_t local)
{
	return s->fetch && view->sources && best > local && (double)best > local * s->threshold;
}

void mc_search_score(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		     struct mc_match *best, struct mc_score *io)
{
	io->hit = io->local;
	io->source = MC_NONE;
	io->transfer = 0;
	io->queue = mc_view_queue(view, io->prefill);
	if (wants_fetch(s, view, best->blocks, io->local)) {
		if (best->source == MC_NONE)
			mc_search_source(view, prompt, best);
		io->hit = best->blocks;
		io->source = best->source;
		io->transfer =
		    transfer_time(view, mc_view_width(view, best->source), view->node[best->source].sends,
				  mc_view_span_tokens(view, prompt, io->local, io->hit));
	}
	io->compute = mc_view_prefill_time(view, prompt->tokens, mc_view_hit_tokens(view, prompt, io->hit));
	io->total = io->queue + io->transfer + io->compute;
}

void mc_search_here(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t i,
		    struct mc_score *out)
{
	static const struct mc_search local = {.fetch = false, .threshold = 1};
	struct mc_match none = {0, MC_NONE};

	out->prefill = i;
	out->local = mc_view_match(view, prompt, i);
	mc_search_score(&local, view, prompt, &none, out);
}

/* Is a better than b? Equal totals: idle for longer (or free earlier) first, then the lower number. */
static bool better(const struct mc_view *view, const struct mc_score *a, const struct mc_score *b)
{
	if (b->prefill == MC_NONE || a->total != b->total)
		return b->prefill == MC_NONE || a->total < b->total;
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

/*
 * A time that no prefill with at most `cached` tokens in DRAM beats. It has to fall with every cached token:
 * so the load is left out where it may cost more than computing, and for groups the fill of the pipeline
 * (fewer chunks fill it worse).
 */
static mc_time prefill_floor(const struct mc_view *view, uint32_t n, uint32_t cached)
{
	const struct mc_cost *c = view->cost;
	bool falls = !c->pf_load_overlaps && c->pf_load <= c->pf_b;
	double s = falls ? mc_cost_prefill_gpu_s(c, n, cached) : mc_cost_prefill_compute_s(c, n, cached);

	return mc_time_from_s(s / view->group);
}

/* A lower bound of transfer + prefill at any instance that holds at most `local` blocks. */
static mc_time bound(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		     const struct mc_match *best, uint32_t local)
{
	mc_time low = MC_TIME_MAX, fetch;

	if (!wants_fetch(s, view, best->blocks, local))
		low = prefill_floor(view, prompt->tokens, mc_view_hit_tokens(view, prompt, local));
	while (local > 0 &&
	       !wants_fetch(s, view, best->blocks, local)) /* the largest match that would still fetch */
		local--;
	if (!wants_fetch(s, view, best->blocks, local))
		return low;
	fetch = transfer_time(view, view->group, 0, mc_view_span_tokens(view, prompt, local, best->blocks)) +
		prefill_floor(view, prompt->tokens, mc_view_hit_tokens(view, prompt, best->blocks));
	return fetch < low ? fetch : low;
}

/* A search under way. */
struct hunt {
	const struct mc_search *s;
	const struct mc_view *view;
	const struct mc_prompt *prompt;
	struct mc_match best;
	struct mc_score *out; /* the best placement so far */
};

static void consider(struct hunt *h, uint32_t i)
{
	struct mc_score at = {.prefill = i, .local = mc_view_match(h->view, h->prompt, i)};

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
			if (c[k].node < view->n_prefill)
				consider(&h, c[k].node);
	}
	/* All others hold at most what is before the rare run. */
	low = bound(s, view, prompt, &h.best, rare ? prompt->step[rare - 1].end : 0);
	mc_rank_walk(&walk, &view->prefill_rank);
	while (mc_rank_next(&walk, &i)) {
		mc_time least = mc_view_queue(view, i) + low;

		if (out->prefill != MC_NONE &&
		    (least > out->total ||
		     (least == out->total && mc_rank_before(&view->prefill_rank, out->prefill, i))))
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

void mc_search_scan(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		    struct mc_score *out)
{
	struct mc_match best = {0, MC_NONE};

	for (uint32_t i = 0; i < sources(view); i++) {
		uint32_t m = scan_match(view, prompt, i, true);

		if (m > best.blocks || (m == best.blocks && m && best.source != MC_NONE &&
					view->node[i].sends < view->node[best.source].sends))
			best = (struct mc_match){m, i};
	}
	out->prefill = MC_NONE;
	for (uint32_t i = 0; i < view->n_prefill; i++) {
		struct mc_score at = {.prefill = i, .local = scan_match(view, prompt, i, false)};

		mc_search_score(s, view, prompt, &best, &at);
		if (better(view, &at, out))
			*out = at;
	}
}
