#include "net/fabric.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/fabric_state.h"

/* The node as the fabric sees it: a NIC takes slice_s longer for every slice. Nodes are few kinds: shared. */
static const struct mc_node *take_node(struct mc_fabric *f, const struct mc_fabric_endpoint *endpoint,
				       uint32_t e)
{
	const struct mc_node *given = endpoint[e].node;
	struct mc_node *own = &f->node[f->n_nodes];
	double slice = f->params.slice_bytes;

	for (uint32_t i = 0; i < e; i++)
		if (endpoint[i].node == given)
			return f->end[i].node;
	assert(given->nics && given->sockets && given->switches);
	*own = *given;
	f->nic[f->n_nodes] = mc_xcalloc(given->nics, sizeof(double));
	own->nic_bytes_per_s = f->nic[f->n_nodes++];
	for (uint32_t i = 0; i < given->nics; i++) {
		double speed = given->nic_bytes_per_s[i];

		assert(speed > 0 && isfinite(speed));
		if (f->params.slice_s > 0)
			speed = slice / (slice / speed + f->params.slice_s);
		f->nic[f->n_nodes - 1][i] = speed;
	}
	return own;
}

/* Peers slow the NICs down that are the link, or are behind it. */
static void add_contention(struct mc_fabric *f, uint32_t link, bool in, double nics)
{
	double room = nics / f->link.at[link].base;

	if (f->params.peer_loss > 0)
		mc_net_link_contend(f->net, link, in, f->params.peer_loss, room > 1 ? room : 1);
}

/* What the NICs of a node let through by themselves, out and in; false: not all of them alike. */
static bool nics_alone(const struct mc_fabric *f, const struct mc_node *node, double speed[2])
{
	struct mc_node bare = *node;

	bare.host_bytes_per_s = bare.switch_bytes_per_s = 0;
	return mc_node_lumps(&bare, f->params.use, &speed[0], &speed[1]);
}

/* As mc_node_lumps; and peers slow all NICs down alike. */
static bool lumps(const struct mc_fabric *f, const struct mc_node *node)
{
	double speed[2];

	return mc_node_lumps(node, f->params.use, &speed[0], &speed[1]) &&
	       (f->params.peer_loss <= 0 || nics_alone(f, node, speed));
}

static uint32_t add_link(struct mc_fabric *f, struct mc_fabric_link link)
{
	mc_vec_push(&f->link, link);
	return mc_net_link_add(f->net, link.base);
}

uint32_t mc_fabric_link_add(struct mc_fabric *f, const char *name, double bytes_per_s)
{
	return add_link(f, (struct mc_fabric_link){bytes_per_s, MC_FABRIC_NONE, 0, mc_xstrdup(name)});
}

/* Total nodes before endpoint e. */
static uint32_t nodes_before(const struct mc_fabric_endpoint *endpoint, uint32_t e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e; i++)
		n += endpoint[i].width;
	return n;
}

static uint32_t rack_of(const struct mc_fabric *f, uint32_t node)
{
	if (!f->n_racks)
		return MC_FABRIC_NONE;
	return f->params.rack_dealt ? node % f->n_racks : node / f->params.rack_nodes;
}

static enum mc_fabric_grain finest_needed(const struct mc_fabric *f)
{
	enum mc_fabric_grain grain = MC_FABRIC_ENDPOINT;
	uint32_t node = 0;

	if (f->params.nic_faults)
		return MC_FABRIC_NIC;
	for (uint32_t i = 0; i < f->n_nodes; i++)
		if (!lumps(f, &f->node[i]))
			return MC_FABRIC_NIC;
	for (uint32_t e = 0; e < f->n_ends; node += f->end[e++].width)
		for (uint32_t w = 1; w < f->end[e].width; w++)
			if (rack_of(f, node + w) != rack_of(f, node))
				grain = MC_FABRIC_NODE;
	return grain;
}

/* Both ways of `width` nodes, if they are less than each alone. */
static void build_both(struct mc_fabric *f, uint32_t h, uint32_t width)
{
	struct mc_fabric_host *host = &f->host[h];
	double sum = 0;

	host->both = MC_FABRIC_NONE;
	if (f->params.duplex <= 0 || f->params.duplex >= 2)
		return;
	for (uint32_t i = 0; i < host->node->nics; i++)
		sum += host->node->nic_bytes_per_s[i];
	sum *= f->params.duplex * width;
	host->both = add_link(f, (struct mc_fabric_link){sum, h, MC_FABRIC_NONE, NULL});
}

