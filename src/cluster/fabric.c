/* The cluster's network, from the cost model's NICs and the scenario's net.*. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/state.h"
#include "engine/kinds.h"

static struct mc_node node_of(const struct mc_cost *cost)
{
	const struct mc_nics *n = &cost->nics;

	if (!n->n)
		return (struct mc_node){
		    .nics = 1, .sockets = 1, .switches = 1, .nic_bytes_per_s = &cost->net_bytes_per_s};
	return (struct mc_node){.nics = n->n,
				.gpus = n->gpus,
				.sockets = n->sockets,
				.switches = n->switches,
				.nic_bytes_per_s = n->bytes_per_s,
				.switch_bytes_per_s = n->switch_bytes_per_s,
				.socket_bytes_per_s = n->socket_bytes_per_s,
				.host_bytes_per_s = n->host_bytes_per_s};
}

static struct mc_fabric_params params_of(const struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;
	struct mc_fabric_params p = {
	    .event_kind = MC_EV_NET,
	    .rack_nodes = (uint32_t)s->net.rack_nodes,
	    .rack_dealt = !strcmp(s->net.rack_order, "dealt"),
	    .oversubscription = s->net.oversubscription,
	    .slice_bytes = s->net.slice ? (double)s->net.slice : c->cost->net_slice_bytes,
	    .slice_s = s->net.slice_cost ? mc_time_to_s(s->net.slice_cost) : c->cost->net_slice_s,
	    .request_s = c->cost->net_request_s,
	    .peer_loss = c->cost->net_peer_loss,
	    .duplex = c->cost->net_duplex,
	    .failover = s->net.failover < 0 ? mc_time_from_s(c->cost->nics.failover_s) : s->net.failover,
	    .nic_faults = mc_faults_of_nics(s),
	    .grain = strcmp(s->net.detail, "nic") ? MC_FABRIC_AUTO : MC_FABRIC_NIC,
	};

	p.use.memory.place = strcmp(s->net.memory, "striped") ? MC_MEMORY_SOCKET : MC_MEMORY_STRIPED;
	p.use.preferred = !strcmp(s->net.nics, "preferred");
	return p;
}

void mc_cluster_fabric_init(struct mc_cluster *c)
{
	struct mc_fabric_params params = params_of(c);
	struct mc_node node = node_of(c->cost);
	uint32_t n = mc_cluster_nodes(c);
	struct mc_fabric_endpoint *end = mc_xcalloc(n, sizeof *end);
	char(*name)[32] = mc_xcalloc(n, sizeof *name);

	for (uint32_t i = 0; i < n; i++) {
		mc_cluster_name(mc_cluster_named(c), i, name[i], sizeof name[i]);
		end[i] = (struct mc_fabric_endpoint){name[i], mc_view_width(&c->view, i), &node};
	}
	c->fabric = mc_fabric_new(&c->loop, &params, end, n);
	c->result->n_net_links = mc_fabric_links(c->fabric);
	free(end);
	free(name);
}

void mc_cluster_fabric_collect(struct mc_cluster *c)
{
	struct mc_result *r = c->result;
	char name[128];

	r->link_bytes = mc_xcalloc(r->n_links, sizeof *r->link_bytes);
	r->link_capacity = mc_xcalloc(r->n_links, sizeof *r->link_capacity);
	r->link_name = mc_xcalloc(r->n_links, sizeof *r->link_name);
	for (uint32_t l = 0; l < r->n_links; l++) {
		r->link_bytes[l] = mc_fabric_link_bytes(c->fabric, l);
		r->link_capacity[l] = mc_fabric_link_capacity(c->fabric, l);
		r->link_name[l] = mc_xstrdup(mc_fabric_link_name(c->fabric, l, name, sizeof name));
	}
	mc_fabric_racks(c->fabric, &r->rack_link, &r->n_rack_links);
	r->resent_bytes = mc_fabric_resent(c->fabric);
	if (!c->open)
		return;
	/* Cut off: what was sent of the transfers under way. Every one has a receiver. */
	r->fetched_bytes = -r->write_back_bytes - r->replica_bytes;
	r->handover_bytes = 0;
	for (uint32_t i = 0; i < r->n_prefill; i++)
		r->fetched_bytes += mc_fabric_bytes_in(c->fabric, i);
	for (uint32_t i = 0; i < r->n_decode; i++)
		r->handover_bytes += mc_fabric_bytes_in(c->fabric, mc_view_decode_node(&c->view, i));
}
