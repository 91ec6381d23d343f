/*
 * A coupled node: prefill and decode on the same GPUs, as vLLM does it, iteration by iteration. Prompts wait
 * in order of dispatch; one starts when the blocks of all of it fit (engine/vram.h).
 *  - prefill-first (vLLM before chunked prefill): while prompts wait and fit, the next iteration computes
 *    prompts alone, as many as have max_batched_tokens new tokens together, or one that is longer; all
 * running requests stand still. Else a decode iteration.
 *  - chunked: each iteration makes a token for every running request, and the budget of max_batched_tokens
 *    that they leave computes slices of prompts, in order.
 * A running request takes a block when its tokens need one. When there is none, the newest request that holds
 * blocks is thrown out: its blocks are freed, it goes to the head of the queue, and prompt and answer so far
 * are computed again when it starts again, which also makes its next token (preemption by recomputation).
 *
 * With a pool, whole blocks of prompts that are there already when a prompt starts are not computed; they
 * need no load, since they are in VRAM. Blocks count as there from the start of the pass that computes them,
 * for prompts behind theirs in the same pass, too: it writes each layer's before it reads them.
 *
 * Engine time is shared out so that nothing counts twice: of an iteration, the running requests' part is what
 * they would have taken alone (a decode iteration), the rest is the prompts', in proportion to their slices.
 *
 * Iterations of an unchanged batch need no events, as in engine/decode.h; fast_forward = false steps.
 */
#ifndef MC_ENGINE_COUPLED_H
#define MC_ENGINE_COUPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "des/loop.h"
#include "engine/segment.h"
#include "engine/tbt.h"
#include "engine/vram.h"
#include "model/cost.h"
#include "model/mixed.h"

struct mc_coupled;

/* A time in the batch, or before it an interval that lies in no segment. */
struct mc_stay {
	mc_time first;   /* the first interval of it */
	size_t from, to; /* segments, the first iteration of which is `first`; from = to: none */
};

/* One request, embedded in its owner; the caller fills the first part. */
struct mc_coupled_job {
	uint32_t tokens, output; /* prompt; to make, >= 1. tokens + output - 1 <= mc_vram_most */
	const uint64_t *block;   /* ids of the prompt's whole blocks, where there is a pool; borrowed */
	uint32_t n_blocks;
	mc_time expected; /* predicted engine time of its prefill, for the wait of those behind */
	bool counted;     /* for the metrics */
	/* set by the node */
	mc_time start;     /* of its prefill, the first time; -1 before */
	uint32_t cached;   /* tokens that were there then */
	double compute_s;  /* engine time up to its first token */
	uint32_t made;     /* tokens, but for those of the batch that it is in */
	uint32_t goal;     /* started: tokens that its prefill makes KV of */
	uint32_t hit;      /* blocks of them that were there when it started (again) */
	uint32_t done;     /* tokens of them that have KV */
	uint32_t slice;    /* that the pass under way computes */
	uint32_t lost;     /* thrown out: tokens that had KV */
	mc_time last;      /* its latest token, but for those of the batch that it is in */
	uint64_t leave_at; /* number of iterations of the node after which it leaves the batch */
	uint64_t grow_at;  /* before which it needs another block */
	struct mc_vram_hold hold;
	struct mc_stay stay; /* in the batch */
	struct {
		MC_VEC(struct mc_stay)
	} stays; /* before it was thrown out; freed by the node */
	struct mc_coupled *at;
	struct mc_coupled_job *prev, *next; /* in its list */
};

struct mc_coupled_ops {
	void (*started)(void *arg, struct mc_coupled_job *job); /* its prefill, for the first time */
	void (*first)(void *arg, struct mc_coupled_job *job);   /* now its first token exists */
	/* Now the last one does (after `first`, where there is only one); its blocks are free. */
	void (*finished)(void *arg, struct mc_coupled_job *job);
	void (*changed)(void *arg, struct mc_coupled *node); /* mc_coupled_free_at may be another */
	void *arg;
};

struct mc_coupled_params {
	bool chunked;
	int64_t max_batch; /* running requests; 0: no limit but max_batched_tokens */
	int64_t
	    max_batched_tokens; /* >= 1; also the most requests that run, as each has a token in an iteration
				 */
	bool fast_forward;
};

struct mc_coupled_list {
	struct mc_coupled_job *head, *tail;
	uint32_t n;
};

struct mc_coupled {
	struct mc_loop *loop;
	const struct mc_cost *cost;
	struct mc_coupled_ops ops;
	struct mc_coupled_params params;
	struct mc_vram vram;
	struct mc_coupled_list waiting; /* to start; those that were thrown out first */
	struct mc_coupled_list partial; /* started, their prefill not done; in order of starting */
	struct {
		MC_VEC(struct mc_coupled_job *)
	} batch;                /* in order of joining */
	uint32_t batch_counted; /* members that count */
	uint32_t newcomers;     /* members (the last ones) that have made no token in it */
	mc_time expected_wait;  /* sum of `expected` of the waiting */
	mc_time last_prefill;   /* end of the last pass with prompts; -1: none */
	/* a pass with prompts */
	bool pass;
	mc_time pass_start, pass_end;
	mc_time pass_decode; /* the running requests' part of it; 0: they stand still */
	struct mc_slices pass_slices;
	/* the open segment */
	mc_time lead;          /* before it */
	mc_time segment_start; /* of its first decode iteration */
	int64_t context;       /* of the batch, then */
	uint32_t cursor;       /* iterations up to a known boundary */
	mc_time cursor_time;   /* that boundary */
	uint64_t iterations;   /* of all closed segments */
	uint64_t next_leave;   /* number of iterations after which the first member leaves */
	struct mc_event step;
	/* what is left behind */
	struct mc_segments segments;
	struct mc_intervals intervals; /* of counted requests, that lie in no segment */
	mc_time prefill_busy, decode_busy;
	double redo_s;        /* of prefill_busy: for requests that had their first token */
	uint64_t preemptions; /* requests thrown out, each time */
	uint64_t recomputed;  /* tokens computed again for them */
	uint64_t resumed;     /* tokens that were made by that */
	struct mc_tbt tbt;
};

/* Loop, cost, pool (NULL: nothing is cached) and ops->arg are borrowed; vram as mc_vram_init left it. */
void mc_coupled_init(struct mc_coupled *n, struct mc_loop *loop, const struct mc_cost *cost,
		     const struct mc_coupled_params *params, const struct mc_coupled_ops *ops);
void mc_coupled_set_vram(struct mc_coupled *n, const struct mc_vram *vram);
void mc_coupled_fini(struct mc_coupled *n);
void mc_coupled_submit(struct mc_coupled *n, struct mc_coupled_job *job);
/* For a run that is cut off now: the decode run is closed at its last boundary, of a pass the share that has
 * gone by counts as prefill. */
void mc_coupled_stop(struct mc_coupled *n);
/* When it expects to be done with all prompts that it was given, if prompts alone took its time: what T_queue
 * is counted from. In the past when there are none. */
mc_time mc_coupled_free_at(const struct mc_coupled *n);
/* TBT of a job that has just finished, of two tokens or more. */
mc_time mc_coupled_tbt(struct mc_coupled *n, const struct mc_coupled_job *job);
/* Invariants from scratch: what is broken, or NULL. */
const char *mc_coupled_check(const struct mc_coupled *n);

#endif
