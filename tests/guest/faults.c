/*
 * Faults of real devices in the middle of real transfers: a line of the fault matrix
 * (tests/transport/matrix.h) and of what checks.sh passes on for each. Devices rxe0 and rxe1 are there, on
 * eth0 and eth1, which a wire joins.
 *
 * Two ways lead to the peer: each device to itself (GID 1, which doesn't leave it); or one, over the wire
 * (GID 0).
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../transport/matrix.h"
#include "guest.h"

#define TWO    "rxe0/1/1@127.0.0.1,rxe1/1/1@127.0.0.1"
#define NEAR   "rxe0/1/0@127.0.0.1"
#define FAR    "rxe1/1/0@127.0.0.1"
#define ADD(n) "rdma link add rxe" n " type rxe netdev eth" n

enum {
	BYTES = 12 << 20,
	LIMIT_S = 60, /* beyond the engine's own times: something hangs */
	TRIES = 5,    /* a fault that met nothing on its way shows nothing: again */
	SETTLE_S = 30,
	UNTIL_END = -1,    /* of the batch */
	UNTIL_RESENT = -2, /* slices were sent again */
};

enum outcome { OTHER, SAME, DONE, FAILS };
static const char *const outcomes[] = {"done over another path", "done over the same path again", "done",
				       "failed"};

struct fault {
	const char *name;
	enum outcome want;
	const char *why;           /* FAILS: part of the reason */
	const char *brk, *mend;    /* shell commands; or */
	bool (*act)(struct rig *); /* done in the middle of the transfer, and */
	bool (*undo)(struct rig *);
	int hold_ms;      /* from the one to the other, or what follows */
	const char *back; /* the matrix has a line of this name for the time until all ports are used again */
};

static bool forget(struct rig *r)
{
	return peer_tell(&r->peer[0], 'u');
}
static bool recall(struct rig *r)
{
	return peer_tell(&r->peer[0], 'r');
}
static bool stop(struct rig *r)
{
	return !kill(r->peer[0].pid, SIGSTOP);
}
static bool go_on(struct rig *r)
{
	return !kill(r->peer[0].pid, SIGCONT);
}
static bool murder(struct rig *r)
{
	return peer_end(&r->peer[0], SIGKILL);
}
static bool again(struct rig *r)
{
	return peer_start(&r->peer[0], r->its, "a token of the guest's tests");
}
static bool renew(struct rig *r)
{
	return forget(r) && recall(r);
}

static const struct fault two_devices[] = {
    {.name = "none", .want = DONE},
    {.name = "device deleted",
     .want = OTHER,
     .brk = "rdma link delete rxe1",
     .mend = ADD("1"),
     .hold_ms = UNTIL_END,
     .back = "device added again"},
    {.name = "port without link",
     .want = OTHER,
     .brk = "ip link set eth1 down",
     .mend = "ip link set eth1 up",
     .hold_ms = UNTIL_END,
     .back = "port with a link again"},
    {.name = "peer stopped (SIGSTOP)", .want = DONE, .act = stop, .undo = go_on, .hold_ms = UNTIL_END},
    {.name = "memory unregistered and registered again: the old key is stale", .want = SAME, .act = renew},
    {.name = "memory unregistered",
     .want = FAILS,
     .why = "memory",
     .act = forget,
     .undo = recall,
     .hold_ms = UNTIL_END,
     .back = "memory registered again"},
    {.name = "peer killed (SIGKILL)",
     .want = FAILS,
     .why = "peer",
     .act = murder,
     .undo = again,
     .hold_ms = UNTIL_END,
     .back = "peer started again"},
};

