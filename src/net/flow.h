/*
 * Fluid flows over capacity-limited links, sharing them by max-min fairness (progressive filling; Bertsekas
 * and Gallager, Data Networks, 6.5.2). Rates are recomputed incrementally, only on the links
 * whose state a change moves (share.c says how); from-scratch progressive filling is kept as the oracle.
 *
 * A flow crosses at most MC_FLOW_LINKS links. It may be produced while it is sent (layer-wise streaming):
 * `head` bytes are available at once, more linearly over [now, produce_end], the last `tail` bytes at
 * produce_end; a sender that has kept up sends at the production rate, one that has fallen behind at its fair
 * share. Shares are in proportion to weights (weighted max-min): the flows that together are one transfer
 * over several NICs weigh as much as one flow.
 */
#ifndef MC_NET_FLOW_H
#define MC_NET_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "des/loop.h"

#define MC_FLOW_LINKS 16 /* the longest way of net/fabric.h */

struct mc_net;

struct mc_flow_spec {
	uint32_t link[MC_FLOW_LINKS]; /* distinct */
	uint32_t n_links;             /* at least 1 */
	double weight;                /* 0: 1 */
	double bytes;                 /* >= 0 */
	double ahead;        /* >= 0: it takes the links' capacity for so many bytes before its first one */
	uint32_t far[2];     /* who is at the far end, for links of side 0 and 1: see mc_net_link_contend */
	double head;         /* of bytes: available at once; head + tail <= bytes */
	mc_time startup;     /* before the first byte moves; added once */
	mc_time produce_end; /* 0 or <= now: everything is available at once */
	double tail;         /* of bytes: available only at produce_end */
	/* Called at completion, from the loop, never from mc_net_flow_start; the id is free after it. May be
	 * NULL. */
	void (*done)(void *arg, uint32_t flow);
	void *arg;
};

/*
 * Changes of flows are events of event_kind; rates are recomputed by one event of kind UINT16_MAX, the last
 * of its instant. A link counts a flow's bytes as they are sent, and exactly spec.bytes once it is complete.
 */
struct mc_net *mc_net_new(struct mc_loop *loop, uint16_t event_kind);
void mc_net_free(struct mc_net *net); /* before mc_loop_fini; flows under way are dropped */
uint32_t mc_net_link_add(struct mc_net *net, double bytes_per_s); /* > 0; returns 0, 1, 2 ... */
/* Contention on a link without flows: with flows to or from several peers, it has capacity * room / (1 +
 * loss * (peers - 1)), at most its capacity; room (at least 1) is that of what contends over the link's.
 * Peers are told apart by far[side] of the flows. */
void mc_net_link_contend(struct mc_net *net, uint32_t link, unsigned side, double loss, double room);
/* Start a flow now; returns its id. Completion is never before now + startup, nor before produce_end. */
uint32_t mc_net_flow_start(struct mc_net *net, const struct mc_flow_spec *spec);
/* End a flow that is under way, without `done`. Returns the bytes sent so far, which its links keep. */
double mc_net_flow_cancel(struct mc_net *net, uint32_t flow);
/* Present rate in bytes/s, with all changes of this instant: recomputes if there are any. 0 in start-up. */
double mc_net_flow_rate(struct mc_net *net, uint32_t flow);
uint32_t mc_net_link_flows(const struct mc_net *net, uint32_t link); /* on it now; not those in start-up */
double mc_net_link_bytes(struct mc_net *net, uint32_t link);         /* carried so far, up to now */
double mc_net_link_rate(struct mc_net *net,
			uint32_t link); /* present sum of its flows, as mc_net_flow_rate */
double mc_net_link_capacity(const struct mc_net *net, uint32_t link); /* without contention */
/* From now on; flows may be on it. > 0. */
void mc_net_link_set_capacity(struct mc_net *net, uint32_t link, double bytes_per_s);
/* Compare the rates with progressive filling from scratch (1e-9 relative); err says which flow differs. */
int mc_net_check(struct mc_net *net, struct mc_err *err);

#endif
