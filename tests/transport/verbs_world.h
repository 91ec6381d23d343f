/* Two ports of the verbs transport in one process, on the fake's devices. */
#ifndef MC_TESTS_VERBS_WORLD_H
#define MC_TESTS_VERBS_WORLD_H

#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../unit/unit.h"
#include "base/time.h"
#include "fakeverbs.h"
#include "transport/sock.h"
#include "transport/transport.h"

extern const struct mc_transport mc_transport_verbs;
static const struct mc_transport *const t = &mc_transport_verbs;

#define MS(x) ((x)*MC_NS_PER_MS)

enum { SLICE = 4096, SLICES = 24, BYTES = SLICE * SLICES };

/* Two ports of one process: a asks, b is asked. Each has memory, and bytes behind it that nobody may touch.
 */
struct world {
	struct mc_port *a, *b;
	struct mc_endpoint *ep;
	uint64_t key_a, key_b, next_id;
	uint8_t mem_a[BYTES], guard_a[64], mem_b[BYTES], guard_b[64];
	struct mc_slice slice[SLICES];
	struct mc_completion got[SLICES];
	size_t n;
	int woken;
};

static void woke(void *arg)
{
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static struct mc_port_want port_want(struct world *w, const char *name, const char *token)
{
	struct mc_port_want want = {
	    .name = name,
	    .limits = {.slice_bytes = 1 << 20, .depth = 64, .connections = 2, .pending = 4},
	    .lanes = 2,
	    .timeout_ns = MS(2000),
	    .wake = woke,
	    .wake_arg = &w->woken,
	};

	ck_assert_int_eq(mc_token_set(&want.token, token, NULL), 0);
	return want;
}

static int join(struct world *w, struct mc_err *err)
{
	struct mc_connect_want want = {
	    .address = t->port_address(w->b), .id = ++w->next_id, .timeout_ns = MS(2000)};

	return t->connect(&w->ep, w->a, &want, err);
}

/* As far as it gets; 0 if all of it is there. */
static int try_open(struct world *w, struct mc_err *err)
{
	struct mc_port_want a = port_want(w, "fake0", "a token of the tests"), b = a;
	struct mc_memory ma = {.base = w->mem_a, .bytes = BYTES, .fd = -1};
	struct mc_memory mb = {.base = w->mem_b, .bytes = BYTES, .fd = -1};
	int rc;

	memset(w->guard_a, 0xa5, sizeof w->guard_a);
	memset(w->guard_b, 0x5a, sizeof w->guard_b);
	for (size_t i = 0; i < BYTES; i++) {
		w->mem_a[i] = (uint8_t)(i * 7 + i / SLICE);
		w->mem_b[i] = (uint8_t)(i * 13 + 1 + i / SLICE);
	}
	b.name = "fake1";
	rc = t->port_open(&w->a, &a, err);
	if (!rc)
		rc = t->port_open(&w->b, &b, err);
	if (!rc)
		rc = t->memory_register(w->a, &ma, 0, &w->key_a, err);
	if (!rc)
		rc = t->memory_register(w->b, &mb, MC_ACCESS_READ | MC_ACCESS_WRITE, &w->key_b, err);
	return rc ? rc : join(w, err);
}

static struct world *open_world(void)
{
	struct world *w = calloc(1, sizeof *w);
	struct mc_err err = {0};
	int rc;

	fake_reset();
	rc = try_open(w, &err);
	ck_assert_msg(!rc, "%s", err.text);
	return w;
}

static void close_world(struct world *w)
{
	if (w->ep)
		t->disconnect(w->ep);
	t->port_close(w->a);
	t->port_close(w->b);
	for (size_t i = 0; i < sizeof w->guard_a; i++)
		ck_assert(w->guard_a[i] == 0xa5 && w->guard_b[i] == 0x5a);
	ck_assert_int_eq(fake_live(), 0);
	free(w);
}

/* Slice i of a and b, into the other direction than its neighbours: even ones are writes. */
static void post(struct world *w)
{
	struct mc_slice *at[SLICES];

	for (size_t i = 0; i < SLICES; i++) {
		w->slice[i] = (struct mc_slice){.op = i % 2 ? MC_OP_READ : MC_OP_WRITE,
						.bytes = SLICE,
						.local = w->mem_a + i * SLICE,
						.local_key = w->key_a,
						.remote = (uintptr_t)w->mem_b + i * SLICE,
						.remote_key = w->key_b};
		at[i] = w->slice + i;
	}
	w->n = 0;
	t->post(w->ep, at, SLICES);
}

/* Completions of all slices, or of what comes within the time. */
static void collect(struct world *w, int ms)
{
	int64_t until = mc_clock_ns() + MS(ms);

	while (w->n < SLICES && mc_clock_ns() < until) {
		w->n += t->poll(w->a, w->got + w->n, SLICES - w->n);
		if (w->n < SLICES)
			nap();
	}
	for (size_t i = 0; i < w->n; i++)
		for (size_t j = 0; j < i; j++)
			ck_assert_ptr_ne(w->got[i].slice, w->got[j].slice);
}

static size_t count(const struct world *w, enum mc_wire status)
{
	size_t k = 0;

	for (size_t i = 0; i < w->n; i++) {
		k += w->got[i].status == status;
		ck_assert(!w->got[i].why == (w->got[i].status == MC_WIRE_OK));
	}
	return k;
}

/* Those that completed well have their bytes at the other end. */
static void check_bytes(const struct world *w)
{
	for (size_t i = 0; i < w->n; i++) {
		size_t at = (size_t)(w->got[i].slice - w->slice);

		if (w->got[i].status == MC_WIRE_OK)
			ck_assert(!memcmp(w->mem_a + at * SLICE, w->mem_b + at * SLICE, SLICE));
	}
}

static void all_well(struct world *w)
{
	struct mc_err err = {0};

	if (w->ep)
		t->disconnect(w->ep);
	ck_assert_msg(!join(w, &err), "%s", err.text);
	post(w);
	collect(w, 5000);
	ck_assert_uint_eq(count(w, MC_WIRE_OK), SLICES);
	check_bytes(w);
}

#endif