static const struct fault one_wire[] = {
    {.name = "1 % of packets lost, 2 ms late",
     .want = SAME,
     .brk = "tc qdisc add dev eth0 root netem loss 1% delay 2ms",
     .mend = "tc qdisc del dev eth0 root",
     .hold_ms = 500},
    {.name = "all packets lost until retries are exhausted",
     .want = SAME,
     .brk = "tc qdisc add dev eth1 root netem loss 100%",
     .mend = "tc qdisc del dev eth1 root",
     .hold_ms = UNTIL_RESENT},
    {.name = "peer's only device deleted, and back",
     .want = SAME,
     .brk = "rdma link delete rxe1",
     .mend = ADD("1"),
     .hold_ms = 300},
    {.name = "own only device deleted, and back",
     .want = SAME,
     .brk = "rdma link delete rxe0",
     .mend = ADD("0"),
     .hold_ms = 300},
};

/* The only path gone for good, with an engine that waits for few seconds. */
static const struct fault for_good[] = {
    {.name = "only device deleted for good",
     .want = FAILS,
     .why = "not done in time",
     .brk = "rdma link delete rxe0",
     .mend = ADD("0"),
     .hold_ms = UNTIL_END,
     .back = "only device added again"},
};

/* How it went with a fault. */
struct story {
	const struct fault *f;
	struct batch batch;   /* under way when the fault came, or the first one after */
	struct batch then;    /* the one after it, ready */
	uint64_t bytes;       /* checked */
	uint64_t resent;      /* slices */
	int64_t fault, ended; /* when */
};

static void doze(void)
{
	nanosleep(&(struct timespec){.tv_nsec = MS(1)}, NULL);
}

/* Follow the batch; where it has ended well, and the fault is still to come, another, whose bytes are looked
 * at when the last one has ended. False: there is no other. */
static bool keep_going(struct rig *r, struct story *s)
{
	struct batch *b = &s->batch;

	if (batch_look(r, b)) {
		doze();
		return true;
	}
	if (b->status.state != MC_BATCH_DONE || !batch_end(r, b, 0))
		return true;
	s->then.fault = b->fault;
	s->then.pause = b->pause;
	*b = s->then;
	if (!batch_go(r, b))
		return false;
	batch_cut(r, &s->then);
	return true;
}

struct doing {
	struct rig *r;
	const char *command;
	bool (*act)(struct rig *);
	bool well;
	atomic_bool over;
};

static void *do_it(void *arg)
{
	struct doing *d = arg;

	d->well = d->act ? d->act(d->r) : !system(d->command);
	atomic_store(&d->over, true);
	return NULL;
}

/* Do one half of a fault; with s, while batches are under way. */
static bool inflict(struct rig *r, struct story *s, const char *command, bool (*act)(struct rig *))
{
	struct doing d = {.r = r, .command = command, .act = act};
	bool going = true;
	pthread_t thread;

	if (!act && !command)
		return true;
	if (pthread_create(&thread, NULL, do_it, &d))
		return false;
	while (!atomic_load(&d.over)) {
		if (s && going)
			going = keep_going(r, s);
		else
			doze();
	}
	pthread_join(thread, NULL);
	return d.well && going;
}

static uint64_t resent(struct rig *r)
{
	struct mc_engine_stats now;

	mc_engine_stats(r->e, &now);
	return now.resent;
}

/* The time between a fault and its end, with batches under way. */
static bool hold(struct rig *r, struct story *s)
{
	bool some = s->f->hold_ms == UNTIL_RESENT;
	int64_t until = mc_clock_ns() + (some ? LIMIT_S * MC_NS_PER_S : MS(s->f->hold_ms));

	while (mc_clock_ns() < until && !(some && resent(r) > s->resent))
		if (!keep_going(r, s))
			return false;
	return true;
}

/* Batches with the fault in the middle of one, up to the end of the last. */
static bool suffer(struct rig *r, struct story *s)
{
	const struct fault *f = s->f;
	struct batch *b = &s->batch;

	s->resent = resent(r);
	if (!batch_start(r, b))
		return false;
	batch_cut(r, &s->then);
	while (batch_look(r, b) && b->status.bytes < b->status.total / 8)
		doze();
	s->fault = b->fault = mc_clock_ns();
	if (!inflict(r, s, f->brk, f->act)) {
		printf("the fault could not be made\n");
		return false;
	}
	if (f->hold_ms != UNTIL_END && (!hold(r, s) || !inflict(r, s, f->mend, f->undo)))
		return false;
	if (!batch_end(r, b, LIMIT_S * MC_NS_PER_S)) {
		printf("no end within %d s\n", LIMIT_S);
		return false;
	}
	s->ended = mc_clock_ns();
	s->resent = resent(r) - s->resent;
	return true;
}

