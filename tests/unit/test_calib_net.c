/* Measuring transfers: which points, the pattern that tells bytes apart, what a stranger may ask of plain
 * sockets, a load over loopback whose wrong bytes are found, predictions beside measurements. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/time.h"
#include "calib/bareserve.h"
#include "calib/netcheck.h"
#include "calib/netmeasure.h"
#include "calib/netserve.h"
#include "transport/sock.h"
#include "transport/wire.h"
#include "unit.h"

enum { MEMORY = 1 << 20 };

START_TEST(test_pattern)
{
	struct mc_netmemory m;
	const struct mc_netmemory_want want = {.bytes = MEMORY, .kind = "host", .seed = 7};
	const struct mc_netmemory_want bad = {.bytes = MEMORY, .kind = "none"};
	struct mc_err err = {0};

	ck_assert_int_eq(mc_netmemory_alloc(&m, &bad, &err), MC_USAGE);
	ck_assert_int_eq(mc_netmemory_alloc(&m, &want, NULL), 0);
	for (uint64_t i = 0; i < 200; i++) {
		struct mc_netmemory_expected x = {.seed = 7};
		size_t at = mc_hash_u64(i) % 100000 / 64 * 64, wrong;

		x.offset = mc_hash_u64(i + 1000) % 100000 / 64 * 64;
		x.n = 1 + mc_hash_u64(i + 2000) % 20000;
		x.at = at;
		err = (struct mc_err){0};
		ck_assert_int_eq(mc_netmemory_spoil(&m, at, x.n, NULL), 0);
		ck_assert_int_eq(mc_netmemory_check(&m, &x, &err), MC_FAIL);
		memcpy(mc_netmemory_target(&m, at), mc_netmemory_source(&m, x.offset), x.n);
		ck_assert_int_eq(mc_netmemory_check(&m, &x, NULL), 0);
		/* Any byte that is another one is found, by its place. */
		wrong = mc_hash_u64(i + 3000) % x.n;
		*mc_netmemory_target(&m, at + wrong) ^= (char)(1 << i % 8);
		err = (struct mc_err){0};
		ck_assert_int_eq(mc_netmemory_check(&m, &x, &err), MC_FAIL);
		{
			char text[32];

			snprintf(text, sizeof text, "byte %zu of", wrong);
			ck_assert_ptr_nonnull(strstr(err.text, text));
		}
	}
	mc_netmemory_free(&m);
}
END_TEST

START_TEST(test_info)
{
	struct mc_netinfo is = {1, 2, 3, 4096, "127.0.0.1:5"}, got;
	uint8_t page[MC_NETINFO_BYTES];

	mc_netinfo_encode(&is, page);
	ck_assert_int_eq(mc_netinfo_decode(&got, page, NULL), 0);
	ck_assert(got.seed == 1 && got.source == 2 && got.target == 3 && got.half == 4096);
	ck_assert_str_eq(got.bare, is.bare);
	page[0] ^= 1; /* another thing */
	ck_assert_int_eq(mc_netinfo_decode(&got, page, NULL), MC_FAIL);
	page[0] ^= 1;
	page[40] = 255; /* a text that is too long */
	ck_assert_int_eq(mc_netinfo_decode(&got, page, NULL), MC_FAIL);
	page[40] = 11;
	page[32] = 1; /* an odd memory */
	ck_assert_int_eq(mc_netinfo_decode(&got, page, NULL), MC_FAIL);
}
END_TEST

static bool has(const struct mc_netgrid *g, struct mc_netpoint p)
{
	struct mc_op_point q = mc_netpoint_op(&p);

	for (size_t i = 0; i < g->n; i++)
		if (g->at[i].bare == p.bare && mc_netpoint_same(&g->at[i], &q))
			return true;
	return false;
}

