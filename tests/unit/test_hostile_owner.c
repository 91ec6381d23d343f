/* Peers that have the token and lie: of their memory, and at their ports. Who asks them is not harmed:
 * nothing but what was to be read is touched, the batch fails with a reason, in bounded time, and others are
 * served. */
#include <pthread.h>
#include <unistd.h>

#include "engine_world.h"
#include "transport/listener.h"
#include "transport/segment.h"
#include "transport/wire.h"
#include "unit.h"

extern const struct mc_transport mc_transport_tcp;

enum { BYTES = 40000, BASE = 1 << 20 };

enum lie {
	HONEST,
	REFUSES,
	OTHER_SEQUENCE,
	TOO_LONG,
	TOO_SHORT,
	BAD_STATUS,
	UNASKED,
	STALLS,
	TRICKLES,
	HANGS_UP,
	MUTE,
	EARLY,
	NO_FENCE,
	FENCE_STALLS,
	LIES,
	LATE_KEY, /* no lie: its key changes under way, and its answers are slow */
};

/* An owner by hand. */
struct liar {
	struct mc_listener *control, *port;
	pthread_mutex_t lock;
	struct mc_segment s;
	struct mc_segment_port at[2];
	struct mc_segment_range range;
	enum lie lie;
	unsigned told, refused;
	const uint8_t *raw; /* instead of the segment */
	size_t raw_n;
};

static enum lie lie_of(struct liar *l)
{
	enum lie lie;

	pthread_mutex_lock(&l->lock);
	lie = l->lie;
	pthread_mutex_unlock(&l->lock);
	return lie;
}

static bool tell(struct liar *l, int fd, int64_t deadline)
{
	struct mc_str text = {0};
	int rc;

	pthread_mutex_lock(&l->lock);
	l->range.at[0].key = l->lie == LATE_KEY && l->told > 1 ? 2 : 1;
	if (!l->raw)
		mc_segment_encode(&l->s, &text);
	l->told++;
	pthread_mutex_unlock(&l->lock);
	if (lie_of(l) == LATE_KEY)
		usleep(40000);
	if (l->raw)
		rc = mc_sock_send(fd, l->raw, l->raw_n, deadline, NULL);
	else
		rc = mc_sock_send_message(fd, text.at, text.n, deadline, NULL);
	mc_str_fini(&text);
	return !rc;
}

static bool control(void *liar, int fd, int64_t deadline)
{
	struct liar *l = liar;
	struct mc_sock_message m;
	bool goes_on = true;

	while (goes_on && !mc_sock_recv_message(fd, &m, 64, deadline, NULL)) {
		uint8_t no = 1;

		if (m.at[0] == 1)
			goes_on = tell(l, fd, deadline);
		else if (lie_of(l) != FENCE_STALLS)
			goes_on = !mc_sock_send_message(fd, &no, 1, deadline, NULL);
		free(m.at);
	}
	return false;
}

/* Answer a question for n bytes. */
static bool answer(struct liar *l, int fd, const uint8_t *q, int64_t deadline)
{
	static const uint8_t body[4 * MC_SLICE_BYTES_MIN] = {7};
	uint8_t a[16] = {0}, sink[MC_SLICE_BYTES_MIN];
	uint32_t n = (uint32_t)mc_wire_get(q + 24, 4), given = q[0] ? 0 : n;
	enum lie lie = lie_of(l);

	if (q[0] && lie != EARLY && mc_sock_recv(fd, sink, n, deadline, NULL))
		return false;
	memcpy(a + 4, q + 4, 4);
	if (lie == OTHER_SEQUENCE)
		a[4]++;
	if (lie == BAD_STATUS)
		a[0] = 7;
	if (lie == LATE_KEY && mc_wire_get(q + 8, 8) == 1) {
		lie = REFUSES;
		usleep(l->refused++ ? 1000 : 0);
	}
	if (lie == REFUSES)
		a[0] = MC_WIRE_REFUSED, given = 0;
	if (lie == TOO_LONG)
		given += 4096;
	if (lie == TOO_SHORT)
		given -= given > 0;
	mc_wire_set(a + 8, given, 4);
	if (mc_sock_send(fd, a, sizeof a, deadline, NULL))
		return false;
	if (lie == STALLS)
		given /= 2;
	for (uint32_t i = 0; lie == TRICKLES && i < given; i++) {
		usleep(1000);
		if (mc_clock_ns() > deadline || mc_sock_send(fd, body, 1, deadline, NULL))
			return false;
	}
	return lie == TRICKLES || !mc_sock_send(fd, body, given, deadline, NULL);
}

