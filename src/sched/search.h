/*
 * Algorithm 1 of the paper, and the search for its minimum. The cost of an instance depends on its wait and
 * on how much of the prompt it holds, so the search looks at the few instances that hold a rare part of the
 * prompt, then walks the others in order of their wait until the bound on what they could reach is no better
 * than what was found. The scan over all instances is kept as the oracle: both choose alike, ties included
 * (least free_at, then the lowest number).
 *
 * What is minimised is the placement's total, as in the paper, and for policies of our own also the time that
 * it takes of an instance (computing, and standing still for blocks), times what that costs others.
 */
#ifndef MC_SCHED_SEARCH_H
#define MC_SCHED_SEARCH_H

#include <stdbool.h>

#include "sched/policy.h"

/* The best resident match over all nodes that may be fetched from. */
struct mc_match {
	uint32_t blocks; /* leading blocks that some node has; 0: none */
	uint32_t source; /* who has them and would send (read) them fastest, then the lowest number; MC_NONE:
			    not looked for yet */
};

/* m* by tier. */
struct mc_found {
	struct mc_match dram, ssd;
};

struct mc_search {
	bool fetch;       /* consider fetching from the best holder (global) or not (local) */
	double threshold; /* fetch when m* > m_i x threshold */
	bool priced;      /* price both branches at every instance, and take the cheaper: threshold is 1 */
	double burden;    /* what a second of an instance's time costs others, in seconds; 0: Algorithm 1 */
};

/* What may be fetched of a prompt, without the sources. Nothing where the view has none. */
struct mc_found mc_search_best(const struct mc_view *view, const struct mc_prompt *prompt);
/* Nodes that may be fetched from have numbers below this. */
uint32_t mc_search_sources(const struct mc_view *view);
/* How fast a node of the tree would give what it has, to compare it with others of its tier. */
double mc_search_speed(const struct mc_view *view, uint32_t node);
/* Leading blocks that instance i's SSD has. */
uint32_t mc_search_ssd(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t i);
/*
 * The terms of Algorithm 1 at io->prefill, which holds io->local leading blocks in DRAM and io->ssd on its
 * SSD. With SSDs there are up to four ways: m_i with and without its own SSD, m* with and without other
 * nodes' SSDs; the one with the least cost is taken, and each is Algorithm 1 as it stands. Sources are
 * filled in when they are needed.
 */
void mc_search_score(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
		     struct mc_found *best, struct mc_score *io);
/* A lower bound of cost less the wait at any instance that holds at most `local` blocks in any tier. The
 * source in DRAM is filled in when it is needed. */
mc_time mc_search_bound(const struct mc_search *s, const struct mc_view *view, const struct mc_prompt *prompt,
			struct mc_found *best, uint32_t local);

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
