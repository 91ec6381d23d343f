/* What an engine does when much is asked of it, by its user or by peers that don't answer. */
#include <unistd.h>

#include "engine_pair.h"
#include "transport/segment.h"
#include "unit.h"

static const char *const one_a[] = {"a0", NULL}, *const one_b[] = {"b0", NULL};
static const char *const two_a[] = {"a0", "a1", NULL}, *const two_b[] = {"b0", "b1", NULL};

/* Peers that don't answer hold up nobody else's connection. */
START_TEST(silent_peers)
{
	enum { SILENT = 16, PEERS = SILENT + 1, EACH = 20000 };

	struct mc_engine_want want = world_want(), other = world_want();
	struct mc_engine *a, *b[PEERS];
	struct world_memory local, remote[PEERS];
	struct mc_request r[PEERS];
	struct mc_batch_status s;
	uint64_t batch[PEERS];
	char name[PEERS][16];

	fake_start(1);
	want.connect_timeout_ns = 400 * MS;
	want.batch_timeout_ns = 1600 * MS;
	a = world_open(&want, &fake_transport, one_a);
	world_alloc(&local, EACH, "cpu:0", false);
	world_fill(&local, 1);
	ck_assert_int_eq(mc_engine_register(a, &local.m, 0, NULL), 0);
	for (int i = 0; i < PEERS; i++) {
		const char *const names[] = {name[i], NULL};

		snprintf(name[i], sizeof name[i], "b%d", i);
		b[i] = world_open(&other, &fake_transport, names);
		world_alloc(&remote[i], EACH, "cpu:0", false);
		ck_assert_int_eq(mc_engine_register(b[i], &remote[i].m, BOTH, NULL), 0);
		r[i].peer = world_meet(a, mc_engine_address(b[i]));
		r[i] = world_request(MC_OP_WRITE, r[i].peer, &local, &remote[i]);
		fake_port_silent(name[i], i < SILENT);
	}
	for (int i = 0; i < PEERS; i++)
		ck_assert_int_eq(mc_engine_submit(a, &r[i], 1, &batch[i], NULL), 0);
	ck_assert_int_eq(mc_engine_wait(a, batch[SILENT], -1, &s, NULL), 0);
	ck_assert_msg(s.state == MC_BATCH_DONE, "%s", s.err.text);
	for (int i = 0; i < SILENT; i++) {
		ck_assert_int_eq(mc_engine_wait(a, batch[i], 20000 * MS, &s, NULL), 0);
		ck_assert_int_eq(s.state, MC_BATCH_FAILED);
		fake_port_silent(name[i], false);
	}
	for (int i = 0; i < PEERS; i++) {
		do
			s = world_do(a, &r[i], 1); /* the first may still meet the wait before a retry */
		while (s.state == MC_BATCH_FAILED);
		world_apply(&r[i], &local, &remote[i]);
		world_check(&remote[i]);
	}
	mc_engine_close(a);
	for (int i = 0; i < PEERS; i++) {
		mc_engine_close(b[i]);
		world_free(&remote[i]);
	}
	world_free(&local);
	fake_stop();
}
END_TEST

/* Two memories, each near to another port. */
struct split {
	struct mc_topology *t;
	struct pair p;
	struct world_memory second;
	struct mc_request first_r, second_r;
};

static void split_open(struct split *x, int64_t timeout_ns)
{
	static const char matrix[] = "{\"cpu:0\": [[\"a0\"], []], \"cpu:1\": [[\"a1\"], []]}";

	*x = (struct split){.p.want = world_want()};
	ck_assert_int_eq(mc_topology_parse(&x->t, matrix, strlen(matrix), "matrix", NULL), 0);
	x->p.want.batch_timeout_ns = timeout_ns;
	x->p.want.matrix = x->t;
	x->p.a = world_open(&x->p.want, &fake_transport, two_a);
	x->p.want_b = world_want();
	x->p.b = world_open(&x->p.want_b, &fake_transport, two_b);
	pair_meet(&x->p, 500000, false);
	world_alloc(&x->second, 5000, "cpu:1", false);
	world_fill(&x->second, 3);
	ck_assert_int_eq(mc_engine_register(x->p.a, &x->second.m, 0, NULL), 0);
	x->first_r = world_request(MC_OP_READ, x->p.peer, &x->p.local, &x->p.remote);
	x->second_r = world_request(MC_OP_READ, x->p.peer, &x->second, &x->p.remote);
}