static bool port(void *liar, int fd, int64_t deadline)
{
	struct liar *l = liar;
	uint8_t id[8], q[32], taken[16] = {0};

	if (mc_sock_recv(fd, id, sizeof id, deadline, NULL) || lie_of(l) == HANGS_UP)
		return false;
	if (lie_of(l) != MUTE)
		mc_sock_send(fd, taken, sizeof taken, deadline, NULL);
	if (lie_of(l) == UNASKED)
		mc_sock_send(fd, taken, sizeof taken, deadline, NULL);
	while (!mc_sock_recv(fd, q, sizeof q, deadline, NULL) && answer(l, fd, q, deadline))
		if (lie_of(l) == NO_FENCE || lie_of(l) == FENCE_STALLS)
			return false; /* the connection is lost, with the first answer */
	return false;
}

struct world {
	struct liar l;
	struct mc_engine_want want;
	struct mc_engine *e, *honest;
	struct world_memory local, good;
	uint32_t peer;
};

static void open_liar(struct liar *l, const struct mc_token *token)
{
	struct mc_listener_want want = {.address = "127.0.0.1:0",
					.token = *token,
					.purpose = MC_PURPOSE_CONTROL,
					.pending = 16,
					.timeout_ns = 5000 * MS,
					.accepted = control,
					.arg = l};

	pthread_mutex_init(&l->lock, NULL);
	ck_assert_int_eq(mc_listener_open(&l->control, &want, NULL), 0);
	want.purpose = MC_PURPOSE_TCP;
	want.accepted = port;
	ck_assert_int_eq(mc_listener_open(&l->port, &want, NULL), 0);
	l->range = (struct mc_segment_range){.base = BASE, .bytes = BYTES, .access = BOTH};
	for (int i = 0; i < 2; i++) {
		snprintf(l->at[i].transport, sizeof l->at[i].transport, "tcp");
		snprintf(l->at[i].address, sizeof l->at[i].address, "%.100s", mc_listener_address(l->port));
		l->range.at[i].key = 1;
	}
	l->s = (struct mc_segment){.life = 5, .version = 1, .ports = 1, .ranges = 1};
	l->s.port = l->at;
	l->s.range = &l->range;
}

static void open_world(struct world *w, enum lie lie)
{
	static const char *const one[] = {"", NULL};

	*w = (struct world){.want = world_want()};
	w->want.connect_timeout_ns = (lie == MUTE || lie == FENCE_STALLS ? 200 : 2000) * MS;
	w->want.batch_timeout_ns = 3000 * MS;
	w->want.slice_timeout_ns = (lie == STALLS || lie == TRICKLES ? 30 : 1000) * MS;
	w->want.retries = 2;
	w->want.lanes = 1;
	w->l.lie = lie;
	open_liar(&w->l, &w->want.token);
	w->e = world_open(&w->want, &mc_transport_tcp, one);
	w->honest = world_open(&w->want, &mc_transport_tcp, one);
	world_alloc(&w->local, BYTES, "cpu:0", false);
	world_alloc(&w->good, BYTES, "cpu:0", false);
	ck_assert_int_eq(mc_engine_register(w->e, &w->local.m, 0, NULL), 0);
	ck_assert_int_eq(mc_engine_register(w->honest, &w->good.m, BOTH, NULL), 0);
}

static struct mc_request request(const struct world *w, enum mc_direction op)
{
	return (struct mc_request){
	    .op = op, .peer = w->peer, .local = w->local.m.base, .remote = BASE, .bytes = BYTES};
}

static struct mc_batch_status lied_to(struct world *w, enum mc_direction op)
{
	struct mc_request r = request(w, op);
	struct mc_batch_status s = world_do(w->e, &r, 1);

	ck_assert_int_eq(s.state, MC_BATCH_FAILED);
	ck_assert_uint_gt(strlen(s.err.text), 0);
	memcpy(w->local.model, w->local.m.base, BYTES);
	usleep(1000);
	world_check(&w->local);
	return s;
}

static void close_world(struct world *w)
{
	struct mc_request r = world_request(MC_OP_READ, 0, &w->local, &w->good);

	world_fill(&w->good, 3);
	r.peer = world_meet(w->e, mc_engine_address(w->honest));
	world_must(w->e, &r);
	world_apply(&r, &w->local, &w->good);
	world_check(&w->local);
	world_check(&w->good);
	mc_engine_close(w->e);
	mc_engine_close(w->honest);
	mc_listener_close(w->l.control);
	mc_listener_close(w->l.port);
	world_free(&w->local);
	world_free(&w->good);
}

