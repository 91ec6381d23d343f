/* Two engines on the transport that fails, which know each other, with memory. */
#ifndef MC_TESTS_ENGINE_PAIR_H
#define MC_TESTS_ENGINE_PAIR_H

#include "engine_world.h"
#include "fake_transport.h"

enum { BYTES = 200000 };

static inline void pair_open(struct pair *p, const char *const *names_a, const char *const *names_b)
{
	p->a = world_open(&p->want, &fake_transport, names_a);
	p->want_b = p->want;
	p->b = world_open(&p->want_b, &fake_transport, names_b);
	pair_meet(p, BYTES, false);
}

static inline void must(struct pair *p, enum mc_direction op)
{
	struct mc_request r = world_request(op, p->peer, &p->local, &p->remote);

	world_must(p->a, &r);
	world_apply(&r, &p->local, &p->remote);
}

#endif
