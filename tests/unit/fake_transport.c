#include "fake_transport.h"

#include <pthread.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "transport/sock.h"

enum { LATE_MOST_NS = 20000000, PORTS = 32 };

struct op {
	TAILQ_ENTRY(op) next;
	struct mc_endpoint *ep;
	struct mc_slice *slice;
	int64_t due;
	/* A late write: what it holds and where it goes. */
	struct mc_port *to;
	uint64_t id, key, at;
	uint32_t bytes;
	uint8_t *data;
};
TAILQ_HEAD(ops, op);

struct range {
	uint64_t key;
	struct mc_memory m;
	unsigned access;
};

struct mc_port {
	char name[MC_PORT_NAME];
	struct mc_port_want want;
	bool up, silent;
	struct {
		MC_VEC(struct range)
	} range;
	struct {
		MC_VEC(struct mc_completion)
	} done;
	struct {
		MC_VEC(struct mc_endpoint *)
	} of; /* of each completion */
};

struct mc_endpoint {
	struct mc_port *from, *to;
	uint64_t id;
	bool dead;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	pthread_t thread;
	bool stop;
	uint64_t rng, keys;
	struct fake_faults f;
	struct mc_port *port[PORTS], *waking;
	struct ops ops, late;
	unsigned endpoints, most, came_late;
} net = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t draw(uint64_t n)
{
	net.rng = mc_hash_u64(net.rng);
	return net.rng % n;
}

static bool chance(unsigned thousandths)
{
	return draw(1000) < thousandths;
}

static bool open_port(const struct mc_port *p)
{
	for (size_t i = 0; i < PORTS; i++)
		if (net.port[i] == p)
			return true;
	return false;
}

/* Where the peer's bytes are, or NULL. */
static uint8_t *reach(const struct mc_port *p, uint64_t key, uint64_t at, uint64_t bytes, unsigned access)
{
	for (size_t i = 0; i < p->range.n; i++) {
		const struct range *r = &p->range.at[i];
		uint64_t into = at - (uintptr_t)r->m.base;

		if (r->key == key && (r->access & access) && into <= r->m.bytes && bytes <= r->m.bytes - into)
			return (uint8_t *)r->m.base + into;
	}
	return NULL;
}

static void report(struct mc_endpoint *ep, struct mc_slice *s, enum mc_wire status, const char *why)
{
	struct mc_completion c = {.slice = s, .status = status, .why = why};

	mc_vec_push(&ep->from->done, c);
	mc_vec_push(&ep->from->of, ep);
}

static void keep_late(struct mc_endpoint *ep, const struct mc_slice *s)
{
	struct op *o = mc_xcalloc(1, sizeof *o);

	*o =
	    (struct op){.to = ep->to, .id = ep->id, .key = s->remote_key, .at = s->remote, .bytes = s->bytes};
	o->data = mc_xmalloc(s->bytes);
	memcpy(o->data, s->local, s->bytes);
	o->due = mc_clock_ns() + (int64_t)draw(LATE_MOST_NS);
	TAILQ_INSERT_TAIL(&net.late, o, next);
}

static void move(struct mc_endpoint *ep, struct mc_slice *s)
{
	uint8_t *at = NULL;
	size_t n = s->bytes;

	if (ep->dead || !open_port(ep->to) || !ep->to->up || !ep->from->up) {
		ep->dead = true;
		report(ep, s, MC_WIRE_LOST, "no link");
		return;
	}
	at = reach(ep->to, s->remote_key, s->remote, n,
		   s->op == MC_OP_READ ? MC_ACCESS_READ : MC_ACCESS_WRITE);
	if (!at || chance(net.f.refuse)) {
		report(ep, s, MC_WIRE_REFUSED, "no such key");
		return;
	}
	if (chance(net.f.lose)) {
		ep->dead = true;
		n = draw(n);
	}
	if (s->op == MC_OP_READ)
		memcpy(s->local, at, n);
	else
		memcpy(at, s->local, n);
	if (!ep->dead && !chance(net.f.drop)) {
		report(ep, s, MC_WIRE_OK, NULL);
		return;
	}
	if (s->op == MC_OP_WRITE && chance(net.f.late))
		keep_late(ep, s);
	if (ep->dead && draw(2))
		report(ep, s, MC_WIRE_LOST, "broken");
}

static void arrive_late(struct op *o)
{
	uint8_t *at = open_port(o->to) ? reach(o->to, o->key, o->at, o->bytes, MC_ACCESS_WRITE) : NULL;

	if (at)
		memcpy(at, o->data, o->bytes);
	net.came_late += at != NULL;
}

static void drop(struct ops *from, struct op *o)
{
	TAILQ_REMOVE(from, o, next);
	free(o->data);
	free(o);
}

