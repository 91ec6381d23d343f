#include "calib/netgrid.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

enum { AXIS = 48, OPS = 3 };
static const enum mc_op ops[OPS] = {MC_OP_NET_READ, MC_OP_NET_WRITE, MC_OP_NET_BOTH};

struct axis {
	int64_t at[AXIS];
	int level[AXIS];
	int n;
};

/* Between the two, which have theirs: the middle, then the middles of both halves. */
static void halve(struct axis *a, int low, int high, int level)
{
	int middle = (low + high) / 2;

	if (high - low < 2)
		return;
	a->level[middle] = level;
	halve(a, low, middle, level + 1);
	halve(a, middle, high, level + 1);
}

/* Powers of two from low on, and high. */
static void doubling(struct axis *a, int64_t low, int64_t high)
{
	a->n = 0;
	for (int64_t v = low; v < high && a->n < AXIS - 1; v *= 2)
		a->at[a->n++] = v;
	a->at[a->n++] = high;
	a->level[0] = a->level[a->n - 1] = 0;
	halve(a, 0, a->n - 1, 1);
}

/* Of these the end that matters is first: one peer, all ports. */
static void ends_apart(struct axis *a, bool last_first)
{
	if (a->n < 2)
		return;
	for (int i = 1; i < a->n - 1; i++)
		a->level[i]++;
	a->level[last_first ? 0 : a->n - 1] = 1;
}

static const struct axis slices = {
    .at = {MC_NET_SLICE, 16 << 10, 1 << 20, 256 << 10}, .level = {0, 1, 1, 2}, .n = 4};

struct axes {
	struct axis bytes, depth, nics, peers;
};

static void axes_of(struct axes *a, const struct mc_netlimits *l)
{
	doubling(&a->bytes, MC_NET_LEAST < l->most ? MC_NET_LEAST : l->most, l->most);
	doubling(&a->depth, 1, l->depth);
	doubling(&a->nics, 1, l->nics);
	doubling(&a->peers, 1, l->peers);
	ends_apart(&a->nics, true);
	ends_apart(&a->peers, false);
}

/* Is there room for it, and does it differ from others? */
static bool possible(const struct mc_netlimits *l, const struct mc_netpoint *p)
{
	int64_t under_way = mc_net_stride(p->bytes) * p->depth;

	if (under_way > l->remote || under_way * p->peers > l->local)
		return false;
	if (p->op == MC_OP_NET_BOTH && p->depth < 2)
		return false;
	/* One slice is one slice. */
	return p->slice == MC_NET_SLICE || p->bytes > p->slice || (p->bytes > MC_NET_SLICE);
}

/* The plain ways, beside. */
static void add_bare(struct mc_netgrid *g, const struct mc_netlimits *l, const struct mc_netpoint *of)
{
	struct mc_netpoint p = *of;

	if (p.slice != MC_NET_SLICE || p.peers != 1 || p.nics != l->nics || p.op == MC_OP_NET_BOTH ||
	    (l->one_way && p.op != MC_OP_NET_READ))
		return;
	p.nics = 1;
	for (p.bare = 1; p.bare <= l->bares; p.bare++)
		if (p.bare == 1 || p.depth > 1 || p.bytes >= MC_NET_LARGE)
			mc_vec_push(g, p);
}

static void add(struct mc_netgrid *g, const struct mc_netlimits *l, const struct mc_netpoint *p)
{
	if (!possible(l, p))
		return;
	mc_vec_push(g, *p);
	add_bare(g, l, p);
}

static void add_ports(struct mc_netgrid *g, const struct mc_netlimits *l, const struct axes *a,
		      const struct mc_netpoint *of)
{
	for (int s = 0; s < slices.n; s++)
		for (int n = 0; n < a->nics.n; n++)
			for (int p = 0; p < a->peers.n; p++) {
				struct mc_netpoint q = *of;

				q.slice = slices.at[s];
				q.nics = q.group = a->nics.at[n];
				q.peers = a->peers.at[p];
				q.level += slices.level[s] + a->nics.level[n] + a->peers.level[p];
				add(g, l, &q);
			}
}