START_TEST(test_grid)
{
	const struct mc_netlimits l = {.most = 3 << 20,
				       .depth = 6,
				       .peers = 3,
				       .nics = 2,
				       .local = 24 << 20,
				       .remote = 12 << 20,
				       .bares = 2};
	struct mc_netgrid g;
	size_t same = 0;

	mc_netgrid(&g, &l);
	for (size_t i = 0; i < g.n; i++) {
		const struct mc_netpoint *p = &g.at[i];
		const struct mc_op_point q = mc_netpoint_op(p);

		ck_assert(p->bytes >= 64 && p->bytes <= l.most && p->depth >= 1 && p->depth <= l.depth);
		ck_assert(p->bytes * p->depth <= l.remote && p->bytes * p->depth * p->peers <= l.local);
		ck_assert(p->op != MC_OP_NET_BOTH || p->depth > 1);
		ck_assert(!i || p->level >= g.at[i - 1].level);
		ck_assert(!p->bare || (p->peers == 1 && p->nics == 1 && p->op != MC_OP_NET_BOTH));
		for (size_t k = 0; k < i; k++)
			same += g.at[k].bare == p->bare && mc_netpoint_same(&g.at[k], &q);
	}
	ck_assert_int_eq(same, 0);
	/* The ends of each axis, and what stands beside. */
	for (int s = 0; s < 4; s++) {
		static const int64_t slices[4] = {16 << 10, 64 << 10, 256 << 10, 1 << 20};

		ck_assert(
		    has(&g, (struct mc_netpoint){MC_OP_NET_READ, 3 << 20, 1, slices[s], 1, 2, 0, 0, 0}));
		ck_assert(
		    has(&g, (struct mc_netpoint){MC_OP_NET_WRITE, 3 << 20, 1, slices[s], 3, 1, 0, 0, 0}));
	}
	ck_assert(has(&g, (struct mc_netpoint){MC_OP_NET_BOTH, 64, 6, 64 << 10, 3, 2, 0, 0, 0}));
	for (int b = 1; b <= 2; b++)
		ck_assert(has(&g, (struct mc_netpoint){MC_OP_NET_READ, 64, 6, 64 << 10, 1, 1, 0, b, 0}));
	ck_assert(!has(&g, (struct mc_netpoint){MC_OP_NET_READ, 64, 1, 64 << 10, 1, 1, 0, 2, 0}));
	/* A slice larger than what is moved is no other one. */
	ck_assert(!has(&g, (struct mc_netpoint){MC_OP_NET_READ, 1 << 10, 1, 16 << 10, 1, 2, 0, 0, 0}));
	mc_vec_fini(&g);
}
END_TEST

START_TEST(test_random)
{
	const struct mc_netlimits l = {
	    .most = 1 << 20, .depth = 16, .peers = 4, .nics = 2, .local = 4 << 20, .remote = 2 << 20};
	struct mc_netlimits one = l;
	struct mc_netgrid a, b, c;
	size_t odd = 0, deep = 0, many = 0, differ = 0;

	mc_netgrid_random(&a, &l, 1, 400);
	mc_netgrid_random(&b, &l, 1, 400);
	mc_netgrid_random(&c, &l, 2, 400);
	for (size_t i = 0; i < a.n; i++) {
		const struct mc_netpoint *p = &a.at[i];
		struct mc_op_point q = mc_netpoint_op(&b.at[i]);

		ck_assert(mc_netpoint_same(p, &q));
		differ += !mc_netpoint_same(&c.at[i], &q);
		ck_assert(p->bytes >= 64 && p->bytes <= l.most && p->depth >= 1 && p->depth <= l.depth);
		ck_assert(p->peers >= 1 && p->peers <= l.peers && p->nics >= 1 && p->nics <= l.nics);
		ck_assert(p->bytes * p->depth <= l.remote && p->bytes * p->depth * p->peers <= l.local);
		ck_assert(p->op != MC_OP_NET_BOTH || p->depth > 1);
		odd += (p->bytes & (p->bytes - 1)) != 0;
		deep += p->depth > 4;
		many += p->peers > 1;
	}
	ck_assert(odd > 380 && deep > 50 && many > 50 && differ > 380);
	mc_vec_fini(&a);
	one.slice = 12345;
	mc_netgrid_random(&a, &one, 1, 400);
	for (size_t i = 0; i < a.n; i++)
		ck_assert_int_eq(a.at[i].slice, 12345);
	mc_vec_fini(&a);
	mc_vec_fini(&b);
	mc_vec_fini(&c);
}
END_TEST

struct plain {
	struct mc_netmemory m;
	struct mc_token token;
	struct mc_bareserve *b;
};

