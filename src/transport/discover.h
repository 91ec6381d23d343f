/*
 * The topology matrix of a machine, from what its kernel tells in sysfs and procfs:
 *   - ports: the RDMA devices; where there are none, network interfaces on a PCI bus, by their names;
 *   - places: NVIDIA's GPUs that its driver has, in the order of their PCI addresses, which is CUDA's with
 *     CUDA_DEVICE_ORDER=PCI_BUS_ID ("cuda:0" ...), and NUMA nodes ("cpu:0" ...);
 *   - near to a GPU are the ports that share most of the PCIe switches with it, and if none shares any, those
 * of its NUMA node; near to a NUMA node are those that belong to it, and all if there is one node. All others
 *     are secondary: a row names all ports.
 * A file or link that is missing or makes no sense only leaves its place unknown.
 */
#ifndef MC_TRANSPORT_DISCOVER_H
#define MC_TRANSPORT_DISCOVER_H

#include "base/err.h"
#include "base/str.h"
#include "transport/topology.h"

struct mc_discover_want {
	const char *root;        /* what sys/ and proc/ are in: "" */
	const char *const *also; /* other ports, as near to all places as can be (shared memory); NULL at the
				  * end, or NULL */
};

/* As text that mc_topology_parse reads, a place a line; "{}" where no port is found: all are alike. */
void mc_discover_text(const struct mc_discover_want *want, struct mc_str *out);
/* The same as a matrix, the caller's to free. */
int mc_discover(struct mc_topology **out, const struct mc_discover_want *want, struct mc_err *err);

#endif
