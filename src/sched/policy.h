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

/* What placing a prompt at one instance would mean: the terms of Algorithm 1. */
struct mc_score {
	uint32_t prefill; /* instance */
	uint32_t local;   /* leading blocks that it holds */
	uint32_t
	    hit; /* leading blocks that it will hold when prefill starts: local, or all that the source has */
	uint32_t source; /* instance that sends blocks local .. hit-1; MC_NONE: no fetch */
	mc_time queue, transfer, compute, total; /* T_queue, T_transfer, T_prefill and their sum */
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
	/* Choose. */
	void (*place)(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		      struct mc_score *out);
	bool fetches; /* may name a source: used when a choice is explained */
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
	uint32_t (*place)(void *state, const struct mc_view *view, const struct mc_prompt *prompt);
};

extern const struct mc_decode_policy *const mc_decode_policies[];
extern const char *const mc_decode_policies_names[]; /* the same, names alone */
const struct mc_decode_policy *mc_decode_policy_find(const char *name);

#endif
