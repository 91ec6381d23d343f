/*
 * A device: opened by name, its port and GID looked up, listened to, and let go. One that goes away takes all
 * that was made with it; the port then looks for one of that name until there is one again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <unistd.h>

#include "transport/verbs_port.h"

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}; /* of an IPv4 address in a GID */

static bool is_link_local(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

void mc_verbs_device_host(const struct mc_verbs_device *d, char out[MC_PORT_NAME])
{
	out[0] = 0;
	if (!d->ethernet || is_link_local(d->gid))
		return;
	if (!memcmp(d->gid, mapped, sizeof mapped)) {
		inet_ntop(AF_INET, d->gid + 12, out, MC_PORT_NAME);
	} else {
		out[0] = '[';
		inet_ntop(AF_INET6, d->gid, out + 1, MC_PORT_NAME - 2);
		strcat(out, "]");
	}
}

/* The GID to use: the one that was asked for, else RoCE v2 with an IPv4 address, with another address, any.
 */
static int find_gid(struct mc_port *p, struct mc_verbs_device *d, int table, struct mc_err *err)
{
	int best = -1, best_rank = -1;

	for (int i = 0; i < table; i++) {
		static const uint8_t none[16];
		struct ibv_gid_entry e;
		int rank;

		if (p->gid_wanted >= 0 && i != p->gid_wanted)
			continue;
		if (ibv_query_gid_ex(d->ctx, p->number, (uint32_t)i, &e, 0) || !memcmp(e.gid.raw, none, 16))
			continue;
		rank = e.gid_type != IBV_GID_TYPE_ROCE_V2          ? 0
		       : !memcmp(e.gid.raw, mapped, sizeof mapped) ? 3
		       : !is_link_local(e.gid.raw)                 ? 2
								   : 1;
		if (rank <= best_rank)
			continue;
		best = i;
		best_rank = rank;
		memcpy(d->gid, e.gid.raw, 16);
	}
	d->gid_index = best;
	if (best < 0)
		return mc_err_set(err, MC_NOHW, "%s: port %u has no such GID (yet)", p->device, p->number);
	return 0;
}

/* What the port of the device is like now. */
static int look(struct mc_port *p, struct mc_verbs_device *d, struct mc_err *err)
{
	struct ibv_port_attr port;
	struct ibv_device_attr dev;

	errno = ibv_query_device(d->ctx, &dev);
	if (!errno)
		errno = ibv_query_port(d->ctx, p->number, &port);
	if (errno)
		return mc_err_errno(err, MC_NOHW, "%s: port %u cannot be asked", p->device, p->number);
	d->ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	d->link = port.state == IBV_PORT_ACTIVE;
	d->mtu = port.active_mtu;
	d->lid = port.lid;
	d->reads_out = (uint8_t)(dev.max_qp_init_rd_atom < 16 ? dev.max_qp_init_rd_atom : 16);
	d->reads_in = (uint8_t)(dev.max_qp_rd_atom < 16 ? dev.max_qp_rd_atom : 16);
	d->depth = dev.max_qp_wr < MC_VERBS_DEPTH ? (uint32_t)dev.max_qp_wr : MC_VERBS_DEPTH;
	if (!d->reads_out || !d->reads_in || !d->depth || d->mtu < IBV_MTU_256)
		return mc_err_set(err, MC_NOHW, "%s: not a device for reads and writes", p->device);
	return find_gid(p, d, port.gid_tbl_len, err);
}

/* The device of that name, or the first one. */
static struct ibv_context *open_named(struct mc_port *p, struct mc_err *err)
{
	int n = 0;
	struct ibv_device **all = ibv_get_device_list(&n);
	struct ibv_context *ctx = NULL;
	bool found = false;

	for (int i = 0; all && i < n && !found; i++) {
		found = !p->device[0] || !strcmp(ibv_get_device_name(all[i]), p->device);
		if (found) {
			ctx = ibv_open_device(all[i]);
			if (ctx)
				snprintf(p->device, sizeof p->device, "%s", ibv_get_device_name(all[i]));
			else
				mc_err_errno(err, MC_NOHW, "cannot open RDMA device %s",
					     ibv_get_device_name(all[i]));
		}
	}
	if (!found)
		mc_err_set(err, MC_NOHW, p->device[0] ? "no RDMA device %s" : "no RDMA device%s", p->device);
	if (all)
		ibv_free_device_list(all);
	return ctx;
}

static void not_blocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void release(struct mc_verbs_device *d)
{
	if (d->sink && ibv_destroy_cq(d->sink))
		ibv_destroy_cq(d->sink);
	if (d->channel && ibv_destroy_comp_channel(d->channel))
		ibv_destroy_comp_channel(d->channel);
	if (d->pd && ibv_dealloc_pd(d->pd))
		ibv_dealloc_pd(d->pd);
	if (d->ctx && ibv_close_device(d->ctx))
		ibv_close_device(d->ctx);
	*d = (struct mc_verbs_device){0};
}

int mc_verbs_device_open(struct mc_port *p, struct mc_err *err)
{
	struct mc_verbs_device *d = &p->dev;
	int rc = 0;

	*d = (struct mc_verbs_device){.ctx = open_named(p, err)};
	if (!d->ctx)
		return MC_NOHW;
	rc = look(p, d, err);
	if (!rc) {
		d->pd = ibv_alloc_pd(d->ctx);
		d->channel = d->pd ? ibv_create_comp_channel(d->ctx) : NULL;
		d->sink = d->channel ? ibv_create_cq(d->ctx, 16, NULL, NULL, 0) : NULL;
		if (!d->sink)
			rc = mc_err_errno(err, MC_NOHW, "%s: cannot be used", p->device);
	}
	for (size_t i = 0; i < p->memory.n && !rc; i++)
		rc = mc_verbs_memory_place(p, p->memory.at + i, err);
	if (rc) {
		mc_verbs_memory_drop(p);
		release(d);
		return rc;
	}
	not_blocking(d->channel->fd);
	not_blocking(d->ctx->async_fd);
	return 0;
}

void mc_verbs_device_close(struct mc_port *p, const char *why)
{
	struct mc_endpoint *ep;
	struct mc_verbs_guest *g, *after;

	if (!p->dev.ctx)
		return;
	TAILQ_FOREACH (ep, &p->endpoints, next)
		mc_verbs_endpoint_stop(ep);
	for (g = TAILQ_FIRST(&p->guests); g; g = after) {
		after = TAILQ_NEXT(g, next);
		mc_verbs_guest_end(g);
	}
	mc_verbs_memory_drop(p);
	/* Whatever the driver did not let go of ends with the file that it was made by. */
	release(&p->dev);
	TAILQ_FOREACH (ep, &p->endpoints, next)
		mc_verbs_endpoint_finish(ep, why);
	for (g = TAILQ_FIRST(&p->guests); g; g = after) {
		after = TAILQ_NEXT(g, next);
		g->lanes = 0;
		mc_verbs_guest_end(g);
	}
	p->news = true;
	mc_verbs_poke(p);
}

static void queue_pair_failed(struct mc_port *p, const struct ibv_qp *qp)
{
	struct mc_endpoint *ep;
	struct mc_verbs_guest *g;

	TAILQ_FOREACH (ep, &p->endpoints, next)
		for (uint32_t i = 0; i < ep->lanes; i++)
			if (ep->lane[i].qp == qp && ep->joined) {
				mc_verbs_endpoint_break(ep, "the device gave up a queue pair");
				return;
			}
	TAILQ_FOREACH (g, &p->guests, next)
		for (uint32_t i = 0; i < g->lanes; i++)
			if (g->lane[i].qp == qp) {
				if (!mc_verbs_guest_end(g))
					mc_verbs_device_close(p, "the device does not end a queue pair");
				return;
			}
}

/* A completion queue overran, or the device lost it: what is on its way would never be told. */
static void completions_failed(struct mc_port *p, const struct ibv_cq *cq)
{
	struct mc_endpoint *ep;

	TAILQ_FOREACH (ep, &p->endpoints, next)
		if (ep->cq == cq && ep->joined) {
			mc_verbs_endpoint_break(ep, "the device gave up a completion queue");
			return;
		}
	if (cq == p->dev.sink)
		mc_verbs_device_close(p, "the device gave up a completion queue");
}

static void port_down(struct mc_port *p, const char *why)
{
	struct mc_endpoint *ep;

	p->dev.link = false;
	p->news = true;
	TAILQ_FOREACH (ep, &p->endpoints, next) {
		mc_verbs_endpoint_break(ep, why);
		if (!p->dev.ctx)
			return;
	}
}

static void port_changed(struct mc_port *p)
{
	bool before = p->dev.link;

	if (look(p, &p->dev, NULL))
		p->dev.link = false;
	p->news |= p->dev.link != before;
}

void mc_verbs_device_events(struct mc_port *p)
{
	struct ibv_async_event e;

	while (p->dev.ctx && !ibv_get_async_event(p->dev.ctx, &e)) {
		struct ibv_async_event seen = e;

		/* At once: what is destroyed waits for its events to be acknowledged. */
		ibv_ack_async_event(&e);
		switch (seen.event_type) {
		case IBV_EVENT_DEVICE_FATAL:
			mc_verbs_device_close(p, "the device is gone");
			break;
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			queue_pair_failed(p, seen.element.qp);
			break;
		case IBV_EVENT_CQ_ERR:
			completions_failed(p, seen.element.cq);
			break;
		case IBV_EVENT_PORT_ERR:
			if (seen.element.port_num == p->number)
				port_down(p, "the port lost its link");
			break;
		case IBV_EVENT_PORT_ACTIVE:
		case IBV_EVENT_LID_CHANGE:
		case IBV_EVENT_GID_CHANGE:
			if (seen.element.port_num == p->number)
				port_changed(p);
			break;
		default:
			break;
		}
	}
}
