#include "net/flow.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "net/state.h"

static double produced(const struct mc_net_flow *flow, mc_time at)
{
	if (at >= flow->produce_end)
		return flow->bytes;
	return flow->head + (flow->bytes - flow->head - flow->tail) *
				((double)(at - flow->born) / (double)(flow->produce_end - flow->born));
}

/* As mc_net_flow_sent; below 0 in what is ahead. */
static double progress(const struct mc_net_flow *flow, mc_time at)
{
	switch (flow->state) {
	case MC_NET_LIMITED:
		return at >= flow->produce_end ? flow->bytes - flow->tail : produced(flow, at);
	case MC_NET_BACKLOGGED:
	case MC_NET_WHOLE:
		return fmin(flow->sent + flow->rate * mc_time_to_s(at - flow->since), produced(flow, at));
	default:
		return 0;
	}
}

double mc_net_flow_sent(const struct mc_net_flow *flow, mc_time at)
{
	return fmax(progress(flow, at), 0);
}

static void bring_up(struct mc_net_flow *flow)
{
	mc_time now = flow->net->loop->now;

	if (now == flow->since)
		return;
	flow->sent = progress(flow, now);
	flow->since = now;
}

/* First whole nanosecond at which `bytes` are through; the slack takes off the noise of an exact quotient. */
static mc_time after(mc_time now, double bytes, double rate)
{
	double ns = ceil(bytes / rate * 1e9 - 1e-3);

	if (!(ns < (double)(MC_TIME_MAX - now) - 1024))
		return MC_TIME_MAX;
	return now + (ns > 0 ? (mc_time)ns : 0);
}

/* Schedule the next change of state. */
static void plan(struct mc_net_flow *flow)
{
	struct mc_loop *loop = flow->net->loop;
	mc_time at = flow->produce_end;

	if (flow->state == MC_NET_WHOLE) {
		at = after(loop->now, flow->bytes - flow->sent, flow->rate);
	} else if (flow->state == MC_NET_BACKLOGGED && flow->rate > flow->supply * (1 + MC_NET_SAME)) {
		double backlog = produced(flow, loop->now) - flow->sent;
		mc_time dry = after(loop->now, backlog, flow->rate - flow->supply);

		at = dry < at ? dry : at;
	}
	flow->stale = false;
	if (!mc_event_pending(&flow->ev) || mc_loop_when(loop, &flow->ev) != at)
		mc_loop_at(loop, &flow->ev, at);
}

double mc_net_flow_narrow(const struct mc_net_flow *flow)
{
	double narrow = INFINITY;

	for (uint32_t k = 0; k < flow->n_links; k++)
		narrow = fmin(narrow, flow->net->link.at[flow->hop[k].link].capacity);
	return narrow;
}

double mc_net_flow_limit(const struct mc_net_flow *flow)
{
	return flow->state == MC_NET_LIMITED ? fmin(flow->supply, flow->narrow) : flow->narrow;
}

static void enter(struct mc_net_flow *flow, enum mc_net_state state)
{
	bring_up(flow);
	flow->state = state;
	flow->stale = true;
}

/* Less than a nanosecond's production is no backlog: it is below the resolution of the clock. */
static bool drained(const struct mc_net_flow *flow)
{
	return produced(flow, flow->since) - flow->sent <= flow->supply * 1e-9;
}

void mc_net_flow_set_rate(struct mc_net_flow *flow, double rate)
{
	if (flow->state == MC_NET_LIMITED) {
		if (rate < flow->supply * (1 - MC_NET_SAME)) {
			/* The links hold it back, not the limit: without the limit the shares are the same.
			 */
			enter(flow, MC_NET_BACKLOGGED);
			mc_net_share_relimit(flow->net, flow, mc_net_flow_limit(flow), false);
		} else {
			rate = flow->supply;
		}
	}
	if (!mc_net_same(rate, flow->rate)) {
		bring_up(flow);
		flow->rate = rate;
		flow->stale = true;
	}
	if (flow->stale)
		plan(flow);
}

static void retire(struct mc_net_flow *flow, double sent)
{
	for (uint32_t k = 0; k < flow->n_links; k++)
		flow->net->link.at[flow->hop[k].link].carried += sent;
	flow->state = MC_NET_UNUSED;
	flow->rate = 0;
}

static void complete(struct mc_net_flow *flow)
{
	struct mc_net *net = flow->net;

	mc_net_share_detach(net, flow);
	if (net->contended)
		mc_net_share_meet(net, flow, -1);
	retire(flow, flow->bytes);
	if (flow->done)
		flow->done(flow->arg, flow->id);
	mc_vec_push(&net->idle, flow->id);
}