/* Do one thing that is due; *next: when the first other one is. */
static bool step(int64_t *next)
{
	int64_t now = mc_clock_ns();
	struct op *o, *after;

	*next = now + 1000000000;
	for (o = TAILQ_FIRST(&net.late); o; o = after) {
		after = TAILQ_NEXT(o, next);
		if (o->due <= now) {
			arrive_late(o);
			drop(&net.late, o);
		} else if (o->due < *next) {
			*next = o->due;
		}
	}
	TAILQ_FOREACH (o, &net.ops, next) {
		if (o->due < *next)
			*next = o->due;
		if (o->due > now || (TAILQ_NEXT(o, next) && !draw(4)))
			continue;
		struct mc_port *p = o->ep->from;

		move(o->ep, o->slice);
		drop(&net.ops, o);
		net.waking = p;
		pthread_mutex_unlock(&net.lock);
		p->want.wake(p->want.wake_arg);
		pthread_mutex_lock(&net.lock);
		net.waking = NULL;
		pthread_cond_broadcast(&net.idle);
		return true;
	}
	return false;
}

static void *run(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&net.lock);
	while (!net.stop) {
		int64_t next;

		if (!step(&next)) {
			struct timespec at = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};

			pthread_cond_timedwait(&net.work, &net.lock, &at);
		}
	}
	pthread_mutex_unlock(&net.lock);
	return NULL;
}

void fake_start(uint64_t seed)
{
	pthread_condattr_t attr;

	net.rng = seed;
	net.stop = false;
	net.most = net.endpoints = net.came_late = 0;
	net.f = (struct fake_faults){0};
	TAILQ_INIT(&net.ops);
	TAILQ_INIT(&net.late);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&net.work, &attr);
	pthread_cond_init(&net.idle, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&net.thread, NULL, run, NULL))
		abort();
}

void fake_stop(void)
{
	pthread_mutex_lock(&net.lock);
	net.stop = true;
	pthread_cond_broadcast(&net.work);
	pthread_mutex_unlock(&net.lock);
	pthread_join(net.thread, NULL);
	while (TAILQ_FIRST(&net.late))
		drop(&net.late, TAILQ_FIRST(&net.late));
	pthread_cond_destroy(&net.work);
	pthread_cond_destroy(&net.idle);
}

void fake_set(const struct fake_faults *f)
{
	pthread_mutex_lock(&net.lock);
	net.f = *f;
	pthread_mutex_unlock(&net.lock);
}

unsigned fake_endpoints_most(void)
{
	unsigned most;

	pthread_mutex_lock(&net.lock);
	most = net.most;
	pthread_mutex_unlock(&net.lock);
	return most;
}

unsigned fake_late_writes(void)
{
	unsigned n;

	pthread_mutex_lock(&net.lock);
	n = net.came_late;
	pthread_mutex_unlock(&net.lock);
	return n;
}

static struct mc_port *find(const char *name)
{
	for (size_t i = 0; i < PORTS; i++)
		if (net.port[i] && !strcmp(net.port[i]->name, name))
			return net.port[i];
	return NULL;
}

void fake_port_up(const char *name, bool up)
{
	struct mc_port *p;

	pthread_mutex_lock(&net.lock);
	p = find(name);
	if (p)
		p->up = up;
	pthread_mutex_unlock(&net.lock);
	if (p)
		p->want.wake(p->want.wake_arg);
}

void fake_port_silent(const char *name, bool silent)
{
	pthread_mutex_lock(&net.lock);
	find(name)->silent = silent;
	pthread_mutex_unlock(&net.lock);
}

static int port_open(struct mc_port **out, const struct mc_port_want *want, struct mc_err *err)
{
	struct mc_port *p = mc_xcalloc(1, sizeof *p);
	size_t i = 0;

	(void)err;
	snprintf(p->name, sizeof p->name, "%s", want->name);
	p->want = *want;
	p->up = true;
	pthread_mutex_lock(&net.lock);
	while (net.port[i])
		i++;
	net.port[i] = p;
	pthread_mutex_unlock(&net.lock);
	*out = p;
	return 0;
}

static void port_close(struct mc_port *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&net.lock);
	while (net.waking == p)
		pthread_cond_wait(&net.idle, &net.lock);
	for (size_t i = 0; i < PORTS; i++)
		if (net.port[i] == p)
			net.port[i] = NULL;
	pthread_mutex_unlock(&net.lock);
	mc_vec_fini(&p->range);
	mc_vec_fini(&p->done);
	mc_vec_fini(&p->of);
	free(p);
}

static const char *port_address(const struct mc_port *p)
{
	return p->name;
}

static bool is_up(struct mc_port *p)
{
	bool up;

	pthread_mutex_lock(&net.lock);
	up = p->up;
	pthread_mutex_unlock(&net.lock);
	return up;
}

static int memory_register(struct mc_port *p, const struct mc_memory *m, unsigned access, uint64_t *key,
			   struct mc_err *err)
{
	struct range r = {.m = *m, .access = access};

