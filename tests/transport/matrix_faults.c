#include "matrix_faults.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit/proxy.h"
#include "base/time.h"
#include "transport/segment.h"
#include "transport/sock.h"
#ifdef MATRIX_VERBS
#include "fakeverbs.h"
#endif

enum { MS = MC_NS_PER_MS };

static void say(struct outcome *o, const char *what, const char *why)
{
	snprintf(o->what, sizeof o->what, "%s%s%.*s", what, why ? ": " : "", (int)sizeof o->what / 2,
		 why ? why : "");
}

/* The transfer under way ends. cut: one path still is. */
static bool end(struct matrix_world *w, struct outcome *o, bool cut)
{
	struct mc_batch_status s;
	bool done = matrix_end(w, &s);

	if (!done)
		say(o, "failed", s.err.text);
	else
		say(o, cut ? "done over another path" : matrix_resent(w) ? "done, resent" : "done", NULL);
	if (done)
		o->recovery = mc_clock_ns() - w->fault;
	return done;
}

/* Transfers until one uses that port again. */
static void again(struct matrix_world *w, struct outcome *o, size_t port)
{
	int64_t ns;

	matrix_fault(w);
	do
		ns = matrix_recover(w);
	while (!matrix_over(w, port) && ns < 20 * MC_NS_PER_S);
	say(o, matrix_over(w, port) ? "done over the same path again" : "done, but never over that path",
	    NULL);
	o->recovery = ns;
}

#ifdef MATRIX_VERBS
/* In the midst of a transfer the devices pause, and the fault comes. */
static void begin_held(struct matrix_world *w)
{
	struct mc_batch_status s;

	matrix_begin(w);
	fake_hold(true);
	while (!fake_held()) { /* it was over before that */
		fake_hold(false);
		matrix_end(w, &s);
		matrix_begin(w);
		fake_hold(true);
	}
	matrix_fault(w);
}

void matrix_wrong_status(struct matrix_world *w, struct outcome *o)
{
	begin_held(w);
	fake_status(IBV_WC_REM_OP_ERR, 1);
	fake_hold(false);
	end(w, o, false);
}

void matrix_retries_exceeded(struct matrix_world *w, struct outcome *o)
{
	begin_held(w);
	fake_status(IBV_WC_RETRY_EXC_ERR, 1);
	fake_hold(false);
	end(w, o, false);
}

void matrix_completion_lost(struct matrix_world *w, struct outcome *o)
{
	begin_held(w);
	fake_lose(1);
	fake_hold(false);
	end(w, o, false);
}

void matrix_overrun(struct matrix_world *w, struct outcome *o)
{
	begin_held(w);
	fake_overrun(0);
	fake_hold(false);
	end(w, o, false);
}

void matrix_device_gone(struct matrix_world *w, struct outcome *o)
{
	begin_held(w);
	fake_device(1, false, true);
	fake_hold(false);
	end(w, o, true);
}

void matrix_device_back(struct matrix_world *w, struct outcome *o)
{
	matrix_device_gone(w, o);
	fake_device(1, true, true);
	again(w, o, 1);
}

void matrix_link_down(struct matrix_world *w, struct outcome *o)
{
	begin_held(w);
	fake_link(1, false);
	fake_hold(false);
	end(w, o, true);
}

void matrix_link_up(struct matrix_world *w, struct outcome *o)
{
	matrix_link_down(w, o);
	fake_link(1, true);
	again(w, o, 1);
}

void matrix_no_link(struct matrix_world *w, struct outcome *o)
{
	begin_held(w);
	fake_link(0, false);
	fake_link(1, false);
	fake_hold(false);
	if (!end(w, o, false)) {
		fake_link(0, true);
		fake_link(1, true);
		w->fault = mc_clock_ns();
		o->recovery = matrix_recover(w);
	}
}
#endif

void matrix_peer_killed(struct matrix_world *w, struct outcome *o)
{
	matrix_begin(w);
	matrix_fault(w);
	matrix_kill(w);
	end(w, o, false);
}

void matrix_peer_restarted(struct matrix_world *w, struct outcome *o)
{
	matrix_begin(w);
	matrix_fault(w);
	matrix_restart(w);
	if (!end(w, o, false))
		o->recovery = matrix_recover(w);
}

void matrix_peer_silent(struct matrix_world *w, struct outcome *o)
{
	matrix_begin(w);
	matrix_fault(w);
	kill(w->owner.pid, SIGSTOP);
	if (!end(w, o, false)) {
		kill(w->owner.pid, SIGCONT);
		w->fault = mc_clock_ns();
		o->recovery = matrix_recover(w);
	}
}

void matrix_memory_gone(struct matrix_world *w, struct outcome *o)
{
	matrix_begin(w);
	matrix_fault(w);
	matrix_unregister(w);
	if (!end(w, o, false)) {
		matrix_register(w);
		w->fault = mc_clock_ns();
		o->recovery = matrix_recover(w);
	}
}

