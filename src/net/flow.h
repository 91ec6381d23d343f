/*
 * Fluid flows over capacity-limited links, sharing them by max-min fairness (progressive filling; Bertsekas and
 * Gallager, Data Networks, 6.5.2). Rates are recomputed incrementally, only for the flows that a change can
 * reach through links that could be saturated; from-scratch progressive filling is kept as the oracle.
 *
 * A flow crosses at most MC_FLOW_LINKS links. It may be produced while it is sent (layer-wise streaming): bytes
 * become available linearly over [now, produce_end], the last `tail` bytes at produce_end; a sender that has kept
 * up sends at the production rate, one that has fallen behind at its fair share.
 */
#ifndef MC_NET_FLOW_H
#define MC_NET_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "des/loop.h"

#define MC_FLOW_LINKS 4

struct mc_net;

struct mc_flow_spec {
	uint32_t link[MC_FLOW_LINKS];
	uint32_t n_links;
	double bytes;       /* >= 0 */
	mc_time startup;    /* before the first byte moves; added once */
	mc_time produce_end; /* 0 or <= now: everything is available at once */
	double tail;        /* of bytes: available only at produce_end */
	void (*done)(void *arg, uint32_t flow); /* called at completion, from the loop; the flow id is free after it */
	void *arg;
};

struct mc_net *mc_net_new(struct mc_loop *loop, uint16_t event_kind);
void mc_net_free(struct mc_net *net);
uint32_t mc_net_link_add(struct mc_net *net, double bytes_per_s);
/* Start a flow now; returns its id. Completion is never before now + startup, nor before produce_end. */
uint32_t mc_net_flow_start(struct mc_net *net, const struct mc_flow_spec *spec);
/* Present rate in bytes/s. */
double mc_net_flow_rate(const struct mc_net *net, uint32_t flow);
uint32_t mc_net_link_flows(const struct mc_net *net, uint32_t link); /* active flows on it */
double mc_net_link_bytes(struct mc_net *net, uint32_t link);         /* carried so far, up to now */
double mc_net_link_capacity(const struct mc_net *net, uint32_t link);
/* Compare the present rates with progressive filling from scratch (1e-9 relative); err says which flow differs. */
int mc_net_check(struct mc_net *net, struct mc_err *err);

#endif
