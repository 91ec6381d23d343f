/* One end of one connection: what is queued goes out as the socket takes it, several heads and bodies in one
 * call; what comes in goes from the socket straight to where it belongs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transport/tcp_state.h"

enum { GATHER = 32 }; /* outs of one call */

struct mc_tcp_stream *mc_tcp_stream_new(struct mc_port *p, int fd, uint64_t id)
{
	struct mc_tcp_stream *s = mc_xcalloc(1, sizeof *s);

	s->fd = fd;
	s->id = id;
	s->wait_end = &s->wait;
	s->post_end = &s->post;
	pthread_mutex_lock(&p->lock);
	s->loop = p->loop[p->turn++ % p->loops];
	pthread_mutex_unlock(&p->lock);
	return s;
}

void mc_tcp_stream_add(struct mc_tcp_loop *l, void *stream)
{
	struct mc_tcp_stream *s = stream;
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};

	TAILQ_INSERT_TAIL(&l->streams, s, next);
	s->events = EPOLLIN;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, s->fd, &e))
		mc_tcp_stream_kill(s);
	else
		mc_tcp_stream_flush(s);
}

void mc_tcp_stream_kill(struct mc_tcp_stream *s)
{
	struct mc_tcp_loop *l = s->loop;

	if (s->dead)
		return;
	s->dead = true;
	/* Said in full: the listener may hold the socket for a moment longer, and with it epoll and the peer.
	 */
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	shutdown(s->fd, SHUT_RDWR);
	close(s->fd);
	s->fd = -1;
	s->out_n = 0;
	if (s->ep) { /* stays in the list until its endpoint goes */
		mc_tcp_client_lost(s, "the connection broke");
		return;
	}
	TAILQ_REMOVE(&l->streams, s, next);
	TAILQ_INSERT_TAIL(&l->buried, s, next);
	pthread_mutex_lock(&l->port->lock);
	l->port->served--;
	pthread_mutex_unlock(&l->port->lock);
}

struct mc_tcp_out *mc_tcp_stream_queue(struct mc_tcp_stream *s)
{
	struct mc_tcp_out *o;

	if (s->out_n == s->out_cap) {
		size_t cap = s->out_cap ? 2 * s->out_cap : 16;
		struct mc_tcp_out *to = mc_xcalloc(cap, sizeof *to);

		for (size_t i = 0; i < s->out_n; i++)
			to[i] = s->out[(s->out_at + i) & (s->out_cap - 1)];
		free(s->out);
		s->out = to;
		s->out_cap = cap;
		s->out_at = 0;
	}
	o = &s->out[(s->out_at + s->out_n++) & (s->out_cap - 1)];
	*o = (struct mc_tcp_out){0};
	return o;
}

static void watch(struct mc_tcp_stream *s)
{
	bool full = !s->ep && s->out_n >= s->loop->port->want.limits.depth;
	uint32_t events = (full ? 0 : EPOLLIN) | (s->out_n ? EPOLLOUT : 0);
	struct epoll_event e = {.events = events, .data.ptr = s};

	if (!s->dead && events != s->events) {
		s->events = events;
		if (epoll_ctl(s->loop->epoll, EPOLL_CTL_MOD, s->fd, &e))
			mc_tcp_stream_kill(s);
	}
}

static size_t gather(const struct mc_tcp_stream *s, struct iovec *v)
{
	size_t skip = s->out_sent, n = 0;

	for (size_t i = 0; i < s->out_n && i < GATHER; i++) {
		struct mc_tcp_out *o = &s->out[(s->out_at + i) & (s->out_cap - 1)];

		if (skip < o->head_n)
			v[n++] = (struct iovec){o->head + skip, o->head_n - skip};
		skip = skip < o->head_n ? 0 : skip - o->head_n;
		if (skip < o->body_n)
			v[n++] = (struct iovec){(uint8_t *)o->body + skip, o->body_n - skip};
		skip = 0;
	}
	return n;
}

static void advance(struct mc_tcp_stream *s, size_t n)
{
	s->out_sent += n;
	while (s->out_n) {
		const struct mc_tcp_out *o = &s->out[s->out_at];

		if (s->out_sent < (size_t)o->head_n + o->body_n)
			break;
		s->out_sent -= (size_t)o->head_n + o->body_n;
		s->out_at = (s->out_at + 1) & (s->out_cap - 1);
		s->out_n--;
		s->sent++;
	}
}

