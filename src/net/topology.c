#include "net/topology.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/vec.h"

/* Relative difference at which two bandwidths or shares are the same. */
#define SAME 1e-9

static uint32_t nic_switch(const struct mc_node *node, uint32_t nic)
{
	return (uint32_t)((uint64_t)nic * node->switches / node->nics);
}

static uint32_t switch_socket(const struct mc_node *node, uint32_t sw)
{
	return (uint32_t)((uint64_t)sw * node->sockets / node->switches);
}

static uint32_t gpu_switch(const struct mc_node *node, uint32_t gpu)
{
	return (uint32_t)((uint64_t)gpu * node->switches / node->gpus);
}

unsigned mc_node_distance(const struct mc_node *node, struct mc_memory memory, uint32_t nic)
{
	uint32_t sw = nic_switch(node, nic), socket = switch_socket(node, sw);

	assert(nic < node->nics);
	switch (memory.place) {
	case MC_MEMORY_GPU:
		assert(memory.index < node->gpus);
		if (gpu_switch(node, memory.index) == sw)
			return 0;
		return switch_socket(node, gpu_switch(node, memory.index)) == socket ? 1 : 2;
	case MC_MEMORY_SOCKET:
		assert(memory.index < node->sockets);
		return memory.index == socket ? 1 : 2;
	default:
		return 1;
	}
}

static unsigned nearest(const struct mc_node *node, struct mc_memory memory)
{
	unsigned least = 2;

	for (uint32_t i = 0; i < node->nics; i++) {
		unsigned d = mc_node_distance(node, memory, i);

		least = d < least ? d : least;
	}
	return least;
}

bool mc_node_prefers(const struct mc_node *node, struct mc_memory memory, uint32_t nic)
{
	return mc_node_distance(node, memory, nic) == nearest(node, memory);
}

/* The first part of each kind. */
struct parts {
	uint32_t in, up, down, socket, host;
};

static struct parts parts_of(const struct mc_node *node)
{
	struct parts p = {.in = node->nics, .up = 2 * node->nics};

	p.down = p.up + node->switches;
	p.socket = p.down + node->switches;
	p.host = p.socket + node->sockets;
	return p;
}

static double or_none(double bytes_per_s)
{
	return bytes_per_s > 0 ? bytes_per_s : INFINITY;
}

double mc_node_capacity(const struct mc_node *node, uint32_t part)
{
	struct parts p = parts_of(node);

	assert(part < mc_node_parts(node));
	if (part < p.up)
		return node->nic_bytes_per_s[part % node->nics];
	if (part < p.socket)
		return or_none(node->switch_bytes_per_s);
	return or_none(part < p.host ? node->socket_bytes_per_s : node->host_bytes_per_s);
}

void mc_node_part_name(const struct mc_node *node, uint32_t part, char *buf, uint32_t n)
{
	struct parts p = parts_of(node);

	if (part < p.up)
		snprintf(buf, n, "nic%u.%s", part % node->nics, part < p.in ? "out" : "in");
	else if (part < p.socket)
		snprintf(buf, n, "switch%u.%s", (part - p.up) % node->switches,
			 part < p.down ? "up" : "down");
	else if (part < p.host)
		snprintf(buf, n, "socket%u", part - p.socket);
	else
		snprintf(buf, n, "host.%s", part == p.host ? "out" : "in");
}

static uint32_t add_part(const struct mc_node *node, uint32_t *part, uint32_t n, uint32_t which)
{
	if (mc_node_capacity(node, which) < INFINITY)
		part[n++] = which;
	assert(n <= MC_NODE_WAY);
	return n;
}

uint32_t mc_node_way(const struct mc_node *node, struct mc_memory memory, uint32_t nic, bool out,
		     uint32_t part[MC_NODE_WAY])
{
	struct parts p = parts_of(node);
	uint32_t sw = nic_switch(node, nic), there = switch_socket(node, sw), here = there, n = 0;

	if (memory.place == MC_MEMORY_GPU) {
		uint32_t own = gpu_switch(node, memory.index);

		if (own != sw)
			n = add_part(node, part, n, (out ? p.up : p.down) + own);
		here = switch_socket(node, own);
		if (own == sw)
			return add_part(node, part, n, (out ? 0 : p.in) + nic);
	} else {
		n = add_part(node, part, n, p.host + !out);
		if (memory.place == MC_MEMORY_SOCKET)
			here = memory.index;
	}
	if (here != there)
		n = add_part(node, part, n, p.socket + (out ? here : there));
	n = add_part(node, part, n, (out ? p.down : p.up) + sw);
	return add_part(node, part, n, (out ? 0 : p.in) + nic);
}

struct mc_memory mc_node_stripe(const struct mc_node *node, struct mc_node_use use, uint32_t i, uint32_t *n)
{
	assert(use.memory.place != MC_MEMORY_DEFAULT);
	*n = 1;
	if (use.memory.place != MC_MEMORY_STRIPED || !(use.preferred || node->socket_bytes_per_s > 0))
		return use.memory;
	*n = node->sockets;
	return (struct mc_memory){MC_MEMORY_SOCKET, i};
}

