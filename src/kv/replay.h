/*
 * What one pool would have given back of a trace: its requests one after the other, each looked up whole,
 * then leased, computed and released at once. No time passes, and no two requests overlap.
 */
#ifndef MC_KV_REPLAY_H
#define MC_KV_REPLAY_H

#include "kv/evict.h"
#include "trace/store.h"

struct mc_replay {
	uint64_t hit_blocks, hit_tokens; /* leading blocks found; the last, partial one counts its tokens */
	uint64_t evicted_blocks;
	uint64_t unstored_blocks; /* of prompts longer than the pool */
};

/* Ids must be chained to their prefix, as for every pool. 1 <= capacity < 2^31 blocks. */
void mc_replay_run(const struct mc_trace *t, const struct mc_evictor *evictor, uint32_t capacity,
		   struct mc_replay *out);

#endif