/* Batches until one is done and all ports have moved bytes again; *bytes were checked. When, or -1. */
static int64_t settle(struct rig *r, struct batch *b, uint64_t *bytes)
{
	int64_t until = mc_clock_ns() + SETTLE_S * MC_NS_PER_S;
	struct mc_err err = {0};

	while (mc_clock_ns() < until) {
		struct mc_engine_stats before, after;
		uint64_t n;
		bool all = true;

		mc_engine_stats(r->e, &before);
		if (!rig_meet(r, &err) || !batch_start(r, b)) {
			doze();
			continue;
		}
		if (!batch_end(r, b, LIMIT_S * MC_NS_PER_S))
			break;
		n = batch_check(r, b);
		if (!n)
			return -1;
		*bytes += n;
		mc_engine_stats(r->e, &after);
		for (size_t i = 0; i < r->want.ports; i++)
			all &= after.port_bytes[i] > before.port_bytes[i];
		if (b->status.state == MC_BATCH_DONE && all)
			return mc_clock_ns();
	}
	printf("not all ports are used again within %d s: %s\n", SETTLE_S,
	       err.rc ? err.text : b->status.err.text);
	return -1;
}

static bool as_wanted(const struct story *s)
{
	const struct mc_batch_status *b = &s->batch.status;
	bool failed = b->state == MC_BATCH_FAILED;

	if (!failed || (s->f->want == FAILS && strstr(b->err.text, s->f->why)))
		return true;
	printf("failed: %s\n", b->err.text);
	return false;
}

/* The fault came while something was on its way. */
static bool has_met(const struct story *s)
{
	if (s->f->want == FAILS)
		return s->batch.status.state == MC_BATCH_FAILED;
	return s->f->want != OTHER || s->resent;
}

static void show(const struct story *s, int64_t recovery)
{
	const struct fault *f = s->f;
	char what[640];

	if (f->want == FAILS)
		snprintf(what, sizeof what, "failed: %s", s->batch.status.err.text);
	else
		snprintf(what, sizeof what, "%s, %" PRIu64 " slices sent again, longest pause %.2f s",
			 outcomes[f->want], s->resent, (double)s->batch.pause / 1e9);
	matrix_line(f->name, "verbs (Soft-RoCE)", what, s->bytes, recovery);
}

/* The fault up to the end of the batch, with all bytes checked; mended. False: not as it should be, said why.
 */
static bool fault_once(struct rig *r, struct story *s)
{
	const struct fault *f = s->f;
	uint64_t n = 0;
	bool well = suffer(r, s);

	if (well)
		n = batch_check(r, &s->batch);
	well &= as_wanted(s);
	s->bytes += n;
	if (f->hold_ms == UNTIL_END && !inflict(r, NULL, f->mend, f->undo))
		well = false;
	return well && n;
}

/* One fault, with what comes after it. */
static void row(struct rig *r, const struct fault *f)
{
	struct story *s = calloc(1, sizeof *s);
	struct batch *after = calloc(1, sizeof *after);
	int64_t mended = 0, settled = -1;
	uint64_t more = 0;
	bool well = true, met = false;

	for (int i = 0; i < TRIES && well && !met; i++) {
		*s = (struct story){.f = f};
		well = fault_once(r, s);
		mended = mc_clock_ns();
		settled = settle(r, after, &more);
		well &= settled >= 0;
		met = has_met(s);
	}
	if (well && met) {
		show(s, f->want == FAILS ? settled - s->fault : f->brk || f->act ? s->ended - s->fault : -1);
		if (f->back)
			matrix_line(f->back, "verbs (Soft-RoCE)", "used again", more, settled - mended);
		say_ok(f->name);
	} else {
		say_not_ok(f->name, "%s", met ? "" : "nothing was on its way when the fault came");
	}
	free(s);
	free(after);
}

