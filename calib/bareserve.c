#include "calib/bareserve.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "base/vec.h"
#include "transport/listener.h"
#include "transport/sock.h"
#include "transport/wire.h"

/* Seconds that a connection may be silent: who measures does other things in between. */
enum { IDLE_S = 3600, PENDING = 8 };

struct guest {
	struct mc_bareserve *b;
	struct guest *next, **at;
	int fd;
};

struct mc_bareserve {
	const struct mc_netmemory *memory;
	struct mc_listener *listener;
	pthread_mutex_t lock;
	pthread_cond_t left;
	struct guest *guest;
	unsigned guests;
	bool closing;
};

void mc_bare_prepare(int fd, int seconds)
{
	struct timeval t = {.tv_sec = seconds};

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

bool mc_bare_send(int fd, const void *at, size_t n)
{
	for (const char *p = at; n;) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

bool mc_bare_recv(int fd, void *at, size_t n)
{
	for (char *p = at; n;) {
		ssize_t k = recv(fd, p, n, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool answer(const struct mc_netmemory *m, int fd)
{
	uint8_t question[MC_BARE_QUESTION], done = 0;
	uint64_t at, n;

	if (!mc_bare_recv(fd, question, sizeof question))
		return false;
	at = mc_wire_get(question + 8, 8);
	n = mc_wire_get(question + 16, 8);
	if (!n || at > m->half || n > m->half - at)
		return false;
	if (question[0] == MC_BARE_READ)
		return mc_bare_send(fd, mc_netmemory_source(m, at), n);
	return question[0] == MC_BARE_WRITE && mc_bare_recv(fd, mc_netmemory_target(m, at), n) &&
	       mc_bare_send(fd, &done, 1);
}

/* The list has it no more. */
static void leave(struct guest *g)
{
	struct mc_bareserve *b = g->b;

	pthread_mutex_lock(&b->lock);
	*g->at = g->next;
	if (g->next)
		g->next->at = g->at;
	close(g->fd);
	free(g);
	b->guests--;
	pthread_cond_broadcast(&b->left);
	pthread_mutex_unlock(&b->lock);
}

static void *serve(void *arg)
{
	struct guest *g = arg;

	mc_bare_prepare(g->fd, IDLE_S);
	while (answer(g->b->memory, g->fd))
		;
	leave(g);
	return NULL;
}

/* In the list, unless there are too many. */
static struct guest *enter(struct mc_bareserve *b, int fd)
{
	struct guest *g = NULL;

	pthread_mutex_lock(&b->lock);
	if (!b->closing && b->guests < MC_BARE_CONNECTIONS) {
		g = mc_xcalloc(1, sizeof *g);
		*g = (struct guest){.b = b, .fd = fd, .next = b->guest, .at = &b->guest};
		if (b->guest)
			b->guest->at = &g->next;
		b->guest = g;
		b->guests++;
	}
	pthread_mutex_unlock(&b->lock);
	return g;
}

static bool accepted(void *arg, int fd, int64_t deadline)
{
	struct guest *g = enter(arg, fd);
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	(void)deadline;
	if (!g)
		return false;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, serve, g);
	pthread_attr_destroy(&attr);
	if (rc)
		leave(g);
	return true; /* it is closed, or the thread's */
}

int mc_bareserve_open(struct mc_bareserve **out, const struct mc_bareserve_want *want, struct mc_err *err)
{
	struct mc_bareserve *b = mc_xcalloc(1, sizeof *b);
	char address[MC_SOCK_ADDRESS];
	struct mc_listener_want l = {.address = address,
				     .token = want->token,
				     .purpose = MC_PURPOSE_BARE,
				     .pending = PENDING,
				     .timeout_ns = 2 * MC_NS_PER_S,
				     .accepted = accepted,
				     .arg = b};
	int rc;

	snprintf(address, sizeof address, strchr(want->host, ':') ? "[%s]:0" : "%s:0", want->host);
	b->memory = want->memory;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->left, NULL);
	rc = mc_listener_open(&b->listener, &l, err);
	*out = rc ? NULL : b;
	if (rc)
		mc_bareserve_close(b);
	return rc;
}

const char *mc_bareserve_address(const struct mc_bareserve *b)
{
	return mc_listener_address(b->listener);
}

void mc_bareserve_close(struct mc_bareserve *b)
{
	if (!b)
		return;
	mc_listener_close(b->listener);
	pthread_mutex_lock(&b->lock);
	b->closing = true;
	for (struct guest *g = b->guest; g; g = g->next)
		shutdown(g->fd, SHUT_RDWR);
	while (b->guests)
		pthread_cond_wait(&b->left, &b->lock);
	pthread_mutex_unlock(&b->lock);
	pthread_cond_destroy(&b->left);
	pthread_mutex_destroy(&b->lock);
	free(b);
}
