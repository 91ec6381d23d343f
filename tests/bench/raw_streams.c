#include "raw_streams.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

struct question {
	uint64_t write, at, bytes;
};

struct stream {
	struct raw *r;
	int fd;
	unsigned index;
	uint32_t asked; /* sends whose pages are to be let go */
	pthread_t thread;
};

struct raw {
	unsigned streams;
	bool zero, closing;
	struct raw_job job;
	pthread_barrier_t begin, end;
	struct stream stream[RAW_STREAMS];
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void send_all(int fd, const void *at, size_t n, int flags)
{
	for (const uint8_t *p = at; n;) {
		ssize_t k = send(fd, p, n, flags | MSG_NOSIGNAL);

		must(k >= 0 || errno == EINTR || errno == ENOBUFS, "send");
		p += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
}

static void recv_all(int fd, void *at, size_t n)
{
	for (uint8_t *p = at; n;) {
		ssize_t k = recv(fd, p, n, MSG_WAITALL);

		if (!k)
			exit(0); /* the other process has ended */
		must(k > 0 || errno == EINTR, "recv");
		p += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
}

struct served {
	int fd;
	uint8_t *memory;
};

static void *serve(void *arg)
{
	struct served *s = arg;

	for (;;) {
		struct question q;

		recv_all(s->fd, &q, sizeof q);
		if (!q.bytes)
			break;
		if (q.write) {
			recv_all(s->fd, s->memory + q.at, q.bytes);
			send_all(s->fd, "", 1, 0);
		} else {
			send_all(s->fd, s->memory + q.at, q.bytes, 0);
		}
	}
	close(s->fd);
	free(s);
	return NULL;
}

struct listening {
	int fd;
	uint8_t *memory;
};

static void *take(void *arg)
{
	struct listening *l = arg;

	for (;;) {
		struct served *s = mc_xcalloc(1, sizeof *s);
		pthread_t thread;
		int one = 1;

		s->memory = l->memory;
		s->fd = accept(l->fd, NULL, NULL);
		must(s->fd >= 0, "accept");
		setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		must(!pthread_create(&thread, NULL, serve, s), "thread");
		pthread_detach(thread);
	}
	return NULL;
}

int raw_serve(uint8_t *memory)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	struct listening *l = mc_xcalloc(1, sizeof *l);
	pthread_t thread;

	l->memory = memory;
	l->fd = socket(AF_INET, SOCK_STREAM, 0);
	must(l->fd >= 0 && !bind(l->fd, (struct sockaddr *)&a, sizeof a) && !listen(l->fd, 64) &&
		 !getsockname(l->fd, (struct sockaddr *)&a, &n),
	     "listen");
	must(!pthread_create(&thread, NULL, take, l), "thread");
	return ntohs(a.sin_port);
}

/* Until the kernel has let go of the pages of all sends. */
static void let_go(struct stream *s)
{
	while (s->asked) {
		char control[128];
		struct msghdr m = {.msg_control = control, .msg_controllen = sizeof control};
		struct pollfd p = {.fd = s->fd};

		if (recvmsg(s->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			poll(&p, 1, -1);
			continue;
		}
		for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
			const struct sock_extended_err *e = (const void *)CMSG_DATA(h);

			if (e->ee_origin == SO_EE_ORIGIN_ZEROCOPY)
				s->asked -= e->ee_data - e->ee_info + 1;
		}
	}
}

static void send_zero(struct stream *s, const uint8_t *at, size_t n)
{
	while (n) {
		ssize_t k = send(s->fd, at, n, MSG_ZEROCOPY | MSG_NOSIGNAL);

		if (k < 0 && errno == ENOBUFS) { /* too many are pinned */
			let_go(s);
			continue;
		}
		must(k >= 0, "send");
		s->asked++;
		at += k;
		n -= (size_t)k;
	}
}

static void move(struct stream *s)
{
	const struct raw_job *j = &s->r->job;
	size_t share = (j->bytes / s->r->streams + 4095) / 4096 * 4096;
	size_t at = s->index * share, n = at >= j->bytes ? 0 : j->bytes - at < share ? j->bytes - at : share;
	struct question q = {.write = j->write, .at = j->at + at, .bytes = n};
	char ack;

	if (!n)
		return;
	send_all(s->fd, &q, sizeof q, j->write ? MSG_MORE : 0);
	if (!j->write) {
		recv_all(s->fd, j->local + at, n);
		return;
	}
	if (s->r->zero)
		send_zero(s, j->local + at, n);
	else
		send_all(s->fd, j->local + at, n, 0);
	recv_all(s->fd, &ack, 1);
	let_go(s);
}

static void *stream_thread(void *arg)
{
	struct stream *s = arg;
	struct raw *r = s->r;

	for (;;) {
		pthread_barrier_wait(&r->begin);
		if (r->closing)
			return NULL;
		move(s);
		pthread_barrier_wait(&r->end);
	}
}

struct raw *raw_open(int port, unsigned streams, bool zero)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons((uint16_t)port)};
	struct raw *r = mc_xcalloc(1, sizeof *r);
	int one = 1;

	r->streams = streams;
	r->zero = zero;
	pthread_barrier_init(&r->begin, NULL, streams);
	pthread_barrier_init(&r->end, NULL, streams);
	for (unsigned i = 0; i < streams; i++) {
		struct stream *s = &r->stream[i];

		s->r = r;
		s->index = i;
		s->fd = socket(AF_INET, SOCK_STREAM, 0);
		must(s->fd >= 0 && !connect(s->fd, (struct sockaddr *)&a, sizeof a), "connect");
		setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		must(!zero || !setsockopt(s->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one), "zerocopy");
		must(!i || !pthread_create(&s->thread, NULL, stream_thread, s), "thread");
	}
	return r;
}

void raw_do(struct raw *r, const struct raw_job *j)
{
	r->job = *j;
	if (r->streams > 1)
		pthread_barrier_wait(&r->begin);
	move(&r->stream[0]);
	if (r->streams > 1)
		pthread_barrier_wait(&r->end);
}

void raw_close(struct raw *r)
{
	r->closing = true;
	if (r->streams > 1)
		pthread_barrier_wait(&r->begin);
	for (unsigned i = 0; i < r->streams; i++) {
		struct question none = {0};

		if (i)
			pthread_join(r->stream[i].thread, NULL);
		send_all(r->stream[i].fd, &none, sizeof none, 0);
		close(r->stream[i].fd);
	}
	pthread_barrier_destroy(&r->begin);
	pthread_barrier_destroy(&r->end);
	free(r);
}
