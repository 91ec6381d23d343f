#include "hw/nettime.h"

#include <assert.h>
#include <math.h>

void mc_nettime_init(struct mc_nettime *t, const struct mc_profile *p)
{
	struct mc_nics n;

	mc_profile_nics(p, &n);
	*t = (struct mc_nettime){.startup_s = p->net_startup_s,
				 .request_s = p->net_request_s,
				 .slice_s = p->net_slice_s,
				 .slice_bytes = (double)p->net_slice_bytes,
				 .peer_loss = p->net_peer_loss,
				 .duplex = p->net_duplex,
				 .nics = n.n,
				 .nic_bytes_per_s = mc_nics_sum(&n) / n.n};
	if (mc_nics_bytes_per_s(&n) < mc_nics_sum(&n))
		t->node_bytes_per_s = mc_nics_bytes_per_s(&n);
}

/* bytes/s of a NIC with whole slices. */
static double one_rate(const struct mc_nettime *t, double slice)
{
	return 1 / (1 / t->nic_bytes_per_s + t->slice_s / slice);
}

/* bytes/s of `nics` NICs with whole slices, to and from so many peers. */
static double rate(const struct mc_nettime *t, double slice, double nics, double peers)
{
	double all = nics * one_rate(t, slice) / (1 + t->peer_loss * (peers - 1));

	return t->node_bytes_per_s > 0 ? fmin(all, t->node_bytes_per_s) : all;
}

/* Of a request, what all NICs that it uses move, and in bytes what they would move in the time of the rest.
 */
static double moved(const struct mc_nettime *t, const struct mc_nettime_load *l, double slice, double nics)
{
	double rest = ceil(l->bytes / slice) - l->bytes / slice; /* of the last slice */

	return l->bytes + (t->request_s + rest * t->slice_s) * rate(t, slice, nics, 1) / nics;
}

static double slice_of(const struct mc_nettime *t, const struct mc_nettime_load *l)
{
	return l->slice > 0 ? l->slice : t->slice_bytes;
}

static double nics_of(const struct mc_nettime *t, const struct mc_nettime_load *l)
{
	return l->nics > 0 ? l->nics : t->nics;
}

double mc_nettime_own_s(const struct mc_nettime *t, const struct mc_nettime_load *l)
{
	double slice = slice_of(t, l), nics = nics_of(t, l);

	return moved(t, l, slice, nics) / rate(t, slice, nics, l->peers);
}

double mc_nettime_s(const struct mc_nettime *t, const struct mc_nettime_load *l)
{
	double slice = slice_of(t, l), nics = nics_of(t, l), both = 0;

	assert(l->requests >= 1);
	if (t->duplex > 0 && t->duplex < 2)
		both = (l->requests + l->opposite) * moved(t, l, slice, nics) /
		       (t->duplex * nics * one_rate(t, slice));
	return t->startup_s + fmax(l->requests * mc_nettime_own_s(t, l), both);
}

void mc_nettime_load_of(struct mc_nettime_load *l, const struct mc_op_point *p)
{
	double depth = (double)p->dim[MC_DIM_DEPTH];

	assert(mc_op_is_net(p->op));
	if (p->op == MC_OP_NET_BOTH)
		depth = fmax(1, depth / 2);
	*l = (struct mc_nettime_load){.bytes = (double)p->dim[MC_DIM_BYTES],
				      .slice = (double)p->dim[MC_DIM_SLICE],
				      .nics = (double)p->dim[MC_DIM_NICS],
				      .requests = depth * (double)p->dim[MC_DIM_PEERS],
				      .peers = (double)p->dim[MC_DIM_PEERS]};
	if (p->op == MC_OP_NET_BOTH)
		l->opposite = l->requests;
}

double mc_nettime_point_s(const struct mc_nettime *t, const struct mc_op_point *p)
{
	struct mc_nettime_load l;

	mc_nettime_load_of(&l, p);
	return mc_nettime_s(t, &l);
}

double mc_nettime_bytes_per_s(const struct mc_nettime *t)
{
	return rate(t, t->slice_bytes, t->nics, 1);
}
