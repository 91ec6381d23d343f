/*
 * Inside of mc_net, shared by the files of this room and by nobody else.
 *
 * flow.c knows when a flow starts, runs dry, drains, ends; share.c knows links and rates. flow.c tells
 * share.c by attach, detach and relimit, share.c answers by mc_net_flow_set_rate.
 */
#ifndef MC_NET_STATE_H
#define MC_NET_STATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "net/flow.h"

enum mc_net_state {
	MC_NET_UNUSED,
	MC_NET_STARTING,   /* takes no bandwidth yet */
	MC_NET_LIMITED,    /* all that is produced is sent: rate = supply */
	MC_NET_BACKLOGGED, /* more is produced than sent: takes whatever rate it gets */
	MC_NET_WHOLE,      /* production is over: as backlogged, and ends when all is sent */
};

struct mc_net_hop {
	uint32_t link;
	uint32_t slot; /* where in link->flow the flow is */
};

struct mc_net_flow {
	struct mc_event ev; /* the next change of state */
	struct mc_net *net;
	void (*done)(void *arg, uint32_t flow);
	void *arg;
	double bytes, head, tail; /* as in the spec */
	uint32_t far[2];          /* as in the spec */
	mc_time born, produce_end;
	mc_time since; /* instant of `sent` */
	double sent;   /* below 0: that much is ahead of the first byte */
	double supply; /* bytes/s while produced */
	double narrow; /* least capacity of its links */
	uint32_t id;
	enum mc_net_state state;
	/* What share.c looks at, together: */
	double rate;
	double
	    limit; /* no allocation can exceed it: narrow, or supply where that is less and it is LIMITED */
	double weight; /* > 0 */
	double next;
	uint64_t stamp;
	uint32_t n_links;
	bool stale; /* ev must be computed anew even if the rate stays */
	bool fixed;
	struct mc_net_hop hop[MC_FLOW_LINKS]; /* last: most flows use two */
};

struct mc_net_member {
	uint32_t flow, which; /* the link is flow's hop[which] */
};

struct mc_net_peer {
	uint32_t peer, flows;
};

struct mc_net_link {
	double capacity; /* what is left of base */
	double base;
	double loss, room; /* contend.c; loss 0: none */
	unsigned side;     /* which of the flows' far ends its peers are */
	struct {
		MC_VEC(struct mc_net_peer)
	} peer;         /* that its flows go to or come from; empty where there is no loss */
	double carried; /* bytes of completed flows */
	int64_t load;   /* sum of the flows' limits in units of capacity / 2^40, each rounded up: no drift */
	double total;   /* weight of its flows: exact, no drift, see MC_NET_WEIGHT */
	struct {
		MC_VEC(struct mc_net_member)
	} flow;
	double level; /* rate over weight of the fastest flow where the link is full; INFINITY: it slows
			 nobody down */
	bool dirty;   /* in net->dirty */
	/* of one recomputation: */
	uint64_t stamp;
	double left;   /* of the capacity */
	double weight; /* of the open flows */
	uint32_t open; /* flows without a new rate so far */
};

struct mc_net_level {
	double level;
	uint32_t link;
};

struct mc_net_capped {
	double cap; /* rate over weight */
	struct mc_net_flow *flow;
};

struct mc_net {
	struct mc_loop *loop;
	uint16_t kind;
	struct mc_event settle; /* last of its instant: recomputes once for all changes of it */
	struct {
		MC_VEC(struct mc_net_flow *)
	} slab; /* of MC_NET_SLAB flows: their events must not move */
	struct {
		MC_VEC(uint32_t)
	} idle, dirty; /* flow ids; link ids */
	struct {
		MC_VEC(struct mc_net_link)
	} link;
	bool contended; /* some link has a loss */
	uint64_t stamp;
	/* Scratch of a recomputation: its links and flows; links by level; flows by cap. */
	struct {
		MC_VEC(uint32_t)
	} joined;
	struct {
		MC_VEC(struct mc_net_flow *)
	} open;
	struct {
		MC_VEC(struct mc_net_level)
	} heap;
	struct {
		MC_VEC(struct mc_net_capped)
	} capped;
};

#define MC_NET_SLAB 128
/* Weights are rounded to this quantum: sums of up to 2^17 are exact in any order. */
#define MC_NET_WEIGHT 0x1p-36
/* Rates closer than this, relatively, are the same rate: noise of the filling order moves nothing. */
#define MC_NET_SAME 1e-12

static inline bool mc_net_same(double new_rate, double rate)
{
	return fabs(new_rate - rate) <= MC_NET_SAME * new_rate;
}

static inline struct mc_net_flow *mc_net_flow_get(const struct mc_net *net, uint32_t id)
{
	return &net->slab.at[id / MC_NET_SLAB][id % MC_NET_SLAB];
}

/* share.c. Links of flow that could or can be saturated become dirty and a recomputation is scheduled. */
void mc_net_share_attach(struct mc_net *net, struct mc_net_flow *flow);
void mc_net_share_detach(struct mc_net *net, struct mc_net_flow *flow);
/* Change the limit. With touch = false the rates must stay right without a recomputation. */
void mc_net_share_relimit(struct mc_net *net, struct mc_net_flow *flow, double limit, bool touch);
/* Give the flow its limit as rate at once if none of its links is dirty. */
void mc_net_share_grant(struct mc_net *net, struct mc_net_flow *flow);
/* Change the capacity; the flows' limits follow. */
void mc_net_share_recap(struct mc_net *net, struct mc_net_link *link, double capacity);
/* contend.c. Count a flow among those of its peers (change 1), or no longer (-1); it is not attached. */
void mc_net_share_meet(struct mc_net *net, const struct mc_net_flow *flow, int change);
/* What contention leaves of a link's capacity. */
double mc_net_link_shrunk(const struct mc_net_link *link, size_t peers);
/* Recompute what has changed. */
void mc_net_share_settle(struct mc_net *net);

/* flow.c. Bytes sent at `at`, not before flow->since. */
double mc_net_flow_sent(const struct mc_net_flow *flow, mc_time at);
/* Least capacity on its way, and the limit that follows from it. */
double mc_net_flow_narrow(const struct mc_net_flow *flow);
double mc_net_flow_limit(const struct mc_net_flow *flow);
/* Take a new share; schedules the next change of state. */
void mc_net_flow_set_rate(struct mc_net_flow *flow, double rate);

#endif
