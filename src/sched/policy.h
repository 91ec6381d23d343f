/*
 * Scheduling policies: which prefill instance, and where cached blocks come from. One policy a file in
 * policy/, one line in local.mk. A policy reads the view and the prompt and fills a placement.
 */
#ifndef MC_SCHED_POLICY_H
#define MC_SCHED_POLICY_H

#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/view.h"

/* Blocks from .. to-1 of a prompt, read from one node's pool: DRAM, or SSD (mc_view_ssd). */
struct mc_part {
	uint32_t node; /* in the tree */
	uint32_t from, to;
};

#define MC_PARTS 3 /* its own SSD, another node's DRAM, another node's SSD */

/* What placing a prompt at one instance would mean: the terms of Algorithm 1. */
struct mc_score {
	uint32_t prefill;                        /* instance */
	uint32_t local;                          /* leading blocks that its DRAM holds */
	uint32_t ssd;                            /* leading blocks that its SSD holds; 0 without one */
	uint32_t hit;                            /* leading blocks that need no computing */
	uint32_t n_parts;                        /* 0: hit is local */
	struct mc_part part[MC_PARTS];           /* blocks local .. hit-1, in order; moved side by side */
	mc_time queue, transfer, compute, total; /* T_queue, T_transfer (of the slowest part), T_prefill and
						    their sum */
	mc_time cost; /* what the search compared: total, and the burden on others (sched/search.h) */
};

struct mc_policy_params {
	double balancing_threshold; /* kvcache_balancing_threshold, >= 1 */
	uint64_t seed;
};

struct mc_policy {
	const char *name;
	const char *help;               /* one line */
	bool uses_threshold, uses_seed; /* settings that it reads, so that a run can list the ignored ones */
	/* State of one Conductor; NULL when none is needed. */
	void *(*create)(const struct mc_policy_params *params);
	void (*destroy)(void *state);
	/* Choose one that is not down; there is one. */
	void (*place)(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		      struct mc_score *out);
	bool fetches; /* may name a source; without a threshold it prices both branches: used when a choice is
			 explained */
};

/* Sorted by name, NULL-terminated. */
extern const struct mc_policy *const mc_policies[];
extern const char *const mc_policies_names[]; /* the same, names alone */
const struct mc_policy *mc_policy_find(const char *name);

/* Placement of decode: which instance gets the request when its prefill is done. */
struct mc_decode_policy {
	const char *name;
	const char *help;
	bool uses_seed;
	void *(*create)(const struct mc_policy_params *params);
	void (*destroy)(void *state);
	/* One that is not down; there is one. */
	uint32_t (*place)(void *state, const struct mc_view *view, const struct mc_prompt *prompt);
};

extern const struct mc_decode_policy *const mc_decode_policies[];
extern const char *const mc_decode_policies_names[]; /* the same, names alone */
const struct mc_decode_policy *mc_decode_policy_find(const char *name);

#endif
