/*
 * The network of a cluster: endpoints (instances of one or more nodes), NICs, racks and a spine, and
 * transfers over it, as Mooncake's transfer engine does them (FAST'25, 4.3): cut into slices, spread over the
 * NICs of both ends in proportion to their speeds, resent over living NICs when one fails.
 *
 * A transfer is a set of flows (net/flow.h), one for every pair of NICs that it uses, over everything on the
 * way: PCIe, NIC, rack and spine, NIC, PCIe. Together they weigh as much as one flow, so transfers share a
 * link evenly, whatever the number of NICs behind it. Where that is exact, NICs are lumped: an endpoint, or a
 * node of it, is one link each way of their summed bandwidth, and a transfer one flow over two links.
 * "Exact" is: every piece of every transfer meets the same bottleneck in the node (mc_node_lumps), and no
 * fault of a single NIC is to come.
 */
#ifndef MC_NET_FABRIC_H
#define MC_NET_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "des/loop.h"
#include "net/topology.h"

#define MC_TRANSFER_EXTRA 4      /* links of the owner that a transfer crosses, at most */
#define MC_TRANSFER_BYTES 0x1p45 /* of one, at most */
#define MC_FABRIC_NONE    UINT32_MAX

enum mc_fabric_grain {
	MC_FABRIC_AUTO, /* the coarsest that is exact */
	MC_FABRIC_ENDPOINT,
	MC_FABRIC_NODE,
	MC_FABRIC_NIC,
};

struct mc_fabric_endpoint {
	const char *name;           /* "prefill3" */
	uint32_t width;             /* nodes; a transfer takes equal shares from, or to, each */
	const struct mc_node *node; /* what each of them is */
};

struct mc_fabric_params {
	uint16_t event_kind;
	/* Racks: nodes, numbered through all endpoints in order, are put into racks in order, or dealt to
	 * them in turn (of an even number of each kind, racks then have as many). */
	uint32_t rack_nodes; /* 0: no racks: the network between the NICs has no limit */
	bool rack_dealt;
	double
	    oversubscription;   /* >= 1: sum of the NICs of a rack over the bandwidth to and from the spine */
	struct mc_node_use use; /* of transfers that name no memory of their own */
	double slice_bytes;     /* >= 1; a slice that is under way when its NIC fails is resent */
	double slice_s;         /* time of a NIC for a slice, whole or not, beside that of its bytes */
	double request_s;       /* time of a NIC for a transfer beside both */
	double peer_loss;       /* contention of an endpoint's NICs: see mc_net_link_contend */
	double duplex;    /* NICs of a node, dead ones too, both ways at once over one way: 1 to 2; 0: 2 */
	mc_time failover; /* from the failure of a NIC until its bytes are resent over others */
	bool nic_faults;  /* mc_fabric_nic_set may be called */
	enum mc_fabric_grain grain; /* for tests: a grain that is not exact is asserted against */
};

struct mc_transfer_spec {
	uint32_t from, to;                       /* endpoints; the same: it crosses the extra links alone */
	struct mc_memory from_memory, to_memory; /* {0}: the fabric's; others need MC_FABRIC_NIC */
	uint32_t extra[MC_TRANSFER_EXTRA], n_extra; /* the owner's links that every byte of it crosses */
	double bytes;                               /* >= 0, whole, at most MC_TRANSFER_BYTES */
	mc_time startup, produce_end;               /* as of a flow */
	double tail;
	/* One of these, once, from the loop or (failed) from mc_fabric_endpoint_set; then the id is free. */
	void (*done)(void *arg, uint32_t transfer);
	void (*failed)(void *arg, uint32_t transfer); /* an end is down; see mc_fabric_arrived */
	void *arg;
};

struct mc_fabric;

/* All that is given is copied. */
struct mc_fabric *mc_fabric_new(struct mc_loop *loop, const struct mc_fabric_params *params,
				const struct mc_fabric_endpoint *endpoint, uint32_t n_endpoints);
void mc_fabric_free(struct mc_fabric *f); /* before mc_loop_fini; transfers under way are dropped */
enum mc_fabric_grain mc_fabric_grain(const struct mc_fabric *f);

/* A link of the owner, such as an SSD's bandwidth (a read crosses the device; a write the device and a write
 * link). Returns its number; the name is copied. */
uint32_t mc_fabric_link_add(struct mc_fabric *f, const char *name, double bytes_per_s);

/* Start a transfer now; returns its id. To or from an endpoint that is down it fails, within this instant. */
uint32_t mc_fabric_start(struct mc_fabric *f, const struct mc_transfer_spec *spec);
/* Bytes that had arrived of a transfer that failed: for its `failed` alone. */
double mc_fabric_arrived(const struct mc_fabric *f, uint32_t transfer);
/* End it without a call back. Returns the bytes that have arrived. */
double mc_fabric_cancel(struct mc_fabric *f, uint32_t transfer);

/*
 * Faults. A NIC (node * node->nics + NIC in the node) goes down: slices under way on it are lost, they and
 * what was still to come go over the living NICs after params.failover; without any the transfer waits until
 * one is up. A NIC that comes up takes new transfers, and those that wait. An endpoint goes down: every
 * transfer from or to it fails, before this returns. Its NICs keep their state.
 */
void mc_fabric_nic_set(struct mc_fabric *f, uint32_t endpoint, uint32_t nic, bool up);
void mc_fabric_endpoint_set(struct mc_fabric *f, uint32_t endpoint, bool up);
bool mc_fabric_nic_up(const struct mc_fabric *f, uint32_t endpoint, uint32_t nic);
bool mc_fabric_endpoint_up(const struct mc_fabric *f, uint32_t endpoint);
/* From now on the link has `factor` (> 0) of the capacity that it was made with. */
void mc_fabric_link_scale(struct mc_fabric *f, uint32_t link, double factor);

/* Links are numbered: out, in and, below full duplex, both of every endpoint in order (parts of its nodes,
 * where they are not lumped), racks, then the owner's. */
uint32_t mc_fabric_links(const struct mc_fabric *f);
/* "prefill3.out"; "prefill3.nic1.out", "prefill3.node0.nic1.out" (width > 1), "rack0.up". Returns buf. */
char *mc_fabric_link_name(const struct mc_fabric *f, uint32_t link, char *buf, size_t n);
/* Up and down of every rack, one after the other. */
void mc_fabric_racks(const struct mc_fabric *f, uint32_t *first, uint32_t *n);
uint32_t mc_fabric_link_find(const struct mc_fabric *f, const char *name); /* MC_FABRIC_NONE: no such link */
double mc_fabric_link_bytes(struct mc_fabric *f, uint32_t link); /* carried so far, resent ones too */
double mc_fabric_link_capacity(const struct mc_fabric *f, uint32_t link);
/* The NICs of an endpoint. */
uint32_t mc_fabric_sends(const struct mc_fabric *f,
			 uint32_t endpoint); /* transfers out of it, running or waiting */
uint32_t mc_fabric_receives(const struct mc_fabric *f, uint32_t endpoint);
double mc_fabric_rate_out(struct mc_fabric *f, uint32_t endpoint);       /* bytes/s at present */
double mc_fabric_room_out(const struct mc_fabric *f, uint32_t endpoint); /* bytes/s that living NICs can do */
double mc_fabric_bytes_in(struct mc_fabric *f, uint32_t endpoint);
double mc_fabric_resent(const struct mc_fabric *f); /* bytes that were sent and lost with a NIC */

/* mc_net_check, and every byte of every transfer is either there, or under way, or waiting. */
int mc_fabric_check(struct mc_fabric *f, struct mc_err *err);

#endif
