/*
 * The explicit replication policy: blocks above a heat are kept on k prefill instances, beside what Algorithm
 * 1 copies as a side effect. It reads the view and returns actions; carrying them out is the composition
 * root's part, in virtual or in real time.
 *
 * A unit is a run of the prefix tree, with all that is before it in its prompt. Heat counts the prompts that
 * found the run, halved at every tick; when a run is split both parts keep it. Hot: heat at or above a limit,
 * and the run is to be on k living instances. Cold: below half of it; copies beyond k of what is cold go.
 */
#ifndef MC_SCHED_REPLICATE_H
#define MC_SCHED_REPLICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "sched/view.h"

struct mc_replicate {
	uint32_t replicas;  /* k >= 1 */
	uint32_t heat;      /* >= 1 */
	uint32_t transfers; /* copies under way at most */
	uint32_t tick;      /* now, the unit of decay: as it is given to mc_tree_touch */
};

/* A copy under way: of the chain that ends in this block. */
struct mc_replica_move {
	uint64_t last;
	uint32_t to;
};

struct mc_replica_moves {
	MC_VEC(struct mc_replica_move)
};

struct mc_replica_action {
	bool drop;
	uint32_t run; /* with all before it; a drop is of the run alone, if nothing is chained to it there */
	uint32_t from, to; /* nodes; a copy goes from one to the other, a drop is at `to` */
};

struct mc_replica_actions {
	MC_VEC(struct mc_replica_action)
};

/*
 * What to do now, appended to *out. Copies first, those of the hottest runs first, of equal ones the longest
 * chain: it brings those before it along. From the holder with the fewest running sends; to the living
 * instance, without the run, that lacks the fewest blocks of the chain, of equals the one that is free first;
 * ties by number. Then drops, the coldest first, of equal ones the deepest; at the instance that is free
 * last. A drop may turn out impossible (leased, or longer prompts hang on it), and is then left out by who
 * carries it out.
 */
void mc_replicate_plan(const struct mc_replicate *p, const struct mc_view *view,
		       const struct mc_replica_moves *under_way, struct mc_replica_actions *out);

#endif
