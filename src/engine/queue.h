/*
 * The prompts that wait at a prefill instance, and which of them is next.
 *
 * fifo: in order of dispatch. deadline: in order of their deadlines, those that can be in time; when not all
 * can, the fewest are given up (Moore, "An n job, one machine sequencing algorithm for minimizing the number
 * of late jobs", Management Science 15, 1968: in order of deadlines, at the first that would be late the
 * longest so far goes). What is given up, or has no deadline, is late: served when none waits that can be in
 * time, and by a share of the instance's time, so that it is not starved. No prompt is interrupted.
 */
#ifndef MC_ENGINE_QUEUE_H
#define MC_ENGINE_QUEUE_H

#include <stdint.h>

#include "base/time.h"

struct mc_prefill_job;

enum mc_prefill_order {
	MC_PREFILL_FIFO,
	MC_PREFILL_DEADLINE,
};

/* "fifo", "deadline"; NULL-terminated, by number. */
extern const char *const mc_prefill_orders[];

/* In order of service. */
struct mc_prefill_list {
	struct mc_prefill_job *head, *tail;
	struct mc_prefill_job *dated; /* in order of deadlines: the last that has one */
	mc_time expected;             /* sum of theirs */
};

/* All zero, or with these two set: empty. */
struct mc_prefill_queue {
	enum mc_prefill_order order;
	double late_share; /* of the time of prompts in time, that those that are late get beside them, at
			      least */
	struct mc_prefill_list ready, late; /* fifo: all are ready */
	double credit;                      /* of the late ones, ns */
	uint32_t n;                         /* of both */
};

/* `from`: when the instance will be free for the first of them, as known or predicted. */
void mc_prefill_queue_push(struct mc_prefill_queue *q, struct mc_prefill_job *job, mc_time from);
/* The next one, to start now; NULL: none waits. */
struct mc_prefill_job *mc_prefill_queue_pop(struct mc_prefill_queue *q, mc_time now);
/* All of them, chained by next, in order of service. */
struct mc_prefill_job *mc_prefill_queue_clear(struct mc_prefill_queue *q);

#endif
