/* The asker's side: a peer's memories are mapped as slices need them, and unmapped when it wants them back.
 */
#define _GNU_SOURCE /* F_GET_SEALS */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/shm_state.h"
#include "transport/sock.h"
#include "transport/wire.h"

static int join(struct mc_port *p, const struct mc_connect_want *want, int *fd, struct mc_err *err)
{
	int64_t deadline = mc_clock_ns() + want->timeout_ns;
	uint8_t id[8], text[MC_SHM_FRAME];
	struct mc_shm_frame f;
	int rc;

	if (want->address[0] != '@')
		return mc_err_set(err, MC_FAIL, "\"%.100s\" is no address of shared memory", want->address);
	rc = mc_sock_connect(fd, want->address, NULL, deadline, err);
	if (rc)
		return rc;
	mc_wire_set(id, want->id, 8);
	rc = mc_auth_connect(*fd, &p->want.token, MC_PURPOSE_SHM, deadline, err) ||
	     mc_sock_send(*fd, id, sizeof id, deadline, err) ||
	     mc_sock_recv(*fd, text, sizeof text, deadline, err);
	if (!rc) {
		mc_shm_decode(text, &f);
		if (f.kind != MC_SHM_WELCOME)
			rc = mc_err_set(err, MC_FAIL, "the peer speaks another protocol");
	}
	if (rc) {
		close(*fd);
		mc_err_at(err, NULL, 0, 0, want->address);
		return MC_FAIL;
	}
	return 0;
}

int mc_shm_connect(struct mc_endpoint **out, struct mc_port *p, const struct mc_connect_want *want,
		   struct mc_err *err)
{
	struct mc_endpoint *ep;
	int fd, rc = join(p, want, &fd, err);

	*out = NULL;
	if (rc)
		return rc;
	ep = mc_xcalloc(1, sizeof *ep);
	ep->port = p;
	ep->s.fd = fd;
	ep->s.file = -1;
	TAILQ_INIT(&ep->maps);
	ep->queue_end = &ep->queue;
	pthread_mutex_lock(&p->lock);
	ep->serial = ++p->serials;
	rc = mc_shm_watch(p, fd, ep->serial, err);
	if (!rc)
		TAILQ_INSERT_TAIL(&p->endpoints, ep, next);
	pthread_mutex_unlock(&p->lock);
	if (rc) {
		mc_shm_hang_up(p, &ep->s);
		free(ep);
		return rc;
	}
	*out = ep;
	return 0;
}

/* Nobody uses it any more. */
static void map_free(struct mc_endpoint *ep, struct mc_shm_map *m)
{
	TAILQ_REMOVE(&ep->maps, m, next);
	if (m->at) {
		uint8_t *at = m->at;

		pthread_mutex_unlock(&ep->port->lock);
		munmap(at, m->bytes);
		pthread_mutex_lock(&ep->port->lock);
	}
	free(m);
}

static bool in_use(const struct mc_endpoint *ep)
{
	const struct mc_shm_map *m;

	TAILQ_FOREACH (m, &ep->maps, next)
		if (m->users)
			return true;
	return false;
}

/* All slices of a list, or (report false) none of them. */
static void drop(struct mc_endpoint *ep, struct mc_slice *s, bool report)
{
	while (s) {
		struct mc_slice *after = s->next;

		if (report)
			mc_shm_complete(ep, s, MC_WIRE_LOST, ep->why);
		s = after;
	}
}

static void drop_all(struct mc_endpoint *ep, bool report)
{
	struct mc_port *p = ep->port;
	struct mc_shm_map *m;

	drop(ep, ep->queue, report);
	ep->queue = NULL;
	ep->queue_end = &ep->queue;
	if (ep->is_ready)
		TAILQ_REMOVE(&p->ready, ep, ready_next);
	ep->is_ready = false;
	TAILQ_FOREACH (m, &ep->maps, next) {
		drop(ep, m->wait, report);
		m->wait = NULL;
		m->wait_end = &m->wait;
	}
}

void mc_shm_break(struct mc_endpoint *ep, const char *why)
{
	if (ep->broken)
		return;
	ep->broken = true;
	ep->why = why;
	drop_all(ep, true);
	eventfd_write(ep->port->bell, 1);
}

/* Wait for those who are copying, unmap all, and hang up: in this order. */
static void let_go(struct mc_endpoint *ep)
{
	struct mc_port *p = ep->port;
	struct mc_shm_map *m;

	while (in_use(ep))
		pthread_cond_wait(&p->changed, &p->lock);
	while ((m = TAILQ_FIRST(&ep->maps)))
		map_free(ep, m);
	mc_shm_hang_up(p, &ep->s);
}

void mc_shm_disconnect(struct mc_endpoint *ep)
{
	struct mc_port *p = ep->port;
	size_t n = 0;

	pthread_mutex_lock(&p->lock);
	ep->broken = true;
	drop_all(ep, false);
	while (ep->held)
		pthread_cond_wait(&p->changed, &p->lock);
	TAILQ_REMOVE(&p->endpoints, ep, next);
	let_go(ep);
	for (size_t i = 0; i < p->done.n; i++)
		if (p->of.at[i] != ep) {
			p->done.at[n] = p->done.at[i];
			p->of.at[n++] = p->of.at[i];
		}
	p->done.n = p->of.n = n;
	pthread_mutex_unlock(&p->lock);
	free(ep);
}