bool mc_node_shares(const struct mc_node *node, struct mc_memory stripe, bool preferred, const bool *alive,
		    double *share)
{
	unsigned least = nearest(node, stripe);
	double near = 0, all = 0, sum;

	for (uint32_t i = 0; i < node->nics; i++) {
		double speed = !alive || alive[i] ? node->nic_bytes_per_s[i] : 0;

		all += speed;
		if (mc_node_distance(node, stripe, i) == least)
			near += speed;
	}
	preferred = preferred && near > 0;
	sum = preferred ? near : all;
	for (uint32_t i = 0; i < node->nics; i++) {
		bool used =
		    (!alive || alive[i]) && (!preferred || mc_node_distance(node, stripe, i) == least);

		share[i] = used ? node->nic_bytes_per_s[i] / sum : 0;
	}
	return all > 0;
}

/* One direction of a node, all of whose transfers use it alike. */
struct direction {
	const struct mc_node *node;
	struct mc_node_use use;
	bool out;
	double *used;  /* [parts]: share of the bytes that crosses it */
	double *share; /* scratch: [nics] */
	double bytes_per_s;
};

static void add_use(struct direction *d)
{
	uint32_t n = 1, part[MC_NODE_WAY];

	for (uint32_t s = 0; s < n; s++) {
		struct mc_memory stripe = mc_node_stripe(d->node, d->use, s, &n);

		mc_node_shares(d->node, stripe, d->use.preferred, NULL, d->share);
		for (uint32_t i = 0; i < d->node->nics; i++) {
			uint32_t way = mc_node_way(d->node, stripe, i, d->out, part);

			for (uint32_t k = 0; k < way; k++)
				d->used[part[k]] += d->share[i] / n;
		}
	}
}

/* The bandwidth of the node where this piece is the one that limits it; interconnects are looked at apart. */
static double bottleneck(const struct direction *d, struct mc_memory stripe, uint32_t nic)
{
	struct parts p = parts_of(d->node);
	uint32_t part[MC_NODE_WAY], way = mc_node_way(d->node, stripe, nic, d->out, part);
	double least = INFINITY;

	for (uint32_t k = 0; k < way; k++)
		if (part[k] < p.socket || part[k] >= p.host)
			least = fmin(least, mc_node_capacity(d->node, part[k]) / d->used[part[k]]);
	return least;
}

static bool even(struct direction *d)
{
	uint32_t n = 1;

	d->bytes_per_s = INFINITY;
	for (uint32_t s = 0; s < n; s++) {
		struct mc_memory stripe = mc_node_stripe(d->node, d->use, s, &n);

		mc_node_shares(d->node, stripe, d->use.preferred, NULL, d->share);
		for (uint32_t i = 0; i < d->node->nics; i++) {
			double least;

			if (d->share[i] <= 0)
				continue;
			least = bottleneck(d, stripe, i);
			if (d->bytes_per_s < INFINITY && fabs(least - d->bytes_per_s) > SAME * least)
				return false;
			d->bytes_per_s = fmin(least, d->bytes_per_s);
		}
	}
	return true;
}

bool mc_node_lumps(const struct mc_node *node, struct mc_node_use use, double *out, double *in)
{
	uint32_t n = mc_node_parts(node);
	struct parts p = parts_of(node);
	struct direction send = {.node = node, .use = use, .out = true}, receive = {.node = node, .use = use};
	bool same;

	send.used = mc_xcalloc(n, sizeof(double));
	receive.used = mc_xcalloc(n, sizeof(double));
	send.share = receive.share = mc_xcalloc(node->nics, sizeof(double));
	add_use(&send);
	add_use(&receive);
	same = even(&send) && even(&receive);
	/* An interconnect serves both directions: it must be wide enough for all that the rest lets through.
	 */
	for (uint32_t part = p.socket; same && part < p.host; part++)
		same = send.used[part] * send.bytes_per_s + receive.used[part] * receive.bytes_per_s <=
		       mc_node_capacity(node, part) * (1 + SAME);
	*out = send.bytes_per_s;
	*in = receive.bytes_per_s;
	free(send.used);
	free(receive.used);
	free(send.share);
	return same;
}

void mc_shares_cross_init(struct mc_shares_cross *x, const double *a, uint32_t na, const double *b,
			  uint32_t nb)
{
	*x = (struct mc_shares_cross){.a = a, .b = b, .na = na, .nb = nb, .end_a = a[0], .end_b = b[0]};
}

bool mc_shares_cross_next(struct mc_shares_cross *x, uint32_t *i, uint32_t *j, double *share)
{
	/* What rounding leaves between two ends that are meant to be one is no share. */
	while (x->i < x->na && x->end_a - x->at <= SAME)
		x->end_a += ++x->i < x->na ? x->a[x->i] : 0;
	while (x->j < x->nb && x->end_b - x->at <= SAME)
		x->end_b += ++x->j < x->nb ? x->b[x->j] : 0;
	if (x->i >= x->na || x->j >= x->nb)
		return false;
	*i = x->i;
	*j = x->j;
	*share = fmin(x->end_a, x->end_b) - x->at;
	x->at = fmin(x->end_a, x->end_b);
	return true;
}