static void plain_open(struct plain *p)
{
	const struct mc_netmemory_want want = {.bytes = MEMORY, .kind = "host", .seed = 3};
	struct mc_bareserve_want w = {.host = "127.0.0.1", .memory = &p->m};

	ck_assert_int_eq(mc_token_set(&p->token, "a token of the tests", NULL), 0);
	w.token = p->token;
	ck_assert_int_eq(mc_netmemory_alloc(&p->m, &want, NULL), 0);
	ck_assert_int_eq(mc_bareserve_open(&p->b, &w, NULL), 0);
}

static void plain_close(struct plain *p)
{
	mc_bareserve_close(p->b);
	mc_netmemory_free(&p->m);
}

/* A socket that has proved itself; -1: it was not taken. */
static int plain_connect(const struct plain *p, const char *token)
{
	int64_t deadline = mc_clock_ns() + 5 * MC_NS_PER_S;
	struct mc_token t;
	int fd;

	mc_token_set(&t, token, NULL);
	ck_assert_int_eq(mc_sock_connect(&fd, mc_bareserve_address(p->b), NULL, deadline, NULL), 0);
	if (mc_auth_connect(fd, &t, MC_PURPOSE_BARE, deadline, NULL)) {
		close(fd);
		return -1;
	}
	mc_bare_prepare(fd, 5);
	return fd;
}

/* Is it answered, with so many bytes? */
static bool plain_ask(int fd, uint8_t op, uint64_t at, uint64_t n, void *answer)
{
	uint8_t q[MC_BARE_QUESTION] = {op};

	mc_wire_set(q + 8, at, 8);
	mc_wire_set(q + 16, n, 8);
	return mc_bare_send(fd, q, sizeof q) && mc_bare_recv(fd, answer, n < 64 ? n : 64);
}

START_TEST(test_strangers)
{
	static const struct {
		uint8_t op;
		uint64_t at, n;
	} bad[] = {{1, MEMORY / 2, 1},  {1, 0, MEMORY / 2 + 1},
		   {1, UINT64_MAX, 64}, {1, 64, UINT64_MAX - 8},
		   {1, 0, 0},           {0, 0, 64},
		   {3, 0, 64},          {2, MEMORY / 2 - 32, 64}};
	struct plain p;
	char got[64], should[64];
	int fd;

	plain_open(&p);
	ck_assert_int_eq(plain_connect(&p, "another token of the tests"), -1);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		fd = plain_connect(&p, "a token of the tests");
		ck_assert_int_ge(fd, 0);
		ck_assert(plain_ask(fd, 1, 640, 64, got));
		mc_netmemory_pattern(3, 640, should, 64);
		ck_assert_int_eq(memcmp(got, should, 64), 0);
		/* What isn't there ends the connection. */
		if (bad[i].n)
			ck_assert(!plain_ask(fd, bad[i].op, bad[i].at, bad[i].n, got));
		else
			ck_assert(!plain_ask(fd, 1, 0, 0, got) || !mc_bare_recv(fd, got, 1));
		close(fd);
	}
	plain_close(&p);
}
END_TEST

START_TEST(test_too_many)
{
	int fd[MC_BARE_CONNECTIONS], more;
	struct plain p;
	char got[64];

	plain_open(&p);
	for (int i = 0; i < MC_BARE_CONNECTIONS; i++) {
		fd[i] = plain_connect(&p, "a token of the tests");
		ck_assert(plain_ask(fd[i], 1, 0, 64, got)); /* it is in by now */
	}
	more = plain_connect(&p, "a token of the tests");
	ck_assert(more < 0 || !plain_ask(more, 1, 0, 64, got));
	if (more >= 0)
		close(more);
	for (int i = 0; i < MC_BARE_CONNECTIONS; i++)
		close(fd[i]);
	plain_close(&p);
}
END_TEST

struct world {
	struct mc_token token;
	struct mc_netports ports;
	struct mc_netserve *server;
	struct mc_calib_list peers, own;
	struct mc_net net;
};

