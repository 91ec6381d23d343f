/*
 * The copies. A few slices are copied by who posts them, so that a small request costs no switch of threads;
 * more by the port's copiers, and by who waits for them. After each run the socket is looked at: what was
 * copied for a peer that was gone by then doesn't count.
 */
#include <string.h>

#include "transport/shm_state.h"

/* Slices of one endpoint that are copied in one go. */
struct run {
	size_t n;
	struct mc_slice *slice[MC_SHM_RUN];
	struct mc_shm_map *map[MC_SHM_RUN];
};

void mc_shm_complete(struct mc_endpoint *ep, struct mc_slice *s, enum mc_wire status, const char *why)
{
	struct mc_completion c = {.slice = s, .status = status, .why = why};
	struct mc_port *p = ep->port;

	mc_vec_push(&p->done, c);
	mc_vec_push(&p->of, ep);
	p->news = true;
}

void mc_shm_tell(struct mc_port *p)
{
	if (p->waking)
		return; /* who is at it looks again */
	p->waking = true;
	while (p->news) {
		p->news = false;
		pthread_mutex_unlock(&p->lock);
		p->want.wake(p->want.wake_arg);
		pthread_mutex_lock(&p->lock);
	}
	p->waking = false;
}

static bool fits(const struct mc_shm_map *m, const struct mc_slice *s)
{
	uint64_t into = s->remote - m->base;

	return into <= m->bytes && s->bytes <= m->bytes - into &&
	       m->access & (s->op == MC_OP_READ ? MC_ACCESS_READ : MC_ACCESS_WRITE);
}

/* Into the run, or back as refused; m is mapped. */
static void start(struct mc_endpoint *ep, struct run *run, struct mc_shm_map *m, struct mc_slice *s)
{
	if (!m || m->going || !fits(m, s)) {
		mc_shm_complete(ep, s, MC_WIRE_REFUSED,
				"it has no such memory, or doesn't let it be used so");
		return;
	}
	m->users++;
	run->map[run->n] = m;
	run->slice[run->n++] = s;
}

/* Without the lock; false: the peer is gone. */
static bool copy(const struct mc_endpoint *ep, const struct run *run)
{
	for (size_t i = 0; i < run->n; i++) {
		const struct mc_slice *s = run->slice[i];
		uint8_t *remote = run->map[i]->at + (s->remote - run->map[i]->base);

		if (s->op == MC_OP_READ)
			memcpy(s->local, remote, s->bytes);
		else
			memcpy(remote, s->local, s->bytes);
	}
	return !mc_shm_hung_up(ep->s.fd);
}

static void finish(struct mc_endpoint *ep, const struct run *run, bool there)
{
	bool awaited = ep->broken;

	for (size_t i = 0; i < run->n; i++) {
		struct mc_shm_map *m = run->map[i];

		awaited |= m->going;
		m->users--;
		if (there && !ep->broken)
			mc_shm_complete(ep, run->slice[i], MC_WIRE_OK, NULL);
		else
			mc_shm_complete(ep, run->slice[i], MC_WIRE_LOST,
					ep->broken && ep->why ? ep->why : "the peer has hung up");
	}
	if (awaited)
		pthread_cond_broadcast(&ep->port->changed);
}

void mc_shm_queue(struct mc_endpoint *ep, struct mc_slice *s)
{
	struct mc_port *p = ep->port;

	s->next = NULL;
	*ep->queue_end = s;
	ep->queue_end = &s->next;
	if (!ep->is_ready) {
		ep->is_ready = true;
		TAILQ_INSERT_TAIL(&p->ready, ep, ready_next);
	}
	pthread_cond_signal(&p->work);
}

/* Few bytes, nobody is busy, all is mapped: the caller copies them itself. A long row of such calls takes
 * turns with others by going to the copiers. */
