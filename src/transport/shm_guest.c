/* The owner's side: peers are given the file of a memory, and give it back. Nothing is done for a slice. */
#define _GNU_SOURCE /* F_ADD_SEALS */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "transport/shm_state.h"
#include "transport/sock.h"
#include "transport/wire.h"

static void end(struct mc_shm_guest *g)
{
	if (!g->ended)
		shutdown(g->s.fd, SHUT_WR);
	g->ended = true;
}

void mc_shm_guest_free(struct mc_port *p, struct mc_shm_guest *g)
{
	mc_shm_hang_up(p, &g->s);
	TAILQ_REMOVE(&p->guests, g, next);
	p->guest_count--;
	mc_vec_fini(&g->given);
	free(g);
	pthread_cond_broadcast(&p->changed);
}

static size_t find_given(const struct mc_shm_guest *g, uint64_t key)
{
	size_t i = 0;

	while (i < g->given.n && g->given.at[i] != key)
		i++;
	return i;
}

static void give(struct mc_port *p, struct mc_shm_guest *g, uint64_t key)
{
	struct mc_shm_frame f = {.kind = MC_SHM_MAP, .status = MC_WIRE_REFUSED, .key = key};
	int file = -1;

	for (size_t i = 0; i < p->region.n; i++) {
		const struct mc_shm_region *r = &p->region.at[i];

		if (r->key != key)
			continue;
		f.status = MC_WIRE_OK;
		f.access = (uint8_t)r->access;
		f.base = (uintptr_t)r->m.base;
		f.bytes = r->m.bytes;
		file = r->m.fd;
		/* Before it is sent: once it may be there, it has to come back. */
		if (find_given(g, key) == g->given.n)
			mc_vec_push(&g->given, key);
	}
	if (!mc_shm_send(g->s.fd, &f, file))
		end(g);
}

static void take_back(struct mc_port *p, struct mc_shm_guest *g, uint64_t key)
{
	size_t i = find_given(g, key);

	if (i == g->given.n)
		return;
	g->given.at[i] = g->given.at[--g->given.n];
	g->late = false;
	pthread_cond_broadcast(&p->changed);
}

void mc_shm_guest_hear(struct mc_port *p, struct mc_shm_guest *g)
{
	struct mc_shm_frame f;

	for (int i = 0; i < MC_SHM_TURN; i++) {
		enum mc_shm_heard h = mc_shm_hear(&g->s, &f);

		if (h == MC_SHM_NOTHING)
			return;
		if (h == MC_SHM_HUNG_UP) {
			mc_shm_guest_free(p, g);
			return;
		}
		if (g->s.file >= 0) { /* nobody has asked for a file of its */
			close(g->s.file);
			g->s.file = -1;
			end(g);
		}
		if (f.kind == MC_SHM_RETURN)
			take_back(p, g, f.key);
		else if (f.kind != MC_SHM_MAP)
			end(g);
		else if (!g->ended)
			give(p, g, f.key);
	}
}

bool mc_shm_guest_accept(void *port, int fd, int64_t deadline)
{
	struct mc_port *p = port;
	const struct mc_shm_frame welcome = {.kind = MC_SHM_WELCOME};
	struct mc_shm_guest *g;
	uint8_t id[8];
	bool taken;

	if (mc_sock_recv(fd, id, sizeof id, deadline, NULL))
		return false;
	pthread_mutex_lock(&p->lock);
	taken = !p->closing && p->guest_count < p->want.limits.connections && mc_shm_send(fd, &welcome, -1) &&
		!mc_shm_watch(p, fd, p->serials + 1, NULL);
	if (taken) {
		g = mc_xcalloc(1, sizeof *g);
		g->serial = ++p->serials;
		g->id = mc_wire_get(id, 8);
		g->s.fd = fd;
		g->s.file = -1;
		p->guest_count++;
		TAILQ_INSERT_TAIL(&p->guests, g, next);
	}
	pthread_mutex_unlock(&p->lock);
	return taken;
}

