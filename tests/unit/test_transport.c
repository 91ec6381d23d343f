/* Each transport that is built in, through the engine, against a model. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine_world.h"
#include "unit.h"

enum { BYTES = 1 << 20, REQUESTS = 64 };

static const char *const port[] = {"", NULL};
static const char *const two_ports[] = {"127.0.0.1", "lo", NULL};

static void pair_open(struct pair *p, const struct mc_transport *t, const char *const *names)
{
	p->want = world_want();
	p->want.slice_bytes = 16384;
	p->a = world_open(&p->want, t, names);
	p->b = world_open(&p->want, t, names);
	pair_meet(p, BYTES, true);
}

START_TEST(random_batches)
{
	struct pair p;
	struct mc_request r[REQUESTS];
	uint64_t rng = 5;

	pair_open(&p, mc_transports[_i],
		  mc_transports[_i] == mc_transport_find("tcp", NULL) ? two_ports : port);
	for (int round = 0; round < 20; round++) {
		size_t n = world_requests(r, REQUESTS, &rng, &p.local, &p.remote, p.peer);
		struct mc_batch_status s = world_do(p.a, r, n);

		ck_assert_msg(s.state == MC_BATCH_DONE, "%s", s.err.text);
		for (size_t i = 0; i < n; i++)
			world_apply(&r[i], &p.local, &p.remote);
		world_check(&p.local);
		world_check(&p.remote);
	}
	pair_close(&p);
}
END_TEST

/* Memory is taken away and given back while it is read and written: the batch is done, or failed with a
 * reason; what is taken away isn't written. */
START_TEST(unregistered_under_way)
{
	struct pair p;
	unsigned failed = 0;

	pair_open(&p, mc_transports[_i], port);
	for (int round = 0; round < 12; round++) {
		struct mc_request r[2];
		struct mc_batch_status s;
		uint64_t batch;

		for (int i = 0; i < 2; i++) {
			r[i] = world_request(i ? MC_OP_WRITE : MC_OP_READ, p.peer, &p.local, &p.remote);
			r[i].bytes /= 2;
			r[i].remote += (uint64_t)i * BYTES / 2;
		}
		r[1].local = (uint8_t *)r[1].local + BYTES / 2;
		mc_engine_refresh(p.a, p.peer, NULL);
		ck_assert_int_eq(mc_engine_submit(p.a, r, 2, &batch, NULL), 0);
		usleep(100 * (unsigned)round);
		ck_assert_int_eq(mc_engine_unregister(p.b, p.remote.m.base, NULL), 0);
		memcpy(p.remote.model, p.remote.m.base, BYTES);
		usleep(500);
		world_check(&p.remote);
		ck_assert_int_eq(mc_engine_register(p.b, &p.remote.m, BOTH, NULL), 0);
		ck_assert_int_eq(mc_engine_wait(p.a, batch, 20000 * MS, &s, NULL), 0);
		ck_assert_int_ne(s.state, MC_BATCH_PENDING);
		ck_assert_int_eq(mc_engine_free(p.a, batch, NULL), 0);
		if (s.state == MC_BATCH_DONE) {
			ck_assert_mem_eq((uint8_t *)p.local.m.base, p.remote.m.base, BYTES / 2);
			ck_assert_mem_eq(world_at(&p.local) + BYTES / 2, world_at(&p.remote) + BYTES / 2,
					 BYTES / 2);
		} else {
			failed++;
			ck_assert_uint_gt(strlen(s.err.text), 0);
		}
		memcpy(p.remote.model, p.remote.m.base, BYTES);
		memcpy(p.local.model, p.local.m.base, BYTES);
	}
	pair_close(&p);
}
END_TEST

