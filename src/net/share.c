#include "net/state.h"

#include <assert.h>
#include <math.h>

/*
 * Rates are max-min fair if every flow runs at the least of its limit and the levels of its links times its
 * weight, where the level of a link that is full is the rate over weight of its fastest flow, and no other
 * link is overfull or has a level.
 *
 * So a change is solved on as few links as will do: first those of the changed flows, while all other links
 * keep their levels. Where that moves a flow on a link that has a level, or overfills one that has none, the
 * link joins, and all is solved again. A link whose flows' limits add up to no more than its capacity can't
 * slow anyone down: it never joins.
 */

#define UNITS (INT64_C(1) << 40)

static inline bool binds(const struct mc_net_link *link)
{
	return link->load > UNITS;
}

/* Exactly UNITS for limit == capacity; rounded up, so that a link is never skipped wrongly. */
static inline int64_t units(const struct mc_net_link *link, double limit)
{
	return (int64_t)ceil(limit / link->capacity * (double)UNITS);
}

static void touch_link(struct mc_net *net, uint32_t id)
{
	struct mc_net_link *link = &net->link.at[id];

	if (link->dirty)
		return;
	link->dirty = true;
	mc_vec_push(&net->dirty, id);
	if (!mc_event_pending(&net->settle))
		mc_loop_at(net->loop, &net->settle, net->loop->now);
}

void mc_net_share_attach(struct mc_net *net, struct mc_net_flow *flow)
{
	for (uint32_t k = 0; k < flow->n_links; k++) {
		uint32_t id = flow->hop[k].link;
		struct mc_net_link *link = &net->link.at[id];

		flow->hop[k].slot = (uint32_t)link->flow.n;
		mc_vec_push(&link->flow, ((struct mc_net_member){flow->id, k}));
		link->load += units(link, flow->limit);
		link->total += flow->weight;
		if (binds(link))
			touch_link(net, id);
	}
}

void mc_net_share_detach(struct mc_net *net, struct mc_net_flow *flow)
{
	for (uint32_t k = 0; k < flow->n_links; k++) {
		uint32_t id = flow->hop[k].link;
		struct mc_net_link *link = &net->link.at[id];
		struct mc_net_member last = link->flow.at[--link->flow.n];

		link->flow.at[flow->hop[k].slot] = last;
		mc_net_flow_get(net, last.flow)->hop[last.which].slot = flow->hop[k].slot;
		if (binds(link))
			touch_link(net, id);
		link->load -= units(link, flow->limit);
		link->total -= flow->weight;
	}
}

void mc_net_share_relimit(struct mc_net *net, struct mc_net_flow *flow, double limit, bool touch)
{
	for (uint32_t k = 0; k < flow->n_links; k++) {
		uint32_t id = flow->hop[k].link;
		struct mc_net_link *link = &net->link.at[id];
		bool bound = binds(link);

		link->load += units(link, limit) - units(link, flow->limit);
		if (touch && (bound || binds(link)))
			touch_link(net, id);
	}
	flow->limit = limit;
}

/* Every link of its flows is to be solved again: this is rare, and a limit may move on any of them. */
void mc_net_share_recap(struct mc_net *net, struct mc_net_link *link, double capacity)
{
	uint32_t id = (uint32_t)(link - net->link.at);

	touch_link(net, id);
	for (size_t j = 0; j < link->flow.n; j++) {
		struct mc_net_flow *flow = mc_net_flow_get(net, link->flow.at[j].flow);

		for (uint32_t k = 0; k < flow->n_links; k++) {
			net->link.at[flow->hop[k].link].load -=
			    units(&net->link.at[flow->hop[k].link], flow->limit);
			touch_link(net, flow->hop[k].link);
		}
	}
	link->capacity = capacity;
	for (size_t j = 0; j < link->flow.n; j++) {
		struct mc_net_flow *flow = mc_net_flow_get(net, link->flow.at[j].flow);

		flow->narrow = mc_net_flow_narrow(flow);
		flow->limit = mc_net_flow_limit(flow);
		for (uint32_t k = 0; k < flow->n_links; k++)
			net->link.at[flow->hop[k].link].load +=
			    units(&net->link.at[flow->hop[k].link], flow->limit);
	}
}

