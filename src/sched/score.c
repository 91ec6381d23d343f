/* Algorithm 1 at one instance: what is there, what would be fetched from where, how long that takes, and what
 * it costs others. */
#include "sched/search.h"

#include <math.h>
#include <stddef.h>

#define LONGEST_S 2e9  /* of a predicted transfer: four of them still fit a time in ns */
#define HEAVIEST  1e18 /* of a burden, ns: fits beside them */

/* Nodes from here on are not fetched from. */
uint32_t mc_search_sources(const struct mc_view *view)
{
	return view->sources == MC_SOURCES_ALL ? view->n_prefill + view->n_decode : view->n_prefill;
}

/* May this DRAM or SSD of the tree be fetched from? */
static bool is_source(const struct mc_view *view, uint32_t node, bool ssd)
{
	uint32_t home = mc_view_home(view, node);

	return (node >= view->ssd) == ssd && home < mc_search_sources(view) && !view->node[home].down;
}

/* The same as the tree's best, of living nodes alone: copy by copy. */
static uint32_t best_living(const struct mc_view *view, const struct mc_prompt *prompt, bool ssd)
{
	for (uint32_t s = prompt->n_steps; s-- > 0;) {
		uint32_t n, most = 0, end = prompt->step[s].end;
		const struct mc_copy *c = mc_tree_copies(view->tree, prompt->step[s].run, &n);

		for (uint32_t k = 0; k < n; k++)
			if (c[k].resident > most && is_source(view, c[k].node, ssd))
				most = c[k].resident;
		most += most ? mc_tree_first(view->tree, prompt->step[s].run) : 0;
		if (most)
			return most < end ? most : end;
	}
	return 0;
}

struct mc_found mc_search_best(const struct mc_view *view, const struct mc_prompt *prompt)
{
	struct mc_found best = {{0, MC_NONE}, {0, MC_NONE}};

	if (!view->sources)
		return best;
	if (mc_view_crippled(view)) {
		best.dram.blocks = best_living(view, prompt, false);
		best.ssd.blocks = best_living(view, prompt, true);
		return best;
	}
	for (uint32_t group = 0; group < (uint32_t)view->sources; group++) {
		uint32_t blocks = mc_tree_best(view->tree, group, prompt->step, prompt->n_steps);

		best.dram.blocks = blocks > best.dram.blocks ? blocks : best.dram.blocks;
	}
	if (view->ssd != MC_NONE)
		best.ssd.blocks = mc_tree_best(view->tree, 2, prompt->step, prompt->n_steps);
	return best;
}

double mc_search_speed(const struct mc_view *view, uint32_t node)
{
	return node < view->ssd ? mc_view_send_share(view, node)
				: 1 / (1.0 + view->node[node - view->ssd].reads);
}

/* Who has the leading `blocks` blocks, among tree nodes from .. end-1. */
static uint32_t holder(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t blocks, bool ssd)
{
	uint32_t n, pick = MC_NONE, s = 0, first;
	const struct mc_copy *c;

	while (prompt->step[s].end < blocks)
		s++;
	c = mc_tree_copies(view->tree, prompt->step[s].run, &n);
	first = mc_tree_first(view->tree, prompt->step[s].run);
	for (uint32_t k = 0; k < n; k++) {
		if (first + c[k].resident < blocks || !is_source(view, c[k].node, ssd))
			continue;
		if (pick == MC_NONE || mc_search_speed(view, c[k].node) > mc_search_speed(view, pick))
			pick = c[k].node;
	}
	return pick;
}

/* Predicted time of a part to come to an instance: bandwidth of the SSD that it is read from, and of the NICs
 * that it leaves by, is shared with what runs there now. */
static mc_time part_time(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t prefill,
			 const struct mc_part *part)
{
	const struct mc_cost *c = view->cost;
	uint32_t home = mc_view_home(view, part->node), width = mc_view_width(view, home);
	double rate = INFINITY, s = 0;

	if (part->node >= view->ssd) {
		rate = c->ssd_read_bytes_per_s * width / (1.0 + view->node[home].reads);
		s += c->ssd_latency_s;
	}
	if (home != prefill) {
		rate = fmin(rate, mc_view_send_share(view, home));
		s += c->net_startup_s;
	}
	s += mc_view_span_tokens(view, prompt, part->from, part->to) * c->kv_bytes / rate;
	/* Congestion has no bound, sums of times have. */
	return mc_time_from_s(s < LONGEST_S ? s : LONGEST_S);
}