static void split_close(struct split *x)
{
	pair_close(&x->p);
	world_free(&x->second);
	mc_topology_free(x->t);
	fake_stop();
}

/* Many slices without a path don't hold up those that have one. */
START_TEST(stands_in_nobodys_way)
{
	struct split x;
	struct mc_batch_status s;
	uint64_t batch;

	fake_start(2);
	split_open(&x, 15000 * MS);
	fake_port_up("a0", false);
	ck_assert_int_eq(mc_engine_submit(x.p.a, &x.first_r, 1, &batch, NULL), 0);
	usleep(20000);
	world_must(x.p.a, &x.second_r);
	world_apply(&x.second_r, &x.second, &x.p.remote);
	world_check(&x.second);
	ck_assert_int_eq(mc_engine_poll(x.p.a, batch, &s, NULL), 0);
	ck_assert_int_eq(s.state, MC_BATCH_PENDING);
	fake_port_up("a0", true);
	ck_assert_int_eq(mc_engine_wait(x.p.a, batch, -1, &s, NULL), 0);
	ck_assert_msg(s.state == MC_BATCH_DONE, "%s", s.err.text);
	world_apply(&x.first_r, &x.p.local, &x.p.remote);
	split_close(&x);
}
END_TEST

/* A batch that runs out of time names a request that isn't done. */
START_TEST(names_what_failed)
{
	struct split x;
	struct mc_request r[2];
	struct mc_batch_status s;

	fake_start(3);
	split_open(&x, 1000 * MS);
	fake_port_up("a0", false);
	r[0] = x.second_r;
	r[1] = x.first_r;
	s = world_do(x.p.a, r, 2);
	ck_assert_int_eq(s.state, MC_BATCH_FAILED);
	ck_assert_uint_eq(s.request, 1);
	ck_assert_uint_eq(s.bytes, r[0].bytes);
	world_apply(&r[0], &x.second, &x.p.remote);
	split_close(&x);
}
END_TEST

/* What is told lost is sent again at once, what is never told when its time is over; and what never ends ends
 * with its batch. */
START_TEST(lost)
{
	static const struct fake_faults how[] = {{.lose = 1000}, {.drop = 1000}, {.drop = 1000}};
	const int64_t slice[] = {30000 * MS, 30 * MS, 30000 * MS},
		      batch[] = {20000 * MS, 20000 * MS, 50 * MS};
	struct pair p = {.want = world_want()};
	struct mc_batch_status s;
	struct mc_request r;
	uint64_t b;

	fake_start(5);
	p.want.retries = 1000; /* however long the faults last */
	p.want.slice_timeout_ns = slice[_i];
	p.want.batch_timeout_ns = batch[_i];
	pair_open(&p, two_a, two_b);
	r = world_request(MC_OP_READ, p.peer, &p.local, &p.remote);
	fake_set(&how[_i]);
	ck_assert_int_eq(mc_engine_submit(p.a, &r, 1, &b, NULL), 0);
	if (_i == 2) /* until its time is over, as none may have come to its end before */
		ck_assert_int_eq(mc_engine_wait(p.a, b, 10000 * MS, &s, NULL), 0);
	usleep(3000);
	fake_set(&(struct fake_faults){0});
	ck_assert_int_eq(mc_engine_wait(p.a, b, 10000 * MS, &s, NULL), 0);
	ck_assert_msg(s.state == (_i == 2 ? MC_BATCH_FAILED : MC_BATCH_DONE), "%d: %s", s.state, s.err.text);
	memcpy(p.local.model, p.local.m.base, BYTES); /* all of it, or some */
	if (s.state == MC_BATCH_DONE)
		world_apply(&r, &p.local, &p.remote);
	pair_close(&p);
	fake_stop();
}
END_TEST