static void build_lump(struct mc_fabric *f, uint32_t h, uint32_t width)
{
	struct mc_fabric_host *host = &f->host[h];
	double speed[2], alone[2];

	mc_node_lumps(host->node, f->params.use, &speed[0], &speed[1]);
	nics_alone(f, host->node, alone);
	host->lumped = true;
	host->link = mc_xcalloc(2, sizeof *host->link);
	for (uint32_t part = 0; part < 2; part++) {
		host->link[part] = add_link(f, (struct mc_fabric_link){speed[part] * width, h, part, NULL});
		add_contention(f, host->link[part], part, alone[part] * width);
	}
}

static void build_nics(struct mc_fabric *f, uint32_t h)
{
	struct mc_fabric_host *host = &f->host[h];
	uint32_t n = mc_node_parts(host->node);

	host->link = mc_xcalloc(n, sizeof *host->link);
	host->alive = mc_xcalloc(host->node->nics, sizeof *host->alive);
	for (uint32_t part = 0; part < n; part++) {
		double speed = mc_node_capacity(host->node, part);

		host->link[part] = MC_FABRIC_NONE;
		if (speed < INFINITY)
			host->link[part] = add_link(f, (struct mc_fabric_link){speed, h, part, NULL});
		if (part < 2 * host->node->nics)
			add_contention(f, host->link[part], part >= host->node->nics, speed);
	}
	for (uint32_t i = 0; i < host->node->nics; i++)
		host->alive[i] = true;
}

/* What one NIC sends, as the mean of a node's, with what else limits them where that is one number. */
static double nic_speed(const struct mc_fabric *f, const struct mc_fabric_end *end)
{
	double sum = 0, out, in;

	for (uint32_t i = 0; i < end->node->nics; i++)
		sum += end->node->nic_bytes_per_s[i];
	if (mc_node_lumps(end->node, f->params.use, &out, &in))
		sum = out;
	return sum / end->node->nics;
}

static void build_hosts(struct mc_fabric *f, uint32_t nodes)
{
	uint32_t node = 0, h = 0;

	f->host = mc_xcalloc(nodes, sizeof *f->host);
	for (uint32_t e = 0; e < f->n_ends; e++) {
		struct mc_fabric_end *end = &f->end[e];

		end->host = h;
		end->hosts = f->grain == MC_FABRIC_ENDPOINT ? 1 : end->width;
		for (uint32_t i = 0; i < end->hosts; i++, h++) {
			f->host[h].node = end->node;
			f->host[h].rack = rack_of(f, node + i);
			if (f->grain == MC_FABRIC_NIC)
				build_nics(f, h);
			else
				build_lump(f, h, end->width / end->hosts);
			build_both(f, h, end->width / end->hosts);
		}
		end->nic_bytes_per_s = nic_speed(f, end);
		node += end->width;
	}
	f->n_hosts = h;
}

/* Up and down of each rack: the sum of its NICs, over the oversubscription. */
static void build_racks(struct mc_fabric *f)
{
	double *speed = mc_xcalloc(f->n_racks + 1, sizeof *speed);
	uint32_t node = 0;
	char name[32];

	for (uint32_t e = 0; e < f->n_ends; e++)
		for (uint32_t w = 0; w < f->end[e].width && f->n_racks; w++, node++)
			for (uint32_t i = 0; i < f->end[e].node->nics; i++)
				speed[rack_of(f, node)] += f->end[e].node->nic_bytes_per_s[i];
	f->rack_link = (uint32_t)f->link.n;
	for (uint32_t r = 0; r < f->n_racks; r++)
		for (int down = 0; down < 2; down++) {
			snprintf(name, sizeof name, "rack%u.%s", r, down ? "down" : "up");
			mc_fabric_link_add(f, name, speed[r] / f->params.oversubscription);
		}
	free(speed);
}

static void check_params(const struct mc_fabric_params *p)
{
	assert(p->slice_bytes >= 1 && p->slice_s >= 0 && p->failover >= 0);
	assert(p->request_s >= 0 && p->peer_loss >= 0);
	assert(p->duplex == 0 || (p->duplex >= 1 && p->duplex <= 2));
	assert(!p->rack_nodes || p->oversubscription >= 1);
	assert(p->use.memory.place != MC_MEMORY_DEFAULT);
}