static void rows(struct rig *r, const char *const ports[2], const struct fault *f, size_t n)
{
	if (!rig_open(r, ports[0], ports[1], BYTES)) {
		say_not_ok(f->name, "nothing can be tried");
		exit(1);
	}
	for (size_t i = 0; i < n; i++)
		row(r, f + i);
	if (!rig_close(r))
		say_not_ok("every byte in the end", "after: %s", f->name);
}

/* More peers than connections. */
static void crowd(void)
{
	struct rig r = {.peers = PEERS, .rng = 3};
	struct batch *b = calloc(1, sizeof *b);
	struct mc_engine_stats s = {0};
	uint32_t most = 0;
	uint64_t bytes = 0;

	want_init(&r.want, "a token of the guest's tests");
	r.want.endpoints = 2;
	if (rig_open(&r, "rxe0/1/1@127.0.0.1", "rxe0/1/1@127.0.0.1", BYTES) && batch_start(&r, b)) {
		while (batch_look(&r, b)) {
			mc_engine_stats(r.e, &s);
			most = s.endpoints > most ? s.endpoints : most;
			doze();
		}
		mc_engine_stats(r.e, &s);
		bytes = b->status.state == MC_BATCH_DONE ? batch_check(&r, b) : 0;
	}
	if (bytes && most <= 2 && s.evicted >= PEERS - 2) {
		matrix_line("4 peers, 2 endpoints at most", "verbs (Soft-RoCE)", "done, endpoints evicted",
			    bytes, -1);
		say_ok("more peers than endpoints");
	} else {
		say_not_ok("more peers than endpoints", "%s; %u endpoints, %" PRIu64 " evicted",
			   b->status.err.text, most, s.evicted);
	}
	if (!rig_close(&r))
		say_not_ok("every byte in the end", "of more peers than endpoints");
	free(b);
}

/* One who has another token gets to know nothing. */
static void stranger(void)
{
	struct rig r = {.peers = 1, .rng = 4};
	struct mc_engine_want want;
	struct mc_err err = {0};
	struct mc_engine *e;
	uint32_t peer;
	bool well = rig_open(&r, NEAR, FAR, 1 << 20);

	want_init(&want, "another token than theirs");
	e = engine_open(&want, "rxe1/1/0@127.0.0.1", &err);
	if (well && e && mc_engine_connect(e, r.peer[0].address, &peer, &err)) {
		char what[640];

		snprintf(what, sizeof what, "failed: %s", err.text);
		matrix_line("another token", "verbs (Soft-RoCE)", what, r.local.bytes + r.peer[0].mem.bytes,
			    -1);
		say_ok("another token");
	} else {
		say_not_ok("another token", "%s", e ? "let in" : err.text);
	}
	mc_engine_close(e);
	if (!rig_close(&r))
		say_not_ok("every byte in the end", "of one with another token");
}

int faults_main(void)
{
	static const char *const two[] = {TWO, TWO}, *const wire[] = {NEAR, FAR};
	struct rig r = {.peers = 1, .rng = 1}, w = {.peers = 1, .rng = 2}, g = {.peers = 1, .rng = 5};

	printf("%s\n", MATRIX_HEAD);
	/* Many slices take long, so that nearly always some are on their way. */
	want_init(&r.want, "a token of the guest's tests");
	r.want.slice_bytes = 2 * MC_SLICE_BYTES_MIN;
	rows(&r, two, two_devices, sizeof two_devices / sizeof *two_devices);
	rows(&w, wire, one_wire, sizeof one_wire / sizeof *one_wire);
	want_init(&g.want, "a token of the guest's tests");
	g.want.batch_timeout_ns = MS(3000);
	rows(&g, wire, for_good, 1);
	crowd();
	stranger();
	return 0;
}