struct mc_shm_map *mc_shm_map_find(struct mc_endpoint *ep, uint64_t key)
{
	struct mc_shm_map *m;

	TAILQ_FOREACH (m, &ep->maps, next)
		if (m->key == key)
			break;
	if (m && m != TAILQ_FIRST(&ep->maps)) {
		TAILQ_REMOVE(&ep->maps, m, next);
		TAILQ_INSERT_HEAD(&ep->maps, m, next);
	}
	return m;
}

struct mc_shm_map *mc_shm_map_get(struct mc_endpoint *ep, uint64_t key)
{
	const struct mc_shm_frame f = {.kind = MC_SHM_MAP, .key = key};
	struct mc_shm_map *m = mc_shm_map_find(ep, key);

	if (m)
		return m;
	if (!mc_shm_send(ep->s.fd, &f, -1)) {
		mc_shm_break(ep, "the peer is gone, or doesn't listen");
		return NULL;
	}
	m = mc_xcalloc(1, sizeof *m);
	m->key = key;
	m->wait_end = &m->wait;
	TAILQ_INSERT_HEAD(&ep->maps, m, next);
	return m;
}

/* The file that the peer has sent as a memory of so many bytes. It may be any: only one that can't shrink is
 * safe to touch. */
static uint8_t *map_file(int file, uint64_t bytes, unsigned access)
{
	struct stat st;
	int seals = fcntl(file, F_GET_SEALS);
	int prot = PROT_READ | (access & MC_ACCESS_WRITE ? PROT_WRITE : 0);
	void *at;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(file, &st) || !bytes ||
	    (uint64_t)st.st_size < bytes)
		return NULL;
	at = mmap(NULL, bytes, prot, MAP_SHARED, file, 0);
	if (at == MAP_FAILED)
		return NULL;
	/* A child of this process would hold it beyond what we promise. */
	if (madvise(at, bytes, MADV_DONTFORK)) {
		munmap(at, bytes);
		return NULL;
	}
	return at;
}

static void answered(struct mc_endpoint *ep, const struct mc_shm_frame *f)
{
	struct mc_shm_map *m = mc_shm_map_find(ep, f->key);
	struct mc_slice *s, *after;

	if (!m || m->at) {
		mc_shm_break(ep, "the peer answers what wasn't asked");
		return;
	}
	if (f->status == MC_WIRE_OK) {
		m->at = ep->s.file < 0 ? NULL : map_file(ep->s.file, f->bytes, f->access);
		if (!m->at) { /* there may be another transport for it */
			mc_shm_break(ep, "the peer's memory cannot be mapped");
			return;
		}
		m->base = f->base;
		m->bytes = f->bytes;
		m->access = f->access;
	}
	s = m->wait;
	m->wait = NULL;
	m->wait_end = &m->wait;
	for (; s; s = after) {
		after = s->next;
		if (m->at)
			mc_shm_queue(ep, s);
		else
			mc_shm_complete(ep, s, MC_WIRE_REFUSED, "it has no such memory");
	}
	if (!m->at)
		map_free(ep, m);
}

/* What waits for copiers finds it gone. (One that was only asked for was asked for again: its answer comes.)
 */
static void give_back(struct mc_endpoint *ep, uint64_t key)
{
	const struct mc_shm_frame f = {.kind = MC_SHM_RETURN, .key = key};
	struct mc_shm_map *m = mc_shm_map_find(ep, key);

	if (m && m->at) {
		m->going = true;
		while (m->users)
			pthread_cond_wait(&ep->port->changed, &ep->port->lock);
		map_free(ep, m);
	}
	if (!ep->broken && !mc_shm_send(ep->s.fd, &f, -1))
		mc_shm_break(ep, "the peer doesn't listen");
}

static void hear(struct mc_endpoint *ep)
{
	for (int i = 0; i < MC_SHM_TURN && !ep->broken; i++) {
		struct mc_shm_frame f;
		enum mc_shm_heard h = mc_shm_hear(&ep->s, &f);

		if (h == MC_SHM_NOTHING)
			break;
		if (h == MC_SHM_HUNG_UP)
			mc_shm_break(ep, "the peer has hung up");
		else if (f.kind == MC_SHM_MAP)
			answered(ep, &f);
		else if (f.kind == MC_SHM_RETURN && ep->s.file < 0)
			give_back(ep, f.key);
		else
			mc_shm_break(ep, "the peer speaks another protocol");
		if (ep->s.file >= 0)
			close(ep->s.file);
		ep->s.file = -1;
	}
}

void mc_shm_endpoint_hear(struct mc_endpoint *ep)
{
	ep->held = true;
	hear(ep);
	if (ep->broken)
		let_go(ep);
	ep->held = false;
	pthread_cond_broadcast(&ep->port->changed);
}