/* What that much of an instance's time costs others. */
static mc_time burden(const struct mc_search *s, mc_time engine)
{
	double ns = s->burden * (double)engine;

	return ns < HEAVIEST ? (mc_time)ns : (mc_time)HEAVIEST;
}

static bool wants_fetch(const struct mc_search *s, uint32_t best, uint32_t local)
{
	return s->fetch && best > local && (double)best > local * s->threshold;
}

static void add_part(const struct mc_view *view, const struct mc_prompt *prompt, struct mc_score *io,
		     const struct mc_part *part)
{
	mc_time t = part_time(view, prompt, io->prefill, part);

	io->part[io->n_parts++] = *part;
	io->hit = part->to;
	io->transfer = t > io->transfer ? t : io->transfer;
}

/* What the search compares. Blocks that come after the instance is free keep it from others, too. */
static mc_time cost(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		    const struct mc_score *x)
{
	mc_time stall = x->transfer > x->queue ? x->transfer - x->queue : 0;
	uint32_t cached = mc_view_hit_tokens(view, prompt, x->hit);

	return x->total + burden(s, stall + mc_view_prefill_occupancy(view, prompt->tokens, cached));
}

/*
 * One way to place it. The local match m_i: its DRAM, and with `own` its SSD behind that. The best match m*:
 * another node's DRAM, and with `far` another node's SSD behind that.
 */
static void way(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		struct mc_found *best, struct mc_score *io)
{
	uint32_t m = best->dram.blocks > best->ssd.blocks ? best->dram.blocks : best->ssd.blocks;

	io->hit = io->local;
	io->n_parts = 0;
	io->transfer = 0;
	if (io->ssd > io->local)
		add_part(view, prompt, io, &(struct mc_part){view->ssd + io->prefill, io->local, io->ssd});
	if (wants_fetch(s, m, io->hit)) {
		if (best->dram.blocks > io->hit) {
			if (best->dram.source == MC_NONE)
				best->dram.source = holder(view, prompt, best->dram.blocks, false);
			add_part(view, prompt, io,
				 &(struct mc_part){best->dram.source, io->hit, best->dram.blocks});
		}
		if (best->ssd.blocks > io->hit) {
			if (best->ssd.source == MC_NONE)
				best->ssd.source = holder(view, prompt, best->ssd.blocks, true);
			add_part(view, prompt, io,
				 &(struct mc_part){best->ssd.source, io->hit, best->ssd.blocks});
		}
	}
	io->compute = mc_view_prefill_time(view, prompt->tokens, mc_view_hit_tokens(view, prompt, io->hit));
	io->total = io->queue + io->transfer + io->compute;
	io->cost = s->burden > 0 ? cost(s, view, prompt, io) : io->total;
}

/* The cheapest of the ways of one branch or, with a threshold, of the one that it tells to take. */
static void branch(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		   struct mc_found *best, struct mc_score *io)
{
	struct mc_score least, other;

	if (io->ssd <= io->local && best->ssd.blocks <= best->dram.blocks) { /* one way, as nearly always */
		way(s, view, prompt, best, io);
		return;
	}
	least = *io;
	for (int own = 0; own < (io->ssd > io->local ? 2 : 1); own++)
		for (int far = 0; far < (best->ssd.blocks > best->dram.blocks ? 2 : 1); far++) {
			struct mc_found known = *best;

			other = *io;
			other.ssd = own ? io->ssd : 0;
			known.ssd.blocks = far ? best->ssd.blocks : 0;
			way(s, view, prompt, &known, &other);
			best->dram.source = known.dram.source;
			best->ssd.source = known.ssd.source;
			other.ssd = io->ssd;
			if ((!own && !far) || other.cost < least.cost)
				least = other;
		}
	*io = least;
}

