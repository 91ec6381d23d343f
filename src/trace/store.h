/*
 * Requests of a trace in columns, in arrival order. Times count from the first record of the trace plus the
 * `start` that was skipped. Blocks: a prompt of `input` tokens has ceil(input / block_tokens) ids, the last
 * one partial. Ids are prefix-chained (equal id, equal whole prefix), 64 bit, sparse.
 */
#ifndef MC_TRACE_STORE_H
#define MC_TRACE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct mc_trace {
	int64_t n;
	mc_time *arrival;
	uint32_t *input, *output; /* tokens; input >= 1; output 0: only the prompt is processed */
	uint64_t *first;          /* n + 1 offsets into block */
	uint64_t *block;          /* ids */
	int64_t *parent; /* the request whose prompt and answer this prompt goes on from, an earlier one; -1:
			    none. NULL: no request has one */
	int64_t block_tokens;
	int64_t
	    id_tokens; /* of a block of the ids as read: larger where ids of smaller blocks were derived */
	uint64_t
	    fingerprint; /* XXH3 of the columns as read, before rate, limit, start, spread, re-blocking */
	int64_t bad;     /* malformed records skipped (--max-bad) */
	size_t cap, block_cap; /* allocation */
};

void mc_trace_init(struct mc_trace *t, int64_t block_tokens);
void mc_trace_fini(struct mc_trace *t);
/* Append a request of input >= 1 tokens; its ceil(input / block_tokens) ids are copied. */
void mc_trace_push(struct mc_trace *t, mc_time arrival, uint32_t input, uint32_t output, const uint64_t *ids);

/* The last request's parent, 0 <= parent < n - 1. */
void mc_trace_set_parent(struct mc_trace *t, int64_t parent);

/* XXH3 (64 bits) of the columns as they are, in this machine's byte order, and of n and block_tokens. */
uint64_t mc_trace_hash(const struct mc_trace *t);

static inline uint64_t mc_trace_blocks(const struct mc_trace *t, int64_t i)
{
	return t->first[i + 1] - t->first[i];
}

#endif