/* Whether peers can be given that memory so that they can do with it just what access says. A mapper must
 * never be able to see more than what is registered, nor be killed by what is cut off. A memory that may only
 * be read is sealed against new mappings that write; ours stays as it is. There is no sealing against
 * reading.
 */
static bool sharable(const struct mc_memory *m, unsigned access)
{
	struct stat st;
	int seals = m->fd < 0 ? -1 : fcntl(m->fd, F_GET_SEALS);

	if (seals < 0 || !(access & MC_ACCESS_READ) || (~seals & (F_SEAL_SHRINK | F_SEAL_GROW)) ||
	    fstat(m->fd, &st) || (uint64_t)st.st_size != m->bytes)
		return false;
	if (access & MC_ACCESS_WRITE)
		return !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));
	return seals & F_SEAL_FUTURE_WRITE || !fcntl(m->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
}

int mc_shm_register(struct mc_port *p, const struct mc_memory *m, unsigned access, uint64_t *key,
		    struct mc_err *err)
{
	struct mc_shm_region r = {.m = *m, .access = access};
	bool shared;

	if (m->place[0] && strncmp(m->place, "cpu", 3) != 0)
		return mc_err_set(err, MC_NOHW, "shared memory does not reach memory of %s", m->place);
	shared = sharable(m, access);
	pthread_mutex_lock(&p->lock);
	*key = r.key = ++p->keys;
	if (shared)
		mc_vec_push(&p->region, r);
	else
		*key |= MC_KEY_LOCAL;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static bool wait_until(struct mc_port *p, int64_t deadline)
{
	struct timespec t = {.tv_sec = deadline / MC_NS_PER_S, .tv_nsec = deadline % MC_NS_PER_S};

	return pthread_cond_timedwait(&p->changed, &p->lock, &t) != ETIMEDOUT;
}

/* One who has it, and isn't late, if there is one; then one who is. */
static struct mc_shm_guest *holder(const struct mc_port *p, uint64_t key)
{
	struct mc_shm_guest *g, *late = NULL;

	TAILQ_FOREACH (g, &p->guests, next)
		if (find_given(g, key) < g->given.n) {
			if (!g->late)
				return g;
			late = g;
		}
	return late;
}

int mc_shm_unregister(struct mc_port *p, uint64_t key, struct mc_err *err)
{
	int64_t deadline = mc_clock_ns() + p->want.timeout_ns;
	const struct mc_shm_frame f = {.kind = MC_SHM_RETURN, .key = key};
	struct mc_shm_guest *g;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->region.n; i++)
		if (p->region.at[i].key == key)
			p->region.at[i--] = p->region.at[--p->region.n];
	TAILQ_FOREACH (g, &p->guests, next)
		if (find_given(g, key) < g->given.n && !g->ended && !mc_shm_send(g->s.fd, &f, -1))
			end(g);
	while ((g = holder(p, key)) && !g->late)
		if (!wait_until(p, deadline) && (g = holder(p, key)))
			g->late = true;
	pthread_mutex_unlock(&p->lock);
	return g ? mc_err_set(err, MC_FAIL, "a peer has the memory mapped and does not give it back") : 0;
}

static struct mc_shm_guest *find_id(struct mc_port *p, uint64_t id)
{
	struct mc_shm_guest *g;

	TAILQ_FOREACH (g, &p->guests, next)
		if (g->id == id)
			return g;
	return NULL;
}

int mc_shm_fence(struct mc_port *p, uint64_t id, struct mc_err *err)
{
	int64_t deadline = mc_clock_ns() + p->want.timeout_ns;
	struct mc_shm_guest *g;

	pthread_mutex_lock(&p->lock);
	while ((g = find_id(p, id))) {
		end(g);
		if (!wait_until(p, deadline))
			break;
	}
	g = find_id(p, id);
	pthread_mutex_unlock(&p->lock);
	return g ? mc_err_set(err, MC_FAIL, "a peer does not end its connection") : 0;
}
