/* What comes from peers is checked: proofs, segments, questions to an engine and to a port, topology files.
 */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine_world.h"
#include "transport/segment.h"
#include "transport/wire.h"
#include "unit.h"

enum { BYTES = 65536 };

static uint64_t next(uint64_t *rng)
{
	return *rng = mc_hash_u64(*rng);
}

static struct mc_segment *sample(void)
{
	static struct mc_segment_port port[2] = {{"tcp", "n0", "10.0.0.1:1"}, {"shm", "", "@x"}};
	static struct mc_segment_range range[3];
	static struct mc_segment s = {7, 3, 2, 3, port, range};

	for (size_t i = 0; i < 3; i++) {
		range[i] = (struct mc_segment_range){.base = 4096 * (i + 1), .bytes = 4096 - i, .access = 3};
		snprintf(range[i].place, sizeof range[i].place, "cpu:%zu", i);
		range[i].at[0].key = i + 9;
		range[i].at[1].rank = MC_RANK_SECONDARY;
	}
	return &s;
}

START_TEST(segment)
{
	struct mc_str text = {0}, again = {0};
	struct mc_segment *s;
	uint64_t rng = 3;

	mc_segment_encode(sample(), &text);
	ck_assert_int_eq(mc_segment_decode(&s, (const uint8_t *)text.at, text.n, NULL), 0);
	mc_segment_encode(s, &again);
	ck_assert_uint_eq(text.n, again.n);
	ck_assert_mem_eq(text.at, again.at, text.n);
	ck_assert_ptr_eq(mc_segment_find(s, 4096, 4096), &s->range[0]);
	ck_assert_ptr_null(mc_segment_find(s, 4095, 1));
	ck_assert_ptr_null(mc_segment_find(s, 4097, 4096));
	ck_assert_ptr_eq(mc_segment_find(s, 12288, 4094), &s->range[2]);
	ck_assert_ptr_null(mc_segment_find(s, 12288, 4095));
	ck_assert_ptr_null(mc_segment_find(s, UINT64_MAX, UINT64_MAX));
	mc_segment_free(s);
	/* Cut anywhere, and with bytes changed: refused, or a segment whose ranges are in order. */
	for (size_t i = 0; i < text.n; i++)
		ck_assert_int_eq(mc_segment_decode(&s, (const uint8_t *)text.at, i, NULL), MC_FAIL);
	for (int i = 0; i < 20000; i++) {
		uint8_t *m = mc_xmalloc(text.n);

		memcpy(m, text.at, text.n);
		for (uint64_t k = 1 + next(&rng) % 3; k--;)
			m[next(&rng) % text.n] = (uint8_t)next(&rng);
		if (!mc_segment_decode(&s, m, text.n, NULL)) {
			for (size_t k = 0; k < s->ranges; k++)
				if (s->range[k].base + s->range[k].bytes < s->range[k].base ||
				    (k && s->range[k].base < s->range[k - 1].base + s->range[k - 1].bytes))
					ck_abort_msg("ranges overlap or wrap");
			mc_segment_free(s);
		}
		free(m);
	}
	mc_str_fini(&text);
	mc_str_fini(&again);
}
END_TEST

/* An engine with one memory, and what is needed to talk with it. */
struct host {
	struct mc_engine_want want;
	struct mc_engine *e;
	struct world_memory m;
	struct mc_segment *s;
};

static int call(const struct host *h, const char *address, enum mc_purpose purpose)
{
	int64_t deadline = mc_clock_ns() + 1000 * MS;
	int fd;

	ck_assert_int_eq(mc_sock_connect(&fd, address, NULL, deadline, NULL), 0);
	ck_assert_int_eq(mc_auth_connect(fd, &h->want.token, purpose, deadline, NULL), 0);
	return fd;
}

