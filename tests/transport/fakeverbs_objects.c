/* The fake's objects: what libibverbs makes and ends. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakeverbs_state.h"

struct ibv_device **ibv_get_device_list(int *n)
{
	struct ibv_device **list;

	fake_lock();
	list = fake_fails() ? NULL : calloc(FAKE_DEVICES + 1, sizeof(struct ibv_device *));
	*n = 0;
	for (int i = 0; list && i < FAKE_DEVICES; i++)
		if (f.present[i])
			list[(*n)++] = f.device + i;
	f.live += !!list;
	fake_unlock();
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	fake_lock();
	free(list);
	f.live--;
	fake_unlock();
}

const char *ibv_get_device_name(struct ibv_device *d)
{
	return d->name;
}

/* NULL if it fails; counted as alive, and ended with the context if not before. */
static void *make(struct ibv_context *ctx, size_t bytes)
{
	void *at = fake_fails() ? NULL : calloc(1, bytes);
	size_t i = 0;

	if (!at)
		return NULL;
	while (f.object[i].at)
		i++;
	f.object[i].at = at;
	f.object[i].ctx = ctx;
	f.live++;
	return at;
}

static void forget(void *at)
{
	for (size_t i = 0; i < OBJECTS; i++) {
		if (f.object[i].at == at)
			f.object[i].at = NULL;
		if (f.qp[i] == at) {
			f.qp[i] = NULL;
			fake_forget_ops(at);
		}
		if (f.mr[i] == at)
			f.mr[i] = NULL;
	}
	f.live--;
	free(at);
}

/* 0 and gone, or an error and still there. */
static int unmake(void *at)
{
	if (fake_fails())
		return EBUSY;
	forget(at);
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	struct ibv_context *ctx;

	fake_lock();
	ctx = make(NULL, sizeof *ctx);
	if (ctx) {
		size_t i = 0;

		ctx->device = d;
		ctx->ops.poll_cq = fake_poll_cq;
		ctx->ops.req_notify_cq = fake_req_notify;
		ctx->ops.post_send = fake_post_send;
		ctx->async_fd = fake_pipe();
		while (f.ctx[i])
			i++;
		assert(i < sizeof f.ctx / sizeof f.ctx[0] - 1);
		f.ctx[i] = ctx;
	}
	fake_unlock();
	return ctx;
}

int ibv_close_device(struct ibv_context *ctx)
{
	int fd = ctx->async_fd, rc;

	fake_lock();
	/* The kernel takes back what is left, whatever was refused before. */
	for (size_t i = 0; i < OBJECTS; i++)
		if (f.object[i].at && f.object[i].ctx == ctx)
			forget(f.object[i].at);
	for (size_t i = 0; i < sizeof f.ctx / sizeof f.ctx[0]; i++)
		if (f.ctx[i] == ctx)
			f.ctx[i] = NULL;
	rc = unmake(ctx);
	if (!rc)
		fake_pipe_close(fd);
	fake_unlock();
	return rc;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *a)
{
	int rc;

	(void)ctx;
	fake_lock();
	rc = fake_fails() ? EIO : 0;
	*a = (struct ibv_device_attr){.max_qp_init_rd_atom = 4, .max_qp_rd_atom = 4, .max_qp_wr = 8};
	fake_unlock();
	return rc;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *out)
{
	struct ibv_port_attr *a = (struct ibv_port_attr *)out;
	int rc;

	fake_lock();
	rc = fake_fails() || port != 1 ? EINVAL : 0;
	a->state = f.link[fake_device_of(ctx)] ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	a->active_mtu = IBV_MTU_1024;
	a->gid_tbl_len = 4;
	a->link_layer = IBV_LINK_LAYER_ETHERNET;
	fake_unlock();
	return rc;
}