static bool post_inline(struct mc_endpoint *ep, struct mc_slice *const *slice, size_t n)
{
	struct mc_port *p = ep->port;
	struct run run = {0};
	uint64_t bytes = p->burst;
	bool there;

	if (n > MC_SHM_RUN || p->copying || !TAILQ_EMPTY(&p->ready))
		return false;
	for (size_t i = 0; i < n && bytes <= MC_SHM_INLINE; i++) {
		const struct mc_shm_map *m = mc_shm_map_find(ep, slice[i]->remote_key);

		if (!m || !m->at)
			return false;
		bytes += slice[i]->bytes;
	}
	if (bytes > MC_SHM_INLINE)
		return false;
	p->burst = bytes;
	for (size_t i = 0; i < n; i++)
		start(ep, &run, mc_shm_map_find(ep, slice[i]->remote_key), slice[i]);
	if (run.n) {
		pthread_mutex_unlock(&p->lock);
		there = copy(ep, &run);
		pthread_mutex_lock(&p->lock);
		finish(ep, &run, there);
	}
	return true;
}

static void post_one(struct mc_endpoint *ep, struct mc_slice *s)
{
	struct mc_shm_map *m = ep->broken ? NULL : mc_shm_map_get(ep, s->remote_key);

	if (!m) {
		mc_shm_complete(ep, s, MC_WIRE_LOST, ep->why);
	} else if (m->at) {
		mc_shm_queue(ep, s);
	} else {
		s->next = NULL;
		*m->wait_end = s;
		m->wait_end = &s->next;
	}
}

void mc_shm_post(struct mc_endpoint *ep, struct mc_slice *const *slice, size_t n)
{
	struct mc_port *p = ep->port;

	pthread_mutex_lock(&p->lock);
	p->quiet = false;
	if (ep->broken || !post_inline(ep, slice, n))
		for (size_t i = 0; i < n; i++)
			post_one(ep, slice[i]);
	pthread_mutex_unlock(&p->lock);
}

size_t mc_shm_poll(struct mc_port *p, struct mc_completion *out, size_t n)
{
	pthread_mutex_lock(&p->lock);
	if (n > p->done.n)
		n = p->done.n;
	if (n) {
		memcpy(out, p->done.at, n * sizeof *out);
		p->done.n = p->of.n = p->done.n - n;
		memmove(p->done.at, p->done.at + n, p->done.n * sizeof *p->done.at);
		memmove(p->of.at, p->of.at + n, p->of.n * sizeof *p->of.at);
	} else if (p->quiet) {
		p->burst = 0;
	}
	p->quiet = !n;
	p->news &= p->done.n > 0;
	pthread_mutex_unlock(&p->lock);
	return n;
}

/* A share of an endpoint's queue, so that the others copy, too; its next one comes after other endpoints'. */
static struct mc_endpoint *take(struct mc_port *p, struct run *run)
{
	struct mc_endpoint *ep = TAILQ_FIRST(&p->ready);
	uint64_t bytes = 0;

	run->n = 0;
	if (!ep)
		return NULL;
	TAILQ_REMOVE(&p->ready, ep, ready_next);
	while (ep->queue && run->n < MC_SHM_RUN && bytes < MC_SHM_INLINE) {
		struct mc_slice *s = ep->queue;

		ep->queue = s->next;
		bytes += s->bytes;
		start(ep, run, mc_shm_map_find(ep, s->remote_key), s);
	}
	ep->is_ready = ep->queue;
	if (ep->is_ready)
		TAILQ_INSERT_TAIL(&p->ready, ep, ready_next);
	else
		ep->queue_end = &ep->queue;
	return ep;
}

/* One share; false: there is none. */
static bool work(struct mc_port *p)
{
	struct run run;
	struct mc_endpoint *ep = take(p, &run);
	bool there;

	if (run.n) {
		p->copying++;
		pthread_mutex_unlock(&p->lock);
		there = copy(ep, &run);
		pthread_mutex_lock(&p->lock);
		p->copying--;
		finish(ep, &run, there);
	}
	return ep;
}

void *mc_shm_copier(void *port)
{
	struct mc_port *p = port;

	pthread_mutex_lock(&p->lock);
	while (!p->closing)
		if (work(p))
			mc_shm_tell(p);
		else
			pthread_cond_wait(&p->work, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

bool mc_shm_help(struct mc_port *p)
{
	bool any;

	pthread_mutex_lock(&p->lock);
	any = work(p);
	pthread_mutex_unlock(&p->lock);
	return any;
}