static uint64_t hash_of(const struct mc_netpoint *p)
{
	return mc_hash_pair(mc_hash_pair((uint64_t)p->bytes, (uint64_t)p->depth), p->op);
}

#define ORDER(x, y)                                                                                          \
	do {                                                                                                 \
		if ((x) != (y))                                                                              \
			return (x) < (y) ? -1 : 1;                                                           \
	} while (0)

/* Within a level what one engine measures stands together, and a plain way beside the engine's. */
static int compare(const void *va, const void *vb)
{
	const struct mc_netpoint *a = va, *b = vb;

	ORDER(a->level, b->level);
	ORDER(a->slice, b->slice);
	ORDER(a->group, b->group);
	ORDER(a->peers, b->peers);
	ORDER(hash_of(a), hash_of(b));
	ORDER(a->bare, b->bare);
	return 0;
}

void mc_netgrid(struct mc_netgrid *g, const struct mc_netlimits *l)
{
	struct axes a;

	*g = (struct mc_netgrid){0};
	axes_of(&a, l);
	for (int o = 0; o < OPS; o++)
		for (int b = 0; b < a.bytes.n; b++)
			for (int d = 0; d < a.depth.n; d++) {
				struct mc_netpoint p = {.op = ops[o],
							.bytes = a.bytes.at[b],
							.depth = a.depth.at[d],
							.level = a.bytes.level[b] + a.depth.level[d]};

				add_ports(g, l, &a, &p);
			}
	if (g->n)
		qsort(g->at, g->n, sizeof *g->at, compare);
}

/* 0 .. 1 */
static double uniform(uint64_t *state)
{
	*state = mc_hash_u64(*state + 1);
	return (double)(*state >> 11) * 0x1p-53;
}

/* Log-uniform, both ends included. */
static int64_t between(uint64_t *state, int64_t low, int64_t high)
{
	double x = exp(log((double)low) + uniform(state) * (log((double)high + 1) - log((double)low)));
	int64_t v = (int64_t)x;

	return v < low ? low : v > high ? high : v;
}

void mc_netgrid_random(struct mc_netgrid *g, const struct mc_netlimits *l, uint64_t seed, size_t n)
{
	uint64_t state = mc_hash_u64(seed);
	int64_t low = MC_NET_LEAST < l->most ? MC_NET_LEAST : l->most;

	*g = (struct mc_netgrid){0};
	while (g->n < n) {
		struct mc_netpoint p = {.op = ops[(int)(uniform(&state) * OPS)]};
		int64_t room;

		p.bytes = between(&state, low, l->most);
		p.peers = between(&state, 1, l->peers);
		p.nics = between(&state, 1, l->nics);
		p.slice = l->slice ? l->slice : slices.at[(int)(uniform(&state) * slices.n)];
		room = l->local / p.peers < l->remote ? l->local / p.peers : l->remote;
		room /= mc_net_stride(p.bytes);
		if (room < 1)
			continue; /* fewer peers have room: there is always one */
		p.depth = between(&state, 1, room < l->depth ? room : l->depth);
		if (p.op == MC_OP_NET_BOTH && p.depth < 2)
			p.op = MC_OP_NET_READ;
		mc_vec_push(g, p);
	}
}

struct mc_op_point mc_netpoint_op(const struct mc_netpoint *p)
{
	struct mc_op_point q = {.op = p->op};

	q.dim[MC_DIM_BYTES] = p->bytes;
	q.dim[MC_DIM_DEPTH] = p->depth;
	q.dim[MC_DIM_SLICE] = p->slice;
	q.dim[MC_DIM_PEERS] = p->peers;
	q.dim[MC_DIM_NICS] = p->nics;
	return q;
}

bool mc_netpoint_same(const struct mc_netpoint *p, const struct mc_op_point *q)
{
	const int64_t *d = q->dim;

	return p->op == q->op && p->bytes == d[MC_DIM_BYTES] && p->depth == d[MC_DIM_DEPTH] &&
	       p->slice == d[MC_DIM_SLICE] && p->peers == d[MC_DIM_PEERS] && p->nics == d[MC_DIM_NICS];
}
