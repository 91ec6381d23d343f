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
				 .nics = n.n,
				 .nic_bytes_per_s = mc_nics_sum(&n) / n.n};
	if (mc_nics_bytes_per_s(&n) < mc_nics_sum(&n))
		t->node_bytes_per_s = mc_nics_bytes_per_s(&n);
}

/* bytes/s of `nics` NICs with whole slices, to and from so many peers. */
static double rate(const struct mc_nettime *t, double slice, double nics, double peers)
{
	double one = 1 / (1 / t->nic_bytes_per_s + t->slice_s / slice);
	double all = nics * one / (1 + t->peer_loss * (peers - 1));

	return t->node_bytes_per_s > 0 ? fmin(all, t->node_bytes_per_s) : all;
}

double mc_nettime_own_s(const struct mc_nettime *t, const struct mc_nettime_load *l)
{
	double slice = l->slice > 0 ? l->slice : t->slice_bytes, nics = l->nics > 0 ? l->nics : t->nics;
	double rest = ceil(l->bytes / slice) - l->bytes / slice; /* of the last slice */

	double beside = t->request_s + rest * t->slice_s;

	/* In bytes, as a NIC would move them meanwhile. */
	beside *= rate(t, slice, nics, 1) / nics;
	return (l->bytes + beside) / rate(t, slice, nics, l->peers);
}

double mc_nettime_s(const struct mc_nettime *t, const struct mc_nettime_load *l)
{
	assert(l->requests >= 1);
	return t->startup_s + l->requests * mc_nettime_own_s(t, l);
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
