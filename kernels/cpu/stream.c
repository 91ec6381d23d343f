/*
 * Streams and events of the CPU backend. A compute stream has nothing queued, ever: its work is done when the
 * call that queues it returns, and waiting for an event blocks the caller. A copy stream is a thread with a
 * queue. An event counts its recordings; who waits waits for the one that was the last when it was asked.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/cpu.h"

struct task {
	struct task *next;
	mc_cpu_operator *f;
	unsigned char arguments[] __attribute__((aligned(16)));
};

struct mc_stream {
	struct mc_cpu_team *team; /* the device's, or `own` */
	bool copies;
	/* A copy stream's: */
	struct mc_cpu_team own;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more, idle;
	struct task *first, **last;
	bool busy, closing;
};

struct mc_event {
	atomic_int users; /* whoever opened it, and tasks that know it */
	pthread_mutex_t lock;
	pthread_cond_t happened;
	uint64_t recorded, done; /* recordings asked for, and the last that happened */
	int64_t time_ns;         /* when it did */
};

static void *serve(void *arg)
{
	struct mc_stream *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct task *t;

		while (!s->first && !s->closing)
			pthread_cond_wait(&s->more, &s->lock);
		t = s->first;
		if (!t)
			break;
		s->first = t->next;
		if (!s->first)
			s->last = &s->first;
		s->busy = true;
		pthread_mutex_unlock(&s->lock);
		t->f(s->team, t->arguments);
		free(t);
		pthread_mutex_lock(&s->lock);
		s->busy = false;
		if (!s->first)
			pthread_cond_broadcast(&s->idle);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int start_thread(struct mc_stream *s, struct mc_err *err)
{
	if (mc_cpu_team_init(&s->own, 1, err))
		return MC_FAIL;
	s->team = &s->own;
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	pthread_cond_init(&s->idle, NULL);
	if (!pthread_create(&s->thread, NULL, serve, s))
		return 0;
	mc_cpu_team_fini(&s->own);
	return mc_err_set(err, MC_FAIL, "the thread of a copy stream could not be started");
}

int mc_cpu_stream_open(struct mc_stream **out, struct mc_device *d, enum mc_stream_kind kind,
		       struct mc_err *err)
{
	struct mc_stream *s = calloc(1, sizeof *s);

	*out = NULL;
	if (!s)
		return mc_err_set(err, MC_FAIL, "no memory for a stream");
	s->team = &d->team;
	s->copies = kind == MC_COPY;
	if (s->copies && start_thread(s, err)) {
		free(s);
		return MC_FAIL;
	}
	*out = s;
	return 0;
}

void mc_cpu_stream_close(struct mc_stream *s)
{
	if (!s)
		return;
	if (s->copies) {
		pthread_mutex_lock(&s->lock);
		s->closing = true; /* once the queue is empty */
		pthread_cond_signal(&s->more);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
		pthread_cond_destroy(&s->idle);
		pthread_cond_destroy(&s->more);
		pthread_mutex_destroy(&s->lock);
		mc_cpu_team_fini(&s->own);
	}
	free(s);
}

static void drain(struct mc_stream *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->first || s->busy)
		pthread_cond_wait(&s->idle, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* No operator of a CPU can fail. */
int mc_cpu_stream_sync(struct mc_stream *s, struct mc_err *err)
{
	(void)err;
	if (s->copies)
		drain(s);
	return 0;
}

void mc_cpu_stream_do(struct mc_stream *s, mc_cpu_operator *f, const void *arguments, size_t bytes)
{
	struct task *t;

	if (!s->copies) {
		f(s->team, arguments);
		return;
	}
	t = malloc(sizeof *t + bytes);
	if (!t) { /* no memory to queue it: do it here, in its turn */
		drain(s);
		f(s->team, arguments);
		return;
	}
	t->next = NULL;
	t->f = f;
	memcpy(t->arguments, arguments, bytes);
	pthread_mutex_lock(&s->lock);
	*s->last = t;
	s->last = &t->next;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
}

int mc_cpu_event_open(struct mc_event **out, struct mc_device *d, struct mc_err *err)
{
	struct mc_event *e = calloc(1, sizeof *e);

	(void)d;
	*out = e;
	if (!e)
		return mc_err_set(err, MC_FAIL, "no memory for an event");
	atomic_init(&e->users, 1);
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->happened, NULL);
	return 0;
}

void mc_cpu_event_close(struct mc_event *e)
{
	if (!e || atomic_fetch_sub(&e->users, 1) != 1)
		return;
	pthread_cond_destroy(&e->happened);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* A recording of an event, in a stream. */
struct mark {
	struct mc_event *e;
	uint64_t number;
};

static void happen(struct mc_cpu_team *t, const void *arguments)
{
	const struct mark *m = arguments;
	struct timespec now;

	(void)t;
	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&m->e->lock);
	if (m->number > m->e->done) {
		m->e->done = m->number;
		m->e->time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	}
	pthread_cond_broadcast(&m->e->happened);
	pthread_mutex_unlock(&m->e->lock);
	mc_cpu_event_close(m->e);
}

static void await(struct mc_cpu_team *t, const void *arguments)
{
	const struct mark *m = arguments;

	(void)t;
	pthread_mutex_lock(&m->e->lock);
	while (m->e->done < m->number)
		pthread_cond_wait(&m->e->happened, &m->e->lock);
	pthread_mutex_unlock(&m->e->lock);
	mc_cpu_event_close(m->e);
}

void mc_cpu_event_record(struct mc_event *e, struct mc_stream *s)
{
	struct mark m = {.e = e};

	pthread_mutex_lock(&e->lock);
	m.number = ++e->recorded;
	pthread_mutex_unlock(&e->lock);
	atomic_fetch_add(&e->users, 1);
	mc_cpu_stream_do(s, happen, &m, sizeof m);
}

void mc_cpu_event_wait(struct mc_event *e, struct mc_stream *s)
{
	struct mark m = {.e = e};

	pthread_mutex_lock(&e->lock);
	m.number = e->recorded;
	pthread_mutex_unlock(&e->lock);
	atomic_fetch_add(&e->users, 1);
	mc_cpu_stream_do(s, await, &m, sizeof m);
}

int mc_cpu_event_done(struct mc_event *e)
{
	int done;

	pthread_mutex_lock(&e->lock);
	done = e->done == e->recorded;
	pthread_mutex_unlock(&e->lock);
	return done;
}

double mc_cpu_event_seconds(struct mc_event *from, struct mc_event *to)
{
	int64_t at[2];
	struct mc_event *const e[2] = {from, to};

	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&e[i]->lock);
		assert(e[i]->done && e[i]->done == e[i]->recorded);
		at[i] = e[i]->time_ns;
		pthread_mutex_unlock(&e[i]->lock);
	}
	return (double)(at[1] - at[0]) * 1e-9;
}
