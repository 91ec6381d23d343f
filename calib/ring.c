#include "config.h"

#include "calib/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"

#ifdef HAVE_LINUX_IO_URING_H
#include <linux/io_uring.h>
#endif

#if defined HAVE_LINUX_IO_URING_H && defined IORING_FEAT_RW_CUR_POS && defined __NR_io_uring_setup

/* Both rings are memory that the kernel shares: it moves the head of the queue of requests and the tail of
 * the results', this side the others. */
struct mc_ring {
	int fd;
	unsigned depth, under_way;
	unsigned queued; /* and not handed over yet */
	void *rings;
	size_t rings_bytes;
	struct io_uring_sqe *request;
	size_t request_bytes;
	unsigned *sq_tail, *sq_array, sq_mask;
	unsigned *cq_head, *cq_tail, cq_mask;
	struct io_uring_cqe *result;
};

static int no_ring(struct mc_err *err)
{
	int e = errno;

	if (e == ENOSYS)
		return mc_err_set(err, MC_NOHW, "this kernel has no io_uring; expected Linux 5.6 or later");
	if (e == EPERM || e == EACCES)
		return mc_err_set(
		    err, MC_NOHW,
		    "io_uring is not allowed here: a container's filter of system calls forbids it, or "
		    "kernel.io_uring_disabled does");
	return mc_err_errno(err, MC_FAIL, "io_uring cannot be set up");
}

static int map(struct mc_ring *r, const struct io_uring_params *p, struct mc_err *err)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
	size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned);
	size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	char *at;

	r->rings_bytes = sq > cq ? sq : cq;
	r->request_bytes = p->sq_entries * sizeof(struct io_uring_sqe);
	r->rings = mmap(NULL, r->rings_bytes, prot, flags, r->fd, IORING_OFF_SQ_RING);
	if (r->rings == MAP_FAILED)
		return r->rings = NULL, mc_err_errno(err, MC_FAIL, "no memory for io_uring");
	r->request = mmap(NULL, r->request_bytes, prot, flags, r->fd, IORING_OFF_SQES);
	if (r->request == MAP_FAILED)
		return r->request = NULL, mc_err_errno(err, MC_FAIL, "no memory for io_uring");
	at = r->rings;
	r->sq_tail = (unsigned *)(void *)(at + p->sq_off.tail);
	r->sq_array = (unsigned *)(void *)(at + p->sq_off.array);
	r->sq_mask = p->sq_entries - 1;
	r->cq_head = (unsigned *)(void *)(at + p->cq_off.head);
	r->cq_tail = (unsigned *)(void *)(at + p->cq_off.tail);
	r->cq_mask = p->cq_entries - 1;
	r->result = (struct io_uring_cqe *)(void *)(at + p->cq_off.cqes);
	return 0;
}

int mc_ring_new(struct mc_ring **out, unsigned depth, struct mc_err *err)
{
	struct io_uring_params p = {0};
	struct mc_ring *r;
	int rc = 0, fd;

	assert(depth >= 1 && depth <= MC_RING_DEPTH_MAX);
	*out = NULL;
	fd = (int)syscall(__NR_io_uring_setup, depth, &p);
	if (fd < 0)
		return no_ring(err);
	r = mc_xcalloc(1, sizeof *r);
	r->fd = fd;
	r->depth = depth;
	/* Came with what is used here, plain reads and writes and one map for both rings. */
	if (!(p.features & IORING_FEAT_RW_CUR_POS) || !(p.features & IORING_FEAT_SINGLE_MMAP))
		rc = mc_err_set(err, MC_NOHW,
				"this kernel's io_uring is too old; expected Linux 5.6 or later");
	if (!rc)
		rc = map(r, &p, err);
	if (rc) {
		mc_ring_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

void mc_ring_free(struct mc_ring *r)
{
	struct mc_ring_done done;

	if (!r)
		return;
	while (r->under_way && !mc_ring_wait(r, r->under_way, NULL))
		while (mc_ring_take(r, &done))
			;
	if (r->request)
		munmap(r->request, r->request_bytes);
	if (r->rings)
		munmap(r->rings, r->rings_bytes);
	close(r->fd);
	free(r);
}

unsigned mc_ring_under_way(const struct mc_ring *r)
{
	return r->under_way;
}

void mc_ring_queue(struct mc_ring *r, const struct mc_ring_request *q)
{
	unsigned tail = *r->sq_tail, i = tail & r->sq_mask; /* only this side moves it */

	assert(r->under_way < r->depth);
	r->request[i] = (struct io_uring_sqe){
	    .opcode = q->write ? IORING_OP_WRITE : IORING_OP_READ,
	    .fd = q->fd,
	    .off = (uint64_t)q->offset,
	    .addr = (uint64_t)(uintptr_t)q->buffer,
	    .len = q->bytes,
	    .user_data = q->tag,
	};
	r->sq_array[i] = i;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	r->queued++;
	r->under_way++;
}

static unsigned ready(const struct mc_ring *r)
{
	return __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) - *r->cq_head;
}

int mc_ring_wait(struct mc_ring *r, unsigned least, struct mc_err *err)
{
	assert(least <= r->under_way);
	while (r->queued || ready(r) < least) {
		unsigned flags = ready(r) < least ? IORING_ENTER_GETEVENTS : 0;
		long n =
		    syscall(__NR_io_uring_enter, r->fd, r->queued, flags ? least : 0, flags, NULL, (size_t)0);

		if (n < 0 && errno == EINTR)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EBUSY)
			return mc_err_errno(err, MC_FAIL, "io_uring");
		if (n > 0)
			r->queued -= (unsigned)n;
	}
	return 0;
}

bool mc_ring_take(struct mc_ring *r, struct mc_ring_done *out)
{
	unsigned head = *r->cq_head; /* only this side moves it */
	const struct io_uring_cqe *c = &r->result[head & r->cq_mask];

	if (!ready(r))
		return false;
	*out = (struct mc_ring_done){c->user_data, c->res};
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	r->under_way--;
	return true;
}

#else /* a system without: there are no rings */

int mc_ring_new(struct mc_ring **out, unsigned depth, struct mc_err *err)
{
	(void)depth;
	*out = NULL;
	return mc_err_set(err, MC_NOHW,
			  "this program was built without io_uring; expected Linux's headers from 5.6 on");
}

void mc_ring_free(struct mc_ring *r)
{
	assert(!r);
}

unsigned mc_ring_under_way(const struct mc_ring *r)
{
	return (void)r, 0;
}

void mc_ring_queue(struct mc_ring *r, const struct mc_ring_request *q)
{
	(void)r, (void)q;
}

int mc_ring_wait(struct mc_ring *r, unsigned least, struct mc_err *err)
{
	return (void)r, (void)least, mc_err_set(err, MC_NOHW, "no io_uring");
}

bool mc_ring_take(struct mc_ring *r, struct mc_ring_done *out)
{
	return (void)r, (void)out, false;
}

#endif
