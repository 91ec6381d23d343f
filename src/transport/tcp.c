/*
 * TCP: several streams between two ports, so that one connection's window, and one core, are no limit; served
 * by threads of the owner. One copy at each end, the kernel's: bytes go from and to the memory itself.
 * (MSG_ZEROCOPY isn't used: what it saves the sender, it takes back in notifications and, over loopback, in a
 * copy of the kernel's own.) A port's name is an address of this host, or an interface that has one ("eth0");
 * by default the loopback's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/sock.h"
#include "transport/tcp_state.h"
#include "transport/wire.h"

enum {
	LANES = 4,
	POSTED = 64, /* slices handed over at once */
};

static void port_close(struct mc_port *p)
{
	if (!p)
		return;
	mc_listener_close(p->listener);
	for (size_t i = 0; i < p->loops; i++)
		mc_tcp_loop_close(p->loop[i]);
	pthread_mutex_destroy(&p->lock);
	mc_vec_fini(&p->region);
	mc_vec_fini(&p->done);
	mc_vec_fini(&p->of);
	free(p);
}

static int port_open(struct mc_port **out, const struct mc_port_want *want, struct mc_err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t loops = cpus < 8 ? 1 : cpus < 8 * MC_TCP_LOOPS ? (size_t)cpus / 8 : MC_TCP_LOOPS;
	struct mc_port *p = mc_xcalloc(1, sizeof *p);
	char address[MC_PORT_NAME + 8];
	int rc = 0;

	*out = NULL;
	p->want = *want;
	if (!p->want.lanes)
		p->want.lanes = LANES;
	if (p->want.lanes > MC_TCP_LANES)
		p->want.lanes = MC_TCP_LANES;
	mc_sock_interface(want->name[0] ? want->name : "127.0.0.1", p->host, sizeof p->host);
	if (!p->host[0]) {
		free(p);
		return mc_err_set(err, MC_USAGE, "interface %s has no address", want->name);
	}
	snprintf(address, sizeof address, strchr(p->host, ':') ? "[%s]:0" : "%s:0", p->host);
	pthread_mutex_init(&p->lock, NULL);
	rc = mc_auth_random(&p->keys, sizeof p->keys, err);
	p->keys >>= 1; /* of another life's none is the same, should it have had this port */
	while (p->loops < loops && !rc) {
		rc = mc_tcp_loop_open(&p->loop[p->loops], p, err);
		p->loops += !rc;
	}
	if (!rc) {
		struct mc_listener_want l = {.address = address,
					     .token = want->token,
					     .purpose = MC_PURPOSE_TCP,
					     .pending = want->limits.pending,
					     .timeout_ns = want->timeout_ns,
					     .accepted = mc_tcp_serve,
					     .arg = p};

		rc = mc_listener_open(&p->listener, &l, err);
	}
	if (rc) {
		port_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

static const char *port_address(const struct mc_port *p)
{
	return mc_listener_address(p->listener);
}

static int memory_register(struct mc_port *p, const struct mc_memory *m, unsigned access, uint64_t *key,
			   struct mc_err *err)
{
	struct mc_tcp_region r = {.m = *m, .access = access};

	if (m->place[0] && strncmp(m->place, "cpu", 3) != 0)
		return mc_err_set(err, MC_NOHW, "TCP does not reach memory of %s", m->place);
	pthread_mutex_lock(&p->lock);
	*key = r.key = ++p->keys;
	mc_vec_push(&p->region, r);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

/* In each loop: end the connections that are served and are just using a region, or have that id. */
static void end_users(struct mc_tcp_loop *l, void *key)
{
	const uint64_t *k = key;
	struct mc_tcp_stream *s, *after;

	for (s = TAILQ_FIRST(&l->streams); s; s = after) {
		bool uses = !s->ep && s->body && s->key == *k;

		after = TAILQ_NEXT(s, next);
		for (size_t i = 0; i < s->out_n && !s->ep; i++)
			uses |= s->out[(s->out_at + i) & (s->out_cap - 1)].key == *k;
		if (uses)
			mc_tcp_stream_kill(s);
	}
}

static void end_id(struct mc_tcp_loop *l, void *id)
{
	const uint64_t *k = id;
	struct mc_tcp_stream *s, *after;

	for (s = TAILQ_FIRST(&l->streams); s; s = after) {
		after = TAILQ_NEXT(s, next);
		if (!s->ep && s->id == *k)
			mc_tcp_stream_kill(s);
	}
}

static int memory_unregister(struct mc_port *p, uint64_t key, struct mc_err *err)
{
	(void)err;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->region.n; i++)
		if (p->region.at[i].key == key)
			p->region.at[i--] = p->region.at[--p->region.n];
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->loops; i++)
		mc_tcp_loop_call(p->loop[i], end_users, &key);
	return 0;
}

static int fence(struct mc_port *p, uint64_t id, struct mc_err *err)
{
	(void)err;
	for (size_t i = 0; i < p->loops; i++)
		mc_tcp_loop_call(p->loop[i], end_id, &id);
	return 0;
}

/* A connection that the peer has taken. */
static int join(struct mc_port *p, const struct mc_connect_want *want, int64_t deadline, int *fd,
		struct mc_err *err)
{
	uint8_t id[8], taken[MC_TCP_ANSWER];
	int rc = mc_sock_numeric(want->address, err);

	if (!rc)
		rc = mc_sock_connect(fd, want->address, p->host, deadline, err);
	if (rc)
		return rc;
	mc_wire_set(id, want->id, 8);
	if (mc_auth_connect(*fd, &p->want.token, MC_PURPOSE_TCP, deadline, err) ||
	    mc_sock_send(*fd, id, sizeof id, deadline, err) ||
	    mc_sock_recv(*fd, taken, sizeof taken, deadline, err)) {
		close(*fd);
		mc_err_at(err, NULL, 0, 0, want->address);
		return MC_FAIL;
	}
	return 0;
}

/* In its loop. */
static void remove_lane(struct mc_tcp_loop *l, void *stream)
{
	struct mc_tcp_stream *s = stream;

	pthread_mutex_lock(&l->lock);
	if (s->is_posted)
		TAILQ_REMOVE(&l->posted, s, posted_next);
	pthread_mutex_unlock(&l->lock);
	s->wait = NULL;
	mc_tcp_stream_kill(s);
	TAILQ_REMOVE(&l->streams, s, next);
	TAILQ_INSERT_TAIL(&l->buried, s, next);
}

static void disconnect(struct mc_endpoint *ep)
{
	struct mc_port *p = ep->port;
	size_t n = 0;

	for (size_t i = 0; i < ep->lanes; i++)
		mc_tcp_loop_call(ep->lane[i]->loop, remove_lane, ep->lane[i]);
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->done.n; i++)
		if (p->of.at[i] != ep) {
			p->done.at[n] = p->done.at[i];
			p->of.at[n++] = p->of.at[i];
		}
	p->done.n = p->of.n = n;
	pthread_mutex_unlock(&p->lock);
	free(ep);
}