static void world_open(struct world *w)
{
	struct mc_netserve_want s = {
	    .address = "127.0.0.1:0", .ports = &w->ports, .bytes = MEMORY, .kind = "host"};
	struct mc_net_want n = {.peers = &w->peers, .ports = &w->own, .bytes = MEMORY, .kind = "host"};
	struct mc_err err = {0};

	*w = (struct world){.own = {.at = {"tcp"}, .n = 1}};
	mc_token_set(&w->token, "a token of the tests", NULL);
	s.token = n.token = w->token;
	ck_assert_int_eq(mc_netports_find(&w->ports, &w->own, "127.0.0.1", NULL), 0);
	ck_assert_msg(!mc_netserve_open(&w->server, &s, &err), "%s", err.text);
	w->peers.at[w->peers.n++] = mc_netserve_address(w->server);
	ck_assert_msg(!mc_net_init(&w->net, &n, &err), "%s", err.text);
}

static void world_close(struct world *w)
{
	mc_net_fini(&w->net);
	mc_netserve_close(w->server);
}

/* A load's turn, and its bytes; what verifying says. */
static int world_load(struct world *w, enum mc_op op, int64_t bytes, struct mc_err *err)
{
	static const volatile sig_atomic_t never;
	const struct mc_netpoint p = {
	    .op = op, .bytes = bytes, .depth = 3, .slice = 16 << 10, .peers = 1, .nics = 1};
	const struct mc_net_setting setting = {w->net.ports.at[0].transport, p.slice, p.nics};
	const struct mc_netload_want want = {&w->net, &p, &never, 5};
	struct mc_netload *l;
	double seconds = 0;
	int rc;

	ck_assert_msg(!mc_net_use(&w->net, &setting, err), "%s", err->text);
	ck_assert_int_eq(mc_netload_new(&l, &want, err), 0);
	ck_assert_int_eq(mc_netload_turn(l, &seconds, err), 0);
	ck_assert(seconds > 0);
	rc = mc_netload_verify(l, err);
	mc_netload_free(l);
	return rc;
}

START_TEST(test_load)
{
	static const enum mc_op ops[3] = {MC_OP_NET_READ, MC_OP_NET_WRITE, MC_OP_NET_BOTH};
	struct world w;
	struct mc_err err = {0};

	world_open(&w);
	for (int i = 0; i < 3; i++) {
		ck_assert_msg(!world_load(&w, ops[i], 64, &err), "%s", err.text);
		ck_assert_msg(!world_load(&w, ops[i], 100001, &err), "%s", err.text);
	}
	{ /* More ports than there are: the same engine. */
		const struct mc_net_setting more = {w.net.transport, 16 << 10, MC_ENGINE_PORTS};
		const struct mc_engine *is = w.net.engine;

		ck_assert_int_eq(mc_net_use(&w.net, &more, &err), 0);
		ck_assert(w.net.engine == is && w.net.opened == 1);
	}
	/* Were its bytes others than these, it would be seen: of reads the peer's, of writes ours. */
	w.net.peer[0].info.seed++;
	ck_assert_int_eq(world_load(&w, MC_OP_NET_READ, 5000, &err), MC_FAIL);
	ck_assert_ptr_nonnull(strstr(err.text, "byte 0 of 5000"));
	ck_assert_str_eq(err.key, w.peers.at[0]);
	err = (struct mc_err){0};
	ck_assert_int_eq(world_load(&w, MC_OP_NET_WRITE, 5000, &err), 0);
	w.net.memory.seed++;
	ck_assert_int_eq(world_load(&w, MC_OP_NET_WRITE, 5000, &err), MC_FAIL);
	err = (struct mc_err){0};
	w.net.peer[0].info.seed--;
	ck_assert_int_eq(world_load(&w, MC_OP_NET_BOTH, 5000, &err), MC_FAIL);
	world_close(&w);
}
END_TEST

