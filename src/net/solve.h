/*
 * Max-min fair rates by the textbook: raise all rates together (by their weights), freeze a flow where its
 * cap or one of its links is full, go on with the rest (Bertsekas and Gallager, Data Networks, 6.5.2). Slow
 * and simple: the oracle of the incremental form in share.c, which shares no code with it.
 */
#ifndef MC_NET_SOLVE_H
#define MC_NET_SOLVE_H

#include <stddef.h>
#include <stdint.h>

#include "net/flow.h"

struct mc_net_solve_flow {
	uint32_t link[MC_FLOW_LINKS];
	uint32_t n_links;
	double weight; /* 0: 1 */
	double cap;    /* bytes/s; INFINITY: none */
	double rate;   /* result */
};

/* capacity[link] in bytes/s, for all links that the flows name. Every flow needs a link or a finite cap. */
void mc_net_solve(const double *capacity, size_t n_links, struct mc_net_solve_flow *flow, size_t n_flows);

#endif
