/*
 * A plain queue pair: requests are posted whole, and their completions polled for without ever sleeping. The
 * transport's handshake joins it to the peer's port and tells the key of its memory, by one slice that it
 * moves; from then on nothing of the transport has a part in it. Its lock is held meanwhile, so that the
 * device doesn't go away under the feet.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/vec.h"
#include "calib/bare.h"
#include "calib/netgrid.h"
#include "transport/segment.h"
#include "transport/sock.h"
#include "transport/verbs_port.h"

enum { TIMEOUT_S = 5, SILENT_S = 30, POLLED = 16, PROBE = 64 };

struct queue {
	struct mc_bare b;
	struct mc_net *n;
	const struct mc_transport *t;
	struct mc_port *port;
	struct mc_endpoint *ep;
	uint64_t key;
	uint32_t lkey, rkey;
	uint64_t local, remote; /* where the next request goes */
};

static void nothing(void *arg)
{
	(void)arg;
}

static int failed(const struct queue *q, const char *why, struct mc_err *err)
{
	return mc_err_key(err, MC_FAIL, q->n->peer[0].address, "the plain queue pair: %s", why);
}

static int post(struct queue *q, const struct mc_bare_task *t, struct mc_err *err)
{
	const struct mc_netinfo *info = &q->n->peer[0].info;
	const struct mc_netmemory *m = &q->n->memory;
	size_t stride = (size_t)mc_net_stride((int64_t)t->bytes);
	size_t local = mc_net_advance(&q->local, stride, m->half);
	struct ibv_sge sge = {
	    .addr = (uintptr_t)(t->write ? mc_netmemory_source(m, local) : mc_netmemory_target(m, local)),
	    .length = (uint32_t)t->bytes,
	    .lkey = q->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = t->write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	wr.wr.rdma.remote_addr =
	    (t->write ? info->target : info->source) + mc_net_advance(&q->remote, stride, info->half);
	wr.wr.rdma.rkey = q->rkey;
	return ibv_post_send(q->ep->lane[0].qp, &wr, &bad) ? failed(q, "a request cannot be posted", err) : 0;
}

/* Completions that are there; *heard: when the last one came. */
static int take(struct queue *q, size_t *done, int64_t *heard, struct mc_err *err)
{
	struct ibv_wc wc[POLLED];
	int n = ibv_poll_cq(q->ep->cq, POLLED, wc);

	if (n < 0)
		return failed(q, "completions cannot be polled", err);
	for (int i = 0; i < n; i++, ++*done)
		if (wc[i].status != IBV_WC_SUCCESS)
			return failed(q, ibv_wc_status_str(wc[i].status), err);
	if (n)
		*heard = mc_clock_ns();
	else if (mc_clock_ns() - *heard > SILENT_S * MC_NS_PER_S)
		return failed(q, "nothing completes", err);
	return 0;
}

static int move(struct queue *q, const struct mc_bare_task *t, struct mc_err *err)
{
	unsigned depth = t->depth < q->ep->depth ? t->depth : q->ep->depth;
	size_t asked = 0, done = 0;
	int64_t heard = mc_clock_ns();
	int rc = 0;

	if (!q->port->dev.ctx || q->ep->broken)
		return failed(q, "its device is gone", err);
	while (done < t->requests && !rc) {
		for (; asked < t->requests && asked < done + depth && !rc; asked++)
			rc = post(q, t, err);
		if (!rc)
			rc = take(q, &done, &heard, err);
	}
	return rc;
}

static int go(struct mc_bare *b, const struct mc_bare_task *t, double *seconds, struct mc_err *err)
{
	struct queue *q = (struct queue *)b;
	int64_t from;
	int rc;

	pthread_mutex_lock(&q->port->lock);
	from = mc_clock_ns();
	rc = move(q, t, err);
	*seconds = (double)(mc_clock_ns() - from) * 1e-9;
	pthread_mutex_unlock(&q->port->lock);
	return rc;
}

static void close_all(struct mc_bare *b)
{
	struct queue *q = (struct queue *)b;

	if (q->ep)
		q->t->disconnect(q->ep);
	if (q->key)
		q->t->memory_unregister(q->port, q->key, NULL);
	q->t->port_close(q->port);
	free(q);
}

/* The peer's segment, which has the address of its port and the key of its memory there. */
static int ask(const struct mc_net *n, struct mc_segment **out, struct mc_err *err)
{
	int64_t deadline = mc_clock_ns() + TIMEOUT_S * MC_NS_PER_S;
	uint8_t kind = MC_CONTROL_SEGMENT;
	struct mc_sock_message m;
	int fd, rc = mc_sock_connect(&fd, n->peer[0].address, NULL, deadline, err);

	*out = NULL;
	if (rc)
		return rc;
	rc = mc_auth_connect(fd, &n->token, MC_PURPOSE_CONTROL, deadline, err);
	if (!rc)
		rc = mc_sock_send_message(fd, &kind, 1, deadline, err);
	if (!rc)
		rc = mc_sock_recv_message(fd, &m, MC_SEGMENT_BYTES, deadline, err);
	close(fd);
	if (rc)
		return rc;
	rc = mc_segment_decode(out, m.at, m.n, err);
	free(m.at);
	return rc;
}

static int open_port(struct queue *q, struct mc_err *err)
{
	struct mc_engine_want defaults;
	struct mc_port_want want = {.name = q->n->port[0].name,
				    .token = q->n->token,
				    .lanes = 1,
				    .timeout_ns = TIMEOUT_S * MC_NS_PER_S,
				    .wake = nothing};
	int rc;

	mc_engine_defaults(&defaults);
	want.limits = defaults.serve;
	rc = q->t->port_open(&q->port, &want, err);
	return rc ? rc : q->t->memory_register(q->port, &q->n->memory.m, 0, &q->key, err);
}

/* One slice by the transport: its keys are known after that. */
static int probe(struct queue *q, uint64_t remote_key, struct mc_err *err)
{
	struct mc_slice s = {.op = MC_OP_READ,
			     .bytes = PROBE,
			     .local = (uint8_t *)mc_netmemory_target(&q->n->memory, 0),
			     .local_key = q->key,
			     .remote = q->n->peer[0].info.source,
			     .remote_key = remote_key},
			*one = &s;
	int64_t deadline = mc_clock_ns() + TIMEOUT_S * MC_NS_PER_S;
	struct mc_completion c;

	q->t->post(q->ep, &one, 1);
	while (!q->t->poll(q->port, &c, 1))
		if (mc_clock_ns() > deadline) {
			/* The slice is the transport's as long as it may complete. */
			q->t->disconnect(q->ep);
			q->ep = NULL;
			return failed(q, "nothing completes", err);
		}
	if (c.status != MC_WIRE_OK)
		return failed(q, c.why, err);
	pthread_mutex_lock(&q->port->lock);
	q->lkey = mc_verbs_memory_find(q->port, q->key)->mr->lkey;
	q->rkey = (uint32_t)q->ep->keys.at[0].rkey;
	pthread_mutex_unlock(&q->port->lock);
	return 0;
}

static int join(struct queue *q, const struct mc_segment *s, struct mc_err *err)
{
	const struct mc_segment_range *r =
	    mc_segment_find(s, q->n->peer[0].info.source, q->n->peer[0].info.half);
	struct mc_connect_want want = {.timeout_ns = TIMEOUT_S * MC_NS_PER_S};
	size_t i = 0;
	int rc = mc_auth_random(&want.id, sizeof want.id, err);

	while (i < s->ports && (strcmp(s->port[i].transport, "verbs") != 0 || !r || !r->at[i].key))
		i++;
	if (i == s->ports)
		return failed(q, "the peer has no port for it", err);
	want.address = s->port[i].address;
	if (!rc)
		rc = open_port(q, err);
	if (!rc)
		rc = q->t->connect(&q->ep, q->port, &want, err);
	return rc ? rc : probe(q, r->at[i].key, err);
}

int mc_bare_verbs_open(struct mc_bare **out, struct mc_net *n, struct mc_err *err)
{
	struct queue *q = mc_xcalloc(1, sizeof *q);
	struct mc_segment *s;
	int rc = ask(n, &s, err);

	*q = (struct queue){.b = {"bare", go, close_all}, .n = n, .t = n->transport};
	*out = &q->b;
	if (!rc)
		rc = join(q, s, err);
	mc_segment_free(s);
	if (rc) {
		close_all(&q->b);
		*out = NULL;
	}
	return rc;
}