/* A peer without the token: no segment, no connection to a port. */
START_TEST(another_token)
{
	struct pair p;
	struct mc_engine_want other;
	struct mc_engine *stranger;
	struct mc_err err = {0};
	struct mc_port *q;
	struct mc_endpoint *ep;
	const struct mc_transport *t = mc_transports[_i];
	struct mc_port_want want = {
	    .name = "", .timeout_ns = 3000 * MS, .wake = free, .limits = {16384, 32, 8, 8}};
	struct mc_connect_want to = {.id = 1, .timeout_ns = 3000 * MS};
	uint32_t peer;

	pair_open(&p, t, port);
	other = world_want();
	ck_assert_int_eq(mc_token_set(&other.token, "another token than that", NULL), 0);
	stranger = world_open(&other, t, port);
	ck_assert_int_eq(mc_engine_connect(stranger, mc_engine_address(p.b), &peer, &err), MC_FAIL);
	mc_engine_close(stranger);
	/* Straight to a port. */
	want.token = p.want.token;
	ck_assert_int_eq(t->port_open(&q, &want, NULL), 0);
	to.address = t->port_address(q);
	struct mc_port *own;

	want.token = other.token;
	ck_assert_int_eq(t->port_open(&own, &want, NULL), 0);
	ck_assert_int_eq(t->connect(&ep, own, &to, NULL), MC_FAIL);
	t->port_close(own);
	want.token = p.want.token;
	ck_assert_int_eq(t->port_open(&own, &want, NULL), 0);
	ck_assert_int_eq(t->connect(&ep, own, &to, NULL), 0);
	t->disconnect(ep);
	t->port_close(own);
	t->port_close(q);
	pair_close(&p);
}
END_TEST

/* A port as a peer has it, without an engine. */
static struct mc_port *port_alone(const struct mc_transport *t, struct mc_port_limits limits)
{
	struct mc_port_want want = {
	    .name = "", .timeout_ns = 300 * MS, .lanes = 1, .wake = free, .limits = limits};
	struct mc_port *p;

	want.token = world_want().token;
	ck_assert_int_eq(t->port_open(&p, &want, NULL), 0);
	return p;
}

/* A peer in another process, which is killed or stopped. */
struct other {
	pid_t child;
	struct mc_engine_want want;
	struct mc_engine *e;
	struct world_memory local;
	struct mc_request r;
};

static void other_open(struct other *o, const struct mc_transport *t)
{
	struct {
		char address[MC_ENGINE_ADDRESS];
		uint64_t base;
	} told = {0};
	struct world_memory remote;
	int fd[2];

	*o = (struct other){.want = world_want(), .r = {.op = MC_OP_WRITE, .bytes = BYTES}};
	ck_assert_int_eq(pipe(fd), 0);
	o->child = fork();
	ck_assert_int_ge(o->child, 0);
	if (!o->child) {
		o->e = world_open(&o->want, t, port);
		world_alloc(&remote, BYTES, "cpu:0", true);
		mc_engine_register(o->e, &remote.m, BOTH, NULL);
		snprintf(told.address, sizeof told.address, "%s", mc_engine_address(o->e));
		told.base = (uintptr_t)remote.m.base;
		_exit(write(fd[1], &told, sizeof told) == sizeof told ? pause() : 1);
	}
	ck_assert_int_eq(read(fd[0], &told, sizeof told), sizeof told);
	close(fd[0]);
	close(fd[1]);
	o->e = world_open(&o->want, t, port);
	world_alloc(&o->local, BYTES, "cpu:0", false);
	ck_assert_int_eq(mc_engine_register(o->e, &o->local.m, 0, NULL), 0);
	o->r.peer = world_meet(o->e, told.address);
	o->r.local = o->local.m.base;
	o->r.remote = told.base;
	world_must(o->e, &o->r);
}

static void other_close(struct other *o)
{
	kill(o->child, SIGKILL);
	ck_assert_int_eq(waitpid(o->child, NULL, 0), o->child);
	world_check(&o->local);
	world_free(&o->local);
}