/* The start-up is over. */
static void activate(struct mc_net_flow *flow)
{
	mc_time now = flow->net->loop->now;

	flow->since = now;
	flow->stale = true;
	if (now >= flow->produce_end)
		flow->state = MC_NET_WHOLE;
	else
		flow->state = drained(flow) ? MC_NET_LIMITED : MC_NET_BACKLOGGED;
	if (flow->net->contended)
		mc_net_share_meet(flow->net, flow, 1);
	flow->narrow = mc_net_flow_narrow(flow);
	flow->limit = mc_net_flow_limit(flow);
	mc_net_share_attach(flow->net, flow);
	if (flow->bytes <= 0)
		complete(flow);
	else
		mc_net_share_grant(flow->net, flow);
}

/* Everything is there now, the tail too. */
static void end_production(struct mc_net_flow *flow)
{
	enter(flow, MC_NET_WHOLE);
	if (flow->sent >= flow->bytes) {
		complete(flow);
		return;
	}
	if (flow->limit < flow->narrow) {
		mc_net_share_relimit(flow->net, flow, flow->narrow, true);
		mc_net_share_grant(flow->net, flow);
	} else if (flow->rate > 0) {
		plan(flow);
	}
}

static void change(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_net_flow *flow = mc_container_of(ev, struct mc_net_flow, ev);

	switch (flow->state) {
	case MC_NET_STARTING:
		activate(flow);
		break;
	case MC_NET_LIMITED:
		end_production(flow);
		break;
	case MC_NET_BACKLOGGED:
		if (loop->now >= flow->produce_end) {
			end_production(flow);
			break;
		}
		enter(flow, MC_NET_LIMITED);
		mc_net_share_relimit(flow->net, flow, mc_net_flow_limit(flow), true);
		mc_net_share_grant(flow->net, flow);
		break;
	case MC_NET_WHOLE:
		complete(flow);
		break;
	case MC_NET_UNUSED:
		assert(!"an unused flow has no event");
	}
}

static void settle(struct mc_loop *loop, struct mc_event *ev)
{
	(void)loop;
	mc_net_share_settle(mc_container_of(ev, struct mc_net, settle));
}

struct mc_net *mc_net_new(struct mc_loop *loop, uint16_t event_kind)
{
	struct mc_net *net = mc_xcalloc(1, sizeof *net);

	net->loop = loop;
	net->kind = event_kind;
	mc_event_init(&net->settle, UINT16_MAX, settle);
	return net;
}

void mc_net_free(struct mc_net *net)
{
	if (!net)
		return;
	mc_loop_cancel(net->loop, &net->settle);
	for (size_t i = 0; i < net->slab.n; i++) {
		for (size_t j = 0; j < MC_NET_SLAB; j++)
			mc_loop_cancel(net->loop, &net->slab.at[i][j].ev);
		free(net->slab.at[i]);
	}
	for (size_t i = 0; i < net->link.n; i++) {
		mc_vec_fini(&net->link.at[i].flow);
		mc_vec_fini(&net->link.at[i].peer);
	}
	mc_vec_fini(&net->slab);
	mc_vec_fini(&net->idle);
	mc_vec_fini(&net->dirty);
	mc_vec_fini(&net->link);
	mc_vec_fini(&net->joined);
	mc_vec_fini(&net->open);
	mc_vec_fini(&net->heap);
	mc_vec_fini(&net->capped);
	free(net);
}

uint32_t mc_net_link_add(struct mc_net *net, double bytes_per_s)
{
	assert(bytes_per_s > 0 && isfinite(bytes_per_s));
	assert(net->link.n < UINT32_MAX);
	mc_vec_push(&net->link,
		    ((struct mc_net_link){.capacity = bytes_per_s, .base = bytes_per_s, .level = INFINITY}));
	return (uint32_t)net->link.n - 1;
}

static struct mc_net_flow *flow_new(struct mc_net *net)
{
	struct mc_net_flow *flow;
	uint32_t first = (uint32_t)net->slab.n * MC_NET_SLAB;

	if (!net->idle.n) {
		mc_vec_push(&net->slab, mc_xcalloc(MC_NET_SLAB, sizeof *flow));
		for (uint32_t i = MC_NET_SLAB; i-- > 0;)
			mc_vec_push(&net->idle, first + i);
	}
	first = net->idle.at[--net->idle.n];
	flow = mc_net_flow_get(net, first);
	memset(flow, 0, offsetof(struct mc_net_flow, hop));
	flow->net = net;
	flow->id = first;
	flow->state = MC_NET_STARTING;
	flow->born = net->loop->now;
	mc_event_init(&flow->ev, net->kind, change);
	return flow;
}

