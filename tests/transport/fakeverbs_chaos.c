/* The fake when chance rules: a thread carries out what was posted, each queue pair's in its order. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fakeverbs_state.h"
#include "transport/sock.h"

enum { LATE_US = 10000 };

static pthread_t wire;

int64_t fake_now(void)
{
	return mc_clock_ns();
}

uint64_t fake_draw(uint64_t n)
{
	f.rng = mc_hash_u64(f.rng);
	return f.rng % n;
}

bool fake_chance(unsigned thousandths)
{
	return fake_draw(1000) < thousandths;
}

unsigned fake_late(void)
{
	unsigned n;

	fake_lock();
	n = f.came_late;
	fake_unlock();
	return n;
}

/* Its bytes, or some of them, to a peer that lets it. */
static bool move_some(struct ibv_qp *from, const struct fake_op *op, uint32_t to, size_t n)
{
	struct fake_qp *peer = fake_qp_of(to);
	bool reads = op->wr.opcode == IBV_WR_RDMA_READ;
	unsigned need = reads ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	const struct fake_mr *local = from ? fake_mr_of(from->context, op->sge.lkey) : NULL, *m;
	void *here = op->data ? op->data : (void *)(uintptr_t)op->sge.addr;

	if (!peer || peer->qp.state < IBV_QPS_RTR || peer->qp.state > IBV_QPS_RTS || !(peer->access & need))
		return false;
	m = fake_mr_of(peer->qp.context, op->wr.wr.rdma.rkey);
	if (!m || !(m->access & need) || !fake_holds(m, op->wr.wr.rdma.remote_addr, op->sge.length))
		return false;
	if (!op->data && (!local || !fake_holds(local, op->sge.addr, op->sge.length)))
		return false;
	if (reads)
		memcpy(here, (void *)(uintptr_t)op->wr.wr.rdma.remote_addr, n);
	else
		memcpy((void *)(uintptr_t)op->wr.wr.rdma.remote_addr, here, n);
	return true;
}

static void some_event(struct fake_qp *qp)
{
	int device = fake_device_of(qp->qp.context);
	struct ibv_async_event e = {0};

	switch (fake_draw(4)) {
	case 0:
		e.element.qp = &qp->qp;
		qp->qp.state = IBV_QPS_ERR;
		fake_tell(device, fake_draw(2) ? IBV_EVENT_QP_FATAL : IBV_EVENT_QP_REQ_ERR, &e);
		break;
	case 1:
		e.element.cq = qp->qp.send_cq;
		((struct fake_cq *)qp->qp.send_cq)->overrun = true;
		fake_tell(device, IBV_EVENT_CQ_ERR, &e);
		break;
	case 2:
		fake_tell(device, IBV_EVENT_GID_CHANGE, NULL);
		break;
	default:
		fake_tell(device, IBV_EVENT_PKEY_CHANGE, NULL);
	}
}

bool fake_chaos_status(struct fake_qp *qp, const struct fake_op *op, enum ibv_wc_status *status)
{
	static const enum ibv_wc_status all[] = {
	    IBV_WC_REM_ACCESS_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR,
	    IBV_WC_REM_OP_ERR,     IBV_WC_LOC_PROT_ERR,  IBV_WC_LOC_QP_OP_ERR,
	    IBV_WC_REM_ABORT_ERR,  IBV_WC_GENERAL_ERR,   IBV_WC_FATAL_ERR};

	if (fake_chance(f.chaos.event))
		some_event(qp);
	if (!fake_chance(f.chaos.status))
		return false;
	move_some(&qp->qp, op, qp->peer, (size_t)fake_draw(op->sge.length + 1));
	*status = all[fake_draw(sizeof all / sizeof *all)];
	return true;
}

void fake_forget_ops(struct ibv_qp *qp)
{
	int n = 0;

	for (int i = 0; i < f.held_n; i++) {
		struct fake_op *op = f.held + i;

		if (op->qp == qp) {
			const struct fake_mr *m = fake_mr_of(qp->context, op->sge.lkey);

			if (!f.in_chaos || op->wr.opcode != IBV_WR_RDMA_WRITE || !m ||
			    !fake_holds(m, op->sge.addr, op->sge.length) || !fake_chance(f.chaos.late))
				continue;
			op->data = malloc(op->sge.length);
			memcpy(op->data, (void *)(uintptr_t)op->sge.addr, op->sge.length);
			op->peer = ((struct fake_qp *)qp)->peer;
			op->due = fake_now() + (int64_t)fake_draw(LATE_US * 1000);
			op->qp = NULL;
		}
		f.held[n++] = *op;
	}
	f.held_n = n;
}

/* Do what is due. */
static void step(void)
{
	int64_t now = fake_now();

	for (int i = 0; i < f.held_n;) {
		struct fake_op op = f.held[i];
		bool first = true;

		for (int k = 0; k < i && op.qp; k++)
			first &= f.held[k].qp != op.qp;
		if (op.due > now || !first) {
			i++;
			continue;
		}
		memmove(f.held + i, f.held + i + 1, (size_t)(--f.held_n - i) * sizeof op);
		if (op.data) {
			f.came_late += move_some(NULL, &op, op.peer, op.sge.length);
			free(op.data);
		} else {
			fake_carry_out(&op);
		}
	}
}

static void *run(void *arg)
{
	struct timespec nap = {.tv_nsec = 100000};

	(void)arg;
	fake_lock();
	while (f.in_chaos || f.held_n) {
		if (!f.hold)
			step();
		fake_unlock();
		nanosleep(&nap, NULL);
		fake_lock();
	}
	fake_unlock();
	return NULL;
}

void fake_chaos(const struct fake_chaos *c, uint64_t seed)
{
	bool was;

	fake_lock();
	was = f.in_chaos;
	f.in_chaos = c != NULL;
	if (c)
		f.chaos = *c;
	f.rng = seed;
	fake_unlock();
	if (c && !was && pthread_create(&wire, NULL, run, NULL))
		abort();
	if (!c && was)
		pthread_join(wire, NULL);
}
