/*
 * A load on the network: so many requests under way to each of so many peers, all the time. One that has
 * ended is followed by the next, at places of both memories that move on. A turn is as many ends as there are
 * requests under way, so its seconds are what one of them takes, from when it is submitted to its end.
 */
#ifndef MC_CALIB_NETLOAD_H
#define MC_CALIB_NETLOAD_H

#include <signal.h>

#include "calib/net.h"
#include "calib/netgrid.h"

struct mc_netload;

struct mc_netload_want {
	struct mc_net *net; /* in use, with the point's setting; outlives it */
	const struct mc_netpoint *point;
	const volatile sig_atomic_t *stop;
	uint64_t seed; /* of the places */
};

/* Errors name the peer; after one the load can only be freed. */
int mc_netload_new(struct mc_netload **out, const struct mc_netload_want *want, struct mc_err *err);
/* Stopped: returns 0 with *seconds of what there was. */
int mc_netload_turn(struct mc_netload *l, double *seconds, struct mc_err *err);
/* Once what is under way has ended: each request once more, to memory that was spoilt, its bytes looked at;
 * what was written is read back for that. MC_FAIL: bytes are wrong. */
int mc_netload_verify(struct mc_netload *l, struct mc_err *err);
/* What is under way is waited for; after an error or a stop the engine goes with it. NULL is fine. */
void mc_netload_free(struct mc_netload *l);

#endif