static int connect_to(struct mc_endpoint **out, struct mc_port *p, const struct mc_connect_want *want,
		      struct mc_err *err)
{
	int64_t deadline = mc_clock_ns() + want->timeout_ns;
	struct mc_endpoint *ep = mc_xcalloc(1, sizeof *ep);
	int rc = 0;

	*out = NULL;
	ep->port = p;
	while (ep->lanes < p->want.lanes && !rc) {
		int fd;

		rc = join(p, want, deadline, &fd, err);
		if (!rc) {
			struct mc_tcp_stream *s = mc_tcp_stream_new(p, fd, want->id);

			s->ep = ep;
			ep->lane[ep->lanes++] = s;
			mc_tcp_loop_call(s->loop, mc_tcp_stream_add, s);
		}
	}
	if (rc) {
		disconnect(ep);
		return rc;
	}
	*out = ep;
	return 0;
}

static struct mc_tcp_stream *lightest(struct mc_endpoint *ep)
{
	struct mc_tcp_stream *best = ep->lane[0];
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < ep->lanes; i++) {
		uint64_t load = atomic_load_explicit(&ep->lane[i]->load, memory_order_relaxed);

		if (load < least) {
			least = load;
			best = ep->lane[i];
		}
	}
	return best;
}

/* Those of n slices that go over streams of one loop, in one go: it is rung once, and finds them all. */
static void post_to(struct mc_tcp_loop *l, struct mc_tcp_stream *const *over, struct mc_slice *const *slice,
		    size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		struct mc_tcp_stream *s = over[i];

		if (s->loop != l)
			continue;
		if (!any)
			pthread_mutex_lock(&l->lock);
		any = true;
		slice[i]->next = NULL;
		*s->post_end = slice[i];
		s->post_end = &slice[i]->next;
		if (!s->is_posted) {
			s->is_posted = true;
			TAILQ_INSERT_TAIL(&l->posted, s, posted_next);
		}
	}
	if (any) {
		mc_tcp_loop_ring(l);
		pthread_mutex_unlock(&l->lock);
	}
}

static void post(struct mc_endpoint *ep, struct mc_slice *const *slice, size_t n)
{
	struct mc_tcp_stream *over[POSTED];

	for (size_t k; n; n -= k, slice += k) {
		k = n < POSTED ? n : POSTED;
		for (size_t i = 0; i < k; i++) {
			over[i] = lightest(ep);
			atomic_fetch_add_explicit(&over[i]->load, slice[i]->bytes, memory_order_relaxed);
		}
		for (size_t i = 0; i < ep->port->loops; i++)
			post_to(ep->port->loop[i], over, slice, k);
	}
}

static size_t poll_port(struct mc_port *p, struct mc_completion *out, size_t n)
{
	pthread_mutex_lock(&p->lock);
	if (n > p->done.n)
		n = p->done.n;
	if (n) {
		memcpy(out, p->done.at, n * sizeof *out);
		p->done.n = p->of.n = p->done.n - n;
		memmove(p->done.at, p->done.at + n, p->done.n * sizeof *p->done.at);
		memmove(p->of.at, p->of.at + n, p->of.n * sizeof *p->of.at);
	}
	pthread_mutex_unlock(&p->lock);
	return n;
}

const struct mc_transport mc_transport_tcp = {
    .name = "tcp",
    .summary = "sockets, to any host",
    .cost = 2,
    .port_open = port_open,
    .port_close = port_close,
    .port_address = port_address,
    .memory_register = memory_register,
    .memory_unregister = memory_unregister,
    .connect = connect_to,
    .disconnect = disconnect,
    .post = post,
    .poll = poll_port,
    .fence = fence,
};