void mc_net_share_grant(struct mc_net *net, struct mc_net_flow *flow)
{
	for (uint32_t k = 0; k < flow->n_links; k++)
		if (net->link.at[flow->hop[k].link].dirty)
			return;
	mc_net_flow_set_rate(flow, flow->limit);
}

static void join_link(struct mc_net *net, uint32_t id)
{
	struct mc_net_link *link = &net->link.at[id];

	if (link->stamp == net->stamp)
		return;
	link->stamp = net->stamp;
	mc_vec_push(&net->joined, id);
}

/* All flows of the links from number `from` on are to be solved. */
static void join_flows(struct mc_net *net, size_t from)
{
	for (size_t i = from; i < net->joined.n; i++) {
		const struct mc_net_link *link = &net->link.at[net->joined.at[i]];

		for (size_t j = 0; j < link->flow.n; j++) {
			struct mc_net_flow *flow = mc_net_flow_get(net, link->flow.at[j].flow);

			if (flow->stamp == net->stamp)
				continue;
			flow->stamp = net->stamp;
			mc_vec_push(&net->open, flow);
		}
	}
}

/* Would the new rates fill the link beyond its capacity? */
static bool overfull(const struct mc_net *net, const struct mc_net_link *link)
{
	double used = 0;

	for (size_t j = 0; j < link->flow.n; j++) {
		const struct mc_net_flow *flow = mc_net_flow_get(net, link->flow.at[j].flow);

		used += flow->stamp == net->stamp ? flow->next : flow->rate;
	}
	return used > link->capacity * (1 + MC_NET_SAME);
}

/* Let the links join whose condition the new rates break; false if there are none. */
static bool spread(struct mc_net *net)
{
	size_t joined = net->joined.n;

	for (size_t i = 0; i < net->open.n; i++) {
		const struct mc_net_flow *flow = net->open.at[i];

		if (mc_net_same(flow->next, flow->rate))
			continue;
		for (uint32_t k = 0; k < flow->n_links; k++) {
			const struct mc_net_link *link = &net->link.at[flow->hop[k].link];

			if (link->stamp != net->stamp && binds(link) &&
			    (link->level < INFINITY || overfull(net, link)))
				join_link(net, flow->hop[k].link);
		}
	}
	if (net->joined.n == joined)
		return false;
	join_flows(net, joined);
	return true;
}

static inline bool lower(const struct mc_net_level *a, const struct mc_net_level *b)
{
	return a->level < b->level || (a->level == b->level && a->link < b->link);
}

static void heap_down(struct mc_net *net, size_t i, struct mc_net_level x)
{
	struct mc_net_level *heap = net->heap.at;
	size_t n = net->heap.n;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && lower(&heap[child + 1], &heap[child]))
			child++;
		if (!lower(&heap[child], &x))
			break;
		heap[i] = heap[child];
	}
	heap[i] = x;
}

static inline double fair_level(const struct mc_net_link *link)
{
	return link->left > 0 ? link->left / link->weight : 0;
}

static void heap_fill(struct mc_net *net)
{
	net->heap.n = 0;
	for (size_t i = 0; i < net->joined.n; i++) {
		uint32_t id = net->joined.at[i];
		struct mc_net_link *link = &net->link.at[id];

		link->level = INFINITY;
		link->left = link->capacity;
		link->open = (uint32_t)link->flow.n;
		link->weight = link->total;
		if (link->open)
			mc_vec_push(&net->heap, ((struct mc_net_level){fair_level(link), id}));
	}
	for (size_t i = net->heap.n / 2; i-- > 0;)
		heap_down(net, i, net->heap.at[i]);
}