void mc_tcp_stream_flush(struct mc_tcp_stream *s)
{
	while (s->out_n && !s->dead) {
		struct iovec v[2 * GATHER];
		struct msghdr m = {.msg_iov = v, .msg_iovlen = gather(s, v)};
		ssize_t n = sendmsg(s->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			advance(s, (size_t)n);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
		else if (errno != EINTR)
			mc_tcp_stream_kill(s);
	}
	watch(s);
}

/* A head or body is whole. */
static void whole(struct mc_tcp_stream *s, bool head)
{
	if (s->ep && head)
		mc_tcp_client_head(s);
	else if (head)
		mc_tcp_serve_head(s);
	if (s->dead || s->left)
		return;
	s->head_n = 0;
	if (s->ep)
		mc_tcp_client_body(s);
	else
		mc_tcp_serve_body(s);
}

/* Bytes to where they belong, which others may be using: what a request under way touches has no order. By
 * their names the thread sanitizer knows these (tests/tsan.supp). */
static __attribute__((noinline)) ssize_t take_payload(struct mc_tcp_stream *s, size_t want)
{
	struct iovec v[2] = {{s->body, want}, {s->ahead, sizeof s->ahead}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};

	return recvmsg(s->fd, &m, MSG_DONTWAIT);
}

static __attribute__((noinline)) void take_payload_ahead(struct mc_tcp_stream *s, size_t n)
{
	memcpy(s->body, s->ahead + s->ahead_at, n);
}

/* A head, or what is thrown away, and what follows it. */
static ssize_t take_other(struct mc_tcp_stream *s, void *to, size_t want)
{
	struct iovec v[2] = {{to, want}, {s->ahead, sizeof s->ahead}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};

	return recvmsg(s->fd, &m, MSG_DONTWAIT);
}

/* Bytes that have come are of the head, or of the body. */
static void came(struct mc_tcp_stream *s, size_t n)
{
	size_t head = s->ep ? MC_TCP_ANSWER : MC_TCP_QUESTION;

	if (s->head_n < head) {
		s->head_n += n;
		if (s->head_n == head)
			whole(s, true);
		return;
	}
	s->left -= (uint32_t)n;
	if (s->body)
		s->body += n;
	if (!s->left)
		whole(s, false);
}

/* What an earlier call has brought. */
static void take_ahead(struct mc_tcp_stream *s, void *to, size_t want)
{
	size_t n = s->ahead_n < want ? s->ahead_n : want;

	if (to)
		memcpy(to, s->ahead + s->ahead_at, n);
	else
		take_payload_ahead(s, n);
	s->ahead_at += n;
	s->ahead_n -= n;
	came(s, n);
}

/* One call of the socket, if need be; false: nothing more for now. */
static bool take(struct mc_tcp_stream *s, size_t *turn)
{
	size_t head = s->ep ? MC_TCP_ANSWER : MC_TCP_QUESTION;
	bool in_head = s->head_n < head;
	size_t want = in_head ? head - s->head_n : s->left;
	void *to = in_head ? s->head + s->head_n : s->body ? NULL : s->loop->sink;
	ssize_t n;

	if (!in_head && to && want > MC_TCP_SINK)
		want = MC_TCP_SINK;
	if (s->ahead_n) {
		take_ahead(s, to, want);
		return true;
	}
	n = to ? take_other(s, to, want) : take_payload(s, want);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (n <= 0) {
		mc_tcp_stream_kill(s);
		return false;
	}
	*turn += (size_t)n;
	if ((size_t)n < want + MC_TCP_AHEAD) /* nothing more is there */
		*turn = MC_TCP_TURN;
	s->ahead_at = 0;
	s->ahead_n = (size_t)n > want ? (size_t)n - want : 0;
	came(s, (size_t)n - s->ahead_n);
	return true;
}

/* Questions of a peer that doesn't read its answers wait. */
static bool has_room(const struct mc_tcp_stream *s)
{
	return s->ep || s->out_n < s->loop->port->want.limits.depth;
}

void mc_tcp_stream_ready(struct mc_tcp_stream *s, uint32_t events)
{
	size_t turn = events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? 0 : MC_TCP_TURN;

	if (s->dead)
		return;
	if (events & EPOLLOUT)
		mc_tcp_stream_flush(s);
	/* What has been received already is looked at in any case: no event would tell of it again. */
	do {
		while (!s->dead && has_room(s) && (turn < MC_TCP_TURN || s->ahead_n) && take(s, &turn))
			;
		if (!s->dead)
			mc_tcp_stream_flush(s);
	} while (!s->dead && s->ahead_n && has_room(s));
}