static void check_spec(const struct mc_net *net, const struct mc_flow_spec *spec)
{
	assert(spec->n_links >= 1 && spec->n_links <= MC_FLOW_LINKS);
	for (uint32_t k = 0; k < spec->n_links; k++) {
		assert(spec->link[k] < net->link.n);
		for (uint32_t j = 0; j < k; j++)
			assert(spec->link[j] != spec->link[k]);
	}
	assert(spec->weight >= 0 && isfinite(spec->weight));
	assert(spec->bytes >= 0 && isfinite(spec->bytes));
	assert(spec->head >= 0 && spec->tail >= 0 && spec->head + spec->tail <= spec->bytes);
	assert(spec->startup >= 0 && spec->ahead >= 0 && isfinite(spec->ahead));
}

static void take_spec(struct mc_net_flow *flow, const struct mc_flow_spec *spec)
{
	flow->bytes = spec->bytes;
	flow->sent = -spec->ahead;
	flow->far[0] = spec->far[0];
	flow->far[1] = spec->far[1];
	flow->head = spec->head;
	flow->tail = spec->tail;
	flow->weight = spec->weight > 0 ? fmax(1, rint(spec->weight / MC_NET_WEIGHT)) * MC_NET_WEIGHT : 1;
	flow->produce_end = spec->produce_end;
	flow->done = spec->done;
	flow->arg = spec->arg;
	flow->n_links = spec->n_links;
	for (uint32_t k = 0; k < spec->n_links; k++)
		flow->hop[k].link = spec->link[k];
}

uint32_t mc_net_flow_start(struct mc_net *net, const struct mc_flow_spec *spec)
{
	struct mc_net_flow *flow = flow_new(net);
	mc_time now = net->loop->now, begin = now + spec->startup;

	check_spec(net, spec);
	take_spec(flow, spec);
	if (spec->produce_end > now)
		flow->supply =
		    (spec->bytes - spec->head - spec->tail) / mc_time_to_s(spec->produce_end - now);
	if (spec->bytes > 0 && !spec->startup) {
		activate(flow);
		return flow->id;
	}
	/* Nothing to send: it only waits. */
	if (spec->bytes <= 0 && begin < spec->produce_end)
		begin = spec->produce_end;
	mc_loop_at(net->loop, &flow->ev, begin);
	return flow->id;
}

double mc_net_flow_cancel(struct mc_net *net, uint32_t id)
{
	struct mc_net_flow *flow;
	double sent;

	assert(id < net->slab.n * MC_NET_SLAB);
	flow = mc_net_flow_get(net, id);
	assert(flow->state != MC_NET_UNUSED);
	sent = mc_net_flow_sent(flow, net->loop->now);
	mc_loop_cancel(net->loop, &flow->ev);
	if (flow->state != MC_NET_STARTING) {
		mc_net_share_detach(net, flow);
		if (net->contended)
			mc_net_share_meet(net, flow, -1);
	}
	retire(flow, sent);
	mc_vec_push(&net->idle, id);
	return sent;
}

double mc_net_flow_rate(struct mc_net *net, uint32_t id)
{
	assert(id < net->slab.n * MC_NET_SLAB);
	mc_net_share_settle(net);
	return mc_net_flow_get(net, id)->rate;
}

uint32_t mc_net_link_flows(const struct mc_net *net, uint32_t link)
{
	assert(link < net->link.n);
	return (uint32_t)net->link.at[link].flow.n;
}

double mc_net_link_bytes(struct mc_net *net, uint32_t id)
{
	const struct mc_net_link *link;
	double bytes;

	assert(id < net->link.n);
	link = &net->link.at[id];
	bytes = link->carried;
	for (size_t i = 0; i < link->flow.n; i++)
		bytes += mc_net_flow_sent(mc_net_flow_get(net, link->flow.at[i].flow), net->loop->now);
	return bytes;
}

double mc_net_link_capacity(const struct mc_net *net, uint32_t link)
{
	assert(link < net->link.n);
	return net->link.at[link].base;
}

double mc_net_link_rate(struct mc_net *net, uint32_t id)
{
	const struct mc_net_link *link;
	double rate = 0;

	assert(id < net->link.n);
	mc_net_share_settle(net);
	link = &net->link.at[id];
	for (size_t i = 0; i < link->flow.n; i++)
		rate += mc_net_flow_get(net, link->flow.at[i].flow)->rate;
	return rate;
}

void mc_net_link_set_capacity(struct mc_net *net, uint32_t link, double bytes_per_s)
{
	assert(link < net->link.n);
	assert(bytes_per_s > 0 && isfinite(bytes_per_s));
	net->link.at[link].base = bytes_per_s;
	mc_net_share_recap(net, &net->link.at[link],
			   mc_net_link_shrunk(&net->link.at[link], net->link.at[link].peer.n));
}
