/* The engine on a transport that fails in every way that the contract allows. */
#include <unistd.h>

#include "engine_pair.h"
#include "unit.h"

static const char *const one_a[] = {"a0", NULL}, *const one_b[] = {"b0", NULL};
static const char *const two_a[] = {"a0", "a1", NULL}, *const two_b[] = {"b0", "b1", NULL};

START_TEST(moves)
{
	struct pair p = {.want = world_want()};
	struct mc_engine_range range[2];
	struct mc_engine_stats s;

	fake_start(1);
	pair_open(&p, one_a, one_b);
	ck_assert_uint_eq(mc_engine_ranges(p.a, p.peer, range, 2), 1);
	ck_assert_uint_eq(range[0].base, (uintptr_t)p.remote.m.base);
	ck_assert_uint_eq(range[0].bytes, BYTES);
	ck_assert_str_eq(range[0].place, "cpu:0");
	must(&p, MC_OP_WRITE);
	world_check(&p.remote);
	world_fill(&p.remote, 9);
	must(&p, MC_OP_READ);
	mc_engine_stats(p.a, &s);
	ck_assert_uint_eq(s.port_bytes[0], 2 * BYTES);
	ck_assert_uint_eq(s.slices, 2 * ((BYTES + 4095) / 4096));
	ck_assert_uint_eq(s.connects, 1);
	ck_assert_uint_eq(s.resent, 0);
	pair_close(&p);
	fake_stop();
}
END_TEST

/* A request that is wrong starts nothing, and its place is told. */
START_TEST(wrong_requests)
{
	struct pair p = {.want = world_want()};
	struct mc_request good, bad;
	struct mc_batch_status s;
	struct mc_err err;
	uint64_t batch;

	fake_start(2);
	pair_open(&p, one_a, one_b);
	good = world_request(MC_OP_READ, p.peer, &p.local, &p.remote);
#define WRONG(change)                                                                                        \
	do {                                                                                                 \
		struct mc_request r[2] = {good, good};                                                       \
		bad = good;                                                                                  \
		change;                                                                                      \
		r[1] = bad;                                                                                  \
		err = (struct mc_err){0};                                                                    \
		ck_assert_int_eq(mc_engine_submit(p.a, r, 2, &batch, &err), MC_USAGE);                       \
		ck_assert_int_eq(err.line, 2);                                                               \
	} while (0)
	WRONG(bad.bytes = 0);
	WRONG(bad.bytes++);
	WRONG(bad.peer = 7);
	WRONG(bad.local = (uint8_t *)bad.local - 1);
	WRONG(bad.local = (uint8_t *)bad.local + 1);
	WRONG(bad.remote--);
	WRONG(bad.remote++);
	WRONG(bad.remote = UINT64_MAX);
	bad = good;
	bad.bytes = UINT64_MAX;
	ck_assert_int_eq(mc_engine_submit(p.a, &bad, 1, &batch, NULL), MC_USAGE);
	ck_assert_int_eq(mc_engine_submit(p.a, &good, 0, &batch, NULL), MC_USAGE);
	ck_assert_int_eq(mc_engine_poll(p.a, 12345, &s, NULL), MC_USAGE);
	ck_assert_int_eq(mc_engine_free(p.a, 12345, NULL), MC_USAGE);
	/* What may only be read isn't written. */
	ck_assert_int_eq(mc_engine_unregister(p.b, p.remote.m.base, NULL), 0);
	ck_assert_int_eq(mc_engine_register(p.b, &p.remote.m, MC_ACCESS_READ, NULL), 0);
	ck_assert_int_eq(mc_engine_refresh(p.a, p.peer, NULL), 0);
	WRONG(bad.op = MC_OP_WRITE);
	must(&p, MC_OP_READ);
	/* Ranges that overlap, memory that isn't there. */
	ck_assert_int_eq(mc_engine_register(p.b, &p.remote.m, BOTH, NULL), MC_USAGE);
	ck_assert_int_eq(mc_engine_unregister(p.b, (uint8_t *)p.remote.m.base + 1, NULL), MC_USAGE);
	pair_close(&p);
	fake_stop();
}
END_TEST

