/*
 * The event loop: a 4-ary heap of intrusive events in virtual time, ordered by (time, kind, sequence):
 * ties are defined, at one instant a smaller kind fires first, and within a kind the one scheduled first.
 *
 * An event is embedded in the object it belongs to (base of container_of) and is scheduled at most once at a
 * time. Firing unschedules it first, so the handler may schedule it again.
 */
#ifndef MC_DES_LOOP_H
#define MC_DES_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct mc_loop;

struct mc_event {
	void (*fire)(struct mc_loop *loop, struct mc_event *ev);
	uint32_t pos;  /* heap position + 1; 0: not scheduled */
	uint16_t kind; /* order among events of one instant */
};

struct mc_loop_node {
	mc_time at;
	uint64_t order; /* kind << 48 | sequence */
	struct mc_event *ev;
};

struct mc_loop {
	mc_time now;
	uint64_t sequence;
	uint64_t fired; /* events handled so far */
	struct mc_loop_node *heap;
	size_t n, cap;
	bool stop; /* set by a handler to leave mc_loop_run, which clears it on entry */
};

#define mc_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

void mc_loop_init(struct mc_loop *loop);
void mc_loop_fini(struct mc_loop *loop); /* events are the caller's */

static inline void mc_event_init(struct mc_event *ev, uint16_t kind,
				 void (*fire)(struct mc_loop *, struct mc_event *))
{
	ev->fire = fire;
	ev->pos = 0;
	ev->kind = kind;
}

static inline bool mc_event_pending(const struct mc_event *ev)
{
	return ev->pos != 0;
}

/* Schedule at time `at` >= now (asserted); a pending event is moved and gets a new sequence number. */
void mc_loop_at(struct mc_loop *loop, struct mc_event *ev, mc_time at);
void mc_loop_cancel(struct mc_loop *loop, struct mc_event *ev); /* no-op when not pending */
/* Time of a pending event. */
mc_time mc_loop_when(const struct mc_loop *loop, const struct mc_event *ev);

/* Fire events with time <= until, in order, or until loop->stop. Then now is the time of the last one fired.
 */
void mc_loop_run(struct mc_loop *loop, mc_time until);
/* Fire one event; false when none is left. */
bool mc_loop_step(struct mc_loop *loop);

#endif