static int capped_compare(const void *a, const void *b)
{
	const struct mc_net_capped *x = a, *y = b;

	if (x->cap != y->cap)
		return x->cap < y->cap ? -1 : 1;
	return (x->flow->id > y->flow->id) - (x->flow->id < y->flow->id);
}

/* Flows that something else than the joined links may stop, by ascending rate at which it does. */
static void capped_fill(struct mc_net *net)
{
	net->capped.n = 0;
	for (size_t i = 0; i < net->open.n; i++) {
		struct mc_net_flow *flow = net->open.at[i];
		double limit = flow->limit / flow->weight, cap = limit;
		bool implied = false;

		flow->fixed = false;
		for (uint32_t k = 0; k < flow->n_links; k++) {
			const struct mc_net_link *link = &net->link.at[flow->hop[k].link];

			if (link->stamp == net->stamp)
				implied |= link->capacity <= flow->limit;
			else if (link->level < cap)
				cap = link->level;
		}
		if (!implied || cap < limit)
			mc_vec_push(&net->capped, ((struct mc_net_capped){cap, flow}));
	}
	if (net->capped.n > 1)
		qsort(net->capped.at, net->capped.n, sizeof *net->capped.at, capped_compare);
}

static inline void fix(struct mc_net *net, struct mc_net_flow *flow, double level)
{
	double rate = level * flow->weight;

	flow->fixed = true;
	flow->next = rate;
	for (uint32_t k = 0; k < flow->n_links; k++) {
		struct mc_net_link *link = &net->link.at[flow->hop[k].link];

		if (link->stamp != net->stamp)
			continue;
		link->left -= rate;
		link->weight -= flow->weight;
		link->open--;
	}
}

static void saturate(struct mc_net *net, struct mc_net_link *link, double level)
{
	if (binds(link))
		link->level = level;
	for (size_t j = 0; j < link->flow.n; j++) {
		struct mc_net_flow *flow = mc_net_flow_get(net, link->flow.at[j].flow);

		if (!flow->fixed)
			fix(net, flow, level);
	}
}

/*
 * Progressive filling of the joined links. The level of a link only rises while flows are fixed at or below
 * it, so the heap may hold levels that are too low: they are corrected when they come up.
 */
static void fill(struct mc_net *net)
{
	size_t next = 0;
	double water = 0;

	heap_fill(net);
	capped_fill(net);
	while (net->heap.n) {
		struct mc_net_level top = net->heap.at[0];
		struct mc_net_link *link = &net->link.at[top.link];
		size_t was = next;

		if (!link->open) {
			net->heap.n--;
			if (net->heap.n)
				heap_down(net, 0, net->heap.at[net->heap.n]);
			continue;
		}
		if (fair_level(link) > top.level) {
			top.level = fair_level(link);
			heap_down(net, 0, top);
			continue;
		}
		water = top.level > water ? top.level : water;
		for (; next < net->capped.n && net->capped.at[next].cap <= water; next++)
			if (!net->capped.at[next].flow->fixed)
				fix(net, net->capped.at[next].flow, net->capped.at[next].cap);
		if (next == was)
			saturate(net, link, water);
	}
}

void mc_net_share_settle(struct mc_net *net)
{
	if (!net->dirty.n)
		return;
	mc_loop_cancel(net->loop, &net->settle);
	net->stamp++;
	net->joined.n = net->open.n = 0;
	for (size_t i = 0; i < net->dirty.n; i++) {
		net->link.at[net->dirty.at[i]].dirty = false;
		join_link(net, net->dirty.at[i]);
	}
	net->dirty.n = 0;
	join_flows(net, 0);
	do
		fill(net);
	while (spread(net));
	for (size_t i = 0; i < net->open.n; i++) {
		struct mc_net_flow *flow = net->open.at[i];

		assert(flow->fixed);
		mc_net_flow_set_rate(flow, flow->next);
	}
}