/* It is killed in the middle: the batch fails in bounded time. */
START_TEST(killed)
{
	struct other o;
	struct mc_batch_status s;
	int64_t start;

	other_open(&o, mc_transports[_i]);
	start = mc_clock_ns();
	for (int i = 0; i < 100000; i++) {
		if (i == 3)
			kill(o.child, SIGKILL);
		s = world_do(o.e, &o.r, 1);
		if (s.state == MC_BATCH_FAILED)
			break;
	}
	ck_assert_int_eq(s.state, MC_BATCH_FAILED);
	ck_assert_int_lt(mc_clock_ns() - start, 2 * o.want.batch_timeout_ns);
	mc_engine_close(o.e);
	other_close(&o);
}
END_TEST

/* It is stopped in the middle: to close, or to unregister the local end of what has failed, doesn't wait for
 * it for long. */
START_TEST(closes_on_the_silent)
{
	struct other o;
	int64_t start;
	uint64_t batch;

	other_open(&o, mc_transports[_i]);
	kill(o.child, SIGSTOP);
	start = mc_clock_ns();
	ck_assert_int_eq(mc_engine_submit(o.e, &o.r, 1, &batch, NULL), 0);
	usleep(50000); /* until it is asked why it is silent */
	mc_engine_close(o.e);
	ck_assert_int_lt(mc_clock_ns() - start, 3 * o.want.connect_timeout_ns);
	other_close(&o);
}
END_TEST

/* No program that this process starts has its sockets and files. */
START_TEST(closed_on_exec)
{
	enum { MOST = 256 };

	struct mc_port *p;
	bool before[MOST];
	struct world_memory m;
	struct pair pair;
	int stranger;

	for (int fd = 0; fd < MOST; fd++)
		before[fd] = fcntl(fd, F_GETFD) >= 0;
	pair_open(&pair, mc_transports[_i], port);
	p = port_alone(mc_transports[_i], (struct mc_port_limits){16384, 32, 8, 8});
	world_alloc(&m, 4096, "cpu:0", true);
	struct mc_request r = world_request(MC_OP_READ, pair.peer, &pair.local, &pair.remote);

	world_must(pair.a, &r);
	world_apply(&r, &pair.local, &pair.remote);
	ck_assert_int_eq(mc_sock_connect(&stranger, mc_transports[_i]->port_address(p), NULL,
					 mc_clock_ns() + 1000 * MS, NULL),
			 0);
	usleep(20000); /* it is being asked who it is */
	for (int fd = 0; fd < MOST; fd++)
		if (!before[fd] && fcntl(fd, F_GETFD) >= 0)
			ck_assert_msg(fcntl(fd, F_GETFD) & FD_CLOEXEC, "descriptor %d", fd);
	close(stranger);
	mc_transports[_i]->port_close(p);
	world_free(&m);
	pair_close(&pair);
}
END_TEST

/* What had completed, and was not polled, isn't told once its endpoint is gone. */
START_TEST(quiet_after_disconnect)
{
	enum { SLICES = 8, SLICE = 4096 };

	const struct mc_transport *t = mc_transports[_i];
	struct mc_port *p = port_alone(t, (struct mc_port_limits){16384, 32, 8, 8}), *own;
	struct mc_connect_want want = {.address = t->port_address(p), .id = 1, .timeout_ns = 3000 * MS};
	struct mc_slice slice[SLICES], *at[SLICES];
	struct mc_completion c[SLICES];
	struct mc_endpoint *ep;
	struct world_memory here, there;
	uint64_t key, far_key;
	int64_t start = mc_clock_ns();

	own = port_alone(t, (struct mc_port_limits){16384, 32, 8, 8});
	world_alloc(&here, SLICES * SLICE, "cpu:0", true);
	world_alloc(&there, SLICES * SLICE, "cpu:0", true);
	ck_assert_int_eq(t->memory_register(own, &here.m, 0, &key, NULL), 0);
	ck_assert_int_eq(t->memory_register(p, &there.m, BOTH, &far_key, NULL), 0);
	for (int polls = 0; polls < 2; polls++) {
		want.id++;
		ck_assert_int_eq(t->connect(&ep, own, &want, NULL), 0);
		for (size_t i = 0; i < SLICES; i++) {
			slice[i] = (struct mc_slice){.op = MC_OP_WRITE, .bytes = SLICE, .local_key = key};
			slice[i].local = world_at(&here) + i * SLICE;
			slice[i].remote = (uintptr_t)world_at(&there) + i * SLICE;
			slice[i].remote_key = far_key;
			at[i] = slice + i;
		}
		t->post(ep, at, SLICES);
		usleep(30000);
		for (size_t got = 0; polls && got < SLICES - 1; usleep(100)) {
			got += t->poll(own, c, SLICES - 1 - got);
			ck_assert_int_lt(mc_clock_ns() - start, 10000 * MS);
		}
		t->disconnect(ep);
		ck_assert_uint_eq(t->poll(own, c, SLICES), 0);
	}
	t->port_close(own);
	t->port_close(p);
	world_free(&here);
	world_free(&there);
}
END_TEST

