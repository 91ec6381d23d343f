#include <math.h>

#include "net/solve.h"
#include "net/state.h"

struct problem {
	struct {
		MC_VEC(struct mc_net_solve_flow)
	} flow;
	struct {
		MC_VEC(struct mc_net_flow *)
	} of;
	struct {
		MC_VEC(double)
	} capacity;
};

/* Peers of the link's flows, counted anew. */
static size_t peers(struct mc_net *net, const struct mc_net_link *link)
{
	size_t n = 0;

	for (size_t i = 0; i < link->flow.n; i++) {
		uint32_t far = mc_net_flow_get(net, link->flow.at[i].flow)->far[link->side];
		size_t k = 0;

		while (k < i && mc_net_flow_get(net, link->flow.at[k].flow)->far[link->side] != far)
			k++;
		n += k == i;
	}
	return n;
}

static void collect(struct mc_net *net, struct problem *p)
{
	for (uint32_t l = 0; l < net->link.n; l++) {
		const struct mc_net_link *link = &net->link.at[l];
		double lost =
		    link->loss > 0 && link->flow.n ? link->loss * (double)(peers(net, link) - 1) : 0;

		mc_vec_push(&p->capacity,
			    lost > 0 ? fmin(link->base, link->base * link->room / (1 + lost)) : link->base);
	}
	for (uint32_t id = 0; id < net->slab.n * MC_NET_SLAB; id++) {
		struct mc_net_flow *flow = mc_net_flow_get(net, id);
		struct mc_net_solve_flow s = {
		    .n_links = flow->n_links, .weight = flow->weight, .cap = INFINITY};

		if (flow->state == MC_NET_UNUSED || flow->state == MC_NET_STARTING)
			continue;
		for (uint32_t k = 0; k < s.n_links; k++)
			s.link[k] = flow->hop[k].link;
		if (flow->state == MC_NET_LIMITED)
			s.cap = flow->supply;
		mc_vec_push(&p->flow, s);
		mc_vec_push(&p->of, flow);
	}
}

static int compare(struct mc_net *net, const struct problem *p, struct mc_err *err)
{
	for (size_t i = 0; i < p->flow.n; i++) {
		const struct mc_net_flow *flow = p->of.at[i];
		double want = p->flow.at[i].rate, sent = mc_net_flow_sent(flow, net->loop->now);

		if (fabs(flow->rate - want) > 1e-9 * want)
			return mc_err_set(err, MC_FAIL, "flow %u runs at %.17g bytes/s; max-min gives %.17g",
					  flow->id, flow->rate, want);
		if (flow->state == MC_NET_LIMITED && flow->rate != flow->supply)
			return mc_err_set(err, MC_FAIL, "flow %u is limited, at %.17g of %.17g bytes/s",
					  flow->id, flow->rate, flow->supply);
		if (sent < 0 || sent > flow->bytes)
			return mc_err_set(err, MC_FAIL, "flow %u has sent %.17g of %.17g bytes", flow->id,
					  sent, flow->bytes);
	}
	return MC_OK;
}

int mc_net_check(struct mc_net *net, struct mc_err *err)
{
	struct problem p = {0};
	int rc;

	mc_net_share_settle(net);
	collect(net, &p);
	mc_net_solve(p.capacity.at, p.capacity.n, p.flow.at, p.flow.n);
	rc = compare(net, &p, err);
	mc_vec_fini(&p.flow);
	mc_vec_fini(&p.of);
	mc_vec_fini(&p.capacity);
	return rc;
}
