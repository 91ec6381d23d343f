/*
 * For tests of engines under faults: areas, each a memory of the engine that asks and one of its peer, over
 * which random batches go. Done, the model follows; failed, every byte is an old or a new one, and the batch
 * is done again, until it is done.
 */
#ifndef MC_TESTS_ENGINE_AREAS_H
#define MC_TESTS_ENGINE_AREAS_H

#include <unistd.h>

#include "engine_world.h"

enum { AREA_REQUESTS = 24 };

/* How many seeds a test goes through: n, or as many as who looks for rare faults asks for. */
static inline int area_seeds(int n)
{
	const char *text = getenv("MC_TEST_SEEDS");

	return text ? atoi(text) : n;
}

struct area {
	struct mc_engine *asker, *owner;
	uint32_t peer; /* owner, to asker */
	struct world_memory local, remote;
	struct mc_request r[AREA_REQUESTS];
	size_t n;
	uint64_t batch; /* 0: none is under way */
	unsigned done, failed;
	uint64_t bytes; /* of batches that were done */
};

static inline void area_register(struct mc_engine *e, const struct mc_memory *m)
{
	int rc = MC_FAIL;

	for (int i = 0; i < 1000 && rc; i++) {
		rc = mc_engine_register(e, m, BOTH, NULL);
		if (rc)
			usleep(1000);
	}
	ck_assert_int_eq(rc, 0);
}

static inline void area_open(struct area *x, size_t bytes, uint64_t seed, bool shared)
{
	world_alloc(&x->local, bytes, "cpu:0", false);
	world_alloc(&x->remote, bytes, "cpu:0", shared);
	world_fill(&x->local, seed);
	world_fill(&x->remote, seed + 1000);
	area_register(x->asker, &x->local.m);
	area_register(x->owner, &x->remote.m);
}

/* Both memories are whole, when nothing is under way. */
static inline void area_check(const struct area *x)
{
	ck_assert_uint_eq(x->batch, 0);
	ck_assert_uint_eq(x->n, 0);
	world_check(&x->local);
	world_check(&x->remote);
}

static inline void area_free(struct area *x)
{
	world_free(&x->local);
	world_free(&x->remote);
}

/* A new batch, or again the one that has failed. False: the asker doesn't know now what the peer has. */
static inline bool area_submit(struct area *x, uint64_t *rng)
{
	struct mc_err err = {0};

	if (!x->n)
		x->n = world_requests(x->r, AREA_REQUESTS, rng, &x->local, &x->remote, x->peer);
	for (size_t i = 0; i < x->n; i++)
		x->r[i].peer = x->peer;
	if (!mc_engine_submit(x->asker, x->r, x->n, &x->batch, &err))
		return true;
	ck_assert_int_eq(err.rc, MC_USAGE);
	ck_assert_msg(strstr(err.text, "registered") || strstr(err.text, "restarted"), "%s", err.text);
	x->batch = 0;
	x->failed++;
	return false;
}

/* Byte k of a request, here and there, is as it was or as it should become. */
static inline void area_mixed(const struct area *x, const struct mc_request *r)
{
	size_t at = (size_t)((uint8_t *)r->local - world_at(&x->local));
	size_t to = (size_t)(r->remote - (uintptr_t)x->remote.m.base);
	const uint8_t *l = x->local.model + at, *o = x->remote.model + to;

	for (size_t k = 0; k < r->bytes; k++) {
		uint8_t here = world_at(&x->local)[at + k];
		uint8_t there = ((volatile uint8_t *)x->remote.m.base)[to + k];

		if (here != l[k] && (r->op != MC_OP_READ || here != o[k]))
			ck_abort_msg("byte %zu here is neither old nor new", k);
		if (there != o[k] && (r->op != MC_OP_WRITE || there != l[k]))
			ck_abort_msg("byte %zu there is neither old nor new", k);
	}
}

/* The batch ends, in less than `most` from now. */
static inline void area_settle(struct area *x, int64_t most)
{
	struct mc_batch_status s;

	ck_assert_int_eq(mc_engine_wait(x->asker, x->batch, most, &s, NULL), 0);
	ck_assert_msg(s.state != MC_BATCH_PENDING, "%lu of %lu bytes moved, and no end",
		      (unsigned long)s.bytes, (unsigned long)s.total);
	ck_assert_int_eq(mc_engine_free(x->asker, x->batch, NULL), 0);
	x->batch = 0;
	if (s.state == MC_BATCH_DONE) {
		ck_assert_uint_eq(s.bytes, s.total);
		for (size_t i = 0; i < x->n; i++)
			world_apply(&x->r[i], &x->local, &x->remote);
		x->n = 0;
		x->done++;
		x->bytes += s.bytes;
		return;
	}
	ck_assert_int_eq(s.err.rc, MC_FAIL);
	ck_assert_uint_gt(strlen(s.err.text), 0);
	ck_assert_uint_lt(s.request, x->n);
	x->failed++;
	/* What was read stays as it is now, whatever comes late. */
	for (size_t i = 0; i < x->n; i++) {
		const struct mc_request *r = &x->r[i];
		size_t at = (size_t)((uint8_t *)r->local - world_at(&x->local));

		area_mixed(x, r);
		if (r->op == MC_OP_READ)
			memcpy(x->local.model + at, world_at(&x->local) + at, r->bytes);
	}
}

/* The peer takes its memory away and gives it back, in the midst of whatever goes on: in between it is as
 * before. */
static inline void area_take_away(struct area *x)
{
	uint8_t *was = mc_xmalloc(x->remote.n);

	ck_assert_int_eq(mc_engine_unregister(x->owner, x->remote.m.base, NULL), 0);
	memcpy(was, x->remote.m.base, x->remote.n);
	usleep(300);
	ck_assert_mem_eq(was, x->remote.m.base, x->remote.n);
	area_register(x->owner, &x->remote.m);
	free(was);
}

/* After the faults batches are done again, within a time: three in a row, as a machine that is busy may still
 * make one late. */
static inline void area_recover(struct area *x, uint64_t *rng, int64_t within)
{
	int64_t until = mc_clock_ns() + within;
	unsigned row = 0, failed = x->failed;

	while (row < 3) {
		ck_assert_msg(mc_clock_ns() < until, "no batches are done after the faults");
		if (area_submit(x, rng))
			area_settle(x, 20000 * MS);
		else
			mc_engine_refresh(x->asker, x->peer, NULL);
		row = x->failed == failed ? row + 1 : 0;
		failed = x->failed;
	}
}

#endif
