/* Slices onto queue pairs, and their completions back. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/verbs_port.h"
#include "transport/wire.h"

enum { CHAIN = 16 }; /* operations handed to the device at once */

void mc_verbs_done(struct mc_endpoint *ep, struct mc_slice *s, enum mc_wire status, const char *why)
{
	struct mc_completion c = {.slice = s, .status = status, .why = why};

	mc_vec_push(&ep->done, c);
}

static struct mc_slice *take_waiting(struct mc_endpoint *ep)
{
	struct mc_slice *s = ep->waiting;

	ep->waiting = s->next;
	if (!ep->waiting)
		ep->waiting_end = &ep->waiting;
	return s;
}

/* What a key of the peer stands for. False: not known yet, the peer is being asked. */
static bool find_rkey(struct mc_endpoint *ep, uint64_t key, uint64_t *rkey)
{
	uint8_t out[MC_VERBS_ASK];

	for (size_t i = 0; i < ep->keys.n; i++)
		if (ep->keys.at[i].key == key) {
			*rkey = ep->keys.at[i].rkey;
			return true;
		}
	if (ep->asked)
		return false;
	ep->asked = key;
	mc_wire_set(out, key, 8);
	/* One question at a time always fits into a socket that works. */
	if (send(ep->fd, out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof out)
		mc_verbs_endpoint_break(ep, "the connection to the peer ended");
	return false;
}

/* The first that waits, as an operation; false: it can't be sent now. */
static bool prepare(struct mc_endpoint *ep, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	while (ep->waiting && !ep->broken && ep->free < ep->slots) {
		struct mc_slice *s = ep->waiting;
		const struct mc_verbs_memory *v = mc_verbs_memory_find(ep->p, s->local_key);
		uint64_t rkey;

		if (!v || !v->mr) {
			mc_verbs_done(ep, take_waiting(ep), MC_WIRE_LOST,
				      "the local memory is not registered at the device");
			continue;
		}
		if (!find_rkey(ep, s->remote_key, &rkey))
			return false;
		if (rkey == MC_VERBS_NO_KEY) {
			mc_verbs_done(ep, take_waiting(ep), MC_WIRE_REFUSED,
				      "the peer has no memory of that key");
			continue;
		}
		*sge = (struct ibv_sge){.addr = (uintptr_t)s->local, .length = s->bytes, .lkey = v->mr->lkey};
		*wr = (struct ibv_send_wr){
		    .sg_list = sge,
		    .num_sge = 1,
		    .opcode = s->op == MC_OP_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		    .send_flags = IBV_SEND_SIGNALED,
		    .wr.rdma = {.remote_addr = s->remote, .rkey = (uint32_t)rkey},
		};
		return true;
	}
	return false;
}

static uint32_t emptiest(const struct mc_endpoint *ep)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < ep->lanes; i++)
		if (ep->lane[i].flying < ep->lane[best].flying)
			best = i;
	return best;
}

static void take_slot(struct mc_endpoint *ep, uint32_t lane, struct ibv_send_wr *wr)
{
	struct mc_verbs_slot *slot = ep->slot + ep->free;

	wr->wr_id = (uint64_t)++slot->turn << 32 | ep->free;
	ep->free = slot->next_free;
	slot->slice = take_waiting(ep);
	slot->lane = lane;
	ep->lane[lane].flying++;
}

void mc_verbs_pump(struct mc_endpoint *ep)
{
	while (!ep->broken && ep->joined && ep->waiting) {
		struct ibv_send_wr wr[CHAIN], *bad;
		struct ibv_sge sge[CHAIN];
		uint32_t lane = emptiest(ep), n = 0;

		while (n < CHAIN && ep->lane[lane].flying < ep->depth && prepare(ep, wr + n, sge + n)) {
			if (n)
				wr[n - 1].next = wr + n;
			take_slot(ep, lane, wr + n++);
		}
		/* Breaking has already completed what was just taken. */
		if (!n || ep->broken)
			return;
		if (ibv_post_send(ep->lane[lane].qp, wr, &bad)) {
			mc_verbs_endpoint_break(ep, "the device takes no more operations");
			return;
		}
	}
}

void mc_verbs_post(struct mc_endpoint *ep, struct mc_slice *const *slice, size_t n)
{
	struct mc_port *p = ep->p;
	bool news;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < n; i++) {
		slice[i]->next = NULL;
		if (ep->broken) {
			mc_verbs_done(ep, slice[i], MC_WIRE_LOST, ep->why);
			continue;
		}
		*ep->waiting_end = slice[i];
		ep->waiting_end = &slice[i]->next;
	}
	mc_verbs_pump(ep);
	news = ep->taken < ep->done.n;
	p->news |= news;
	pthread_mutex_unlock(&p->lock);
	/* The engine is told by the port's own thread: here it may hold a lock. */
	if (news)
		mc_verbs_poke(p);
}

static enum mc_wire judge(const struct ibv_wc *wc, const char **why)
{
	if (wc->status == IBV_WC_SUCCESS)
		return MC_WIRE_OK;
	*why = ibv_wc_status_str(wc->status);
	/* Of its memory. An invalid request is what a peer says that has lost the thread: Soft-RoCE, of what
	 * is sent again late. */
	return wc->status == IBV_WC_REM_ACCESS_ERR ? MC_WIRE_REFUSED : MC_WIRE_LOST;
}

bool mc_verbs_drain(struct mc_endpoint *ep, const char **why)
{
	struct ibv_wc wc[CHAIN];
	const char *broke = NULL;
	int n;

	while ((n = ibv_poll_cq(ep->cq, CHAIN, wc)) > 0) {
		for (int i = 0; i < n; i++) {
			uint32_t at = (uint32_t)wc[i].wr_id;
			struct mc_verbs_slot *slot = ep->slot + at;
			const char *said = NULL;
			enum mc_wire status = judge(wc + i, &said);

			if (status != MC_WIRE_OK && !broke)
				broke = said;
			if (at >= ep->slots || !slot->slice || slot->turn != wc[i].wr_id >> 32) {
				broke = broke ? broke : "the device completed what was not asked for";
				continue;
			}
			mc_verbs_done(ep, slot->slice, status, said);
			slot->slice = NULL;
			slot->next_free = ep->free;
			ep->free = at;
			ep->lane[slot->lane].flying--;
		}
	}
	if (n < 0)
		broke = broke ? broke : "the device gives no completions";
	*why = broke;
	return !broke;
}

/* Completions of one endpoint; and again, once the device was asked to tell of the next one. */
static void gather(struct mc_endpoint *ep)
{
	const char *why;

	ep->event = false;
	for (int pass = 0; pass < 2 && !ep->broken; pass++) {
		if (!mc_verbs_drain(ep, &why)) {
			mc_verbs_endpoint_break(ep, why);
			return;
		}
		mc_verbs_pump(ep);
		if (!pass && !ep->broken && ibv_req_notify_cq(ep->cq, 0))
			mc_verbs_endpoint_break(ep, "the device tells of no completions");
	}
}

size_t mc_verbs_poll(struct mc_port *p, struct mc_completion *out, size_t n)
{
	struct mc_endpoint *ep;
	size_t k = 0;

	pthread_mutex_lock(&p->lock);
	TAILQ_FOREACH (ep, &p->endpoints, next) {
		if (!ep->joined)
			continue;
		if (ep->event && !ep->broken)
			gather(ep);
		while (ep->taken < ep->done.n && k < n)
			out[k++] = ep->done.at[ep->taken++];
		if (ep->taken == ep->done.n)
			ep->taken = ep->done.n = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return k;
}
