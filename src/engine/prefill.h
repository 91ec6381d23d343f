/*
 * A prefill instance: one node, or a group of X nodes that run a prompt's chunks through a pipeline (chunked
 * pipeline parallelism; paper, section 5.1). Prompts are served one after the other (engine/queue.h). A node
 * loads the cached prefix from its DRAM, as the cost model says. Blocks still on their way from another node
 * overlap with computing layer by layer: the first chunk needs them all, its last layer's share after they
 * have arrived.
 */
#ifndef MC_ENGINE_PREFILL_H
#define MC_ENGINE_PREFILL_H

#include <stdbool.h>
#include <stdint.h>

#include "des/loop.h"
#include "engine/queue.h"
#include "model/cost.h"

struct mc_prefill;

/* One prompt, embedded in its request; the caller fills the first part. */
struct mc_prefill_job {
	uint32_t tokens, cached; /* n, and how many of them need no computing */
	bool fetching;           /* blocks are still on their way */
	mc_time expected;        /* predicted occupancy of the first stage, for the wait of those behind */
	/* Where prompts are served by deadline: predicted from its start to its first token; when that should
	 * exist at the latest, MC_TIME_MAX: never mind. */
	mc_time takes, deadline;
	/* set by the instance */
	bool unfetched;
	mc_time start;      /* it reached the head of the queue and the first stage was free */
	mc_time end;        /* the first token exists */
	mc_time fetch_wait; /* of end - start: standing still for blocks */
	double compute_s, load_s;
	int64_t stage_bytes; /* group: activations over all its stage boundaries */
	struct mc_event done;
	struct mc_prefill *at;
	struct mc_prefill_job *prev, *next;
};

struct mc_prefill_ops {
	/* It starts to compute: what is cached may have changed since its dispatch (job->cached is the
	 * caller's to set once more). NULL: it has not. */
	void (*starting)(void *arg, struct mc_prefill_job *job);
	/* The end is known (job->end): before it, when the job starts, or when its last block arrives. */
	void (*launched)(void *arg, struct mc_prefill_job *job);
	/* Now is job->end. The job is not touched any more. */
	void (*finished)(void *arg, struct mc_prefill_job *job);
	void *arg;
};

struct mc_prefill {
	struct mc_loop *loop;
	const struct mc_cost *cost;
	struct mc_prefill_ops ops;
	uint32_t group;
	int64_t chunk;
	struct mc_prefill_queue queue;       /* waiting */
	struct mc_prefill_job *first, *last; /* whose end is known and has not come; in order of it */
	struct mc_prefill_job *current;      /* in the first stage, or standing still before it */
	double *stage_free;                  /* group: when each stage has done its last chunk, s */
	struct mc_event free;                /* the first stage is free again */
	mc_time current_free; /* when the first stage will be free of `current`, as known or predicted */
	mc_time busy;         /* engine time of finished prompts, node-ns */
	int64_t stage_bytes;  /* of finished prompts */
	uint32_t running;     /* prompts that started and did not finish */
	bool halted;
};

/* Loop, cost and ops->arg are borrowed. group >= 1 nodes, chunk >= 1 tokens. */
void mc_prefill_init(struct mc_prefill *p, struct mc_loop *loop, const struct mc_cost *cost,
		     const struct mc_prefill_ops *ops);
/* Before the first job, where an instance is more than one node. */
void mc_prefill_set_group(struct mc_prefill *p, uint32_t group, int64_t chunk);
/* The same, where prompts are not served in order of dispatch; late_share >= 0. */
void mc_prefill_set_order(struct mc_prefill *p, enum mc_prefill_order order, double late_share);
void mc_prefill_fini(struct mc_prefill *p);

void mc_prefill_submit(struct mc_prefill *p, struct mc_prefill_job *job);
/* The job's last block has arrived: job->fetching was true. */
void mc_prefill_fetched(struct mc_prefill *p, struct mc_prefill_job *job);
/* They will not arrive. The owner has lowered job->cached to what is there, and the rest is computed: nothing
 * of it was done while the job stood still. */
void mc_prefill_unfetched(struct mc_prefill *p, struct mc_prefill_job *job);
/* Count what was computed of the prompts that run, for a run that is cut off now: each evenly over its time.
 */
void mc_prefill_stop(struct mc_prefill *p);
/* The instance is lost: what it computed is counted (as mc_prefill_stop), nothing starts or ends any more.
 * Until it is cleared it takes jobs and keeps them waiting, as from those who do not know it yet. */
void mc_prefill_halt(struct mc_prefill *p);
/* Take all its jobs, halting it where that was not done: in order of service, chained by next. Then it is
 * as new, but for what it counted, and idle since now. */
struct mc_prefill_job *mc_prefill_clear(struct mc_prefill *p);
/* When the instance expects to be free of all that it was given and is not late: what T_queue is counted
 * from. In the past when idle. */
mc_time mc_prefill_free_at(const struct mc_prefill *p);
/* Expected time of what is late: behind that, more or less. */
mc_time mc_prefill_late(const struct mc_prefill *p);

#endif
