/*
 * The prefix index over all nodes: a radix tree of block ids. An id names its whole prefix, so all prompts
 * form one tree; a run is a stretch of it along which no prompt has diverged and no lease has ended, and a
 * node's copy of a run is its leading part (a pool holds a block only together with all blocks before it, and
 * evicts from the tail). What a prompt costs is a few runs, however small the blocks are; memory follows what
 * the pools hold, not the length of the trace.
 */
#ifndef MC_KV_TREE_H
#define MC_KV_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kv/evict.h"

struct mc_tree;

/* One node's copy of the leading `held` blocks of a run. */
struct mc_copy {
	uint32_t node;
	uint32_t entry; /* in that node's pool */
	uint32_t
	    held; /* >= 1; resident or promised (to be computed or received: count on their own node only) */
	uint32_t resident; /* of those, the leading ones that are there; 0 .. held */
};

/* A part of a prompt's way through the tree. */
struct mc_step {
	uint32_t run;
	uint32_t end; /* leading blocks of the prompt that are named up to here: to the run's end, or to where
			 they differ */
};

/* Nodes come in groups, by number, for questions about some of them alone. */
#define MC_TREE_GROUPS 3

struct mc_tree *mc_tree_new(void); /* all nodes are in group 0 */
/* Before the first pool: nodes from `second` on are in group 1, those from `third` on in group 2. */
void mc_tree_groups(struct mc_tree *t, uint32_t second, uint32_t third);
void mc_tree_free(struct mc_tree *t); /* after its pools; NULL is fine */

/*
 * The prompt's way: steps as long as runs go on with its ids, at most n; returns how many. step has room for
 * n. Nobody holds more than the last step's end (0 steps: nothing). Valid until the next change of any pool.
 */
uint32_t mc_tree_trail(const struct mc_tree *t, const uint64_t *id, uint32_t n, struct mc_step *step);
/* Blocks before the run's first one. */
uint32_t mc_tree_first(const struct mc_tree *t, uint32_t run);
/* Copies by node number; valid until the next change. */
const struct mc_copy *mc_tree_copies(const struct mc_tree *t, uint32_t run, uint32_t *n);
/* How many leading blocks of the prompt a node holds; of them, the leading resident ones. O(steps x log
 * copies). */
uint32_t mc_tree_match(const struct mc_tree *t, const struct mc_step *step, uint32_t steps, uint32_t node);
uint32_t mc_tree_match_resident(const struct mc_tree *t, const struct mc_step *step, uint32_t steps,
				uint32_t node);
/* The most leading blocks that any one node of the group has resident. */
uint32_t mc_tree_best(const struct mc_tree *t, uint32_t group, const struct mc_step *step, uint32_t steps);

uint32_t mc_tree_blocks(const struct mc_tree *t); /* ids kept, a few more than anyone holds */
uint32_t mc_tree_runs(const struct mc_tree *t);
/* Invariants from scratch. */
int mc_tree_check(const struct mc_tree *t, struct mc_err *err);

#endif
