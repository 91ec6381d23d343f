#define _GNU_SOURCE /* accept4 */
#include "transport/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "transport/sock.h"

struct guest {
	struct mc_listener *l;
	struct guest *next, **at;
	int fd, hold; /* hold: the same socket, ours until the end, to shut it down by */
};

struct mc_listener {
	struct mc_listener_want want;
	char address[MC_SOCK_ADDRESS];
	int fd, stop;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a guest has left, or closing */
	struct guest *guest;
	uint32_t guests;
	bool closing;
};

static void leave(struct guest *g)
{
	struct mc_listener *l = g->l;

	pthread_mutex_lock(&l->lock);
	*g->at = g->next;
	if (g->next)
		g->next->at = g->at;
	l->guests--;
	close(g->hold);
	free(g);
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void *receive(void *arg)
{
	struct guest *g = arg;
	struct mc_listener *l = g->l;
	int64_t deadline = mc_clock_ns() + l->want.timeout_ns;

	mc_sock_prepare(g->fd);
	if (mc_auth_accept(g->fd, &l->want.token, l->want.purpose, deadline, NULL) ||
	    !l->want.accepted(l->want.arg, g->fd, deadline))
		close(g->fd);
	leave(g);
	return NULL;
}

static void admit(struct mc_listener *l, int fd)
{
	struct guest *g = mc_xcalloc(1, sizeof *g);
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	*g = (struct guest){.l = l, .fd = fd, .hold = fcntl(fd, F_DUPFD_CLOEXEC, 0), .at = &l->guest};
	if (g->hold < 0) {
		close(fd);
		free(g);
		return;
	}
	pthread_mutex_lock(&l->lock);
	g->next = l->guest;
	if (l->guest)
		l->guest->at = &g->next;
	l->guest = g;
	l->guests++;
	pthread_mutex_unlock(&l->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, receive, g);
	pthread_attr_destroy(&attr);
	if (rc) {
		close(fd);
		leave(g);
	}
}

/* Until there is room for one more; false: closing. */
static bool make_room(struct mc_listener *l)
{
	bool closing;

	pthread_mutex_lock(&l->lock);
	while (!l->closing && l->guests >= l->want.pending)
		pthread_cond_wait(&l->changed, &l->lock);
	closing = l->closing;
	pthread_mutex_unlock(&l->lock);
	return !closing;
}

static void *listen_on(void *arg)
{
	struct mc_listener *l = arg;

	while (make_room(l)) {
		struct pollfd p[2] = {{.fd = l->fd, .events = POLLIN}, {.fd = l->stop, .events = POLLIN}};
		int fd;

		if (poll(p, 2, -1) < 0 || p[1].revents)
			continue;
		fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			admit(l, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			poll(p + 1, 1, 10); /* ms, until something is free again */
	}
	return NULL;
}

int mc_listener_open(struct mc_listener **out, const struct mc_listener_want *want, struct mc_err *err)
{
	struct mc_listener *l = mc_xcalloc(1, sizeof *l);
	int rc;

	*out = NULL;
	l->want = *want;
	rc = mc_sock_listen(&l->fd, want->address, l->address, err);
	if (rc) {
		free(l);
		return rc;
	}
	l->stop = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	errno = l->stop < 0 ? errno : pthread_create(&l->thread, NULL, listen_on, l);
	if (errno) {
		rc = mc_err_errno(err, MC_FAIL, "cannot listen at %s", l->address);
		if (l->stop >= 0)
			close(l->stop);
		close(l->fd);
		pthread_cond_destroy(&l->changed);
		pthread_mutex_destroy(&l->lock);
		free(l);
		return rc;
	}
	*out = l;
	return 0;
}

const char *mc_listener_address(const struct mc_listener *l)
{
	return l->address;
}

void mc_listener_close(struct mc_listener *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->closing = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	eventfd_write(l->stop, 1);
	pthread_join(l->thread, NULL);
	pthread_mutex_lock(&l->lock);
	for (struct guest *g = l->guest; g; g = g->next)
		shutdown(g->hold, SHUT_RDWR);
	while (l->guests)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
	close(l->fd);
	close(l->stop);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
