#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/tcp_state.h"

enum { EVENTS = 64 };

void mc_tcp_loop_ring(struct mc_tcp_loop *l)
{
	if (!l->rung) {
		l->rung = true;
		eventfd_write(l->bell, 1);
	}
}

void mc_tcp_loop_call(struct mc_tcp_loop *l, void (*f)(struct mc_tcp_loop *, void *), void *arg)
{
	struct mc_tcp_call c = {.f = f, .arg = arg};

	pthread_mutex_lock(&l->lock);
	TAILQ_INSERT_TAIL(&l->calls, &c, next);
	mc_tcp_loop_ring(l);
	while (!c.done)
		pthread_cond_wait(&l->done, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

/* What other threads have left: false: to stop. */
static bool answer_bell(struct mc_tcp_loop *l)
{
	struct mc_tcp_call *c;
	struct mc_tcp_stream *s;
	eventfd_t n;
	bool stop;

	eventfd_read(l->bell, &n);
	pthread_mutex_lock(&l->lock);
	l->rung = false;
	while ((c = TAILQ_FIRST(&l->calls))) {
		TAILQ_REMOVE(&l->calls, c, next);
		pthread_mutex_unlock(&l->lock);
		c->f(l, c->arg);
		pthread_mutex_lock(&l->lock);
		c->done = true;
		pthread_cond_broadcast(&l->done);
	}
	while ((s = TAILQ_FIRST(&l->posted))) {
		TAILQ_REMOVE(&l->posted, s, posted_next);
		s->is_posted = false;
		*s->wait_end = s->post;
		if (s->post)
			s->wait_end = s->post_end;
		struct mc_slice *first = s->post;

		s->post = NULL;
		s->post_end = &s->post;
		pthread_mutex_unlock(&l->lock);
		if (first)
			mc_tcp_client_start(s);
		pthread_mutex_lock(&l->lock);
	}
	stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return !stop;
}

static void bury(struct mc_tcp_loop *l)
{
	struct mc_tcp_stream *s;

	while ((s = TAILQ_FIRST(&l->buried))) {
		TAILQ_REMOVE(&l->buried, s, next);
		free(s->out);
		free(s);
	}
}

static void *run(void *arg)
{
	struct mc_tcp_loop *l = arg;
	struct epoll_event e[EVENTS];
	bool going = true;

	while (going) {
		int n = epoll_wait(l->epoll, e, EVENTS, -1);
		bool bell = false;

		for (int i = 0; i < n; i++) {
			if (e[i].data.ptr == l)
				bell = true;
			else
				mc_tcp_stream_ready(e[i].data.ptr, e[i].events);
		}
		if (bell)
			going = answer_bell(l);
		bury(l);
		if (l->completed && going) {
			l->completed = false;
			l->port->want.wake(l->port->want.wake_arg);
		}
	}
	return NULL;
}

int mc_tcp_loop_open(struct mc_tcp_loop **out, struct mc_port *p, struct mc_err *err)
{
	struct mc_tcp_loop *l = mc_xcalloc(1, sizeof *l);
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};

	*out = NULL;
	l->port = p;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->done, NULL);
	TAILQ_INIT(&l->calls);
	TAILQ_INIT(&l->posted);
	TAILQ_INIT(&l->streams);
	TAILQ_INIT(&l->buried);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->epoll >= 0 && l->bell >= 0 && !epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->bell, &e)) {
		errno = pthread_create(&l->thread, NULL, run, l);
		if (!errno) {
			*out = l;
			return 0;
		}
	}
	mc_err_errno(err, MC_FAIL, "cannot start a thread for connections");
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->bell >= 0)
		close(l->bell);
	pthread_cond_destroy(&l->done);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return MC_FAIL;
}

void mc_tcp_loop_close(struct mc_tcp_loop *l)
{
	struct mc_tcp_stream *s;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	mc_tcp_loop_ring(l);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	while ((s = TAILQ_FIRST(&l->streams)))
		mc_tcp_stream_kill(s);
	bury(l);
	close(l->epoll);
	close(l->bell);
	pthread_cond_destroy(&l->done);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
