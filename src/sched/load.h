/*
 * Load, as the report's section 7 has it: predicted TTFT or TBT over its objective. 1 is full. What decode
 * instances run out of before TBT suffers is memory for KV, or slots of a batch: they count alike.
 */
#ifndef MC_SCHED_LOAD_H
#define MC_SCHED_LOAD_H

#include "sched/policy.h"
#include "sched/tally.h"

/* Of prefill, for a request at the place that was chosen for it: its TTFT, waits since its arrival included,
 * over its objective; 0 without one. */
double mc_load_ttft(const struct mc_view *view, const struct mc_prompt *prompt,
		    const struct mc_score *placed);
/* Of a decode instance with these requests: the largest of time of an iteration over an objective of TBT (0:
 * none), of KV over memory for it, and of the batch over its limit. */
double mc_load_decode(const struct mc_view *view, const struct mc_tally_sum *requests, mc_time tbt);
/* Those that it has now: with all their KV, or (kv) with room or waiting for it. */
struct mc_tally_sum mc_load_running(const struct mc_view *view, uint32_t decode);

/* Of a pool, for people: mean over its living instances of wait over the objective, of mc_load_decode. O(n).
 */
double mc_load_prefill_pool(const struct mc_view *view, mc_time ttft);
double mc_load_decode_pool(const struct mc_view *view, mc_time tbt);

#endif