/* A batch that is pending holds its memory, and isn't forgotten. */
START_TEST(pending)
{
	struct pair p = {.want = world_want()};
	struct fake_faults slow = {.slow = 1000, .slow_ns = 200000000};
	struct mc_request r;
	struct mc_batch_status s;
	uint64_t batch;

	fake_start(3);
	pair_open(&p, one_a, one_b);
	fake_set(&slow);
	r = world_request(MC_OP_READ, p.peer, &p.local, &p.remote);
	ck_assert_int_eq(mc_engine_submit(p.a, &r, 1, &batch, NULL), 0);
	ck_assert_int_eq(mc_engine_poll(p.a, batch, &s, NULL), 0);
	ck_assert_int_eq(s.state, MC_BATCH_PENDING);
	ck_assert_uint_eq(s.total, BYTES);
	ck_assert_int_eq(mc_engine_free(p.a, batch, NULL), MC_USAGE);
	ck_assert_int_eq(mc_engine_unregister(p.a, p.local.m.base, NULL), MC_USAGE);
	ck_assert_int_eq(mc_engine_wait(p.a, batch, -1, &s, NULL), 0);
	ck_assert_int_eq(s.state, MC_BATCH_DONE);
	ck_assert_int_eq(mc_engine_free(p.a, batch, NULL), 0);
	world_apply(&r, &p.local, &p.remote);
	ck_assert_int_eq(mc_engine_unregister(p.a, p.local.m.base, NULL), 0);
	pair_close(&p);
	fake_stop();
}
END_TEST

/* An engine that closes with a batch on its way: nothing hangs, nothing is touched after. */
START_TEST(closes)
{
	struct pair p = {.want = world_want()};
	struct fake_faults slow = {.slow = 1000, .slow_ns = 50000000};
	struct mc_request r;
	uint64_t batch;

	fake_start(4);
	pair_open(&p, two_a, two_b);
	fake_set(&slow);
	r = world_request(MC_OP_READ, p.peer, &p.local, &p.remote);
	ck_assert_int_eq(mc_engine_submit(p.a, &r, 1, &batch, NULL), 0);
	mc_engine_close(p.a);
	memcpy(p.local.model, p.local.m.base, BYTES);
	usleep(20000);
	p.a = NULL;
	pair_close(&p);
	fake_stop();
}
END_TEST

/* One of two paths goes in the middle: all comes over the other; it comes back: it is used again. */
START_TEST(path_down_and_up)
{
	struct pair p = {.want = world_want()};
	struct mc_engine_stats before, after;

	fake_start(5);
	pair_open(&p, two_a, two_b);
	/* The first one may be over before the second connection stands. */
	for (int i = 0; i < 1000; i++) {
		must(&p, MC_OP_WRITE);
		mc_engine_stats(p.a, &before);
		if (before.port_bytes[0] && before.port_bytes[1])
			break;
	}
	ck_assert_uint_gt(before.port_bytes[0], 0);
	ck_assert_uint_gt(before.port_bytes[1], 0);
	fake_port_up("a0", false);
	must(&p, MC_OP_READ);
	mc_engine_stats(p.a, &after);
	ck_assert_uint_eq(after.port_bytes[0], before.port_bytes[0]);
	fake_port_up("a0", true);
	fake_port_up("b1", false);
	usleep(2000);
	must(&p, MC_OP_WRITE);
	mc_engine_stats(p.a, &before);
	ck_assert_uint_gt(before.port_bytes[0], after.port_bytes[0]);
	fake_port_up("b1", true);
	usleep(30000); /* more than the wait for its path */
	must(&p, MC_OP_READ);
	pair_close(&p);
	fake_stop();
}
END_TEST

