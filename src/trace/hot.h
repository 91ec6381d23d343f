/* The n-th hottest blocks of a trace, each with the place of its first appearance. */
#ifndef MC_TRACE_HOT_H
#define MC_TRACE_HOT_H

#include "trace/store.h"

struct mc_trace_ranked {
	uint64_t rank;     /* from 1: by references in the whole trace, most first, of equals the one that
			      appears first */
	uint64_t uses;     /* references */
	int64_t request;   /* that names it first ... */
	uint64_t position; /* ... as this block of its prompt, from 0 */
};

/* The blocks of these n ranks, ascending. Returns how many of them there are: later ones are beyond the
 * distinct blocks. A count over the whole trace; O(references). */
uint32_t mc_trace_ranks(const struct mc_trace *t, const uint64_t *rank, uint32_t n,
			struct mc_trace_ranked *out);

#endif
