#define _GNU_SOURCE /* accept4 */
#include "proxy.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "transport/sock.h"

enum { PIECE = 16384, GATES = 32, PAIRS = 512, NAP_MS = 1 };

/* One way of a connection. */
struct way {
	uint8_t at[PIECE];
	size_t n, gone;
	int64_t due;
	bool over, told, late; /* over: its sender has; told: its receiver knows */
	size_t cut;            /* after so many bytes both sides are reset; 0: not */
};

struct pair {
	int fd[2]; /* who asked, who is asked; way[0] leads from the first to the second */
	struct way way[2];
	size_t gate;
	bool mute;
};

struct gate {
	char address[MC_SOCK_ADDRESS], own[MC_SOCK_ADDRESS];
	int fd;
	bool cut, held;
};

static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	bool stop;
	uint64_t rng;
	struct proxy_faults f;
	struct gate gate[GATES];
	size_t gates, pairs;
	struct pair *pair[PAIRS];
	unsigned late;
} px = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t draw(uint64_t n)
{
	px.rng = mc_hash_u64(px.rng);
	return px.rng % n;
}

static bool chance(unsigned thousandths)
{
	return draw(1000) < thousandths;
}

static void reset(int fd)
{
	struct linger now = {.l_onoff = 1};

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(fd);
}

static void end_pair(size_t i)
{
	struct pair *p = px.pair[i];

	reset(p->fd[0]);
	reset(p->fd[1]);
	free(p);
	px.pair[i] = px.pair[--px.pairs];
}

static void admit(size_t gate)
{
	int fd = accept4(px.gate[gate].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct pair *p;

	if (fd < 0)
		return;
	if (px.pairs == PAIRS || px.gate[gate].cut || chance(px.f.refuse)) {
		reset(fd);
		return;
	}
	p = calloc(1, sizeof *p);
	p->fd[0] = fd;
	p->gate = gate;
	p->mute = chance(px.f.mute);
	if (mc_sock_connect(&p->fd[1], px.gate[gate].address, NULL, mc_clock_ns() + 200000000, NULL)) {
		reset(fd);
		free(p);
		return;
	}
	px.pair[px.pairs++] = p;
}

static bool silent(const struct pair *p)
{
	return p->mute || px.gate[p->gate].held;
}

/* A new piece from its sender, and what becomes of it. */
static void take(struct pair *p, int from)
{
	struct way *w = &p->way[from];
	int64_t now = mc_clock_ns();
	ssize_t n = recv(p->fd[from], w->at, sizeof w->at, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		w->over = true;
		return;
	}
	w->n = (size_t)n;
	w->gone = w->cut = 0;
	w->due = now;
	if (chance(px.f.cut))
		w->cut = 1 + (size_t)draw(w->n);
	if (chance(px.f.hush))
		p->mute = true;
	if (chance(px.f.stall))
		w->due = now + (int64_t)draw(px.f.stall_us + 1) * 1000;
	w->late = chance(px.f.late);
	if (w->late)
		w->due = now + (int64_t)draw(px.f.late_us + 1) * 1000;
}

/* False: both sides are to be reset. */
static bool give(struct pair *p, int from)
{
	struct way *w = &p->way[from];
	ssize_t n;

	if (w->n && mc_clock_ns() >= w->due) {
		size_t most = w->cut ? w->cut - w->gone : w->n - w->gone;

		n = send(p->fd[!from], w->at + w->gone, most, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n > 0)
			w->gone += (size_t)n;
		if (w->cut && w->gone == w->cut)
			return false;
		if (w->gone == w->n) {
			struct pollfd gone = {.fd = p->fd[from], .events = POLLRDHUP};

			px.late += w->late && poll(&gone, 1, 0) > 0;
			w->n = 0;
		}
	}
	if (w->over && !w->n && !w->told) {
		w->told = true;
		shutdown(p->fd[!from], SHUT_WR);
	}
	return !(p->way[0].told && p->way[1].told);
}

static void carry(void)
{
	for (size_t i = 0; i < px.pairs;) {
		struct pair *p = px.pair[i];
		bool goes_on = true;

		for (int k = 0; k < 2 && goes_on && !silent(p); k++) {
			if (!p->way[k].n && !p->way[k].over)
				take(p, k);
			goes_on = give(p, k);
		}
		if (goes_on)
			i++;
		else
			end_pair(i);
	}
}

/* Until something may have happened. */
static void await(void)
{
	struct pollfd fd[GATES + 2 * PAIRS];
	nfds_t n = 0;
	bool waits = false;

	for (size_t i = 0; i < px.gates; i++)
		fd[n++] = (struct pollfd){.fd = px.gate[i].fd, .events = POLLIN};
	for (size_t i = 0; i < px.pairs; i++) {
		struct pair *p = px.pair[i];

		for (int k = 0; k < 2 && !silent(p); k++) {
			const struct way *w = &p->way[k];

			waits |= w->n > 0;
			if (!w->n && !w->over)
				fd[n++] = (struct pollfd){.fd = p->fd[k], .events = POLLIN};
		}
	}
	pthread_mutex_unlock(&px.lock);
	poll(fd, n, waits ? NAP_MS : 2 * NAP_MS);
	pthread_mutex_lock(&px.lock);
	for (size_t i = 0; i < px.gates && i < n; i++)
		if (fd[i].fd == px.gate[i].fd && fd[i].revents)
			admit(i);
}

static void *run(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&px.lock);
	while (!px.stop) {
		await();
		carry();
	}
	pthread_mutex_unlock(&px.lock);
	return NULL;
}