/* Every connection of this process is shut down under it; what is not a connection doesn't mind. */
static void cut_all(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_storage at;
		socklen_t n = sizeof at;

		if (!getpeername(fd, (struct sockaddr *)&at, &n))
			shutdown(fd, SHUT_RDWR);
	}
}

void matrix_connections_cut(struct matrix_world *w, struct outcome *o)
{
	matrix_begin(w);
	matrix_fault(w);
	cut_all();
	end(w, o, false);
}

void matrix_no_descriptors(struct matrix_world *w, struct outcome *o)
{
	struct rlimit was, few;

	getrlimit(RLIMIT_NOFILE, &was);
	few = was;
	few.rlim_cur = 3;
	matrix_begin(w);
	matrix_fault(w);
	setrlimit(RLIMIT_NOFILE, &few);
	cut_all();
	end(w, o, false);
	setrlimit(RLIMIT_NOFILE, &was);
	w->fault = mc_clock_ns();
	o->recovery = matrix_recover(w);
}

void matrix_wrong_token(struct matrix_world *w, struct outcome *o)
{
	struct mc_engine_port port = {w->t, w->names[0]};
	struct mc_engine_want want = w->want;
	struct mc_engine *e;
	struct mc_err err = {0};
	uint32_t peer;
	int rc;

	want.port = &port;
	want.ports = 1;
	mc_token_set(&want.token, "a token of another cluster", NULL);
	if (mc_engine_open(&e, &want, &err))
		matrix_die("open", err.text);
	rc = mc_engine_connect(e, w->owner.address, &peer, &err);
	mc_engine_close(e);
	say(o, rc ? "failed" : "let in", err.text);
	w->fault = mc_clock_ns();
	matrix_recover(w); /* the others are served */
}

/* What the owner says of itself, asked for by hand. */
static struct mc_segment *ask(const struct matrix_world *w)
{
	int64_t deadline = mc_clock_ns() + 10 * MC_NS_PER_S;
	struct mc_segment *s = NULL;
	struct mc_sock_message m;
	uint8_t one = 1;
	int fd;

	if (mc_sock_connect(&fd, w->owner.address, NULL, deadline, NULL) ||
	    mc_auth_connect(fd, &w->want.token, MC_PURPOSE_CONTROL, deadline, NULL) ||
	    mc_sock_send_message(fd, &one, 1, deadline, NULL) ||
	    mc_sock_recv_message(fd, &m, MC_SEGMENT_BYTES, deadline, NULL) ||
	    mc_segment_decode(&s, m.at, m.n, NULL))
		matrix_die("ask", "the owner does not answer");
	free(m.at);
	close(fd);
	return s;
}

/* One slice straight to the owner's port, by who has the token: how it ends, and why. */
static enum mc_wire reach(const struct matrix_world *w, const struct mc_segment *s, struct mc_slice *slice,
			  const char **why)
{
	struct mc_port_want want = {.name = w->names[0],
				    .token = w->want.token,
				    .limits = w->want.serve,
				    .lanes = 1,
				    .timeout_ns = 5 * MC_NS_PER_S,
				    .wake = free};
	struct mc_connect_want to = {.address = s->port[0].address, .timeout_ns = 5 * MC_NS_PER_S};
	int64_t until = mc_clock_ns() + 20 * MC_NS_PER_S;
	struct mc_completion c = {0};
	struct mc_memory m = {.base = slice->local, .bytes = slice->bytes, .fd = -1};
	struct mc_endpoint *ep;
	struct mc_port *p;

	if (mc_auth_random(&to.id, sizeof to.id, NULL) || w->t->port_open(&p, &want, NULL) ||
	    w->t->memory_register(p, &m, 0, &slice->local_key, NULL) || w->t->connect(&ep, p, &to, NULL))
		matrix_die("reach", "the owner's port does not let us in");
	w->t->post(ep, &slice, 1);
	while (!w->t->poll(p, &c, 1) && mc_clock_ns() < until)
		usleep(200);
	w->t->disconnect(ep);
	w->t->port_close(p);
	if (!c.slice)
		matrix_die("reach", "a slice does not end");
	*why = c.why;
	return c.status;
}

/* Who has the token and a connection asks for what was never registered. */
void matrix_out_of_bounds(struct matrix_world *w, struct outcome *o)
{
	struct mc_segment *s = ask(w);
	uint64_t base = s->range[0].base, end_at = base + s->range[0].bytes, key = s->range[0].at[0].key;
	static uint8_t bytes[4096];
	const struct {
		uint64_t at, key;
	} wrong[] = {
	    {end_at - 4095, key}, {end_at, key}, {base - 1, key}, {UINT64_MAX - 100, key}, {base, key + 1}};
	const char *why = NULL;

	memset(bytes, 0x77, sizeof bytes);
	for (size_t i = 0; i < 2 * sizeof wrong / sizeof *wrong; i++) {
		struct mc_slice slice = {.op = i % 2 ? MC_OP_READ : MC_OP_WRITE,
					 .bytes = sizeof bytes,
					 .local = bytes,
					 .remote = wrong[i / 2].at,
					 .remote_key = wrong[i / 2].key};

		if (reach(w, s, &slice, &why) != MC_WIRE_REFUSED)
			matrix_die("out of bounds", "it was not refused");
	}
	say(o, "failed: refused", why);
	mc_segment_free(s);
	w->fault = mc_clock_ns();
	matrix_recover(w); /* and has seen that nothing else has changed */
}