/* A path that fails is left for a while, for longer each time. */
START_TEST(waits_before_it_tries_again)
{
	struct pair p = {.want = world_want()};
	struct mc_request r;
	int64_t start;

	fake_start(6);
	p.want.retry_ns = 5 * MS;
	p.want.retries = 4;
	pair_open(&p, one_a, one_b);
	fake_port_up("b0", false);
	r = world_request(MC_OP_READ, p.peer, &p.local, &p.remote);
	start = mc_clock_ns();
	ck_assert_int_eq(world_do(p.a, &r, 1).state, MC_BATCH_FAILED);
	ck_assert_int_ge(mc_clock_ns() - start, (5 + 10 + 20) * MS);
	pair_close(&p);
	fake_stop();
}
END_TEST

/* No more memories than a peer can be told of; those that peers don't use count for nothing. */
START_TEST(memories)
{
	struct pair p = {.want = world_want()};
	static uint8_t at[2 * (MC_SEGMENT_RANGES + 8)];
	struct mc_memory m = {.bytes = 1, .fd = -1};
	struct mc_err err = {0};

	fake_start(4);
	pair_open(&p, one_a, one_b);
	for (size_t i = 0; i < MC_SEGMENT_RANGES - 1; i++) {
		m.base = at + 2 * i;
		ck_assert_int_eq(mc_engine_register(p.b, &m, MC_ACCESS_READ, NULL), 0);
	}
	m.base = at + sizeof at - 1;
	ck_assert_int_eq(mc_engine_register(p.b, &m, MC_ACCESS_READ, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "at most 4096"));
	ck_assert_int_eq(mc_engine_register(p.b, &m, 0, NULL), 0);
	ck_assert_uint_eq(world_meet(p.a, mc_engine_address(p.b)), p.peer);
	ck_assert_uint_eq(mc_engine_ranges(p.a, p.peer, NULL, 0), MC_SEGMENT_RANGES);
	must(&p, MC_OP_WRITE);
	pair_close(&p);
	fake_stop();
}
END_TEST

START_TEST(settings)
{
	struct mc_engine_want good = world_want(), w;
	struct mc_engine_port port = {&fake_transport, "a0"};
	struct mc_engine *e;
	struct mc_err err;

	good.port = &port;
	good.ports = 1;
#define BAD(change, named)                                                                                   \
	do {                                                                                                 \
		w = good;                                                                                    \
		change;                                                                                      \
		err = (struct mc_err){0};                                                                    \
		ck_assert_int_eq(mc_engine_open(&e, &w, &err), MC_USAGE);                                    \
		ck_assert_ptr_null(e);                                                                       \
		ck_assert_str_eq(err.key, named);                                                            \
	} while (0)
	BAD(w.ports = 0, "ports");
	BAD(w.ports = MC_ENGINE_PORTS + 1, "ports");
	BAD(w.token.n = MC_TOKEN_MIN - 1, "token");
	BAD(w.slice_bytes = MC_SLICE_BYTES_MIN - 1, "slice_bytes");
	BAD(w.slice_bytes = MC_SLICE_BYTES_MAX + 1, "slice_bytes");
	BAD(w.depth = 0, "depth");
	BAD(w.depth = w.serve.depth + 1, "depth");
	BAD(w.endpoints = 0, "endpoints");
	BAD(w.retries = 0, "retries");
	BAD(w.retries = 1001, "retries");
	BAD(w.retry_ns = 0, "timeout");
	BAD(w.retry_ns = INT64_MAX, "timeout");
	BAD(w.connect_timeout_ns = INT64_MAX, "timeout");
	BAD(w.slice_timeout_ns = -1, "timeout");
	BAD(w.batch_timeout_ns = INT64_MAX, "timeout");
	BAD(w.serve.slice_bytes = w.slice_bytes - 1, "serve");
	BAD(w.serve.connections = 0, "serve");
	BAD(w.serve.pending = 0, "serve");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("engine_limits");
	TCase *c = tcase_create("limits");

	tcase_add_test(c, silent_peers);
	tcase_add_test(c, stands_in_nobodys_way);
	tcase_add_test(c, names_what_failed);
	tcase_add_loop_test(c, lost, 0, 3);
	tcase_add_test(c, waits_before_it_tries_again);
	tcase_add_test(c, memories);
	tcase_add_test(c, settings);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