/* Whichever way it lies at its port. */
START_TEST(at_the_port)
{
	struct world w;
	int64_t start = mc_clock_ns();

	open_world(&w, (enum lie)_i);
	w.peer = world_meet(w.e, mc_listener_address(w.l.control));
	if (_i == HONEST) {
		struct mc_request r = request(&w, MC_OP_WRITE);

		world_must(w.e, &r);
	} else {
		const char *said = _i == REFUSES ? "refused" : _i >= NO_FENCE ? "confirm" : "";
		struct mc_batch_status s =
		    lied_to(&w, _i == EARLY || _i >= NO_FENCE ? MC_OP_WRITE : MC_OP_READ);

		ck_assert_msg(strstr(s.err.text, said), "%s", s.err.text);
	}
	ck_assert_int_lt(mc_clock_ns() - start, 20000 * MS);
	close_world(&w);
}
END_TEST

/* Its key changes; what it says of it, asked because it refused the old one, is older than what it refuses by
 * then: so it is asked once more. */
START_TEST(slowly)
{
	struct world w;
	struct mc_request r;

	open_world(&w, LATE_KEY);
	w.peer = world_meet(w.e, mc_listener_address(w.l.control));
	r = request(&w, MC_OP_WRITE);
	world_must(w.e, &r);
	ck_assert_uint_gt(w.l.refused, 1);
	close_world(&w);
}
END_TEST

/* It says something else than before: another life, other ports, less memory, names for addresses. */
START_TEST(of_its_memory)
{
	static const char *const said[] = {"restarted", "restarted", "any more", "any more", "numeric"};
	enum { NAME = 4 };
	struct mc_engine_stats st;
	struct world w;
	struct mc_batch_status s;

	open_world(&w, _i == NAME ? HONEST : REFUSES); /* refusing, it is asked again */
	if (_i == NAME)
		snprintf(w.l.at[0].address, sizeof w.l.at[0].address, "a.name.that.is.looked.up:80");
	w.peer = world_meet(w.e, mc_listener_address(w.l.control));
	pthread_mutex_lock(&w.l.lock);
	w.l.s.version++;
	if (_i == 0)
		w.l.s.life++;
	else if (_i == 1)
		w.l.s.ports = 2;
	else if (_i == 2)
		w.l.range.base += BYTES;
	else if (_i == 3)
		w.l.range.access = MC_ACCESS_WRITE;
	pthread_mutex_unlock(&w.l.lock);
	s = lied_to(&w, MC_OP_READ);
	ck_assert_msg(strstr(s.err.text, said[_i]), "%s", s.err.text);
	/* Who is not the same any more keeps no connection. */
	mc_engine_stats(w.e, &st);
	for (int i = 0; i < 5000 && _i < 2 && st.endpoints; i++) {
		usleep(1000);
		mc_engine_stats(w.e, &st);
	}
	ck_assert(_i >= 2 || !st.endpoints);
	close_world(&w);
}
END_TEST

/* It talks nonsense, too much, or too little. */
START_TEST(to_the_engine)
{
	static const uint8_t nonsense[64] = {60, 0, 0, 0, 1, 2, 3}, much[] = {0xff, 0xff, 0xff, 0xff, 1};
	static const uint8_t little[] = {0x10, 0, 0, 0, 1, 2, 3, 4}, none[4];
	static const struct {
		const uint8_t *at;
		size_t n;
	} raw[] = {{nonsense, sizeof nonsense}, {much, sizeof much}, {little, sizeof little}, {none, 4}};
	struct world w;
	struct mc_err err = {0};
	int64_t start;

	open_world(&w, HONEST);
	w.l.raw = raw[_i].at;
	w.l.raw_n = raw[_i].n;
	start = mc_clock_ns();
	ck_assert_int_eq(mc_engine_connect(w.e, mc_listener_address(w.l.control), &w.peer, &err), MC_FAIL);
	ck_assert_uint_gt(strlen(err.text), 0);
	if (raw[_i].at == much)
		ck_assert_msg(strstr(err.text, "at most"), "%s", err.text);
	ck_assert_int_lt(mc_clock_ns() - start, 5000 * MS);
	close_world(&w);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("hostile_owner");
	TCase *c = tcase_create("lies");

	tcase_add_loop_test(c, at_the_port, 0, LIES);
	tcase_add_test(c, slowly);
	tcase_add_loop_test(c, of_its_memory, 0, 5);
	tcase_add_loop_test(c, to_the_engine, 0, 4);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
