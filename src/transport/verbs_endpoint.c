/* Connections to peers' memory: made, proved, broken, taken down. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "transport/sock.h"
#include "transport/verbs_port.h"
#include "transport/wire.h"

bool mc_verbs_endpoint_stop(struct mc_endpoint *ep)
{
	const char *why;
	bool all;

	/* Once for what has come so far; what comes later is lost, though it may be done. */
	if (ep->cq && !ep->broken)
		mc_verbs_drain(ep, &why);
	all = mc_verbs_qp_end(ep->lane, ep->lanes);
	if (ep->cq && all) {
		all = !ibv_destroy_cq(ep->cq) || !ibv_destroy_cq(ep->cq);
		if (all)
			ep->cq = NULL;
	}
	return all;
}

void mc_verbs_endpoint_finish(struct mc_endpoint *ep, const char *why)
{
	struct mc_slice *s, *after;

	ep->cq = NULL;
	for (uint32_t i = 0; i < ep->lanes; i++)
		ep->lane[i].qp = NULL;
	if (ep->broken)
		return;
	ep->broken = true;
	ep->why = why;
	for (uint32_t i = 0; i < ep->slots; i++)
		if (ep->slot[i].slice) {
			mc_verbs_done(ep, ep->slot[i].slice, MC_WIRE_LOST, why);
			ep->slot[i].slice = NULL;
		}
	for (s = ep->waiting; s; s = after) {
		after = s->next;
		mc_verbs_done(ep, s, MC_WIRE_LOST, why);
	}
	ep->waiting = NULL;
	ep->waiting_end = &ep->waiting;
	shutdown(ep->fd, SHUT_RDWR);
	ep->p->news = true;
	mc_verbs_poke(ep->p);
}

void mc_verbs_endpoint_break(struct mc_endpoint *ep, const char *why)
{
	if (ep->broken)
		return;
	if (mc_verbs_endpoint_stop(ep))
		mc_verbs_endpoint_finish(ep, why);
	else
		mc_verbs_device_close(ep->p, why);
}

void mc_verbs_endpoint_hear(struct mc_endpoint *ep)
{
	ssize_t n = recv(ep->fd, ep->in + ep->got, sizeof ep->in - ep->got, MSG_DONTWAIT);
	struct mc_verbs_key k;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		mc_verbs_endpoint_break(ep, "the peer ended the connection");
		return;
	}
	ep->got += (size_t)n;
	if (ep->got < sizeof ep->in)
		return;
	ep->got = 0;
	k.key = mc_wire_get(ep->in, 8);
	k.rkey = mc_wire_get(ep->in + 8, 8);
	if (!ep->asked || k.key != ep->asked || k.rkey > MC_VERBS_NO_KEY) {
		mc_verbs_endpoint_break(ep, "the peer answers what was not asked");
		return;
	}
	ep->asked = 0;
	if (ep->keys.n == MC_VERBS_KEYS)
		ep->keys.n = 0; /* most are of memory that is no more */
	mc_vec_push(&ep->keys, k);
	mc_verbs_pump(ep);
	ep->p->news |= ep->taken < ep->done.n;
}

static void slots_init(struct mc_endpoint *ep)
{
	ep->slots = ep->lanes * ep->depth;
	ep->slot = mc_xcalloc(ep->slots, sizeof *ep->slot);
	for (uint32_t i = 0; i < ep->slots; i++)
		ep->slot[i].next_free = i + 1;
	ep->waiting_end = &ep->waiting;
}

/* The device's part of a new endpoint, into the port's list. */
static int begin(struct mc_endpoint *ep, struct mc_verbs_hello *mine, struct mc_err *err)
{
	struct mc_port *p = ep->p;
	struct mc_verbs_qp_want want = {.lanes = ep->lanes, .depth = p->dev.depth};
	int rc;

	if (!p->dev.ctx || !p->dev.link)
		return mc_err_set(err, MC_FAIL, "%s has no link", p->device);
	ep->depth = p->dev.depth;
	ep->cq = ibv_create_cq(p->dev.ctx, (int)(ep->lanes * ep->depth), ep, p->dev.channel, 0);
	if (!ep->cq)
		return mc_err_errno(err, MC_FAIL, "%s: cannot make a completion queue", p->device);
	want.cq = ep->cq;
	rc = mc_verbs_qp_create(p, ep->lane, &want, err);
	if (rc) {
		if (ibv_destroy_cq(ep->cq))
			ibv_destroy_cq(ep->cq);
		return rc;
	}
	slots_init(ep);
	ep->serial = ++p->serial;
	TAILQ_INSERT_TAIL(&p->endpoints, ep, next);
	mc_verbs_hello_fill(mine, p, ep->lane, ep->lanes);
	return 0;
}

/* The peer's answer to what we are. */
static int introduce(struct mc_endpoint *ep, const struct mc_verbs_hello *mine, struct mc_verbs_hello *peer,
		     int64_t deadline, struct mc_err *err)
{
	uint8_t out[MC_VERBS_HELLO];
	struct mc_sock_message m = {0};
	int rc;

	mc_verbs_hello_encode(mine, out);
	rc = mc_sock_send_message(ep->fd, out, sizeof out, deadline, err);
	if (!rc)
		rc = mc_sock_recv_message(ep->fd, &m, MC_VERBS_HELLO, deadline, err);
	if (!rc && m.n < MC_VERBS_HELLO) {
		for (size_t i = 0; i < m.n; i++)
			if (m.at[i] < ' ' || m.at[i] > '~')
				m.at[i] = '?';
		rc = mc_err_set(err, MC_FAIL, "the peer refuses: %.*s", (int)m.n, (const char *)m.at);
	} else if (!rc) {
		rc = mc_verbs_hello_decode(peer, m.at, m.n, err);
		if (!rc && (peer->lanes != mine->lanes || peer->id != mine->id))
			rc = mc_err_set(err, MC_FAIL, "the peer answers for another connection");
	}
	free(m.at);
	return rc;
}

