#include "net/flow.h"

#include <assert.h>
#include <math.h>

#include "net/state.h"

static double produced(const struct mc_net_flow *flow, mc_time at)
{
	const struct mc_flow_spec *spec = &flow->spec;

	if (at >= spec->produce_end)
		return spec->bytes;
	return (spec->bytes - spec->tail) *
	       ((double)(at - flow->born) / (double)(spec->produce_end - flow->born));
}

double mc_net_flow_sent(const struct mc_net_flow *flow, mc_time at)
{
	const struct mc_flow_spec *spec = &flow->spec;

	switch (flow->state) {
	case MC_NET_LIMITED:
		return at >= spec->produce_end ? spec->bytes - spec->tail : produced(flow, at);
	case MC_NET_BACKLOGGED:
	case MC_NET_WHOLE:
		return fmin(flow->sent + flow->rate * mc_time_to_s(at - flow->since), produced(flow, at));
	default:
		return 0;
	}
}

static void bring_up(struct mc_net_flow *flow)
{
	mc_time now = flow->net->loop->now;

	if (now == flow->since)
		return;
	flow->sent = mc_net_flow_sent(flow, now);
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
	const struct mc_flow_spec *spec = &flow->spec;
	mc_time at = spec->produce_end;

	if (flow->state == MC_NET_WHOLE) {
		at = after(loop->now, spec->bytes - flow->sent, flow->rate);
	} else if (flow->state == MC_NET_BACKLOGGED && flow->rate > flow->supply * (1 + MC_NET_SAME)) {
		double backlog = produced(flow, loop->now) - flow->sent;
		mc_time dry = after(loop->now, backlog, flow->rate - flow->supply);

		at = dry < at ? dry : at;
	}
	flow->stale = false;
	if (!mc_event_pending(&flow->ev) || mc_loop_when(loop, &flow->ev) != at)
		mc_loop_at(loop, &flow->ev, at);
}

static double limit_of(const struct mc_net_flow *flow)
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
			mc_net_share_relimit(flow->net, flow, limit_of(flow), false);
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

static void complete(struct mc_net_flow *flow)
{
	struct mc_net *net = flow->net;

	mc_net_share_detach(net, flow);
	for (uint32_t k = 0; k < flow->spec.n_links; k++)
		net->link.at[flow->spec.link[k]].carried += flow->spec.bytes;
	flow->state = MC_NET_UNUSED;
	flow->rate = 0;
	if (flow->spec.done)
		flow->spec.done(flow->spec.arg, flow->id);
	mc_vec_push(&net->idle, flow->id);
}

/* The start-up is over. */
static void activate(struct mc_net_flow *flow)
{
	mc_time now = flow->net->loop->now;

	flow->since = now;
	flow->stale = true;
	if (now >= flow->spec.produce_end)
		flow->state = MC_NET_WHOLE;
	else
		flow->state = drained(flow) ? MC_NET_LIMITED : MC_NET_BACKLOGGED;
	flow->limit = limit_of(flow);
	mc_net_share_attach(flow->net, flow);
	if (flow->spec.bytes <= 0)
		complete(flow);
	else
		mc_net_share_grant(flow->net, flow);
}

/* Everything is there now, the tail too. */
static void end_production(struct mc_net_flow *flow)
{
	enter(flow, MC_NET_WHOLE);
	if (flow->sent >= flow->spec.bytes) {
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
		if (loop->now >= flow->spec.produce_end) {
			end_production(flow);
			break;
		}
		enter(flow, MC_NET_LIMITED);
		mc_net_share_relimit(flow->net, flow, limit_of(flow), true);
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
	for (size_t i = 0; i < net->link.n; i++)
		mc_vec_fini(&net->link.at[i].flow);
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
	mc_vec_push(&net->link, ((struct mc_net_link){.capacity = bytes_per_s, .level = INFINITY}));
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
	*flow =
	    (struct mc_net_flow){.net = net, .id = first, .state = MC_NET_STARTING, .born = net->loop->now};
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
	assert(spec->bytes >= 0 && isfinite(spec->bytes));
	assert(spec->tail >= 0 && spec->tail <= spec->bytes);
	assert(spec->startup >= 0);
}

uint32_t mc_net_flow_start(struct mc_net *net, const struct mc_flow_spec *spec)
{
	struct mc_net_flow *flow = flow_new(net);
	mc_time now = net->loop->now, begin = now + spec->startup;

	check_spec(net, spec);
	flow->spec = *spec;
	flow->narrow = INFINITY;
	for (uint32_t k = 0; k < spec->n_links; k++)
		flow->narrow = fmin(flow->narrow, net->link.at[spec->link[k]].capacity);
	if (spec->produce_end > now)
		flow->supply = (spec->bytes - spec->tail) / mc_time_to_s(spec->produce_end - now);
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
	return net->link.at[link].capacity;
}