START_TEST(all_paths_down)
{
	struct pair p = {.want = world_want()};
	struct mc_request r;
	struct mc_batch_status s;
	int64_t start = mc_clock_ns();

	fake_start(6);
	pair_open(&p, two_a, two_b);
	fake_port_up("b0", false);
	fake_port_up("b1", false);
	r = world_request(MC_OP_WRITE, p.peer, &p.local, &p.remote);
	s = world_do(p.a, &r, 1);
	ck_assert_int_eq(s.state, MC_BATCH_FAILED);
	ck_assert_ptr_nonnull(strstr(s.err.text, "nobody at b"));
	ck_assert_int_lt(mc_clock_ns() - start, p.want.batch_timeout_ns);
	fake_port_up("b0", true);
	do
		s = world_do(p.a, &r, 1);
	while (s.state == MC_BATCH_FAILED &&
	       mc_clock_ns() - start < 20000 * MS); /* its path is left for a while */
	ck_assert_msg(s.state == MC_BATCH_DONE, "%s", s.err.text);
	world_apply(&r, &p.local, &p.remote);
	/* Our own are down: time decides. */
	fake_port_up("a0", false);
	fake_port_up("a1", false);
	mc_engine_close(p.a);
	p.want.batch_timeout_ns = 30 * MS;
	p.a = world_open(&p.want, &fake_transport, two_a);
	fake_port_up("a0", false);
	fake_port_up("a1", false);
	ck_assert_int_eq(mc_engine_register(p.a, &p.local.m, 0, NULL), 0);
	p.peer = world_meet(p.a, mc_engine_address(p.b));
	s = world_do(p.a, &r, 1);
	ck_assert_int_eq(s.state, MC_BATCH_FAILED);
	ck_assert_ptr_nonnull(strstr(s.err.text, "in time"));
	pair_close(&p);
	fake_stop();
}
END_TEST

/* A key that no longer holds: the peer is asked for the new one. Memory that is gone: failed, with the
 * reason. */
START_TEST(keys_change)
{
	struct pair p = {.want = world_want()};
	struct mc_request r;
	struct mc_batch_status s;

	fake_start(7);
	pair_open(&p, one_a, one_b);
	must(&p, MC_OP_WRITE);
	ck_assert_int_eq(mc_engine_unregister(p.b, p.remote.m.base, NULL), 0);
	ck_assert_int_eq(mc_engine_register(p.b, &p.remote.m, BOTH, NULL), 0);
	must(&p, MC_OP_READ);
	ck_assert_int_eq(mc_engine_unregister(p.b, p.remote.m.base, NULL), 0);
	r = world_request(MC_OP_WRITE, p.peer, &p.local, &p.remote);
	s = world_do(p.a, &r, 1);
	ck_assert_int_eq(s.state, MC_BATCH_FAILED);
	ck_assert_ptr_nonnull(strstr(s.err.text, "not have that memory registered"));
	pair_close(&p);
	fake_stop();
}
END_TEST

/* A peer that restarts is another one; its address leads to it. */
START_TEST(peer_restarts)
{
	struct pair p = {.want = world_want()};
	struct mc_request r;
	struct mc_batch_status s;
	struct mc_err err = {0};
	char address[MC_ENGINE_ADDRESS];
	uint32_t again;
	uint64_t batch;

	fake_start(8);
	pair_open(&p, two_a, two_b);
	must(&p, MC_OP_WRITE);
	snprintf(address, sizeof address, "%s", mc_engine_address(p.b));
	mc_engine_close(p.b);
	r = world_request(MC_OP_READ, p.peer, &p.local, &p.remote);
	s = world_do(p.a, &r, 1);
	ck_assert_int_eq(s.state, MC_BATCH_FAILED);
	p.want_b.address = address;
	p.b = world_open(&p.want_b, &fake_transport, two_b);
	ck_assert_int_eq(mc_engine_register(p.b, &p.remote.m, BOTH, NULL), 0);
	usleep(30000);
	/* What is left of the first batch may have found out already: then there is no second one. */
	if (!mc_engine_submit(p.a, &r, 1, &batch, &err)) {
		ck_assert_int_eq(mc_engine_wait(p.a, batch, 20000 * MS, &s, NULL), 0);
		ck_assert_int_eq(mc_engine_free(p.a, batch, NULL), 0);
		ck_assert_int_eq(s.state, MC_BATCH_FAILED);
		err = s.err;
	}
	ck_assert_msg(strstr(err.text, "has restarted") != NULL, "%s", err.text);
	ck_assert_int_eq(mc_engine_submit(p.a, &r, 1, &batch, NULL), MC_USAGE);
	ck_assert_int_eq(mc_engine_refresh(p.a, p.peer, NULL), MC_FAIL);
	again = world_meet(p.a, address);
	ck_assert_uint_ne(again, p.peer);
	p.peer = again;
	must(&p, MC_OP_READ);
	pair_close(&p);
	fake_stop();
}
END_TEST