struct mc_fabric *mc_fabric_new(struct mc_loop *loop, const struct mc_fabric_params *params,
				const struct mc_fabric_endpoint *endpoint, uint32_t n)
{
	struct mc_fabric *f = mc_xcalloc(1, sizeof *f);
	uint32_t nodes = nodes_before(endpoint, n), most = 1;

	check_params(params);
	f->loop = loop;
	f->params = *params;
	f->net = mc_net_new(loop, params->event_kind);
	f->n_ends = n;
	f->n_racks = params->rack_nodes ? (nodes + params->rack_nodes - 1) / params->rack_nodes : 0;
	f->end = mc_xcalloc(n, sizeof *f->end);
	f->node = mc_xcalloc(n, sizeof *f->node);
	f->nic = mc_xcalloc(n, sizeof *f->nic);
	for (uint32_t e = 0; e < n; e++) {
		assert(endpoint[e].width);
		f->end[e].name = mc_xstrdup(endpoint[e].name);
		f->end[e].width = endpoint[e].width;
		f->end[e].node = take_node(f, endpoint, e);
		mc_ring_init(&f->end[e].out);
		mc_ring_init(&f->end[e].in);
		most = f->end[e].node->nics > most ? f->end[e].node->nics : most;
	}
	mc_ring_init(&f->spare);
	f->share_from = mc_xcalloc(most, sizeof(double));
	f->share_to = mc_xcalloc(most, sizeof(double));
	f->grain = finest_needed(f);
	assert(params->grain == MC_FABRIC_AUTO || params->grain >= f->grain);
	f->grain = params->grain > f->grain ? params->grain : f->grain;
	build_hosts(f, nodes);
	build_racks(f);
	return f;
}

void mc_fabric_free(struct mc_fabric *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->slab.n; i++) {
		for (size_t k = 0; k < MC_FABRIC_SLAB; k++)
			mc_loop_cancel(f->loop, &f->slab.at[i][k].retry);
		free(f->slab.at[i]);
	}
	mc_net_free(f->net);
	for (size_t i = 0; i < f->chunks.n; i++)
		free(f->chunks.at[i]);
	for (size_t i = 0; i < f->link.n; i++)
		free(f->link.at[i].name);
	for (uint32_t h = 0; h < f->n_hosts; h++) {
		free(f->host[h].link);
		free(f->host[h].alive);
	}
	for (uint32_t e = 0; e < f->n_ends; e++)
		free(f->end[e].name);
	for (uint32_t i = 0; i < f->n_nodes; i++)
		free(f->nic[i]);
	mc_vec_fini(&f->slab);
	mc_vec_fini(&f->chunks);
	mc_vec_fini(&f->link);
	mc_vec_fini(&f->idle);
	free(f->host);
	free(f->end);
	free(f->node);
	free(f->nic);
	free(f->share_from);
	free(f->share_to);
	free(f);
}

enum mc_fabric_grain mc_fabric_grain(const struct mc_fabric *f)
{
	return f->grain;
}

uint32_t mc_fabric_links(const struct mc_fabric *f)
{
	return (uint32_t)f->link.n;
}

/* The endpoint of a host: they are in order. */
static const struct mc_fabric_end *end_of_host(const struct mc_fabric *f, uint32_t host)
{
	uint32_t low = 0, high = f->n_ends - 1;

	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (f->end[mid].host <= host)
			low = mid;
		else
			high = mid - 1;
	}
	return &f->end[low];
}

char *mc_fabric_link_name(const struct mc_fabric *f, uint32_t link, char *buf, size_t n)
{
	const struct mc_fabric_link *l;
	const struct mc_fabric_end *end;
	char node[32] = "", part[32];

	assert(link < f->link.n);
	l = &f->link.at[link];
	if (l->host == MC_FABRIC_NONE) {
		snprintf(buf, n, "%s", l->name);
		return buf;
	}
	end = end_of_host(f, l->host);
	if (end->hosts > 1)
		snprintf(node, sizeof node, ".node%u", l->host - end->host);
	if (l->part == MC_FABRIC_NONE)
		snprintf(part, sizeof part, "both");
	else if (f->host[l->host].lumped)
		snprintf(part, sizeof part, "%s", l->part ? "in" : "out");
	else
		mc_node_part_name(end->node, l->part, part, sizeof part);
	snprintf(buf, n, "%s%s.%s", end->name, node, part);
	return buf;
}

uint32_t mc_fabric_link_find(const struct mc_fabric *f, const char *name)
{
	char buf[256];

	for (uint32_t l = 0; l < f->link.n; l++)
		if (!strcmp(mc_fabric_link_name(f, l, buf, sizeof buf), name))
			return l;
	return MC_FABRIC_NONE;
}

void mc_fabric_racks(const struct mc_fabric *f, uint32_t *first, uint32_t *n)
{
	*first = f->rack_link;
	*n = 2 * f->n_racks;
}

double mc_fabric_link_bytes(struct mc_fabric *f, uint32_t link)
{
	return mc_net_link_bytes(f->net, link);
}