static void host_open(struct host *h)
{
	static const char *const names[] = {"", NULL};
	int64_t deadline = mc_clock_ns() + 1000 * MS;
	struct mc_sock_message m;
	uint8_t one = 1;
	int fd;

	h->want = world_want();
	h->want.connect_timeout_ns = 200 * MS;
	h->e = world_open(&h->want, mc_transport_find("tcp", NULL), names);
	world_alloc(&h->m, BYTES, "cpu:0", false);
	world_fill(&h->m, 1);
	ck_assert_int_eq(mc_engine_register(h->e, &h->m.m, MC_ACCESS_READ, NULL), 0);
	fd = call(h, mc_engine_address(h->e), MC_PURPOSE_CONTROL);
	ck_assert_int_eq(mc_sock_send_message(fd, &one, 1, deadline, NULL), 0);
	ck_assert_int_eq(mc_sock_recv_message(fd, &m, 1 << 20, deadline, NULL), 0);
	ck_assert_int_eq(mc_segment_decode(&h->s, m.at, m.n, NULL), 0);
	free(m.at);
	close(fd);
}

static void host_close(struct host *h)
{
	world_check(&h->m);
	mc_engine_close(h->e);
	mc_segment_free(h->s);
	world_free(&h->m);
}

/* Whatever is said, the engine goes on, and tells its segment. */
START_TEST(control)
{
	struct host h;
	uint64_t rng = 4;

	host_open(&h);
	for (int i = 0; i < 150; i++) {
		int fd = call(&h, mc_engine_address(h.e), MC_PURPOSE_CONTROL);
		uint8_t text[64];
		size_t n = (size_t)next(&rng) % sizeof text;

		for (size_t k = 0; k < n; k++)
			text[k] = (uint8_t)(next(&rng) % (k ? 256 : 4));
		if (i % 3)
			mc_sock_send_message(fd, text, n, mc_clock_ns() + 100 * MS, NULL);
		else
			mc_sock_send(fd, text, n, mc_clock_ns() + 100 * MS, NULL);
		close(fd);
	}
	mc_segment_free(h.s);
	mc_engine_close(h.e);
	world_free(&h.m);
	host_open(&h);
	host_close(&h);
}
END_TEST

static void ask(int fd, const struct host *h, uint8_t op, uint64_t at, uint32_t bytes)
{
	uint8_t q[32] = {op};

	mc_wire_set(q + 8, h->s->range[0].at[0].key, 8);
	mc_wire_set(q + 16, at, 8);
	mc_wire_set(q + 24, bytes, 4);
	ck_assert_int_eq(mc_sock_send(fd, q, sizeof q, mc_clock_ns() + 1000 * MS, NULL), 0);
}

/* The status of an answer; -1: the connection ended. */
static int hear(int fd, void *body, size_t n)
{
	uint8_t a[16];
	int64_t deadline = mc_clock_ns() + 1000 * MS;

	if (mc_sock_recv(fd, a, sizeof a, deadline, NULL))
		return -1;
	if (mc_wire_get(a + 8, 4) &&
	    (n != mc_wire_get(a + 8, 4) || mc_sock_recv(fd, body, n, deadline, NULL)))
		return -1;
	return a[0];
}

static int open_port(const struct host *h)
{
	int fd = call(h, h->s->port[0].address, MC_PURPOSE_TCP);
	uint8_t id[8] = {1};

	ck_assert_int_eq(mc_sock_send(fd, id, sizeof id, mc_clock_ns() + 1000 * MS, NULL), 0);
	ck_assert_int_eq(hear(fd, NULL, 0), 0);
	return fd;
}

