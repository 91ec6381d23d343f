/*
 * What a transfer between two nodes takes, by a profile: the closed form of what simulated transfers do
 * (net/fabric.h; tests hold the two together) and what `mooncake fit` fits to measured ones (fit/netfit.h).
 *
 *     seconds = startup + (requests under way) * own
 *     own     = (1 + loss * (peers - 1)) * (request_s + slices * slice_s + bytes / rate) / nics
 *
 * startup is latency: of requests that begin together each has it, at the same time. own is what a request
 * takes of the NICs of this end: bytes at the rate of a NIC, something for each slice (whole or not) and for
 * the request itself, spread over the NICs. Requests under way at this end share that evenly, so that each
 * takes as long as all of them together; that is where short requests at depth differ from one alone. Several
 * peers cost capacity: each beyond the first slows all of them down (many to one, one to many).
 *
 * On real samples (TCP over loopback, 464 points of 64 B to 16 MiB, depth 1 to 16, slices of 16 KiB to 1 MiB,
 * 1 to 3 peers, and 250 random others; a busy machine, whose repeats differ threefold: so errors of 20 % are
 * its own) this form was compared with others: without request_s errors are a quarter larger, with a cost by
 * bytes instead of by slice half as large again. A share of the NICs that one request can have at most, the
 * engine's time overlapped with that of the wire, and a loss by requests instead of by peers predict no
 * better.
 *
 * Both ways at once, what goes either way shares what the NICs do at all, duplex (1 to 2) times what they do
 * one way: at least
 *
 *     seconds = startup + (requests under way, both ways) * own / duplex      (own without loss)
 *
 * What it can't express: ends of different speed; a request that is too short to use all NICs (it gets the
 * rate of all of them); bandwidth that depends on the size beyond slices and start-up (caches, the switch
 * from one protocol to another).
 */
#ifndef MC_HW_NETTIME_H
#define MC_HW_NETTIME_H

#include <stdint.h>

#include "hw/operator.h"
#include "hw/profile.h"

struct mc_nettime {
	double startup_s;
	double request_s, slice_s; /* of one NIC */
	double slice_bytes;        /* of a slice, where none is named */
	double peer_loss;          /* ratio */
	double duplex;             /* 1 to 2; 0: 2 */
	uint32_t nics;             /* of a node */
	double nic_bytes_per_s;    /* of one that is as fast as their mean */
	double node_bytes_per_s;   /* of a node, at most, whatever its NICs do; 0: no such limit */
};

/* One of several equal requests under way at an end. */
struct mc_nettime_load {
	double bytes;    /* of each */
	double slice;    /* bytes; 0: the profile's */
	double nics;     /* that they use; 0: all of a node */
	double requests; /* under way at this end, this one too, to and from whatever peer; from 1 */
	double peers;    /* that those go to, or come from; from 1 */
	double opposite; /* requests under way the other way, equal ones */
};

void mc_nettime_init(struct mc_nettime *t, const struct mc_profile *p);
/* What a request takes of the NICs of this end. */
double mc_nettime_own_s(const struct mc_nettime *t, const struct mc_nettime_load *l);
double mc_nettime_s(const struct mc_nettime *t, const struct mc_nettime_load *l);
/* Of a sample (net_read, net_write, net_both): its load, and its time. Both ways: half of the requests are
 * under way each way. */
void mc_nettime_load_of(struct mc_nettime_load *l, const struct mc_op_point *p);
double mc_nettime_point_s(const struct mc_nettime *t, const struct mc_op_point *p);
/* bytes/s of a node's transfers at most, one direction: many whole slices, one peer. */
double mc_nettime_bytes_per_s(const struct mc_nettime *t);

#endif