/* More peers than endpoints: all are served, never more are open, and SIEVE's hand finds them. */
START_TEST(cap)
{
	enum { PEERS = 6, CAP = 2 };
	static const char *const names[PEERS][2] = {{"b0"}, {"b1"}, {"b2"}, {"b3"}, {"b4"}, {"b5"}};
	struct mc_engine_want want = world_want(), other = world_want();
	struct mc_engine *b[PEERS], *a;
	struct world_memory local, remote[PEERS];
	struct mc_request r[PEERS];
	struct mc_engine_stats s;

	fake_start(9);
	want.endpoints = CAP;
	a = world_open(&want, &fake_transport, two_a);
	world_alloc(&local, PEERS * 30000, "cpu:0", false);
	world_fill(&local, 1);
	ck_assert_int_eq(mc_engine_register(a, &local.m, 0, NULL), 0);
	for (size_t i = 0; i < PEERS; i++) {
		b[i] = world_open(&other, &fake_transport, names[i]);
		world_alloc(&remote[i], 30000, "cpu:0", false);
		ck_assert_int_eq(mc_engine_register(b[i], &remote[i].m, BOTH, NULL), 0);
		r[i].peer = world_meet(a, mc_engine_address(b[i]));
		r[i] = world_request(MC_OP_WRITE, r[i].peer, &local, &remote[i]);
		r[i].local = world_at(&local) + i * 30000;
		memcpy(remote[i].model, local.model + i * 30000, 30000);
	}
	for (int round = 0; round < 3; round++) {
		struct mc_batch_status st = world_do(a, r, PEERS);

		ck_assert_msg(st.state == MC_BATCH_DONE, "%s", st.err.text);
	}
	mc_engine_stats(a, &s);
	ck_assert_uint_ge(s.evicted, PEERS - CAP);
	ck_assert_uint_le(s.endpoints, CAP);
	ck_assert_uint_le(fake_endpoints_most(), CAP);
	mc_engine_close(a);
	world_check(&local);
	world_free(&local);
	for (size_t i = 0; i < PEERS; i++) {
		world_check(&remote[i]);
		mc_engine_close(b[i]);
		world_free(&remote[i]);
	}
	fake_stop();
}
END_TEST

/* What was lost may come in until the peer says that it won't: before that nothing is written again. Reads go
 * on. */
START_TEST(no_write_before_the_fence)
{
	struct pair p = {.want = world_want()};
	struct mc_request w, r;
	struct mc_batch_status s;
	struct mc_engine_stats st;
	uint64_t batch;

	fake_start(12);
	p.want.batch_timeout_ns = 1000 * MS;
	pair_open(&p, two_a, two_b);
	must(&p, MC_OP_WRITE);
	w = world_request(MC_OP_WRITE, p.peer, &p.local, &p.remote);
	r = w;
	r.op = MC_OP_READ;
	w.bytes = r.bytes = BYTES / 2;
	r.local = (uint8_t *)r.local + BYTES / 2;
	r.remote += BYTES / 2;
	fake_set(&(struct fake_faults){.lose = 1000, .late = 1000, .no_fence = 1000});
	ck_assert_int_eq(mc_engine_submit(p.a, &w, 1, &batch, NULL), 0);
	do { /* until something was lost, however busy the machine is */
		usleep(500);
		mc_engine_stats(p.a, &st);
	} while (!st.resent);
	fake_set(&(struct fake_faults){.no_fence = 1000});
	s = world_do(p.a, &r, 1);
	ck_assert_int_eq(mc_engine_wait(p.a, batch, 20000 * MS, &s, NULL), 0);
	ck_assert_int_eq(s.state, MC_BATCH_FAILED);
	ck_assert_msg(strstr(s.err.text, "confirm") || strstr(s.err.text, "in time"), "%s", s.err.text);
	ck_assert_int_eq(mc_engine_free(p.a, batch, NULL), 0);
	fake_set(&(struct fake_faults){0});
	do
		s = world_do(p.a, &w, 1);
	while (s.state == MC_BATCH_FAILED); /* until it is time to ask again */
	world_apply(&w, &p.local, &p.remote);
	do
		s = world_do(p.a, &r, 1);
	while (s.state == MC_BATCH_FAILED);
	world_apply(&r, &p.local, &p.remote);
	usleep(25000);
	pair_close(&p);
	fake_stop();
}
END_TEST

