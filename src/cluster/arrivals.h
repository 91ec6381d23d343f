/*
 * Who comes when: requests come to the cluster, are decided on a fixed time later, and end, each once. The
 * inside of a cluster's list of them.
 *
 * They come in the order of the trace: at its times (open loop), or when a client is ready for the next one
 * (closed loop). They are sent when they come, or in an open loop as soon as fewer than clients.concurrency
 * are under way. One that was refused is sent again after a while, clients.retries times; it is under way
 * until it has ended.
 */
#ifndef MC_CLUSTER_ARRIVALS_H
#define MC_CLUSTER_ARRIVALS_H

#include "base/vec.h"
#include "des/loop.h"

struct mc_cluster;

/* A decision that is due. */
struct mc_due {
	mc_time at;
	int64_t request;
};

/* A client that thinks, or a request that will be sent again. */
struct mc_waiter {
	struct mc_event wake;
	struct mc_cluster *cluster;
	struct mc_waiter *next; /* of the free ones */
	int64_t request;        /* -1: a client takes the next one of the trace */
};

struct mc_arrivals {
	struct mc_event come, decide;
	bool closed;
	int64_t limit;   /* of those under way, sent - ended */
	int64_t came;    /* requests so far, in the order of the trace */
	int64_t sent;    /* likewise, retries not counted */
	int64_t decided; /* likewise, those that were decided on */
	int64_t ended;   /* completed, refused for good, failed */
	int64_t backing_off; /* sent, and to be sent again */
	struct {
		MC_VEC(struct mc_due)
	} due;       /* in order of time: all come the same time after they were sent */
	size_t head; /* of `due`: the next one */
	struct {
		MC_VEC(struct mc_waiter *)
	} waiters; /* all that there are */
	struct mc_waiter *idle;
};

#endif
