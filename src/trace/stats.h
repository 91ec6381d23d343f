/* What a trace is like: lengths, arrivals, and how much of its prompts a cache could give back. */
#ifndef MC_TRACE_STATS_H
#define MC_TRACE_STATS_H

#include "stat/summary.h"
#include "trace/number.h"

struct mc_trace_stats {
	int64_t requests, without_output;
	uint64_t input_tokens, output_tokens;
	struct mc_summary input, output; /* tokens a request */

	double duration_s;    /* first to last arrival */
	double rate;          /* requests a second of the duration; 0 when that is 0 */
	int64_t instants;     /* distinct arrival times: far fewer than requests when the clock ticks */
	int64_t instant_max;  /* requests at one of them, at most */
	double instant_gap_s; /* median gap between successive instants */
	double
	    gap_cv; /* standard deviation over mean of the gaps between requests; 1: Poisson, more: bursts */

	uint64_t references, distinct; /* blocks */
	/*
	 * An infinite cache, filled by every earlier request. A block hits if all blocks before it in its
	 * request hit, too; the last, partial block counts its real tokens. Three definitions of the ceiling
	 * are in use:
	 */
	uint64_t hit_blocks, hit_tokens;
	double by_block;         /* hit blocks / blocks */
	double by_token;         /* hit tokens / input tokens */
	double mean_of_requests; /* mean over requests of hit tokens / input tokens */
	int64_t full_hits;       /* requests whose whole prompt hits */
	/*
	 * The same where a later prompt goes on from an answer, and the answer's KV is kept for it (written
	 * back) before it comes. All 0 without turns.
	 */
	int64_t children, continued; /* requests that name a parent; answers that some later prompt holds
					whole blocks of */
	uint64_t kept_blocks, kept_tokens; /* hits with write-back */
	struct mc_summary age_s;           /* time since the block's previous use, of blocks used before */
};

void mc_trace_stats_compute(const struct mc_trace *t, const struct mc_trace_numbers *numbers,
			    struct mc_trace_stats *out);

struct mc_trace_hot {
	uint64_t id, uses;
	uint64_t position; /* in the prompt that used it first: 0 is the leading block */
};

/* The k most used blocks, most used first, of equals the one used first. Returns how many there are, at most
 * k. */
int64_t mc_trace_hottest(const struct mc_trace *t, const struct mc_trace_numbers *numbers, int64_t k,
			 struct mc_trace_hot *out);

#endif
