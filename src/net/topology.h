/*
 * Inside of a node: NICs behind PCIe switches, switches at sockets, memories at sockets and behind switches,
 * and which NICs a memory prefers, as Mooncake's transfer engine does (FAST'25, 4.3: the topology matrix
 * names preferred and secondary NICs of every memory).
 *
 * NIC i is behind switch i * switches / nics, GPU g behind switch g * switches / gpus, switch w is at socket
 * w * sockets / switches. Bytes between the host memory of a socket and a NIC cross the node's ceiling for
 * NIC traffic, the interconnect of the sockets if the NIC is at another one, the link of the NIC's switch,
 * and the NIC. Bytes between a GPU and a NIC of its own switch cross the NIC alone; to another switch both
 * switches' links and maybe the interconnect.
 */
#ifndef MC_NET_TOPOLOGY_H
#define MC_NET_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

enum mc_memory_place {
	MC_MEMORY_DEFAULT, /* of the fabric */
	MC_MEMORY_STRIPED, /* host memory, spread evenly over the sockets */
	MC_MEMORY_SOCKET,  /* host memory of socket `index` */
	MC_MEMORY_GPU,     /* memory of GPU `index` */
};

struct mc_memory {
	enum mc_memory_place place;
	uint32_t index;
};

/* All bandwidths are in bytes/s and of one direction; 0: no limit. */
struct mc_node {
	uint32_t nics, gpus, sockets, switches; /* at least 1; gpus may be 0 */
	const double *nic_bytes_per_s;          /* [nics], > 0: what transfers reach on it */
	double switch_bytes_per_s;              /* between a PCIe switch and its socket */
	double socket_bytes_per_s;              /* out of a socket into the others */
	double host_bytes_per_s;                /* host memory for NIC traffic of the whole node */
};

/* 0: behind the memory's switch, 1: at its socket, 2: elsewhere. Never 0 for host memory. */
unsigned mc_node_distance(const struct mc_node *node, struct mc_memory memory, uint32_t nic);
/* Is the NIC among the nearest of the memory? The others are secondary. Striped memory prefers all. */
bool mc_node_prefers(const struct mc_node *node, struct mc_memory memory, uint32_t nic);

/*
 * Bandwidth-limited parts of a node, numbered: NICs out, NICs in, switches up (towards the socket), switches
 * down, sockets (out of them), host out, host in.
 */
static inline uint32_t mc_node_parts(const struct mc_node *node)
{
	return 2 * node->nics + 2 * node->switches + node->sockets + 2;
}

#define MC_NODE_WAY 4 /* parts on the way between a memory and the network, at most */

double mc_node_capacity(const struct mc_node *node, uint32_t part); /* INFINITY: no limit */
/* "nic1.out", "switch0.up", "socket1", "host.in" */
void mc_node_part_name(const struct mc_node *node, uint32_t part, char *buf, uint32_t n);
/* Limited parts between a memory (MC_MEMORY_STRIPED: of no special socket) and a NIC; returns how many. */
uint32_t mc_node_way(const struct mc_node *node, struct mc_memory memory, uint32_t nic, bool out,
		     uint32_t part[MC_NODE_WAY]);

/* What NICs a node's transfers use. */
struct mc_node_use {
	struct mc_memory memory; /* not MC_MEMORY_DEFAULT */
	bool preferred; /* preferred NICs alone, secondary ones when none of those is alive; else all NICs */
};

/*
 * Memories that a transfer is cut into, each with its own NICs, equal shares: one a socket where that matters
 * for striped memory, else one. Returns the i-th of *n.
 */
struct mc_memory mc_node_stripe(const struct mc_node *node, struct mc_node_use use, uint32_t i, uint32_t *n);
/*
 * Shares of the NICs in what is sent from or to one of these memories, in proportion to their speeds; the sum
 * is 1. alive: [nics], NULL: all. False, and all 0, if no NIC is alive.
 */
bool mc_node_shares(const struct mc_node *node, struct mc_memory stripe, bool preferred, const bool *alive,
		    double *share);
/*
 * Is the node, while all its NICs live and all transfers use it like this, the same as one NIC (every
 * piece of a transfer meets the same bottleneck)? Then *out and *in are the NIC's bandwidths.
 */
bool mc_node_lumps(const struct mc_node *node, struct mc_node_use use, double *out, double *in);

/* The common refinement of two divisions of the unit interval. */
struct mc_shares_cross {
	const double *a, *b;
	uint32_t na, nb, i, j;
	double at, end_a, end_b; /* end of a[i], of b[j] */
};

void mc_shares_cross_init(struct mc_shares_cross *x, const double *a, uint32_t na, const double *b,
			  uint32_t nb);
/* The next pair with a share of its own; false when there are none left. */
bool mc_shares_cross_next(struct mc_shares_cross *x, uint32_t *i, uint32_t *j, double *share);

#endif