static void *talk_nonsense(void *arg)
{
	struct matrix_world *w = arg;
	unsigned seed = 9;

	for (int i = 0; i < 60; i++) {
		int64_t deadline = mc_clock_ns() + 100 * MS;
		uint8_t text[200];
		int fd;

		for (size_t k = 0; k < sizeof text; k++)
			text[k] = (uint8_t)(rand_r(&seed) >> 8);
		if (mc_sock_connect(&fd, w->owner.address, NULL, deadline, NULL))
			continue;
		if (i % 3 == 0 || !mc_auth_connect(fd, &w->want.token, MC_PURPOSE_CONTROL, deadline, NULL))
			mc_sock_send(fd, text, sizeof text, deadline, NULL);
		if (i % 3 != 1)
			usleep(1000);
		close(fd);
	}
	return NULL;
}

void matrix_nonsense(struct matrix_world *w, struct outcome *o)
{
	pthread_t thread;

	matrix_begin(w);
	matrix_fault(w);
	if (pthread_create(&thread, NULL, talk_nonsense, w))
		matrix_die("thread", "none");
	if (end(w, o, false))
		for (int i = 0; i < 3; i++)
			matrix_recover(w);
	pthread_join(thread, NULL);
}

/* TCP whose ports are found through the proxy. */
static const struct mc_transport *behind;
static const char *owners_second;
static int opened;

static const char *via_address(const struct mc_port *p)
{
	return proxy_to(behind->port_address(p));
}

static int via_open(struct mc_port **out, const struct mc_port_want *want, struct mc_err *err)
{
	int rc = behind->port_open(out, want, err);

	if (!rc && ++opened == 2) /* the owner is the first to open its ports */
		owners_second = behind->port_address(*out);
	return rc;
}

void matrix_via_proxy(struct matrix_world *w, struct mc_transport *via)
{
	behind = w->t;
	*via = *w->t;
	via->port_address = via_address;
	via->port_open = via_open;
	w->t = via;
	opened = 0;
}

void matrix_path_cut(struct matrix_world *w, struct outcome *o)
{
	matrix_begin(w);
	matrix_fault(w);
	proxy_cut(owners_second, true);
	end(w, o, true);
	proxy_cut(owners_second, false);
}

void matrix_path_back(struct matrix_world *w, struct outcome *o)
{
	matrix_path_cut(w, o);
	again(w, o, 1);
}

/* More peers than endpoints: each in its turn. */
void matrix_over_the_cap(struct matrix_world *w, struct outcome *o)
{
	enum { PEERS = 5 };

	struct matrix_world each[PEERS];
	struct mc_engine_stats st;
	struct mc_request r[PEERS];
	struct mc_batch_status s;

	for (int i = 0; i < PEERS; i++) {
		each[i] = (struct matrix_world){
		    .t = w->t, .names = w->names, .want = w->want, .bytes = 1 << 16, .here = true};
		matrix_open(&each[i]);
		r[i] = (struct mc_request){.op = MC_OP_READ, .bytes = 1 << 14};
		r[i].local = (uint8_t *)w->local.base + (i << 14);
		r[i].remote = (uintptr_t)each[i].remote.base;
		if (mc_engine_connect(w->e, each[i].owner.address, &r[i].peer, NULL))
			matrix_die("connect", "it fails");
	}
	matrix_fault(w);
	for (int round = 0; round < 3; round++) {
		if (mc_engine_submit(w->e, r, PEERS, &w->batch, NULL))
			matrix_die("submit", "it fails");
		mc_engine_wait(w->e, w->batch, 60 * MC_NS_PER_S, &s, NULL);
		for (int i = 0; i < PEERS && s.state == MC_BATCH_DONE; i++)
			if (memcmp(r[i].local, each[i].remote.base, 1 << 14))
				matrix_die("a byte", "the batch is done, and it is not");
		w->checked += PEERS << 14;
		mc_engine_free(w->e, w->batch, NULL);
	}
	mc_engine_stats(w->e, &st);
	o->recovery = mc_clock_ns() - w->fault;
	if (s.state == MC_BATCH_DONE && st.endpoints <= 2 && st.evicted)
		say(o, "done by at most 2 endpoints", NULL);
	else if (s.state == MC_BATCH_DONE)
		say(o, "done, but by more endpoints", NULL);
	else
		say(o, "failed", s.err.text);
	for (int i = 0; i < PEERS; i++)
		matrix_close(&each[i]);
	/* Its memory is as a transfer leaves it again. */
	w->fault -= o->recovery;
	matrix_recover(w);
}