double mc_fabric_link_capacity(const struct mc_fabric *f, uint32_t link)
{
	return mc_net_link_capacity(f->net, link);
}

void mc_fabric_link_scale(struct mc_fabric *f, uint32_t link, double factor)
{
	assert(link < f->link.n && factor > 0);
	mc_net_link_set_capacity(f->net, link, f->link.at[link].base * factor);
}

uint32_t mc_fabric_sends(const struct mc_fabric *f, uint32_t e)
{
	assert(e < f->n_ends);
	return f->end[e].sends;
}

uint32_t mc_fabric_receives(const struct mc_fabric *f, uint32_t e)
{
	assert(e < f->n_ends);
	return f->end[e].receives;
}

/* The link of a port each way. */
static uint32_t port_link(const struct mc_fabric_host *host, uint32_t port, bool out)
{
	return host->link[port + (out ? 0 : mc_fabric_ports(host))];
}

double mc_fabric_rate_out(struct mc_fabric *f, uint32_t e)
{
	double rate = 0;

	assert(e < f->n_ends);
	for (uint32_t h = f->end[e].host; h < f->end[e].host + f->end[e].hosts; h++)
		for (uint32_t i = 0; i < mc_fabric_ports(&f->host[h]); i++)
			rate += mc_net_link_rate(f->net, port_link(&f->host[h], i, true));
	return rate;
}

double mc_fabric_bytes_in(struct mc_fabric *f, uint32_t e)
{
	double bytes = 0;

	assert(e < f->n_ends);
	for (uint32_t h = f->end[e].host; h < f->end[e].host + f->end[e].hosts; h++)
		for (uint32_t i = 0; i < mc_fabric_ports(&f->host[h]); i++)
			bytes += mc_net_link_bytes(f->net, port_link(&f->host[h], i, false));
	return bytes;
}

double mc_fabric_room_out(const struct mc_fabric *f, uint32_t e)
{
	double room = 0;

	assert(e < f->n_ends);
	for (uint32_t h = f->end[e].host; h < f->end[e].host + f->end[e].hosts; h++) {
		const struct mc_fabric_host *host = &f->host[h];
		double nics = 0;

		for (uint32_t i = 0; i < mc_fabric_ports(host); i++)
			if (host->lumped || host->alive[i])
				nics += mc_net_link_capacity(f->net, port_link(host, i, true));
		if (!host->lumped && host->node->host_bytes_per_s > 0)
			nics = fmin(nics, host->node->host_bytes_per_s);
		room += nics;
	}
	return room;
}

double mc_transfer_ahead(const struct mc_transfer *t)
{
	const struct mc_fabric *f = t->fabric;
	double slices = t->spec.bytes / f->params.slice_bytes, s = f->params.request_s;

	if (f->params.slice_s > 0)
		s += (ceil(slices) - slices) * f->params.slice_s;
	return s > 0 && t->spec.from != t->spec.to ? s * f->end[t->spec.from].nic_bytes_per_s : 0;
}

double mc_fabric_resent(const struct mc_fabric *f)
{
	return f->resent;
}

static int check_transfer(const struct mc_transfer *t, struct mc_err *err)
{
	double bytes = t->arrived;
	uint32_t stalled = 0;

	mc_ring_each(r, &t->pieces)
	{
		const struct mc_piece *p = mc_piece_of(r);

		bytes += p->bytes - (p->state == MC_PIECE_FLYING ? 0 : p->skip);
		stalled += p->state == MC_PIECE_STALLED;
	}
	if (bytes != t->spec.bytes)
		return mc_err_set(err, MC_FAIL, "transfer %u has %.17g of its %.17g bytes", t->id, bytes,
				  t->spec.bytes);
	if (stalled != t->stalled)
		return mc_err_set(err, MC_FAIL, "transfer %u has %u stalled pieces, not %u", t->id, stalled,
				  t->stalled);
	return MC_OK;
}

int mc_fabric_check(struct mc_fabric *f, struct mc_err *err)
{
	for (uint32_t e = 0; e < f->n_ends; e++) {
		uint32_t sends = 0;

		mc_ring_each(r, &f->end[e].out)
		{
			const struct mc_transfer *t = mc_container_of(r, struct mc_transfer, out);
			int rc = check_transfer(t, err);

			if (rc)
				return rc;
			sends += t->spec.from != t->spec.to;
		}
		if (sends != f->end[e].sends)
			return mc_err_set(err, MC_FAIL, "%s sends %u transfers, not %u", f->end[e].name,
					  sends, f->end[e].sends);
	}
	return mc_net_check(f->net, err);
}