/* Nothing is known of the path until something went over it: a write of no bytes on each lane. */
static int start_proof(struct mc_endpoint *ep, const struct mc_verbs_hello *peer, struct mc_err *err)
{
	struct mc_port *p = ep->p;
	int rc;

	if (ep->broken || !ep->cq)
		return mc_err_set(err, MC_FAIL, "%s went away", p->device);
	rc = mc_verbs_qp_join(p, ep->lane, peer, true, err);
	for (uint32_t i = 0; i < ep->lanes && !rc; i++) {
		struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED}, *bad;

		errno = ibv_post_send(ep->lane[i].qp, &wr, &bad);
		if (errno)
			rc = mc_err_errno(err, MC_FAIL, "%s: cannot send", p->device);
	}
	return rc;
}

/* Take what has come of the proof: *done lanes of it. */
static int look_for_proof(struct mc_endpoint *ep, uint32_t *done, struct mc_err *err)
{
	struct ibv_wc wc[MC_VERBS_LANES];
	int n;

	if (ep->broken || !ep->cq)
		return mc_err_set(err, MC_FAIL, "%s went away", ep->p->device);
	n = ibv_poll_cq(ep->cq, MC_VERBS_LANES, wc);
	if (n < 0)
		return mc_err_set(err, MC_FAIL, "%s: no completions", ep->p->device);
	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			return mc_err_set(err, MC_FAIL, "%s: no path to the peer: %s", ep->p->device,
					  ibv_wc_status_str(wc[i].status));
	*done += (uint32_t)n;
	if (*done < ep->lanes)
		return 0;
	ep->joined = true;
	ep->event = true; /* one look at the queue arms it */
	if (ibv_req_notify_cq(ep->cq, 0))
		return mc_err_set(err, MC_FAIL, "%s: cannot tell of completions", ep->p->device);
	return 0;
}

static int prove(struct mc_endpoint *ep, const struct mc_verbs_hello *peer, int64_t deadline,
		 struct mc_err *err)
{
	struct mc_port *p = ep->p;
	struct timespec pause = {.tv_nsec = 20000};
	uint32_t done = 0;
	int rc;

	pthread_mutex_lock(&p->lock);
	rc = start_proof(ep, peer, err);
	pthread_mutex_unlock(&p->lock);
	while (!rc && done < ep->lanes) {
		pthread_mutex_lock(&p->lock);
		rc = look_for_proof(ep, &done, err);
		pthread_mutex_unlock(&p->lock);
		if (!rc && done < ep->lanes && mc_clock_ns() > deadline)
			rc = mc_err_set(err, MC_FAIL, "%s: no path to the peer within the time", p->device);
		if (!rc && done < ep->lanes)
			nanosleep(&pause, NULL);
		if (pause.tv_nsec < MC_NS_PER_MS)
			pause.tv_nsec *= 2;
	}
	return rc;
}

int mc_verbs_connect(struct mc_endpoint **out, struct mc_port *p, const struct mc_connect_want *want,
		     struct mc_err *err)
{
	struct mc_endpoint *ep = mc_xcalloc(1, sizeof *ep);
	struct mc_verbs_hello mine = {.id = want->id}, peer;
	int64_t deadline = mc_clock_ns() + want->timeout_ns;
	int rc;

	*ep = (struct mc_endpoint){.p = p, .lanes = p->want.lanes};
	*out = NULL;
	rc = mc_sock_numeric(want->address, err);
	if (!rc)
		rc = mc_sock_connect(&ep->fd, want->address, NULL, deadline, err);
	if (rc) {
		free(ep);
		return rc;
	}
	rc = mc_auth_connect(ep->fd, &p->want.token, MC_PURPOSE_VERBS, deadline, err);
	if (!rc) {
		pthread_mutex_lock(&p->lock);
		rc = begin(ep, &mine, err);
		pthread_mutex_unlock(&p->lock);
	}
	if (rc) {
		close(ep->fd);
		free(ep);
		return rc;
	}
	rc = introduce(ep, &mine, &peer, deadline, err);
	if (!rc)
		rc = prove(ep, &peer, deadline, err);
	if (rc) {
		mc_verbs_disconnect(ep);
		return rc;
	}
	mc_verbs_poke(p);
	*out = ep;
	return 0;
}

void mc_verbs_disconnect(struct mc_endpoint *ep)
{
	struct mc_port *p = ep->p;

	pthread_mutex_lock(&p->lock);
	mc_verbs_endpoint_break(ep, "disconnected");
	TAILQ_REMOVE(&p->endpoints, ep, next);
	pthread_mutex_unlock(&p->lock);
	close(ep->fd);
	mc_vec_fini(&ep->done);
	mc_vec_fini(&ep->keys);
	free(ep->slot);
	free(ep);
}
