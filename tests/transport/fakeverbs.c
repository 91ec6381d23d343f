/* The fake's controls, operations and completions. */
#include "fakeverbs_state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake f = {.lock = PTHREAD_MUTEX_INITIALIZER};

void fake_lock(void)
{
	pthread_mutex_lock(&f.lock);
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&f.lock);
}

bool fake_fails(void)
{
	if (++f.calls >= f.fail_at && f.fail_times)
		f.fail_times--;
	else if (!f.in_chaos || !fake_chance(f.chaos.fails))
		return false;
	errno = ENOMEM;
	return true;
}

int fake_device_of(const struct ibv_context *ctx)
{
	return (int)(ctx->device - f.device);
}

static void unlink_all(void)
{
	for (int i = 0; i < FAKE_DEVICES; i++)
		unlink(f.device[i].dev_path);
}

void fake_reset(void)
{
	fake_lock();
	if (!f.next_qpn)
		atexit(unlink_all);
	assert(!f.live);
	for (int i = 0; i < FAKE_DEVICES; i++) {
		FILE *at;

		snprintf(f.device[i].name, sizeof f.device[i].name, "fake%d", i);
		snprintf(f.device[i].dev_path, sizeof f.device[i].dev_path, "fake%d.%d.tmp", i,
			 (int)getpid());
		at = fopen(f.device[i].dev_path, "w");
		assert(at);
		fclose(at);
		f.present[i] = f.link[i] = true;
	}
	f.held_n = f.calls = f.fail_at = f.fail_times = f.lose = f.status_times = f.same_key = 0;
	f.hold = f.in_chaos = false;
	f.came_late = 0;
	f.next_qpn = f.next_qpn ? f.next_qpn : 17;
	f.next_key = f.next_key ? f.next_key : 0x1000;
	fake_unlock();
}

#define GETTER(name, field)                                                                                  \
	int name(void)                                                                                       \
	{                                                                                                    \
		int v;                                                                                       \
		fake_lock();                                                                                 \
		v = f.field;                                                                                 \
		fake_unlock();                                                                               \
		return v;                                                                                    \
	}
GETTER(fake_live, live)
GETTER(fake_calls, calls)
GETTER(fake_held, held_n)

void fake_fail(int n, int times)
{
	fake_lock();
	f.calls = 0;
	f.fail_at = n;
	f.fail_times = times;
	fake_unlock();
}

void fake_status(enum ibv_wc_status status, int times)
{
	fake_lock();
	f.status = status;
	f.status_times = times;
	fake_unlock();
}

void fake_lose(int times)
{
	fake_lock();
	f.lose = times;
	fake_unlock();
}

void fake_same_key(int times)
{
	fake_lock();
	f.same_key = times;
	fake_unlock();
}

/* A pipe of records: the end to read from is its name. */
static int write_end[OBJECTS];

int fake_pipe(void)
{
	int fd[2];

	assert(!pipe(fd) && fd[0] < OBJECTS);
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	write_end[fd[0]] = fd[1];
	return fd[0];
}

void fake_pipe_close(int fd)
{
	close(write_end[fd]);
	close(fd);
}

void fake_pipe_write(int fd, const void *at, size_t n)
{
	assert(write(write_end[fd], at, n) == (ssize_t)n);
}

void fake_tell(int device, enum ibv_event_type type, const struct ibv_async_event *of)
{
	struct ibv_async_event e = {.event_type = type, .element.port_num = 1};
	const struct ibv_context *only = NULL;

	if (of) {
		e.element = of->element;
		only = type == IBV_EVENT_CQ_ERR ? of->element.cq->context : of->element.qp->context;
	}
	for (size_t i = 0; i < sizeof f.ctx / sizeof f.ctx[0]; i++)
		if (f.ctx[i] && fake_device_of(f.ctx[i]) == device && (!only || only == f.ctx[i]))
			fake_pipe_write(f.ctx[i]->async_fd, &e, sizeof e);
}

void fake_device(int device, bool present, bool tells)
{
	fake_lock();
	f.present[device] = present;
	if (present) {
		FILE *at = fopen(f.device[device].dev_path, "w");

		assert(at);
		fclose(at);
	} else {
		unlink(f.device[device].dev_path);
	}
	if (!present && tells)
		fake_tell(device, IBV_EVENT_DEVICE_FATAL, NULL);
	fake_unlock();
}

void fake_link(int device, bool up)
{
	fake_lock();
	f.link[device] = up;
	fake_tell(device, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, NULL);
	fake_unlock();
}

void fake_guest_event(int device)
{
	fake_lock();
	for (size_t i = 0; i < OBJECTS; i++)
		if (f.qp[i] && f.qp[i]->access && fake_device_of(f.qp[i]->qp.context) == device) {
			struct ibv_async_event e = {.element.qp = &f.qp[i]->qp};

			fake_tell(device, IBV_EVENT_QP_ACCESS_ERR, &e);
			break;
		}
	fake_unlock();
}

static void overrun(struct ibv_cq *cq)
{
	struct ibv_async_event e = {.element.cq = cq};

	((struct fake_cq *)cq)->overrun = true;
	fake_tell(fake_device_of(cq->context), IBV_EVENT_CQ_ERR, &e);
}

void fake_overrun(int device)
{
	fake_lock();
	for (size_t i = 0; i < OBJECTS; i++)
		if (f.qp[i] && !f.qp[i]->access && fake_device_of(f.qp[i]->qp.context) == device) {
			overrun(f.qp[i]->qp.send_cq);
			break;
		}
	fake_unlock();
}

/* Completions. */