/* A visit tells what larger ones will take at least, their bytes verified. */
START_TEST(test_visit)
{
	static const volatile sig_atomic_t never;
	const struct mc_netpoint p = {
	    .op = MC_OP_NET_READ, .bytes = 70000, .depth = 2, .slice = 16 << 10, .peers = 1, .nics = 1};
	struct mc_netmeasure m = {.precision = 0.5, .budget_s = 1, .busy_ok = true, .stop = &never};
	struct mc_calib_result r = {0};
	struct mc_err err = {0};
	struct world w;

	world_open(&w);
	m.net = &w.net;
	m.transport = w.net.ports.at[0].transport;
	ck_assert_msg(!mc_netmeasure_point(&m, &p, 0.001, &r, &err), "%s", err.text);
	ck_assert_int_gt(r.time.n, 0);
	for (int k = 0; k < 64; k++) /* 2^17 and more are under way */
		ck_assert_int_eq(m.visit_s_per_byte[k] > 0, k == 17);
	ck_assert_double_gt(m.visit_s_per_byte[17] * 140000, 4 * r.time.median);
	world_close(&w);
}
END_TEST

static void visit(struct mc_opsamples *s, const struct mc_netpoint *p, double seconds, const char *flag)
{
	struct mc_opsample v = {.point = mc_netpoint_op(p), .seconds = seconds, .repeats = 1};

	snprintf(v.flag, sizeof v.flag, "%s", flag);
	mc_vec_push(s, v);
}

START_TEST(test_predictions)
{
	const struct mc_nettime t = {.startup_s = 1e-5,
				     .request_s = 1e-6,
				     .slice_s = 2e-6,
				     .slice_bytes = 65536,
				     .peer_loss = 0.1,
				     .nics = 2,
				     .nic_bytes_per_s = 1e9};
	const struct mc_netlimits l = {
	    .most = 1 << 20, .depth = 16, .peers = 2, .nics = 2, .local = 64 << 20, .remote = 64 << 20};
	struct mc_opsamples then = {0}, now = {0};
	struct mc_netgrid calibration, g = {0}, random;
	struct mc_netpairs pairs;
	size_t anchors;

	mc_netgrid(&calibration, &l);
	for (size_t i = 0; i < calibration.n; i++) {
		struct mc_op_point q = mc_netpoint_op(&calibration.at[i]);

		visit(&then, &calibration.at[i], mc_nettime_point_s(&t, &q), i % 7 ? "" : "drift");
	}
	mc_netcheck_anchors(&g, &then, &l);
	anchors = g.n;
	ck_assert_int_eq(anchors, MC_NETCHECK_ANCHORS);
	mc_netgrid_random(&random, &l, 9, 50);
	for (size_t i = 0; i < random.n; i++)
		mc_vec_push(&g, random.at[i]);
	/* All takes 1.25 times as long now; of three visits one is far off, and one flagged. One was never
	 * measured, one only disturbed. */
	for (size_t i = 0; i < g.n - 1; i++) {
		struct mc_op_point q = mc_netpoint_op(&g.at[i]);
		double seconds = 1.25 * mc_nettime_point_s(&t, &q);

		visit(&now, &g.at[i], 9 * seconds, "noisy");
		for (int k = 0; k < 3 && i + 2 < g.n; k++)
			visit(&now, &g.at[i], k == 1 ? 3 * seconds : seconds, "");
	}
	mc_netcheck_pairs(&pairs, &g, anchors, &now, &t);
	ck_assert_int_eq(pairs.n, 48);
	ck_assert(fabs(mc_netcheck_share(&pairs, 0.5) - 0.2) < 1e-9 &&
		  fabs(mc_netcheck_share(&pairs, 1) - 0.2) < 1e-9);
	ck_assert(fabs(mc_netcheck_pace(&g, anchors, &now, &then) - 1.25) < 1e-9);
	mc_netcheck_at_pace(&pairs, 1.25);
	ck_assert(mc_netcheck_share(&pairs, 1) < 1e-9);
	mc_vec_fini(&pairs);
	mc_vec_fini(&calibration);
	mc_vec_fini(&random);
	mc_vec_fini(&g);
	mc_vec_fini(&then);
	mc_vec_fini(&now);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("calib_net");
	TCase *c = tcase_create("all");

	tcase_add_test(c, test_pattern);
	tcase_add_test(c, test_info);
	tcase_add_test(c, test_grid);
	tcase_add_test(c, test_random);
	tcase_add_test(c, test_strangers);
	tcase_add_test(c, test_too_many);
	tcase_add_test(c, test_load);
	tcase_add_test(c, test_visit);
	tcase_add_test(c, test_predictions);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
