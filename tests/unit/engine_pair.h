/* Two engines on the transport that fails, which know each other, with memory. */
#ifndef MC_TESTS_ENGINE_PAIR_H
#define MC_TESTS_ENGINE_PAIR_H

#include "engine_world.h"
#include "fake_transport.h"

enum { BYTES = 200000, BOTH = MC_ACCESS_READ | MC_ACCESS_WRITE };

struct pair {
	struct mc_engine_want want, want_b;
	struct mc_engine *a, *b;
	uint32_t peer;
	struct world_memory local, remote;
};

static inline void pair_open(struct pair *p, const char *const *names_a, const char *const *names_b)
{
	p->a = world_open(&p->want, &fake_transport, names_a);
	p->want_b = p->want;
	p->b = world_open(&p->want_b, &fake_transport, names_b);
	world_alloc(&p->local, BYTES, "cpu:0", false);
	world_alloc(&p->remote, BYTES, "cpu:0", false);
	world_fill(&p->local, 1);
	world_fill(&p->remote, 2);
	ck_assert_int_eq(mc_engine_register(p->a, &p->local.m, 0, NULL), 0);
	ck_assert_int_eq(mc_engine_register(p->b, &p->remote.m, BOTH, NULL), 0);
	ck_assert_int_eq(mc_engine_connect(p->a, mc_engine_address(p->b), &p->peer, NULL), 0);
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

static inline void must(struct pair *p, enum mc_op op)
{
	struct mc_request r = world_request(op, p->peer, &p->local, &p->remote);

	world_must(p->a, &r);
	world_apply(&r, &p->local, &p->remote);
}

#endif