/* A key of one life of a process is none of the next, which may have its addresses. */
START_TEST(keys_of_another_life)
{
	const struct mc_transport *t = mc_transports[_i];
	struct world_memory m;
	uint64_t key[8];

	world_alloc(&m, 4096, "cpu:0", true);
	for (size_t i = 0; i < 8; i++) {
		struct mc_port *p = port_alone(t, (struct mc_port_limits){16384, 32, 8, 8});

		ck_assert_int_eq(t->memory_register(p, &m.m, BOTH, key + i, NULL), 0);
		for (size_t k = 0; k < i; k++)
			ck_assert_uint_ne(key[k], key[i]);
		t->port_close(p);
	}
	world_free(&m);
}
END_TEST

/* No more connections than the limit; strangers that say nothing take up a place for a short time only. */
START_TEST(limits_of_a_port)
{
	enum { MOST = 3, WORDLESS = 4 };

	const struct mc_transport *t = mc_transports[_i];
	struct mc_port *p = port_alone(t, (struct mc_port_limits){16384, 32, MOST, WORDLESS});
	struct mc_port *own = port_alone(t, (struct mc_port_limits){16384, 32, 8, 8});
	struct mc_connect_want want = {.address = t->port_address(p), .timeout_ns = 3000 * MS};
	struct mc_endpoint *ep[MOST], *more;
	int fd[WORDLESS + 2];

	for (size_t i = 0; i < WORDLESS + 2; i++)
		ck_assert_int_eq(mc_sock_connect(fd + i, want.address, NULL, mc_clock_ns() + 1000 * MS, NULL),
				 0);
	for (size_t i = 0; i < MOST; i++) {
		want.id = i + 1;
		ck_assert_int_eq(t->connect(ep + i, own, &want, NULL), 0);
	}
	want.id = 9;
	ck_assert_int_eq(t->connect(&more, own, &want, NULL), MC_FAIL);
	t->disconnect(ep[0]);
	for (int i = 0; i < 1000 && t->connect(ep, own, &want, NULL); i++)
		usleep(1000); /* its end is known a moment later */
	ck_assert_ptr_nonnull(ep[0]);
	for (size_t i = 0; i < MOST; i++)
		t->disconnect(ep[i]);
	for (size_t i = 0; i < WORDLESS + 2; i++)
		close(fd[i]);
	t->port_close(own);
	t->port_close(p);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("transport");
	TCase *c = tcase_create("transports");
	int n = 0;

	/* The last one, verbs, takes a device: tests/transport has a false one. */
	while (mc_transports[n] && strcmp(mc_transports[n]->name, "verbs"))
		n++;
	tcase_add_loop_test(c, random_batches, 0, n);
	tcase_add_loop_test(c, unregistered_under_way, 0, n);
	tcase_add_loop_test(c, another_token, 0, n);
	tcase_add_loop_test(c, closed_on_exec, 0, n);
	tcase_add_loop_test(c, closes_on_the_silent, 0, n);
	tcase_add_loop_test(c, keys_of_another_life, 0, n);
	tcase_add_loop_test(c, killed, 0, n);
	tcase_add_loop_test(c, quiet_after_disconnect, 0, n);
	tcase_add_loop_test(c, limits_of_a_port, 0, n);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
