/*
 * Requests of a trace in columns. Times are relative to the trace's start after `start` was skipped, in arrival order.
 * Blocks: a prompt of `input` tokens has ceil(input / block_tokens) ids, the last one partial. Ids are prefix-chained
 * (equal id, equal whole prefix), 64 bit, sparse.
 */
#ifndef MC_TRACE_STORE_H
#define MC_TRACE_STORE_H

#include <stdint.h>

#include "base/time.h"

struct mc_trace {
	int64_t n;
	mc_time *arrival;
	uint32_t *input, *output; /* tokens */
	uint64_t *first;          /* n + 1 offsets into block */
	uint64_t *block;          /* ids */
	int64_t block_tokens;
	uint64_t fingerprint;     /* XXH3 of the columns as read, before rate, limit, start, spread, re-blocking */
	int64_t bad;              /* malformed records skipped (--max-bad) */
	size_t cap, block_cap;    /* allocation */
};

void mc_trace_init(struct mc_trace *t, int64_t block_tokens);
void mc_trace_fini(struct mc_trace *t);
/* Append a request; the ids are copied. */
void mc_trace_push(struct mc_trace *t, mc_time arrival, uint32_t input, uint32_t output, const uint64_t *ids,
		   size_t n_ids);

static inline uint64_t mc_trace_blocks(const struct mc_trace *t, int64_t i)
{
	return t->first[i + 1] - t->first[i];
}

#endif
