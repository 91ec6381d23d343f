/* Engines for tests: opened with short times, memory with guards around it, and the model that it must equal.
 */
#ifndef MC_TESTS_ENGINE_WORLD_H
#define MC_TESTS_ENGINE_WORLD_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "transport/engine.h"
#include "transport/sock.h"

#define MS INT64_C(1000000)

enum { GUARD = 4096, GUARD_BYTE = 0xa5 };

/* Times that are over only where something never ends: a busy machine may take that long. A test whose point
 * is that they are over sets its own. */
static inline struct mc_engine_want world_want(void)
{
	struct mc_engine_want w;

	mc_engine_defaults(&w);
	ck_assert_int_eq(mc_token_set(&w.token, "a token of the tests", NULL), 0);
	w.slice_bytes = MC_SLICE_BYTES_MIN;
	w.retry_ns = MS / 4;
	w.retries = 6;
	w.connect_timeout_ns = 1000 * MS;
	w.slice_timeout_ns = 4000 * MS;
	w.batch_timeout_ns = 15000 * MS;
	return w;
}

/* An engine with ports of one transport; names: NULL at the end. */
static inline struct mc_engine *world_open(struct mc_engine_want *w, const struct mc_transport *t,
					   const char *const *names)
{
	struct mc_engine_port port[MC_ENGINE_PORTS];
	struct mc_engine *e;
	struct mc_err err = {0};
	size_t n = 0;

	for (; names[n]; n++)
		port[n] = (struct mc_engine_port){.transport = t, .name = names[n]};
	w->port = port;
	w->ports = n;
	ck_assert_msg(!mc_engine_open(&e, w, &err), "%s", err.text);
	return e;
}

/* Memory of n bytes between guards, which are not registered. */
struct world_memory {
	struct mc_memory whole, m;
	uint8_t *model;
	size_t n;
};

/* shared: can be mapped by others; then only whole pages after the memory are its guard. */
static inline void world_alloc(struct world_memory *w, size_t n, const char *place, bool shared)
{
	struct mc_err err = {0};

	*w = (struct world_memory){.n = n};
	if (shared) {
		ck_assert_msg(!mc_memory_alloc(&w->m, n, place, &err), "%s", err.text);
	} else {
		w->whole.base = mc_xmalloc(n + 2 * GUARD);
		memset(w->whole.base, GUARD_BYTE, n + 2 * GUARD);
		w->m = (struct mc_memory){.base = (uint8_t *)w->whole.base + GUARD, .bytes = n, .fd = -1};
		snprintf(w->m.place, sizeof w->m.place, "%s", place);
	}
	w->model = mc_xcalloc(n, 1);
	memset(w->m.base, 0, n);
}

static inline uint8_t *world_at(const struct world_memory *w)
{
	return w->m.base;
}

static inline void world_fill(struct world_memory *w, uint64_t seed)
{
	for (size_t i = 0; i < w->n; i++) {
		seed = mc_hash_u64(seed);
		world_at(w)[i] = w->model[i] = (uint8_t)seed;
	}
}

/* Every byte is the model's, every guard is whole. */
static inline void world_check(const struct world_memory *w)
{
	const uint8_t *g = w->whole.base;
	size_t i = 0;

	while (i < w->n && world_at(w)[i] == w->model[i])
		i++;
	ck_assert_msg(i == w->n, "byte %zu is not the model's", i);
	for (i = 0; g && i < GUARD && g[i] == GUARD_BYTE && g[GUARD + w->n + i] == GUARD_BYTE;)
		i++;
	ck_assert_msg(!g || i == GUARD, "guard byte %zu", i);
}

static inline void world_free(struct world_memory *w)
{
	if (w->whole.base)
		free(w->whole.base);
	else
		mc_memory_free(&w->m);
	free(w->model);
}

static inline struct mc_request world_request(enum mc_direction op, uint32_t peer,
					      const struct world_memory *local,
					      const struct world_memory *remote)
{
	return (struct mc_request){.op = op,
				   .peer = peer,
				   .local = local->m.base,
				   .remote = (uintptr_t)remote->m.base,
				   .bytes = local->n < remote->n ? local->n : remote->n};
}

