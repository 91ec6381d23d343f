/* TCP through a network that resets, cuts, stalls, swallows and is late (proxy.h): batches end with every
 * byte equal to a model's, or failed with their reason, and are done again when it is over. */
#include <signal.h>
#include <sys/time.h>

#include "engine_areas.h"
#include "proxy.h"
#include "unit.h"

enum { BYTES = 150000, AREAS = 4, ROUNDS = 10 };

extern const struct mc_transport mc_transport_tcp, mc_transport_shm;

static struct mc_transport via; /* TCP, whose ports are found at the proxy's addresses */

static const char *via_address(const struct mc_port *p)
{
	return proxy_to(mc_transport_tcp.port_address(p));
}

static void interrupted(int number)
{
	(void)number;
}

/* A signal each millisecond, which ends calls of whatever thread it comes to. */
static void interrupt(void)
{
	struct sigaction a = {.sa_handler = interrupted};
	struct itimerval each = {{0, 1000}, {0, 1000}};

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

struct world {
	struct mc_engine *e[2]; /* each asks the other one */
	struct area x[AREAS];
};

/* shared: one of the ports, and memories in turn, are shared. */
static void open_world(struct world *w, int seed, bool shared)
{
	struct mc_engine_port port[2] = {{&via, "127.0.0.1"}, {&via, "127.0.0.1"}};
	struct mc_engine_want want = world_want();
	uint32_t peer[2];

	via = mc_transport_tcp;
	via.port_address = via_address;
	if (shared)
		port[0] = (struct mc_engine_port){&mc_transport_shm, ""};
	want.port = port;
	want.ports = 2;
	want.batch_timeout_ns = 150 * MS;
	want.slice_timeout_ns = 20 * MS;
	want.connect_timeout_ns = 60 * MS;
	want.retries = 3;
	want.depth = 8;
	want.lanes = 2;
	want.endpoints = seed % 2 ? 2 : 16;
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(mc_engine_open(w->e + i, &want, NULL), 0);
	for (int i = 0; i < AREAS; i++) {
		w->x[i] = (struct area){.asker = w->e[i % 2], .owner = w->e[(i + 1) % 2]};
		area_open(w->x + i, BYTES, (uint64_t)(10 * seed + i), shared && i / 2);
	}
	for (int i = 0; i < 2; i++)
		peer[i] = world_meet(w->e[i], proxy_to(mc_engine_address(w->e[!i])));
	for (int i = 0; i < AREAS; i++)
		w->x[i].peer = peer[i % 2];
}

static void close_world(struct world *w)
{
	for (int i = 0; i < 2; i++)
		mc_engine_close(w->e[i]);
	for (int i = 0; i < AREAS; i++) {
		area_check(w->x + i);
		area_free(w->x + i);
	}
}

static void set_faults(uint64_t rng)
{
	struct proxy_faults f = {.refuse = (unsigned)(rng >> 3) % 150,
				 .mute = (unsigned)(rng >> 10) % 30,
				 .cut = (unsigned)(rng >> 17) % 40,
				 .hush = (unsigned)(rng >> 24) % 8,
				 .stall = (unsigned)(rng >> 31) % 100,
				 .stall_us = 4000,
				 .late = (unsigned)(rng >> 38) % 100,
				 .late_us = 40000};

	proxy_set(&f);
}

static void go_through(int seed, bool shared)
{
	struct world w;
	uint64_t rng = 500 + (uint64_t)seed;
	struct mc_engine_stats st[2];
	unsigned done = 0, failed = 0;

	proxy_start((uint64_t)seed + 1);
	open_world(&w, seed, shared);
	if (seed % 2 == 0)
		interrupt();
	for (int round = 0; round < ROUNDS; round++) {
		bool away = shared || round % 4 == 2;

		rng = mc_hash_u64(rng);
		set_faults(rng);
		for (int i = 0; i < AREAS; i++)
			if (!area_submit(w.x + i, &rng))
				mc_engine_refresh(w.x[i].asker, w.x[i].peer, NULL);
		if (away)
			area_take_away(w.x + (rng >> 20) % AREAS);
		for (int i = 0; i < AREAS; i++)
			if (w.x[i].batch)
				area_settle(w.x + i, 3000 * MS);
	}
	proxy_set(NULL);
	for (int i = 0; i < AREAS; i++) {
		area_recover(w.x + i, &rng, 15000 * MS);
		area_check(w.x + i);
		done += w.x[i].done;
		failed += w.x[i].failed;
	}
	usleep(45000); /* whatever was late has come in by now */
	for (int i = 0; i < AREAS; i++)
		area_check(w.x + i);
	for (int i = 0; i < 2; i++)
		mc_engine_stats(w.e[i], st + i);
	ck_assert_uint_gt(st[0].resent + st[1].resent, 0);
	ck_assert_uint_gt(st[0].fences + st[1].fences, 0);
	if (getenv("MC_TEST_VERBOSE"))
		fprintf(stderr, "# %u done, %u failed, %lu resent, %lu fences, %u late\n", done, failed,
			(unsigned long)(st[0].resent + st[1].resent),
			(unsigned long)(st[0].fences + st[1].fences), proxy_late());
	close_world(&w);
	proxy_stop();
}

START_TEST(faults)
{
	go_through(_i, false);
}
END_TEST

START_TEST(beside_shared_memory)
{
	go_through(_i, true);
}
END_TEST

/* Two ports, a network between them, and a memory at each. */
struct ports {
	struct mc_port *a, *b;
	struct mc_endpoint *ep;
	struct world_memory here, there;
	uint64_t key, far_key;
	struct mc_slice slice;
};

enum { SLICE = 400000, ID = 77 };

static void open_ports(struct ports *x)
{
	struct mc_port_want want = {.name = "127.0.0.1",
				    .timeout_ns = 1000 * MS,
				    .lanes = 1,
				    .wake = free,
				    .limits = {SLICE, 32, 8, 8}};
	struct mc_connect_want to = {.id = ID, .timeout_ns = 2000 * MS};
	const struct mc_transport *t = &mc_transport_tcp;

	proxy_start(1);
	want.token = world_want().token;
	ck_assert_int_eq(t->port_open(&x->a, &want, NULL), 0);
	ck_assert_int_eq(t->port_open(&x->b, &want, NULL), 0);
	world_alloc(&x->here, SLICE, "cpu:0", false);
	world_alloc(&x->there, SLICE, "cpu:0", false);
	world_fill(&x->here, 1);
	world_fill(&x->there, 2);
	ck_assert_int_eq(t->memory_register(x->a, &x->here.m, 0, &x->key, NULL), 0);
	ck_assert_int_eq(t->memory_register(x->b, &x->there.m, BOTH, &x->far_key, NULL), 0);
	to.address = proxy_to(t->port_address(x->b));
	ck_assert_int_eq(t->connect(&x->ep, x->a, &to, NULL), 0);
	x->slice = (struct mc_slice){.op = MC_OP_WRITE,
				     .bytes = SLICE,
				     .local = world_at(&x->here),
				     .local_key = x->key,
				     .remote = (uintptr_t)world_at(&x->there),
				     .remote_key = x->far_key};
}

static void close_ports(struct ports *x)
{
	mc_transport_tcp.port_close(x->a);
	mc_transport_tcp.port_close(x->b);
	proxy_stop();
	world_free(&x->here);
	world_free(&x->there);
}

/* What was on its way when its connection was given up doesn't arrive after the fence. */
START_TEST(fenced)
{
	const struct mc_transport *t = &mc_transport_tcp;
	struct mc_slice *at;
	struct ports x;

	open_ports(&x);
	proxy_hold(t->port_address(x.b), true);
	at = &x.slice;
	t->post(x.ep, &at, 1);
	usleep(20000); /* it is in the network now */
	t->disconnect(x.ep);
	ck_assert_int_eq(t->fence(x.b, ID, NULL), 0);
	world_check(&x.there);
	proxy_hold(t->port_address(x.b), false);
	usleep(20000);
	world_check(&x.there);
	close_ports(&x);
}
END_TEST

/* Memory that is taken away in the midst of a slice isn't written, or read, from then on. */
START_TEST(taken_away)
{
	const struct mc_transport *t = &mc_transport_tcp;
	struct mc_completion c = {0};
	struct mc_slice *at;
	struct ports x;
	int64_t until = mc_clock_ns() + 10000 * MS;

	open_ports(&x);
	proxy_set(&(struct proxy_faults){.stall = 1000, .stall_us = 300000});
	at = &x.slice;
	t->post(x.ep, &at, 1);
	while (((volatile uint8_t *)world_at(&x.there))[1] == x.there.model[1] && mc_clock_ns() < until)
		usleep(100);
	ck_assert_int_eq(t->memory_unregister(x.b, x.far_key, NULL), 0);
	memcpy(x.there.model, world_at(&x.there), SLICE);
	ck_assert(memcmp(x.there.model, world_at(&x.here), SLICE) != 0);
	usleep(50000);
	world_check(&x.there);
	while (!t->poll(x.a, &c, 1) && mc_clock_ns() < until)
		usleep(100);
	ck_assert_int_eq(c.status, MC_WIRE_LOST);
	t->disconnect(x.ep);
	close_ports(&x);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("tcp_faults");
	TCase *c = tcase_create("faults");

	tcase_add_loop_test(c, faults, 0, area_seeds(2));
	tcase_add_loop_test(c, beside_shared_memory, 0, area_seeds(1));
	tcase_add_test(c, fenced);
	tcase_add_test(c, taken_away);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
