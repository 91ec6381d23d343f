/*
 * Contention: the capacity of a link shrinks with the peers that its flows go to or come from, to
 * base * room / (1 + loss * (peers - 1)), base at most; see hw/nettime.h. A link counts its flows by peer;
 * one whose number of peers changes is a link whose capacity is set anew.
 */
#include <assert.h>

#include "net/state.h"

double mc_net_link_shrunk(const struct mc_net_link *link, size_t peers)
{
	return peers > 1 ? link->base * fmin(1, link->room / (1 + link->loss * (double)(peers - 1)))
			 : link->base;
}

void mc_net_link_contend(struct mc_net *net, uint32_t link, unsigned side, double loss, double room)
{
	assert(link < net->link.n && side < 2 && !net->link.at[link].flow.n);
	assert(loss >= 0 && isfinite(loss) && room >= 1);
	net->link.at[link].loss = loss;
	net->link.at[link].room = room;
	net->link.at[link].side = side;
	net->contended |= loss > 0;
}

static void count(struct mc_net *net, struct mc_net_link *link, uint32_t peer, int change)
{
	size_t i = 0, were = link->peer.n;

	while (i < link->peer.n && link->peer.at[i].peer != peer)
		i++;
	if (i == link->peer.n)
		mc_vec_push(&link->peer, ((struct mc_net_peer){peer, 0}));
	link->peer.at[i].flows += (uint32_t)change;
	if (!link->peer.at[i].flows)
		link->peer.at[i] = link->peer.at[--link->peer.n];
	if (link->peer.n != were)
		mc_net_share_recap(net, link, mc_net_link_shrunk(link, link->peer.n));
}

void mc_net_share_meet(struct mc_net *net, const struct mc_net_flow *flow, int change)
{
	for (uint32_t k = 0; k < flow->n_links; k++) {
		struct mc_net_link *link = &net->link.at[flow->hop[k].link];

		if (link->loss > 0)
			count(net, link, flow->far[link->side], change);
	}
}
