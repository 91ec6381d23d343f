/* Dense numbers for the sparse 64-bit block ids of a trace, so that statistics can use arrays. */
#ifndef MC_TRACE_NUMBER_H
#define MC_TRACE_NUMBER_H

#include "trace/store.h"

struct mc_trace_numbers {
	uint32_t
	    *of; /* of[i]: the place of t->block[i] among the distinct ids, in order of first appearance */
	uint32_t distinct; /* ids (below 2^32, asserted) */
};

void mc_trace_numbers_init(struct mc_trace_numbers *numbers, const struct mc_trace *t);
void mc_trace_numbers_fini(struct mc_trace_numbers *numbers);

#endif
