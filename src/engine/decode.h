/*
 * A decode node: continuous batching. KV arrives in the node's DRAM and is loaded to VRAM asynchronously,
 * beside running iterations and layer by layer behind the arriving bytes; once it is all there the request
 * joins the batch at the next iteration boundary. It leaves with its last token. VRAM is reserved for the
 * whole length when the KV begins to arrive (as an engine does that is told max_tokens), so that a running
 * request is never thrown out; requests without room wait in order.
 *
 * Iterations of an unchanged batch need no events of their own: the node knows when the batch will change,
 * and works out the boundary when something comes earlier. Each iteration's time is rounded on its own, so
 * the result is exactly that of stepping one by one (fast_forward = false).
 */
#ifndef MC_ENGINE_DECODE_H
#define MC_ENGINE_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "des/loop.h"
#include "engine/tbt.h"
#include "model/cost.h"

struct mc_decode;

/* One request, embedded in its owner; the caller fills the first part. */
struct mc_decode_job {
	uint32_t context;   /* prompt tokens: their KV has arrived */
	uint32_t remaining; /* tokens still to make, >= 1 */
	bool counted;       /* for the metrics */
	/* set by the node */
	mc_time admitted;  /* VRAM is reserved: its load may begin; -1 before */
	mc_time arrived;   /* all KV is in the node's DRAM; -1 before */
	mc_time first;     /* end of its first iteration; -1 before */
	uint64_t leave_at; /* number of iterations of the node after which it leaves */
	size_t first_segment;
	uint32_t made; /* once it was handed back: tokens that it made here and that are lost */
	struct mc_event loaded;
	struct mc_decode *at;
	struct mc_decode_job *prev, *next; /* in its list */
};

struct mc_decode_ops {
	/* Now the job's last token exists. Its intervals: (first - arrived), then those of segments
	 * first_segment .. last. */
	void (*finished)(void *arg, struct mc_decode_job *job);
	void *arg;
};

struct mc_decode_params {
	int64_t kv_tokens; /* VRAM */
	int64_t max_batch; /* 0: no limit */
	bool fast_forward;
};

struct mc_decode_list {
	struct mc_decode_job *head, *tail;
	uint32_t n;
};

struct mc_decode {
	struct mc_loop *loop;
	const struct mc_cost *cost;
	struct mc_decode_ops ops;
	struct mc_decode_params params;
	struct mc_decode_list waiting; /* for room in VRAM, announced or arrived */
	struct mc_decode_list coming;  /* room reserved, not ready: KV is arriving or loading */
	struct mc_decode_list ready;   /* loaded, not in the batch yet */
	struct {
		MC_VEC(struct mc_decode_job *)
	} batch;                  /* in order of joining */
	uint32_t waiting_arrived; /* of the waiting: all KV is here */
	uint32_t arriving;        /* room reserved, KV not all here */
	uint32_t loading;         /* all KV here, the load not done */
	uint32_t batch_counted;   /* members that count */
	uint32_t newcomers;       /* members (the last ones) that joined at the start of the open segment */
	int64_t reserved;         /* VRAM tokens of batch, ready and loading requests */
	mc_time load_free;        /* when the host-to-device link could have done the loads so far */
	/* the open segment */
	mc_time segment_start;
	int64_t context;     /* of the batch at segment_start */
	uint32_t cursor;     /* iterations up to a known boundary */
	mc_time cursor_time; /* that boundary */
	uint64_t iterations; /* of all closed segments */
	uint64_t next_leave; /* number of iterations after which the first member leaves */
	struct mc_event step;
	bool halted;
	/* what is left behind */
	struct mc_segments segments;
	struct mc_intervals first_intervals; /* of counted requests */
	mc_time busy;                        /* time in iterations of closed segments */
	struct mc_tbt tbt;                   /* scratch of one TBT */
};

void mc_decode_init(struct mc_decode *d, struct mc_loop *loop, const struct mc_cost *cost,
		    const struct mc_decode_params *params, const struct mc_decode_ops *ops);
void mc_decode_fini(struct mc_decode *d);
/* KV of the job begins to arrive. context + remaining <= kv_tokens (asserted: the Conductor refuses what
 * never fits). */
void mc_decode_announce(struct mc_decode *d, struct mc_decode_job *job);
/* All KV of an announced job is in DRAM now. */
void mc_decode_arrive(struct mc_decode *d, struct mc_decode_job *job);
/* The KV of an announced job will not arrive: the job is the owner's again. */
void mc_decode_withdraw(struct mc_decode *d, struct mc_decode_job *job);
/* Time of an iteration once the job, announced and here, runs with all that run now or are loaded before it.
 * MC_TIME_MAX: it would have to wait, for room in VRAM or in the batch. */
mc_time mc_decode_forecast(struct mc_decode *d, const struct mc_decode_job *job);
/* Requests with all their KV at the node that are not in the batch. */
static inline uint32_t mc_decode_waiting(const struct mc_decode *d)
{
	return d->waiting_arrived + d->loading + d->ready.n;
}
/* Close the running segment at the last boundary before now, for a run that is cut off. */
void mc_decode_stop(struct mc_decode *d);
/* The node is lost: its running segment is closed as by mc_decode_stop, nothing begins or ends any more.
 * Until it is cleared it takes announcements, as from those who do not know it yet. */
void mc_decode_halt(struct mc_decode *d);
/* Take all its jobs, halting it where that was not done: the batch in order of joining, then the ready, those
 * with room, and the waiting, chained by next. What they made is in `made`. Then the node is as new, but for
 * what it leaves behind. */
struct mc_decode_job *mc_decode_clear(struct mc_decode *d);

/* TBT of a job that has just finished: mean of the longest ceil(10 %) of its `remaining` token intervals. */
mc_time mc_decode_tbt(struct mc_decode *d, const struct mc_decode_job *job);

#endif
