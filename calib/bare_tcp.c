/*
 * Plain sockets: a request is asked for and answered on one stream, or a part of it on each of several, which
 * go their way by themselves.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/vec.h"
#include "calib/bare.h"
#include "calib/bareserve.h"
#include "calib/netgrid.h"
#include "transport/wire.h"

enum { SILENT_S = 30, CONNECT_S = 5 };

struct stream {
	struct mc_netmemory *m;
	const struct mc_netinfo *peer;
	int fd;
	uint64_t local, remote; /* where the next request goes */
	struct mc_bare_task task;
	bool failed;
};

struct sockets {
	struct mc_bare b;
	const char *address;
	int n;
	struct stream stream[MC_NET_STREAMS];
};

/* A question, and what is written. */
static bool ask(struct stream *s)
{
	const struct mc_bare_task *t = &s->task;
	size_t stride = (size_t)mc_net_stride((int64_t)t->bytes);
	uint8_t question[MC_BARE_QUESTION] = {t->write ? MC_BARE_WRITE : MC_BARE_READ};

	mc_wire_set(question + 8, mc_net_advance(&s->remote, stride, s->peer->half), 8);
	mc_wire_set(question + 16, t->bytes, 8);
	if (!mc_bare_send(s->fd, question, sizeof question))
		return false;
	return !t->write ||
	       mc_bare_send(s->fd, mc_netmemory_source(s->m, mc_net_advance(&s->local, stride, s->m->half)),
			    t->bytes);
}

static bool hear(struct stream *s)
{
	const struct mc_bare_task *t = &s->task;
	size_t stride = (size_t)mc_net_stride((int64_t)t->bytes);
	uint8_t done;

	if (t->write)
		return mc_bare_recv(s->fd, &done, 1);
	return mc_bare_recv(s->fd, mc_netmemory_target(s->m, mc_net_advance(&s->local, stride, s->m->half)),
			    t->bytes);
}

static void *run(void *arg)
{
	struct stream *s = arg;
	const struct mc_bare_task *t = &s->task;
	size_t asked = 0;

	for (size_t heard = 0; heard < t->requests && !s->failed; heard++) {
		while (asked < t->requests && asked < heard + t->depth && !s->failed) {
			s->failed = !ask(s);
			asked++;
		}
		s->failed = s->failed || !hear(s);
	}
	return NULL;
}

/* Each in a thread, the first one in this. */
static int run_all(struct sockets *k, struct mc_err *err)
{
	pthread_t thread[MC_NET_STREAMS];
	int n = 1, rc = 0;

	for (; n < k->n && !rc; n++) {
		rc = pthread_create(&thread[n], NULL, run, &k->stream[n]);
		n -= rc != 0;
	}
	run(&k->stream[0]);
	while (--n > 0)
		pthread_join(thread[n], NULL);
	errno = rc;
	return rc ? mc_err_errno(err, MC_FAIL, "cannot start a thread") : 0;
}

static int go(struct mc_bare *b, const struct mc_bare_task *t, double *seconds, struct mc_err *err)
{
	struct sockets *k = (struct sockets *)b;
	size_t part = (t->bytes / (size_t)k->n + 63) / 64 * 64, left = t->bytes;
	int64_t from;
	int rc;

	for (int i = 0; i < k->n; i++) {
		size_t n = i == k->n - 1 || left < part ? left : part;

		k->stream[i].task = *t;
		k->stream[i].task.bytes = n;
		if (!n)
			k->stream[i].task.requests = 0;
		left -= n;
	}
	from = mc_clock_ns();
	rc = run_all(k, err);
	*seconds = (double)(mc_clock_ns() - from) * 1e-9;
	for (int i = 0; i < k->n && !rc; i++)
		if (k->stream[i].failed)
			rc = mc_err_key(err, MC_FAIL, k->address, "a plain socket to the peer has ended");
	return rc;
}

static void close_all(struct mc_bare *b)
{
	struct sockets *k = (struct sockets *)b;

	for (int i = 0; i < k->n; i++)
		close(k->stream[i].fd);
	free(k);
}

int mc_bare_tcp_open(struct mc_bare **out, struct mc_net *n, int streams, struct mc_err *err)
{
	struct sockets *k = mc_xcalloc(1, sizeof *k);
	const struct mc_netinfo *peer = &n->peer[0].info;
	int rc = 0;

	*out = NULL;
	k->b.go = go;
	k->b.close = close_all;
	k->address = n->peer[0].address;
	if (streams > 1)
		snprintf(k->b.flag, sizeof k->b.flag, "bare-%d", streams);
	else
		snprintf(k->b.flag, sizeof k->b.flag, "bare");
	while (k->n < streams && !rc) {
		struct stream *s = &k->stream[k->n];
		int64_t deadline = mc_clock_ns() + CONNECT_S * MC_NS_PER_S;

		/* Streams begin at places of their own. */
		*s = (struct stream){.m = &n->memory, .peer = peer};
		s->local = n->memory.half / (size_t)streams * (size_t)k->n / 64 * 64;
		s->remote = peer->half / (size_t)streams * (size_t)k->n / 64 * 64;
		rc = mc_sock_connect(&s->fd, peer->bare, n->host, deadline, err);
		k->n += !rc;
		if (!rc)
			rc = mc_auth_connect(s->fd, &n->token, MC_PURPOSE_BARE, deadline, err);
		if (!rc)
			mc_bare_prepare(s->fd, SILENT_S);
	}
	if (rc) {
		mc_err_at(err, NULL, 0, 0, k->address);
		close_all(&k->b);
		return rc;
	}
	*out = &k->b;
	return 0;
}
