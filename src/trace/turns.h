/*
 * Turns of conversations: which later prompt goes on from a request's prompt and answer. That prompt's ids
 * name the blocks which the answer filled, so KV that was made while decoding can be found again.
 */
#ifndef MC_TRACE_TURNS_H
#define MC_TRACE_TURNS_H

#include "trace/store.h"

struct mc_trace_turn {
	int64_t next; /* the later request whose ids name the blocks; -1: no such blocks */
	uint32_t from,
	    to; /* of its blocks, [from, to) hold this request's KV when its last token exists, and
		   have no other name: this prompt's ids end with `from`, or name a partial block */
};

/*
 * By request, n of them, or NULL when no request has a parent; free(). Of a request's children the first
 * counts, and only if its prompt begins with the whole prompt and answer: it is as long, and names the
 * prompt's whole blocks. The last token of an answer has no KV: nothing was computed from it.
 */
struct mc_trace_turn *mc_trace_turns(const struct mc_trace *t);

#endif
