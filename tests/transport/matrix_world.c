#include "matrix_world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "transport/sock.h"

enum { GUARD_BYTE = 0xa5, BOTH = MC_ACCESS_READ | MC_ACCESS_WRITE };

void matrix_die(const char *what, const char *why)
{
	printf("Bail out! %s: %s\n", what, why);
	exit(1);
}

static void must(int rc, const char *what, const struct mc_err *err)
{
	if (rc)
		matrix_die(what, err->text);
}

static struct mc_engine *open_engine(struct matrix_world *w, const char *address)
{
	struct mc_engine_port port[MC_ENGINE_PORTS];
	struct mc_engine_want want = w->want;
	struct mc_engine *e;
	struct mc_err err = {0};

	for (want.ports = 0; w->names[want.ports]; want.ports++)
		port[want.ports] = (struct mc_engine_port){w->t, w->names[want.ports]};
	want.port = port;
	if (address)
		want.address = address;
	must(mc_engine_open(&e, &want, &err), "open", &err);
	return e;
}

static void own(struct matrix_world *w, struct mc_engine *e, bool yes)
{
	struct mc_err err = {0};

	if (yes)
		must(mc_engine_register(e, &w->remote, BOTH, &err), "register", &err);
	else
		must(mc_engine_unregister(e, w->remote.base, &err), "unregister", &err);
}

/* The owner's process does what it is told, a byte each: open at the address that follows, register,
 * unregister.
 */
static _Noreturn void serve(struct matrix_world *w, int from, int to)
{
	char address[MC_ENGINE_ADDRESS], what;
	struct mc_engine *e = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &what, 1) == 1) {
		if (what == 'o') {
			if (read(from, address, sizeof address) != sizeof address)
				break;
			e = open_engine(w, address[0] ? address : NULL);
			own(w, e, true);
			snprintf(address, sizeof address, "%s", mc_engine_address(e));
		} else {
			own(w, e, what == 'r');
		}
		if (write(to, address, sizeof address) != sizeof address)
			break;
	}
	_exit(0);
}

static void spawn(struct matrix_world *w, struct matrix_owner *o)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		matrix_die("pipe", "none");
	o->pid = fork();
	if (!o->pid)
		serve(w, there[0], back[1]);
	close(there[0]);
	close(back[1]);
	o->to = there[1];
	o->from = back[0];
}

static void tell(struct matrix_owner *o, char what)
{
	bool good = write(o->to, &what, 1) == 1;

	if (good && what == 'o')
		good = write(o->to, o->address, sizeof o->address) == sizeof o->address;
	if (!good || read(o->from, o->address, sizeof o->address) != sizeof o->address)
		matrix_die("owner", "it says nothing");
}

static void open_owner(struct matrix_world *w, struct matrix_owner *o)
{
	if (o->pid) {
		tell(o, 'o');
		return;
	}
	o->e = open_engine(w, o->address[0] ? o->address : NULL);
	own(w, o->e, true);
	snprintf(o->address, sizeof o->address, "%s", mc_engine_address(o->e));
}

static void end_owner(struct matrix_owner *o)
{
	if (o->pid) {
		kill(o->pid, SIGKILL);
		waitpid(o->pid, NULL, 0);
		close(o->to);
		close(o->from);
	}
	mc_engine_close(o->e);
	o->pid = 0;
	o->e = NULL;
}

/* A memory that can be shared, and behind it bytes that are not of it. */
static void alloc(struct mc_memory *m, size_t bytes)
{
	struct mc_err err = {0};
	uint8_t *both =
	    mmap(NULL, bytes + MATRIX_GUARD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(mc_memory_alloc(m, bytes, "cpu:0", &err), "memory", &err);
	if (both == MAP_FAILED || m->bytes != bytes)
		matrix_die("memory", "there is none");
	munmap(m->base, bytes);
	m->base = mmap(both, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->fd, 0);
	if (m->base != both)
		matrix_die("memory", "it cannot be mapped");
	memset(both + bytes, GUARD_BYTE, MATRIX_GUARD);
}

static void release(struct mc_memory *m)
{
	munmap((uint8_t *)m->base + m->bytes, MATRIX_GUARD);
	mc_memory_free(m);
}

void matrix_open(struct matrix_world *w)
{
	struct mc_err err = {0};
	bool met = false;

	alloc(&w->local, w->bytes);
	alloc(&w->remote, w->bytes);
	if (!w->here) { /* before there are threads */
		spawn(w, &w->owner);
		spawn(w, &w->spare);
	}
	open_owner(w, &w->owner);
	w->e = open_engine(w, NULL);
	must(mc_engine_register(w->e, &w->local, 0, &err), "register", &err);
	for (int i = 0; i < 50 && !met; i++) /* a machine may be busy */
		met = !mc_engine_connect(w->e, w->owner.address, &w->peer, &err);
	must(!met, "connect", &err);
	w->seed = 1;
	w->fault = mc_clock_ns();
	matrix_recover(w); /* all is well */
}

void matrix_close(struct matrix_world *w)
{
	mc_engine_close(w->e);
	end_owner(&w->owner);
	end_owner(&w->spare);
	release(&w->local);
	release(&w->remote);
}

/* Byte i of a memory before the transfer. */
static uint8_t byte_of(const struct matrix_world *w, bool remote, size_t i)
{
	uint64_t x = (w->seed * 2 + remote + (i >> 3) * 1000003) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint8_t)(x >> 8 * (i & 7) ^ x >> 32);
}