	(void)err;
	pthread_mutex_lock(&net.lock);
	*key = r.key = ++net.keys;
	mc_vec_push(&p->range, r);
	pthread_mutex_unlock(&net.lock);
	return 0;
}

static int memory_unregister(struct mc_port *p, uint64_t key, struct mc_err *err)
{
	(void)err;
	pthread_mutex_lock(&net.lock);
	for (size_t i = 0; i < p->range.n; i++)
		if (p->range.at[i].key == key)
			p->range.at[i--] = p->range.at[--p->range.n];
	pthread_mutex_unlock(&net.lock);
	return 0;
}

static int connect_to(struct mc_endpoint **out, struct mc_port *p, const struct mc_connect_want *want,
		      struct mc_err *err)
{
	struct mc_endpoint *ep = mc_xcalloc(1, sizeof *ep);

	pthread_mutex_lock(&net.lock);
	*ep = (struct mc_endpoint){.from = p, .to = find(want->address), .id = want->id};
	if (!ep->to || !ep->to->up || !p->up || ep->to->silent || chance(net.f.no_connect)) {
		bool waits = ep->to && ep->to->silent;

		pthread_mutex_unlock(&net.lock);
		if (waits)
			usleep((useconds_t)(want->timeout_ns / 1000));
		free(ep);
		*out = NULL;
		return mc_err_set(err, MC_FAIL, "nobody at %.60s", want->address);
	}
	if (++net.endpoints > net.most)
		net.most = net.endpoints;
	pthread_mutex_unlock(&net.lock);
	*out = ep;
	return 0;
}

static void disconnect(struct mc_endpoint *ep)
{
	struct mc_port *p = ep->from;
	struct op *o, *after;
	size_t n = 0;

	pthread_mutex_lock(&net.lock);
	for (o = TAILQ_FIRST(&net.ops); o; o = after) {
		after = TAILQ_NEXT(o, next);
		if (o->ep != ep)
			continue;
		if (o->slice->op == MC_OP_WRITE && chance(net.f.late))
			keep_late(ep, o->slice);
		drop(&net.ops, o);
	}
	for (size_t i = 0; i < p->done.n; i++)
		if (p->of.at[i] != ep) {
			p->done.at[n] = p->done.at[i];
			p->of.at[n++] = p->of.at[i];
		}
	p->done.n = p->of.n = n;
	net.endpoints--;
	pthread_cond_broadcast(&net.work);
	pthread_mutex_unlock(&net.lock);
	free(ep);
}

static void post(struct mc_endpoint *ep, struct mc_slice *const *slice, size_t n)
{
	pthread_mutex_lock(&net.lock);
	for (size_t i = 0; i < n; i++) {
		struct op *o = mc_xcalloc(1, sizeof *o);

		*o = (struct op){.ep = ep, .slice = slice[i], .due = mc_clock_ns()};
		if (chance(net.f.slow))
			o->due += (int64_t)draw(net.f.slow_ns + 1);
		TAILQ_INSERT_TAIL(&net.ops, o, next);
	}
	pthread_cond_broadcast(&net.work);
	pthread_mutex_unlock(&net.lock);
}

static size_t poll_port(struct mc_port *p, struct mc_completion *out, size_t n)
{
	pthread_mutex_lock(&net.lock);
	if (n > p->done.n)
		n = p->done.n;
	if (n) {
		memcpy(out, p->done.at, n * sizeof *out);
		p->done.n = p->of.n = p->done.n - n;
		memmove(p->done.at, p->done.at + n, p->done.n * sizeof *p->done.at);
		memmove(p->of.at, p->of.at + n, p->of.n * sizeof *p->of.at);
	}
	pthread_mutex_unlock(&net.lock);
	return n;
}

static int fence(struct mc_port *p, uint64_t id, struct mc_err *err)
{
	struct op *o, *after;
	bool fails;

	pthread_mutex_lock(&net.lock);
	fails = chance(net.f.no_fence);
	for (o = TAILQ_FIRST(&net.late); o && !fails; o = after) {
		after = TAILQ_NEXT(o, next);
		if (o->id == id && o->to == p)
			drop(&net.late, o);
	}
	pthread_mutex_unlock(&net.lock);
	return fails ? mc_err_set(err, MC_FAIL, "no fence today") : 0;
}

#define FAKE(called, price)                                                                                  \
	.name = called, .summary = "for tests", .cost = price, .port_open = port_open,                       \
	.port_close = port_close, .port_address = port_address, .up = is_up,                                 \
	.memory_register = memory_register, .memory_unregister = memory_unregister, .connect = connect_to,   \
	.disconnect = disconnect, .post = post, .poll = poll_port, .fence = fence

const struct mc_transport fake_transport = {FAKE("fake", 1)};
const struct mc_transport fake_transport_costly = {FAKE("costly", 2)};