/* Bounds and rights are the owner's to check; what is no question ends the connection. */
START_TEST(port)
{
	struct host h;
	uint8_t got[4096];
	uint64_t base, rng = 6;
	int fd;

	host_open(&h);
	base = h.s->range[0].base;
	fd = open_port(&h);
	ask(fd, &h, MC_OP_READ, base + 5, 4096);
	ck_assert_int_eq(hear(fd, got, 4096), MC_WIRE_OK);
	ck_assert_mem_eq(got, world_at(&h.m) + 5, 4096);
	ask(fd, &h, MC_OP_READ, base - 1, 4096);
	ck_assert_int_eq(hear(fd, got, 4096), MC_WIRE_REFUSED);
	ask(fd, &h, MC_OP_READ, base + BYTES - 4095, 4096);
	ck_assert_int_eq(hear(fd, got, 4096), MC_WIRE_REFUSED);
	ask(fd, &h, MC_OP_READ, UINT64_MAX, 4096);
	ck_assert_int_eq(hear(fd, got, 4096), MC_WIRE_REFUSED);
	ask(fd, &h, MC_OP_WRITE, base, 4096); /* it may only be read */
	ck_assert_int_eq(mc_sock_send(fd, got, 4096, mc_clock_ns() + 1000 * MS, NULL), 0);
	ck_assert_int_eq(hear(fd, got, 4096), MC_WIRE_REFUSED);
	ask(fd, &h, MC_OP_READ, base, 4096);
	ck_assert_int_eq(hear(fd, got, 4096), MC_WIRE_OK);
	ask(fd, &h, MC_OP_READ, base, MC_SLICE_BYTES_MAX + 1);
	ck_assert_int_eq(hear(fd, got, 4096), -1);
	close(fd);
	for (int i = 0; i < 150; i++) {
		uint8_t text[256];

		fd = open_port(&h);
		for (size_t k = 0; k < sizeof text; k++)
			text[k] = (uint8_t)next(&rng) & (k % 32 == 0 ? 3 : k % 32 > 25 ? 0 : 255);
		mc_sock_send(fd, text, sizeof text, mc_clock_ns() + 100 * MS, NULL);
		close(fd);
	}
	fd = open_port(&h);
	ask(fd, &h, MC_OP_READ, base, 4096);
	ck_assert_int_eq(hear(fd, got, 4096), MC_WIRE_OK);
	close(fd);
	host_close(&h);
}
END_TEST

/* A peer that asks and asks and never listens isn't listened to, either, after a while. */
START_TEST(greedy)
{
	enum { CHUNK = 1024, MOST = 64 << 20 };

	static uint8_t q[CHUNK * 32];
	struct host h;
	size_t sent = 0, quiet = 0;
	int fd;

	host_open(&h);
	fd = open_port(&h);
	for (size_t i = 0; i < CHUNK; i++) {
		mc_wire_set(q + 32 * i + 8, h.s->range[0].at[0].key, 8);
		mc_wire_set(q + 32 * i + 16, h.s->range[0].base, 8);
		mc_wire_set(q + 32 * i + 24, 16, 4);
	}
	while (sent < MOST && quiet < 100) {
		ssize_t n = send(fd, q + sent % 32, sizeof q - 32, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			sent += (size_t)n;
			quiet = 0;
		} else {
			usleep(2000);
			quiet++;
		}
	}
	ck_assert_uint_lt(sent, MOST);
	close(fd);
	host_close(&h);
}
END_TEST

struct side {
	int fd;
	enum mc_purpose purpose;
	struct mc_token token;
	int rc;
};

static void *accepts(void *arg)
{
	struct side *s = arg;

	s->rc = mc_auth_accept(s->fd, &s->token, s->purpose, mc_clock_ns() + 200 * MS, NULL);
	if (s->rc)
		shutdown(s->fd, SHUT_RDWR);
	return NULL;
}

/* Both sides agree that the other is who it says, or both don't. */
static bool meet(const char *token, enum mc_purpose purpose)
{
	struct side s = {.purpose = MC_PURPOSE_TCP};
	struct mc_token t;
	pthread_t thread;
	int fd[2], rc;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	ck_assert_int_eq(mc_token_set(&s.token, "the token of this cluster", NULL), 0);
	ck_assert_int_eq(mc_token_set(&t, token, NULL), 0);
	s.fd = fd[0];
	ck_assert_int_eq(pthread_create(&thread, NULL, accepts, &s), 0);
	rc = mc_auth_connect(fd[1], &t, purpose, mc_clock_ns() + 200 * MS, NULL);
	pthread_join(thread, NULL);
	ck_assert_int_eq(!rc, !s.rc);
	close(fd[0]);
	close(fd[1]);
	return !rc;
}