/* Ports near to the memory are used, the others when those are gone. */
START_TEST(topology)
{
	static const char matrix[] = "{\"cpu:0\": [[\"a1\", \"b0\"], [\"a0\", \"b1\"]]}";
	struct mc_topology *t;
	struct pair p = {.want = world_want()};
	struct mc_engine_stats s;

	ck_assert_int_eq(mc_topology_parse(&t, matrix, strlen(matrix), "matrix", NULL), 0);
	p.want.matrix = t;
	fake_start(10);
	pair_open(&p, two_a, two_b);
	must(&p, MC_OP_WRITE);
	mc_engine_stats(p.a, &s);
	ck_assert_uint_eq(s.port_bytes[0], 0);
	ck_assert_uint_eq(s.port_bytes[1], BYTES);
	ck_assert_uint_eq(s.connects, 1);
	fake_port_up("a1", false);
	must(&p, MC_OP_READ);
	mc_engine_stats(p.a, &s);
	ck_assert_uint_eq(s.port_bytes[0], BYTES);
	pair_close(&p);
	mc_topology_free(t);
	fake_stop();
}
END_TEST

/* The cheapest transport is used, the other one when that is gone. */
START_TEST(cost)
{
	struct mc_engine_port a[] = {{&fake_transport_costly, "c0"}, {&fake_transport, "a0"}};
	struct mc_engine_port b[] = {{&fake_transport_costly, "c1"}, {&fake_transport, "b0"}};
	struct pair p = {.want = world_want()};
	struct mc_engine_stats s;

	fake_start(11);
	p.want.port = a;
	p.want.ports = 2;
	ck_assert_int_eq(mc_engine_open(&p.a, &p.want, NULL), 0);
	p.want.port = b;
	ck_assert_int_eq(mc_engine_open(&p.b, &p.want, NULL), 0);
	world_alloc(&p.local, BYTES, "cpu:0", false);
	world_alloc(&p.remote, BYTES, "cpu:0", false);
	ck_assert_int_eq(mc_engine_register(p.a, &p.local.m, 0, NULL), 0);
	ck_assert_int_eq(mc_engine_register(p.b, &p.remote.m, BOTH, NULL), 0);
	p.peer = world_meet(p.a, mc_engine_address(p.b));
	must(&p, MC_OP_WRITE);
	fake_port_up("b0", false);
	must(&p, MC_OP_READ);
	mc_engine_stats(p.a, &s);
	ck_assert_uint_eq(s.port_bytes[0], BYTES);
	ck_assert_uint_eq(s.port_bytes[1], BYTES);
	pair_close(&p);
	fake_stop();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("engine");
	TCase *c = tcase_create("engine");

	tcase_add_test(c, moves);
	tcase_add_test(c, wrong_requests);
	tcase_add_test(c, pending);
	tcase_add_test(c, closes);
	tcase_add_test(c, path_down_and_up);
	tcase_add_test(c, all_paths_down);
	tcase_add_test(c, keys_change);
	tcase_add_test(c, peer_restarts);
	tcase_add_test(c, cap);
	tcase_add_test(c, no_write_before_the_fence);
	tcase_add_test(c, topology);
	tcase_add_test(c, cost);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