void proxy_start(uint64_t seed)
{
	px.rng = seed;
	px.f = (struct proxy_faults){0};
	px.stop = false;
	px.gates = px.pairs = 0;
	px.late = 0;
	if (pthread_create(&px.thread, NULL, run, NULL))
		abort();
}

void proxy_stop(void)
{
	pthread_mutex_lock(&px.lock);
	px.stop = true;
	pthread_mutex_unlock(&px.lock);
	pthread_join(px.thread, NULL);
	while (px.pairs)
		end_pair(0);
	for (size_t i = 0; i < px.gates; i++)
		close(px.gate[i].fd);
	px.gates = 0;
}

void proxy_set(const struct proxy_faults *f)
{
	pthread_mutex_lock(&px.lock);
	px.f = f ? *f : (struct proxy_faults){0};
	for (size_t i = 0; i < px.pairs && !f;)
		if (px.pair[i]->mute)
			end_pair(i);
		else
			i++;
	pthread_mutex_unlock(&px.lock);
}

static struct gate *gate_of(const char *address)
{
	for (size_t i = 0; i < px.gates; i++)
		if (!strcmp(px.gate[i].address, address))
			return &px.gate[i];
	return NULL;
}

void proxy_cut(const char *address, bool on)
{
	struct gate *g;

	pthread_mutex_lock(&px.lock);
	g = gate_of(address);
	if (g)
		g->cut = on;
	for (size_t i = 0; i < px.pairs && g && on;)
		if (&px.gate[px.pair[i]->gate] == g)
			end_pair(i);
		else
			i++;
	pthread_mutex_unlock(&px.lock);
}

void proxy_hold(const char *address, bool on)
{
	struct gate *g;

	pthread_mutex_lock(&px.lock);
	g = gate_of(address);
	if (g)
		g->held = on;
	pthread_mutex_unlock(&px.lock);
}

const char *proxy_to(const char *address)
{
	struct gate *g;

	pthread_mutex_lock(&px.lock);
	g = gate_of(address);
	if (!g && px.gates < GATES) {
		g = &px.gate[px.gates];
		*g = (struct gate){0};
		snprintf(g->address, sizeof g->address, "%s", address);
		if (mc_sock_listen(&g->fd, "127.0.0.1:0", g->own, NULL))
			abort();
		px.gates++;
	}
	pthread_mutex_unlock(&px.lock);
	if (!g)
		abort();
	return g->own;
}

unsigned proxy_late(void)
{
	unsigned n;

	pthread_mutex_lock(&px.lock);
	n = px.late;
	pthread_mutex_unlock(&px.lock);
	return n;
}