static void fill(const struct matrix_world *w, const struct mc_memory *m, bool remote)
{
	for (size_t i = 0; i < w->bytes; i++)
		((uint8_t *)m->base)[i] = byte_of(w, remote, i);
}

static void check(struct matrix_world *w, bool done)
{
	const volatile uint8_t *here = w->local.base, *there = w->remote.base;
	size_t half = w->bytes / 2;

	for (size_t i = 0; i < w->bytes; i++) {
		uint8_t own = byte_of(w, false, i), other = byte_of(w, true, i), l = here[i], r = there[i];
		uint8_t to = i < half ? own : other; /* what both become */

		if ((done && (l != to || r != to)) || (l != own && l != to) || (r != other && r != to))
			matrix_die("a byte",
				   done ? "the batch is done, and it is not" : "it is neither old nor new");
	}
	for (size_t i = w->bytes; i < w->bytes + MATRIX_GUARD; i++)
		if (here[i] != GUARD_BYTE || there[i] != GUARD_BYTE)
			matrix_die("a byte", "what is not registered has changed");
	w->checked += 2 * w->bytes;
}

/* False: the peer is known to have no such memory. */
static bool submit(struct matrix_world *w)
{
	struct mc_request r[2] = {
	    {.op = MC_OP_WRITE, .local = w->local.base, .remote = (uintptr_t)w->remote.base},
	    {.op = MC_OP_READ,
	     .local = (uint8_t *)w->local.base + w->bytes / 2,
	     .remote = (uintptr_t)w->remote.base + w->bytes / 2}};

	/* After a failure the same bytes again: some may still be on their way. */
	w->seed += !w->failed;
	fill(w, &w->local, false);
	fill(w, &w->remote, true);
	for (int i = 0; i < 2; i++) {
		r[i].peer = w->peer;
		r[i].bytes = w->bytes / 2;
	}
	return !mc_engine_submit(w->e, r, 2, &w->batch, NULL);
}

void matrix_begin(struct matrix_world *w)
{
	struct mc_batch_status s = {0};

	if (!submit(w))
		matrix_die("submit", "the peer's memory is not known");
	while (s.state == MC_BATCH_PENDING && s.bytes < s.total / 16 + 1)
		mc_engine_wait(w->e, w->batch, 50000, &s, NULL);
}

void matrix_fault(struct matrix_world *w)
{
	struct mc_engine_stats s;

	mc_engine_stats(w->e, &s);
	memcpy(w->before, s.port_bytes, sizeof w->before);
	w->resent = s.resent;
	w->fault = mc_clock_ns();
	w->faulty = true;
}

bool matrix_end(struct matrix_world *w, struct mc_batch_status *s)
{
	bool done;

	mc_engine_wait(w->e, w->batch, 60 * MC_NS_PER_S, s, NULL);
	done = s->state == MC_BATCH_DONE;
	if (s->state == MC_BATCH_PENDING)
		matrix_die("a batch", "it does not end");
	mc_engine_free(w->e, w->batch, NULL);
	check(w, done);
	w->failed = !done;
	if (done && w->must_fail && w->faulty && submit(w))
		return matrix_end(w, s);
	return done;
}

int64_t matrix_recover(struct matrix_world *w)
{
	int64_t until = mc_clock_ns() + 30 * MC_NS_PER_S;
	struct mc_batch_status s;

	w->faulty = false;
	while (mc_clock_ns() < until) {
		mc_engine_connect(w->e, w->owner.address, &w->peer, NULL);
		if (submit(w) && matrix_end(w, &s))
			return mc_clock_ns() - w->fault;
	}
	matrix_die("recovery", "no transfer is done within 30 s");
}

uint64_t matrix_over(struct matrix_world *w, size_t port)
{
	struct mc_engine_stats s;

	mc_engine_stats(w->e, &s);
	return s.port_bytes[port] - w->before[port];
}

uint64_t matrix_resent(struct matrix_world *w)
{
	struct mc_engine_stats s;

	mc_engine_stats(w->e, &s);
	return s.resent - w->resent;
}

void matrix_unregister(struct matrix_world *w)
{
	if (w->owner.pid)
		tell(&w->owner, 'u');
	else
		own(w, w->owner.e, false);
}

void matrix_register(struct matrix_world *w)
{
	if (w->owner.pid)
		tell(&w->owner, 'r');
	else
		own(w, w->owner.e, true);
}

void matrix_kill(struct matrix_world *w)
{
	end_owner(&w->owner);
}

void matrix_restart(struct matrix_world *w)
{
	char address[MC_ENGINE_ADDRESS];

	memcpy(address, w->owner.address, sizeof address);
	end_owner(&w->owner);
	w->owner = w->spare;
	w->spare = (struct matrix_owner){0};
	memcpy(w->owner.address, address, sizeof address);
	open_owner(w, &w->owner);
}