void mc_search_score(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		     struct mc_found *best, struct mc_score *io)
{
	io->queue = mc_view_queue(view, io->prefill);
	if (s->priced) {
		struct mc_search local = *s;
		struct mc_score here = *io;

		branch(s, view, prompt, best, io);
		if (!io->n_parts)
			return;
		local.fetch = false;
		branch(&local, view, prompt, best, &here);
		if (here.cost < io->cost)
			*io = here;
	} else {
		branch(s, view, prompt, best, io);
	}
}

uint32_t mc_search_ssd(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t i)
{
	return view->ssd == MC_NONE
		   ? 0
		   : mc_tree_match_resident(view->tree, prompt->step, prompt->n_steps, view->ssd + i);
}

void mc_search_here(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t i,
		    struct mc_score *out)
{
	static const struct mc_search local = {.fetch = false, .threshold = 1};
	struct mc_found none = {{0, MC_NONE}, {0, MC_NONE}};

	out->prefill = i;
	out->local = mc_view_match(view, prompt, i);
	out->ssd = mc_search_ssd(view, prompt, i);
	mc_search_score(&local, view, prompt, &none, out);
}

/*
 * A time that no prefill with at most `cached` tokens in DRAM beats. It has to fall with every cached token:
 * so the load is left out where it may cost more than computing (model/cost.h), and for groups the fill of
 * the pipeline (fewer chunks fill it worse).
 */
static mc_time prefill_floor(const struct mc_view *view, uint32_t n, uint32_t cached)
{
	return mc_time_from_s(mc_cost_prefill_floor_s(view->cost, n, cached, !view->coupled) / view->group);
}

/* Of any way to fetch up to `ssd` blocks (0: `dram`) where `local` are there. All fetch from the one source
 * in DRAM, as fast as it sends now: with less the search would walk through all that are idle. What is read
 * from SSD may be read at the instance itself, with nothing else going on. */
static mc_time fetch_floor(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t local,
			   struct mc_found *best)
{
	const struct mc_cost *c = view->cost;
	uint32_t dram = best->dram.blocks > local ? best->dram.blocks : local;
	double net = 0, ssd = 0;

	if (dram > local) {
		if (best->dram.source == MC_NONE)
			best->dram.source = holder(view, prompt, dram, false);
		net = c->net_startup_s + mc_view_span_tokens(view, prompt, local, dram) * c->kv_bytes /
					     mc_view_send_share(view, best->dram.source);
	}
	if (best->ssd.blocks > dram)
		ssd = c->ssd_latency_s + mc_view_span_tokens(view, prompt, dram, best->ssd.blocks) *
					     c->kv_bytes / (c->ssd_read_bytes_per_s * view->group);
	net = ssd > net ? ssd : net;
	return mc_time_from_s(net < LONGEST_S ? net : LONGEST_S);
}

/* The floor of a prefill, and of what it costs others. */
static mc_time prefill_cost(const struct mc_search *s, const struct mc_view *view,
			    const struct mc_prompt *prompt, uint32_t blocks)
{
	mc_time floor = prefill_floor(view, prompt->tokens, mc_view_hit_tokens(view, prompt, blocks));

	return floor + (s->burden > 0 ? burden(s, floor) : 0);
}

static mc_time bound_of(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
			struct mc_found *best, uint32_t local)
{
	uint32_t m = best->dram.blocks > best->ssd.blocks ? best->dram.blocks : best->ssd.blocks;
	mc_time low = MC_TIME_MAX, fetch;

	if (s->priced || !wants_fetch(s, m, local))
		low = prefill_cost(s, view, prompt, local);
	while (local > 0 && !wants_fetch(s, m, local)) /* the largest match that would still fetch */
		local--;
	if (!wants_fetch(s, m, local))
		return low;
	fetch = fetch_floor(view, prompt, local, best) + prefill_cost(s, view, prompt, m);
	return fetch < low ? fetch : low;
}

mc_time mc_search_bound(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
			struct mc_found *best, uint32_t local)
{
	struct mc_found near = *best;
	mc_time low, far;

	near.ssd.blocks = 0;
	low = bound_of(s, view, prompt, &near, local);
	best->dram.source = near.dram.source;
	if (best->ssd.blocks <= best->dram.blocks)
		return low;
	far = bound_of(s, view, prompt, best, local);
	return far < low ? far : low;
}