START_TEST(proofs)
{
	struct mc_token t;

	ck_assert(meet("the token of this cluster", MC_PURPOSE_TCP));
	ck_assert(!meet("the token of this clusteR", MC_PURPOSE_TCP));
	ck_assert(!meet("the token of this cluster", MC_PURPOSE_SHM));
	ck_assert_int_eq(mc_token_set(&t, "short", NULL), MC_USAGE);
	/* What one side says, said back to it, proves nothing. */
	struct side s = {.purpose = MC_PURPOSE_TCP};
	uint8_t text[40];
	pthread_t thread;
	int fd[2];
	int64_t deadline = mc_clock_ns() + 500 * MS;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	ck_assert_int_eq(mc_token_set(&s.token, "the token of this cluster", NULL), 0);
	s.fd = fd[0];
	memcpy(text, "mcnet\0\0\1", 8);
	memset(text + 8, 1, 32);
	ck_assert_int_eq(pthread_create(&thread, NULL, accepts, &s), 0);
	ck_assert_int_eq(mc_sock_send(fd[1], text, 40, deadline, NULL), 0);
	ck_assert_int_eq(mc_sock_recv(fd[1], text, 40, deadline, NULL), 0);
	ck_assert_int_eq(mc_sock_send(fd[1], text + 8, 32, deadline, NULL), 0);
	ck_assert_int_ne(mc_sock_recv(fd[1], text, 1, deadline, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(s.rc, MC_FAIL);
	close(fd[0]);
	close(fd[1]);
}
END_TEST

START_TEST(matrix)
{
	static const char good[] =
	    "{\"cpu:0\": [[\"a\"], [\"b\"]], \"*\": [[\"c\"], []], \"cpu:9\": [[], []]}";
	static const char *const bad[] = {"",
					  "[]",
					  "{\"cpu:0\": [[\"a\"]]}",
					  "{\"cpu:0\": [[1], []]}",
					  "{\"cpu:0\": {}}",
					  "{\"\": [[], []]}",
					  "{\"a\": [[], []], \"a\": [[], []]}",
					  "{\"a place with too long a name\": [[], []]}",
					  "{\"a\": [[\"\"], []]}"};
	struct mc_topology *t;

	ck_assert_int_eq(mc_topology_parse(&t, good, strlen(good), "f", NULL), 0);
	ck_assert_int_eq(mc_topology_rank(t, "cpu:0", "a"), MC_RANK_PREFERRED);
	ck_assert_int_eq(mc_topology_rank(t, "cpu:0", "b"), MC_RANK_SECONDARY);
	ck_assert_int_eq(mc_topology_rank(t, "cpu:0", "c"), MC_RANK_NONE);
	ck_assert_int_eq(mc_topology_rank(t, "cpu:1", "c"), MC_RANK_PREFERRED);
	ck_assert_int_eq(mc_topology_rank(t, "cpu:9", "c"), MC_RANK_NONE);
	ck_assert_int_eq(mc_topology_rank(NULL, "cpu:9", "c"), MC_RANK_PREFERRED);
	mc_topology_free(t);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct mc_err err = {0};

		ck_assert_int_eq(mc_topology_parse(&t, bad[i], strlen(bad[i]), "f", &err), MC_USAGE);
		ck_assert_str_eq(err.file, "f");
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("peer_bytes");
	TCase *c = tcase_create("bytes");

	tcase_add_test(c, segment);
	tcase_add_test(c, control);
	tcase_add_test(c, port);
	tcase_add_test(c, greedy);
	tcase_add_test(c, proofs);
	tcase_add_test(c, matrix);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