/* Submit, wait and free: how it ended. */
static inline struct mc_batch_status world_do(struct mc_engine *e, const struct mc_request *r, size_t n)
{
	struct mc_batch_status s;
	struct mc_err err = {0};
	uint64_t batch;

	ck_assert_msg(!mc_engine_submit(e, r, n, &batch, &err), "%s", err.text);
	ck_assert_int_eq(mc_engine_wait(e, batch, 20000 * MS, &s, NULL), 0);
	ck_assert_int_ne(s.state, MC_BATCH_PENDING);
	ck_assert_int_eq(mc_engine_free(e, batch, NULL), 0);
	return s;
}

static inline void world_must(struct mc_engine *e, const struct mc_request *r)
{
	struct mc_batch_status s = world_do(e, r, 1);

	ck_assert_msg(s.state == MC_BATCH_DONE, "%s", s.err.text);
	ck_assert_uint_eq(s.bytes, r->bytes);
}

/* Random requests of one batch: they cut both memories, in the same order, into stretches of which some are
 * read and some written, so no byte is in two. Returns how many. */
static inline size_t world_requests(struct mc_request *out, size_t most, uint64_t *rng,
				    const struct world_memory *local, const struct world_memory *remote,
				    uint32_t peer)
{
	size_t at = 0, to = 0, n = 0;

	while (n < most) {
		uint64_t a = mc_hash_u64(*rng), b = mc_hash_u64(a), c = mc_hash_u64(b);
		size_t bytes = 1 + (size_t)(a >> 8) % ((a & 3) ? 20000 : 300);

		*rng = c;
		at += (size_t)(b % 3000);
		to += (size_t)(b >> 20) % 3000;
		if (at + bytes > local->n || to + bytes > remote->n)
			break;
		out[n++] = (struct mc_request){.op = c & 1 ? MC_OP_READ : MC_OP_WRITE,
					       .peer = peer,
					       .local = world_at(local) + at,
					       .remote = (uintptr_t)remote->m.base + to,
					       .bytes = bytes};
		at += bytes;
		to += bytes;
	}
	return n;
}

static inline void world_apply(const struct mc_request *r, struct world_memory *local,
			       struct world_memory *remote)
{
	uint8_t *l = local->model + ((uint8_t *)r->local - world_at(local));
	uint8_t *o = remote->model + (r->remote - (uintptr_t)remote->m.base);

	if (r->op == MC_OP_READ)
		memcpy(l, o, r->bytes);
	else
		memcpy(o, l, r->bytes);
}

/* Who is there, told in spite of a busy machine. */
static inline uint32_t world_meet(struct mc_engine *asker, const char *address)
{
	struct mc_err err = {0};
	uint32_t peer = 0;
	int rc = MC_FAIL;

	for (int i = 0; i < 100 && rc; i++)
		rc = mc_engine_connect(asker, address, &peer, &err);
	ck_assert_msg(!rc, "%s", err.text);
	return peer;
}

/* Two engines that know each other, with memory. */
enum { BOTH = MC_ACCESS_READ | MC_ACCESS_WRITE };

struct pair {
	struct mc_engine_want want, want_b;
	struct mc_engine *a, *b;
	uint32_t peer;
	struct world_memory local, remote;
};

/* Both are open; shared: the remote memory is one that other processes can map. */
static inline void pair_meet(struct pair *p, size_t bytes, bool shared)
{
	world_alloc(&p->local, bytes, "cpu:0", false);
	world_alloc(&p->remote, bytes, "cpu:0", shared);
	world_fill(&p->local, 1);
	world_fill(&p->remote, 2);
	ck_assert_int_eq(mc_engine_register(p->a, &p->local.m, 0, NULL), 0);
	ck_assert_int_eq(mc_engine_register(p->b, &p->remote.m, BOTH, NULL), 0);
	p->peer = world_meet(p->a, mc_engine_address(p->b));
}

static inline void pair_close(struct pair *p)
{
	world_check(&p->local);
	world_check(&p->remote);
	mc_engine_close(p->a);
	mc_engine_close(p->b);
	world_free(&p->local);
	world_free(&p->remote);
}

#endif
