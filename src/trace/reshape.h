/*
 * What is done to a trace after reading, in this order: start, limit, rate, spread_ticks, chaining,
 * re-blocking.
 */
#ifndef MC_TRACE_RESHAPE_H
#define MC_TRACE_RESHAPE_H

#include "trace/reader.h"

/* All of it. On an error the trace is in a state fit only for mc_trace_fini. */
int mc_trace_reshape(struct mc_trace *t, const struct mc_trace_params *params, struct mc_err *err);

/* Drop requests before `start` and count time from there; then keep the first `limit` (0: all). A request
 * whose parent is gone has none. */
int mc_trace_cut(struct mc_trace *t, mc_time start, int64_t limit, struct mc_err *err);
/* Divide the gaps between arrivals by rate > 0. */
int mc_trace_rate(struct mc_trace *t, double rate, struct mc_err *err);
/*
 * Requests of one instant are moved to sorted uniform draws over the gap to the next instant, one alone as
 * well: a clock that ticks hides the place of each. The last instant takes the gap before it; a single
 * instant stays.
 */
void mc_trace_spread(struct mc_trace *t, uint64_t seed);
/*
 * The same requests at other times: *out borrows every column of a trace that was read at rate 1 and not
 * spread but the arrivals, which become those that reading at the rate, spread_ticks and seed of `params`
 * gives. On an error it is empty. mc_trace_retime_fini frees what is its own.
 */
int mc_trace_retime(const struct mc_trace *t, const struct mc_trace_params *params, struct mc_trace *out,
		    struct mc_err *err);
void mc_trace_retime_fini(struct mc_trace *out);
/*
 * Ids that name their whole prefix, whatever they named before: each becomes a hash of it and of the chained
 * id before it. Of ids that were chained already this is only a renaming.
 */
void mc_trace_chain(struct mc_trace *t);
/*
 * Other blocks: of a divisor of block_tokens (part j of a block gets mc_hash_u64(id) + j) or of a multiple of
 * it (the id of the last constituent names the whole). Prefix-chaining survives both.
 */
int mc_trace_reblock(struct mc_trace *t, int64_t block_tokens, struct mc_err *err);

#endif
