/*
 * Algorithm 1 of the paper, and the search for its minimum. The cost of an instance depends on its wait and
 * on how much of the prompt it holds, so the search looks at the few instances that hold a rare part of the
 * prompt, then walks the others in order of their wait until the bound on what they could reach is no better
 * than what was found. The scan over all instances is kept as the oracle: both choose alike, ties included
 * (least free_at, then the lowest number).
 */
#ifndef MC_SCHED_SEARCH_H
#define MC_SCHED_SEARCH_H

#include <stdbool.h>

#include "sched/policy.h"

/* The best resident match over all instances. */
struct mc_match {
	uint32_t blocks; /* m*: leading blocks that some instance holds, resident; 0: none */
	uint32_t source; /* the holder with the fewest running sends, then the lowest number; MC_NONE: none */
};

struct mc_search {
	bool fetch;       /* consider fetching from the best holder (global) or not (local) */
	double threshold; /* fetch when m* > m_i x threshold */
};

/* m* without its source. */
struct mc_match mc_search_best(const struct mc_view *view, const struct mc_prompt *prompt);
/* Fill in the source of a match with blocks > 0. */
void mc_search_source(const struct mc_view *view, const struct mc_prompt *prompt, struct mc_match *best);
/* The terms of Algorithm 1 at instance i, which holds `local` leading blocks. best->source is filled in when
 * it is needed. */
void mc_search_score(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		     struct mc_match *best, struct mc_score *io);

void mc_search_run(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		   struct mc_score *out);
/* The oracle: every instance, every block. */
void mc_search_scan(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		    struct mc_score *out);

/* The terms at an instance that was chosen without looking at the cache: what it holds is used, nothing is
 * fetched. */
void mc_search_here(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t i,
		    struct mc_score *out);

#endif