static void complete(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct fake_cq *c = (struct fake_cq *)cq;

	if (c->overrun)
		return;
	assert(c->n < c->size);
	c->wc[c->n++] = (struct ibv_wc){.wr_id = id, .status = status};
	if (c->armed && cq->channel) {
		c->armed = false;
		fake_pipe_write(cq->channel->fd, &cq, sizeof cq);
	}
}

int fake_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct fake_cq *c = (struct fake_cq *)cq;
	int k;

	fake_lock();
	if (fake_fails()) {
		fake_unlock();
		return -1;
	}
	k = c->n < n ? c->n : n;
	memcpy(wc, c->wc, (size_t)k * sizeof *wc);
	memmove(c->wc, c->wc + k, (size_t)(c->n - k) * sizeof *wc);
	c->n -= k;
	fake_unlock();
	return k;
}

int fake_req_notify(struct ibv_cq *cq, int solicited)
{
	int rc;

	(void)solicited;
	fake_lock();
	rc = fake_fails() ? ENOMEM : 0;
	if (!rc)
		((struct fake_cq *)cq)->armed = true;
	fake_unlock();
	return rc;
}

/* Operations. */

struct fake_qp *fake_qp_of(uint32_t number)
{
	for (size_t i = 0; i < OBJECTS; i++)
		if (f.qp[i] && f.qp[i]->qp.qp_num == number)
			return f.qp[i];
	return NULL;
}

struct fake_mr *fake_mr_of(const struct ibv_context *ctx, uint32_t key)
{
	for (size_t i = 0; i < OBJECTS; i++)
		if (f.mr[i] && f.mr[i]->mr.lkey == key && f.mr[i]->mr.context == ctx)
			return f.mr[i];
	return NULL;
}

bool fake_holds(const struct fake_mr *m, uint64_t at, uint64_t n)
{
	uint64_t base = (uintptr_t)m->mr.addr;

	return at >= base && n <= m->mr.length && at - base <= m->mr.length - n;
}

static enum ibv_wc_status move(struct fake_qp *qp, const struct fake_op *op)
{
	struct fake_qp *peer = fake_qp_of(qp->peer);
	bool reads = op->wr.opcode == IBV_WR_RDMA_READ;
	unsigned need = reads ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	struct fake_mr *local, *remote;
	int a = fake_device_of(qp->qp.context), b = peer ? fake_device_of(peer->qp.context) : 0;

	if (!peer || peer->qp.state < IBV_QPS_RTR || peer->qp.state > IBV_QPS_RTS || !f.present[a] ||
	    !f.present[b] || !f.link[a] || !f.link[b])
		return IBV_WC_RETRY_EXC_ERR;
	if (!op->wr.num_sge)
		return IBV_WC_SUCCESS;
	local = fake_mr_of(qp->qp.context, op->sge.lkey);
	remote = fake_mr_of(peer->qp.context, op->wr.wr.rdma.rkey);
	if (!local || !fake_holds(local, op->sge.addr, op->sge.length))
		return IBV_WC_LOC_PROT_ERR;
	if (!remote || !fake_holds(remote, op->wr.wr.rdma.remote_addr, op->sge.length) ||
	    !(remote->access & need) || !(peer->access & need)) {
		peer->qp.state = IBV_QPS_ERR;
		return IBV_WC_REM_ACCESS_ERR;
	}
	if (reads)
		memcpy((void *)(uintptr_t)op->sge.addr, (void *)(uintptr_t)op->wr.wr.rdma.remote_addr,
		       op->sge.length);
	else
		memcpy((void *)(uintptr_t)op->wr.wr.rdma.remote_addr, (void *)(uintptr_t)op->sge.addr,
		       op->sge.length);
	return IBV_WC_SUCCESS;
}

void fake_carry_out(const struct fake_op *op)
{
	struct fake_qp *qp = (struct fake_qp *)op->qp;
	enum ibv_wc_status status;

	if (f.lose > 0) {
		f.lose--;
		return;
	}
	if (f.in_chaos && op->wr.num_sge && fake_chance(f.chaos.lose)) {
		move(qp, op);
		return;
	}
	if (qp->qp.state == IBV_QPS_ERR) {
		status = IBV_WC_WR_FLUSH_ERR;
	} else if (f.status_times > 0 && op->wr.num_sge) {
		f.status_times--;
		status = f.status;
	} else if (!f.in_chaos || !op->wr.num_sge || !fake_chaos_status(qp, op, &status)) {
		status = move(qp, op);
	}
	if (status != IBV_WC_SUCCESS)
		qp->qp.state = IBV_QPS_ERR;
	qp->flying--;
	complete(op->qp->send_cq, op->wr.wr_id, status);
}

int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *q = (struct fake_qp *)qp;
	int rc = 0;

	fake_lock();
	for (; wr; wr = wr->next) {
		struct fake_op op = {.qp = qp, .wr = *wr};

		rc = fake_fails()              ? ENOMEM
		     : qp->state < IBV_QPS_RTS ? EINVAL
		     : q->flying >= q->depth   ? ENOMEM
					       : 0;
		if (rc)
			break;
		q->flying++;
		if (wr->num_sge)
			op.sge = wr->sg_list[0];
		assert(wr->num_sge <= 1 && f.held_n < QUEUE);
		op.due = f.in_chaos ? fake_now() + (int64_t)fake_draw(f.chaos.slow_us + 1) * 1000 : 0;
		if ((f.hold || f.in_chaos) && wr->num_sge)
			f.held[f.held_n++] = op;
		else
			fake_carry_out(&op);
	}
	*bad = wr;
	fake_unlock();
	return rc;
}

void fake_hold(bool on)
{
	fake_lock();
	f.hold = on;
	if (!on && !f.in_chaos) {
		for (int i = 0; i < f.held_n; i++)
			fake_carry_out(f.held + i);
		f.held_n = 0;
	}
	fake_unlock();
}
