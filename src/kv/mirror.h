/*
 * A second tree, of what is known of the pools elsewhere, or was known some time ago. It has no pools: it
 * follows what those of the first one tell. Its runs are cut in other places than theirs, so news are of
 * chains: the blocks of a prompt from its beginning on, as many as a node holds or has.
 */
#ifndef MC_KV_MIRROR_H
#define MC_KV_MIRROR_H

#include "kv/tree.h"

enum mc_news_of {
	MC_NEWS_HELD,     /* the node holds the chain's leading `depth` blocks: some were promised now */
	MC_NEWS_RESIDENT, /* it has them */
	MC_NEWS_CUT,      /* it holds no more of the chain than those any longer */
	MC_NEWS_CLEARED,  /* it holds nothing at all any more; without a chain */
};

/* What a pool tells. The chain is that of `run`, or its leading part: mc_tree_chain says its ids, now. */
struct mc_news {
	enum mc_news_of of;
	uint32_t node, run, depth;
};

typedef void mc_tree_listener(void *arg, const struct mc_news *news);

/* Tell this one of every change of the tree's pools, when it happens (a cut: just before). It must not change
 * them. NULL: nobody. */
void mc_tree_listen(struct mc_tree *t, mc_tree_listener *listener, void *arg);

/* The leading n blocks of a prompt, at a node. */
struct mc_chain {
	uint32_t node;
	const uint64_t *id;
	uint32_t n;
};

/* For a tree without pools. The node holds the chain; has it, as it holds it already. */
void mc_mirror_hold(struct mc_tree *t, const struct mc_chain *chain);
void mc_mirror_have(struct mc_tree *t, const struct mc_chain *chain);
/* Of the chain it holds `held` blocks at most, and has `resident` (<= held); nothing else that it holds goes
 * on from the others. */
void mc_mirror_cut(struct mc_tree *t, const struct mc_chain *chain, uint32_t resident, uint32_t held);
/* It holds nothing. O(runs). */
void mc_mirror_clear(struct mc_tree *t, uint32_t node);

#endif