/* 0: link-local, 1: 127.0.0.1, the others: none. */
int _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index, struct ibv_gid_entry *e,
		      uint32_t flags, size_t size)
{
	(void)ctx;
	(void)flags;
	assert(port == 1 && size == sizeof *e);
	*e = (struct ibv_gid_entry){.gid_index = index, .gid_type = IBV_GID_TYPE_ROCE_V2};
	if (index == 0)
		memcpy(e->gid.raw, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	else if (index == 1)
		memcpy(e->gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16);
	return index < 2 ? 0 : ENODATA;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd;

	fake_lock();
	pd = make(ctx, sizeof *pd);
	if (pd)
		pd->context = ctx;
	fake_unlock();
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int rc;

	fake_lock();
	rc = unmake(pd);
	fake_unlock();
	return rc;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct ibv_comp_channel *c;

	fake_lock();
	c = make(ctx, sizeof *c);
	if (c) {
		c->context = ctx;
		c->fd = fake_pipe();
	}
	fake_unlock();
	return c;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *c)
{
	int fd = c->fd, rc;

	fake_lock();
	rc = unmake(c);
	if (!rc)
		fake_pipe_close(fd);
	fake_unlock();
	return rc;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int size, void *arg, struct ibv_comp_channel *channel,
			     int vector)
{
	struct fake_cq *c;

	assert(!vector && size <= QUEUE);
	fake_lock();
	c = make(ctx, sizeof *c);
	if (c) {
		c->cq.context = ctx;
		c->cq.cq_context = arg;
		c->cq.channel = channel;
		c->size = size;
	}
	fake_unlock();
	return c ? &c->cq : NULL;
}

/* As the kernel does: events of it that nobody has taken yet are dropped. */
static void drop_events(struct ibv_cq *cq)
{
	struct ibv_cq *seen[64];
	size_t n = 0;

	while (cq->channel && n < 64 &&
	       read(cq->channel->fd, seen + n, sizeof *seen) == (ssize_t)sizeof *seen)
		n++;
	for (size_t i = 0; i < n; i++)
		if (seen[i] != cq)
			fake_pipe_write(cq->channel->fd, seen + i, sizeof *seen);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	int rc;

	fake_lock();
	if (cq->channel)
		drop_events(cq);
	assert(!((struct fake_cq *)cq)->events);
	rc = unmake(cq);
	fake_unlock();
	return rc;
}

int ibv_get_cq_event(struct ibv_comp_channel *c, struct ibv_cq **cq, void **arg)
{
	int rc = -1;

	fake_lock();
	if (read(c->fd, cq, sizeof(struct ibv_cq *)) == (ssize_t)sizeof(struct ibv_cq *)) {
		*arg = (*cq)->cq_context;
		((struct fake_cq *)*cq)->events++;
		rc = 0;
	}
	fake_unlock();
	return rc;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	fake_lock();
	((struct fake_cq *)cq)->events -= (int)n;
	fake_unlock();
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *e)
{
	return read(ctx->async_fd, e, sizeof *e) == (ssize_t)sizeof *e ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *e)
{
	memset(e, 0, sizeof *e);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct fake_qp *q;
	size_t i = 0;

	assert(init->qp_type == IBV_QPT_RC);
	fake_lock();
	q = make(pd->context, sizeof *q);
	if (q) {
		q->qp.context = pd->context;
		q->qp.pd = pd;
		q->qp.send_cq = init->send_cq;
		q->qp.qp_num = f.next_qpn++ & 0xffffff;
		q->qp.state = IBV_QPS_RESET;
		q->depth = init->cap.max_send_wr;
		while (f.qp[i])
			i++;
		f.qp[i] = q;
	}
	fake_unlock();
	return q ? &q->qp : NULL;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	struct fake_qp *q = (struct fake_qp *)qp;
	int rc;

	fake_lock();
	assert(mask & IBV_QP_STATE);
	rc = fake_fails() ? EINVAL : 0;
	if (!rc && a->qp_state != IBV_QPS_ERR && (int)a->qp_state != (int)qp->state + 1)
		rc = EINVAL;
	if (!rc) {
		qp->state = a->qp_state;
		if (mask & IBV_QP_DEST_QPN)
			q->peer = a->dest_qp_num;
		if (mask & IBV_QP_ACCESS_FLAGS)
			q->access = a->qp_access_flags;
	}
	fake_unlock();
	return rc;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int rc;

	fake_lock();
	rc = unmake(qp);
	fake_unlock();
	return rc;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct fake_mr *m;
	size_t i = 0;

	fake_lock();
	m = make(pd->context, sizeof *m);
	if (m) {
		uint32_t key = f.same_key > 0 && f.last_key ? f.last_key : f.next_key++;

		f.same_key -= f.same_key > 0;
		m->mr = (struct ibv_mr){.context = pd->context,
					.pd = pd,
					.addr = addr,
					.length = length,
					.lkey = key,
					/* As Soft-RoCE: nobody else may use it. */
					.rkey = access & ~IBV_ACCESS_LOCAL_WRITE ? key : 0};
		m->access = (unsigned)access;
		while (f.mr[i])
			i++;
		f.mr[i] = m;
	}
	fake_unlock();
	return m ? &m->mr : NULL;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	assert(iova == (uintptr_t)addr);
	return ibv_reg_mr(pd, addr, length, (int)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
				 int access)
{
	(void)pd;
	(void)offset;
	(void)length;
	(void)iova;
	(void)fd;
	(void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	uint32_t key = mr->rkey;
	int rc;

	fake_lock();
	rc = unmake(mr);
	if (!rc)
		f.last_key = key;
	fake_unlock();
	return rc;
}

const char *ibv_wc_status_str(enum ibv_wc_status s)
{
	static const char *const name[] = {
	    [IBV_WC_SUCCESS] = "success",
	    [IBV_WC_REM_ACCESS_ERR] = "remote access error",
	    [IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
	    [IBV_WC_WR_FLUSH_ERR] = "work request flushed",
	};

	return s < sizeof name / sizeof *name && name[s] ? name[s] : "another error";
}
