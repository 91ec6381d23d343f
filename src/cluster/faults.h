/*
 * Faults: what fails in a run, and when it is back, as a function of the scenario and its seed alone. Two
 * scenarios that differ in anything else see the same faults, and every component draws from a stream of its
 * own.
 *
 * An element of faults.events is an object:
 *
 *     at      time, required
 *     what    "node_down", "node_up", "nic_down", "nic_up", "link_slow", "ssd_slow"
 *     node    instance: "prefill0" ..., "decode0" ...
 *     nic     NIC of the instance, from 0; those of a group's nodes are numbered through
 *     link    link_slow: a link by its name ("rack0.up") in place of node and nic
 *     factor  link_slow, ssd_slow: of the bandwidth that is left
 *     for     time until it is repaired; without it: for good, or until node_up (nic_up)
 *
 * By rates: time to failure and to repair are exponential. A component is down while any cause says so (an
 * instance of several nodes: while any of these is); slow events that overlap multiply.
 */
#ifndef MC_CLUSTER_FAULTS_H
#define MC_CLUSTER_FAULTS_H

#include "cluster/scenario.h"

enum mc_fault_what {
	MC_FAULT_NODE,
	MC_FAULT_NIC,
	MC_FAULT_LINK,
	MC_FAULT_SSD,
};

/* A component fails or is back. Of one node or NIC the two alternate. */
struct mc_fault {
	mc_time at;
	enum mc_fault_what what;
	bool begins;
	uint32_t node; /* instance, numbered as in the tree: prefill first; MC_NONE: a link by name */
	uint32_t nic;  /* MC_FAULT_NIC; MC_FAULT_LINK: MC_NONE: all of the node's */
	double factor; /* MC_FAULT_LINK, MC_FAULT_SSD */
	const char *link;
	uint32_t event; /* of faults.events; MC_NONE: by a rate */
};

/* Of the cluster: prefill instances of `group` nodes, decode instances of one, NICs of each node. */
struct mc_faults_shape {
	uint32_t n_prefill, n_decode, group, nics;
};

struct mc_faults;

/* faults.* makes sense, as far as the scenario alone can tell. MC_USAGE names the key, as
 * "faults.events[2].node". */
int mc_faults_check(const struct mc_scenario *s, struct mc_err *err);
/* Can anything fail? A node? A single NIC, or its link? Is it random? */
bool mc_faults_any(const struct mc_scenario *s);
bool mc_faults_of_nodes(const struct mc_scenario *s);
bool mc_faults_of_nics(const struct mc_scenario *s);
bool mc_faults_by_rates(const struct mc_scenario *s);

/* MC_USAGE: a NIC that a node does not have. The scenario is borrowed. */
int mc_faults_new(const struct mc_scenario *s, const struct mc_faults_shape *shape, struct mc_faults **out,
		  struct mc_err *err);
void mc_faults_free(struct mc_faults *f); /* NULL is fine */
/* The next in order of time; false: nothing will fail any more. */
bool mc_faults_next(struct mc_faults *f, struct mc_fault *out);

#endif
