/*
 * What a second of a prefill instance's time costs others. Least TTFT is a greedy choice: when one instance
 * is idle it computes a prefix there that others have, though it is all the same to the prompt, and those
 * behind it wait for it. A second spent now is waited for by whoever is behind: at an instance with a wait of
 * Q those are Q / E prompts, where E is the mean engine time of a prompt. So a second costs mean Q / E
 * seconds, and nothing where nobody waits. There is nothing to set.
 */
#ifndef MC_SCHED_BURDEN_H
#define MC_SCHED_BURDEN_H

#include "sched/policy.h"

/* Engine time of prompts lately. Zero at first. */
struct mc_burden {
	uint64_t n;
	double mean_s;
};

/* How prefill instances stand, the living ones. */
struct mc_waits {
	double mean_s;    /* T_queue */
	uint32_t open;    /* have a wait of at most what was asked for */
	uint32_t longest; /* the one with the longest, late prompts included; the lowest of equals */
};

/* A look at all of them: O(instances), a few instructions each. There is one. */
struct mc_waits mc_burden_look(const struct mc_view *view, mc_time open);
/* Seconds that one costs; dimensionless. */
double mc_burden_weight(const struct mc_burden *b, const struct mc_waits *waits);
/* A prompt was placed. */
void mc_burden_note(struct mc_burden *b, const struct mc_view *view, const struct mc_prompt *prompt,
		    const struct mc_score *placed);

#endif
