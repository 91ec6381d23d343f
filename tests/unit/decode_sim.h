/* Feeds one decode node with random requests; some are withdrawn instead of arriving. */
#ifndef MC_TESTS_DECODE_SIM_H
#define MC_TESTS_DECODE_SIM_H

#include <string.h>

#include "fixture.h"
#include "unit.h"

#include "engine/decode.h"
#include "engine/kinds.h"

#define MAX_JOBS 200

struct feed {
	struct mc_event announce, arrive;
	mc_time announced, at;
	struct mc_decode_job job;
	mc_time end, tbt;
	uint32_t remaining;
	bool withdrawn; /* instead of arriving */
};

struct sim {
	struct mc_loop loop;
	struct mc_decode node;
	struct feed feed[MAX_JOBS];
	int n, finished, withdrawn;
};

static struct sim *sim_of_feed; /* events carry no argument: one simulation at a time */

static inline void on_announce(struct mc_loop *loop, struct mc_event *ev)
{
	(void)loop;
	mc_decode_announce(&sim_of_feed->node, &mc_container_of(ev, struct feed, announce)->job);
}

static inline void on_arrive(struct mc_loop *loop, struct mc_event *ev)
{
	struct feed *f = mc_container_of(ev, struct feed, arrive);

	(void)loop;
	if (f->withdrawn)
		mc_decode_withdraw(&sim_of_feed->node, &f->job);
	else
		mc_decode_arrive(&sim_of_feed->node, &f->job);
}

static inline void on_finished(void *arg, struct mc_decode_job *job)
{
	struct sim *s = arg;
	struct feed *f = mc_container_of(job, struct feed, job);

	f->end = s->loop.now;
	f->tbt = mc_decode_tbt(&s->node, job);
	s->finished++;
}

static inline void sim_start(struct sim *s, uint64_t seed, const struct mc_cost *cost,
			     struct mc_decode_params params)
{
	struct mc_decode_ops ops = {on_finished, s};
	mc_time at = 0;

	memset(s, 0, sizeof *s);
	sim_of_feed = s;
	mc_loop_init(&s->loop);
	mc_decode_init(&s->node, &s->loop, cost, &params, &ops);
	s->n = 5 + (int)draw(&seed, MAX_JOBS - 5);
	for (int i = 0; i < s->n; i++) {
		struct feed *f = &s->feed[i];

		at += (mc_time)draw(&seed, 3) * (mc_time)draw(&seed, 60000000);
		f->announced = at;
		f->at = at + (mc_time)draw(&seed, 2) * (mc_time)draw(&seed, 50000000);
		f->job.context = 1 + (uint32_t)draw(&seed, 5000);
		f->job.remaining = f->remaining = 1 + (uint32_t)draw(&seed, draw(&seed, 4) ? 30 : 400);
		f->job.counted = draw(&seed, 5) > 0;
		f->withdrawn = seed % 7 == 0;
		s->withdrawn += f->withdrawn;
		mc_event_init(&f->announce, MC_EV_NET, on_announce);
		mc_event_init(&f->arrive, MC_EV_NET, on_arrive);
		mc_loop_at(&s->loop, &f->announce, f->announced);
		mc_loop_at(&s->loop, &f->arrive, f->at);
	}
}

static inline void sim_fini(struct sim *s)
{
	mc_decode_fini(&s->node);
	mc_loop_fini(&s->loop);
}

#endif
