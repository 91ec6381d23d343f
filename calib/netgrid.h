/*
 * Which transfers are measured, in which order. Each axis has its values; the ends come first, then the
 * middle, and so on by halves; the order of points is that of the sum of their axes' levels, so that any
 * prefix of it all can be used. Sizes and depths are powers of two, and the largest; slices are those of the
 * paper's range; of ports all and one, of peers one and all are the first.
 */
#ifndef MC_CALIB_NETGRID_H
#define MC_CALIB_NETGRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "hw/operator.h"

struct mc_netpoint {
	enum mc_op op; /* MC_OP_NET_... */
	int64_t bytes, depth, slice, peers, nics;
	int64_t group; /* ports of the engine that is open meanwhile */
	int bare;      /* the plain way of that number, from 1; 0: the engine */
	int level;
};

struct mc_netgrid {
	MC_VEC(struct mc_netpoint)
};

enum { MC_NET_LEAST = 64, MC_NET_SLICE = 64 << 10, MC_NET_STREAMS = 4, MC_NET_LARGE = 1 << 20 };

struct mc_netlimits {
	int64_t most;  /* bytes of a request */
	int64_t depth; /* of a peer */
	int64_t peers, nics;
	int64_t slice;         /* of points at random; 0: those of the grid */
	int64_t local, remote; /* bytes under way from and to all peers, and one */
	/* Plain ways; the first is measured at each size and depth, the others where several requests, or
	 * large ones, are under way. */
	int bares;
	bool one_way; /* those are the same both ways */
};

void mc_netgrid(struct mc_netgrid *g, const struct mc_netlimits *l);
/* n points between, at random: sizes of any number of bytes, log-uniform; depths; peers; ports. The
 * same seed gives the same ones. */
void mc_netgrid_random(struct mc_netgrid *g, const struct mc_netlimits *l, uint64_t seed, size_t n);

/* Bytes that requests of so many take of a memory, so that each begins at a line of a cache. */
static inline int64_t mc_net_stride(int64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Where the next one goes in a memory of so many bytes; at the end of it, at its beginning. */
static inline uint64_t mc_net_advance(uint64_t *at, uint64_t stride, uint64_t room)
{
	uint64_t is = *at + stride <= room ? *at : 0;

	*at = is + stride;
	return is;
}

struct mc_op_point mc_netpoint_op(const struct mc_netpoint *p);
bool mc_netpoint_same(const struct mc_netpoint *p, const struct mc_op_point *q);

#endif
