/*
 * How often the runs of a tree were found lately, and a walk over all runs: what a replication policy asks.
 * Heat counts the prompts that went through the whole run, and halves with every tick; a run that is split
 * leaves its heat to both parts, a new one has none.
 */
#ifndef MC_KV_HEAT_H
#define MC_KV_HEAT_H

#include "kv/tree.h"

#define MC_TREE_HEAT 256 /* of one prompt */

/* A prompt goes this way now; the last step does not count if the prompt leaves its run before the end. Ticks
 * never fall. */
void mc_tree_touch(struct mc_tree *t, const struct mc_step *step, uint32_t steps, uint32_t tick);
uint32_t mc_tree_heat(const struct mc_tree *t, uint32_t run, uint32_t tick);

/* All runs, in no particular order, the first after MC_NONE; MC_NONE: there are no more. */
uint32_t mc_tree_next(const struct mc_tree *t, uint32_t run);
uint32_t mc_tree_length(const struct mc_tree *t, uint32_t run); /* blocks */
uint32_t mc_tree_parent(const struct mc_tree *t, uint32_t run); /* MC_NONE: it begins prompts */
uint64_t mc_tree_last(const struct mc_tree *t, uint32_t run);   /* id of its last block */
/* The ids from the beginning of its prompts to its end; id has room for as many as are returned: the blocks
 * before it, and its own. */
uint32_t mc_tree_chain(const struct mc_tree *t, uint32_t run, uint64_t *id);

#endif
