/* Dense numbers for the sparse 64-bit block ids of a trace, so that statistics can use arrays. */
#ifndef MC_TRACE_NUMBER_H
#define MC_TRACE_NUMBER_H

#include "trace/store.h"

/*
 * number[i]: the place of t->block[i] among the distinct ids, in order of first appearance. There are
 * first[n] numbers; free() them. *distinct is how many ids there are (below 2^32, asserted).
 */
uint32_t *mc_trace_number(const struct mc_trace *t, uint32_t *distinct);

#endif
