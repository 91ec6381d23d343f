/* Messages, and the files that come with them. */
#define _GNU_SOURCE /* POLLRDHUP */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/shm_state.h"
#include "transport/wire.h"

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

bool mc_shm_send(int fd, const struct mc_shm_frame *f, int file)
{
	uint8_t text[MC_SHM_FRAME] = {f->kind, f->status, f->access};
	union control c = {{0}};
	struct iovec v = {text, sizeof text};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	ssize_t n;

	mc_wire_set(text + 8, f->key, 8);
	mc_wire_set(text + 16, f->base, 8);
	mc_wire_set(text + 24, f->bytes, 8);
	if (file >= 0) {
		m.msg_control = c.bytes;
		m.msg_controllen = sizeof c.bytes;
		struct cmsghdr *h = CMSG_FIRSTHDR(&m);

		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &file, sizeof file);
	}
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n == MC_SHM_FRAME; /* it is far smaller than what a socket takes whole or not at all */
}

void mc_shm_decode(const uint8_t at[MC_SHM_FRAME], struct mc_shm_frame *f)
{
	f->kind = at[0];
	f->status = at[1];
	f->access = at[2];
	f->key = mc_wire_get(at + 8, 8);
	f->base = mc_wire_get(at + 16, 8);
	f->bytes = mc_wire_get(at + 24, 8);
}

/* Keep the file that came; others are closed. (The space for one has room for a second, too: it is rounded
 * up.) */
static void keep_file(struct mc_shm_sock *s, struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		size_t n = h->cmsg_len < CMSG_LEN(0) ? 0 : (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int file;

			memcpy(&file, CMSG_DATA(h) + i * sizeof file, sizeof file);
			if (s->file < 0)
				s->file = file;
			else
				close(file);
		}
	}
}

enum mc_shm_heard mc_shm_hear(struct mc_shm_sock *s, struct mc_shm_frame *f)
{
	while (s->in_n < MC_SHM_FRAME) {
		union control c;
		struct iovec v = {s->in + s->in_n, MC_SHM_FRAME - s->in_n};
		struct msghdr m = {
		    .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.bytes, .msg_controllen = sizeof c.bytes};
		ssize_t n = recvmsg(s->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return MC_SHM_NOTHING;
		if (n <= 0)
			return MC_SHM_HUNG_UP;
		keep_file(s, &m);
		s->in_n += (size_t)n;
	}
	s->in_n = 0;
	mc_shm_decode(s->in, f);
	return MC_SHM_HEARD;
}

bool mc_shm_hung_up(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

int mc_shm_watch(struct mc_port *p, int fd, uint64_t serial, struct mc_err *err)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = serial};

	if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e))
		return mc_err_errno(err, MC_FAIL, "cannot wait for a peer");
	return 0;
}

void mc_shm_hang_up(struct mc_port *p, struct mc_shm_sock *s)
{
	if (s->file >= 0)
		close(s->file);
	s->file = -1;
	if (s->fd < 0)
		return;
	/* Said in full: the listener may hold the socket for a moment longer. */
	epoll_ctl(p->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	shutdown(s->fd, SHUT_RDWR);
	close(s->fd);
	s->fd = -1;
}
