#include "kv/mirror.h"

#include <assert.h>

#include "kv/run.h"

/* A walk along a chain, run by run. */
struct walk {
	uint32_t depth;  /* blocks before the run */
	uint32_t run;    /* MC_NONE: none goes on with the chain */
	uint32_t common; /* blocks of the run that are the chain's */
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The run that goes on with the chain from w->depth on. */
static bool look(const struct mc_tree *t, const struct mc_chain *c, struct walk *w)
{
	w->run = w->depth < c->n ? mc_run_find(t, c->id[w->depth]) : MC_NONE;
	if (w->run == MC_NONE)
		return false;
	w->common = mc_run_common(&t->run.at[w->run], c->id + w->depth, c->n - w->depth);
	return true;
}

/* Does the chain go on behind this run? */
static bool next(const struct mc_tree *t, struct walk *w)
{
	w->depth += w->common;
	return w->common == t->run.at[w->run].n;
}

void mc_tree_listen(struct mc_tree *t, mc_tree_listener *listener, void *arg)
{
	t->listener = listener;
	t->listener_arg = arg;
}

/* The node holds that much of the run, at least. */
static void copy_hold(struct mc_tree *t, uint32_t run, uint32_t node, uint32_t held)
{
	struct mc_run *r = &t->run.at[run];
	struct mc_copy *c = mc_run_copy(r, node);

	if (!c)
		mc_run_copy_add(t, run, &(struct mc_copy){node, MC_NONE, held, 0});
	else if (c->held < held)
		mc_run_copy_set(t, r, c, held, c->resident);
}

void mc_mirror_hold(struct mc_tree *t, const struct mc_chain *chain)
{
	uint32_t parent = MC_NONE;
	struct walk w = {0};

	assert(!t->pool.n);
	while (look(t, chain, &w)) {
		if (w.common < t->run.at[w.run].n && w.depth + w.common < chain->n)
			w.run = mc_run_split(t, w.run, w.common);
		copy_hold(t, w.run, chain->node, w.common);
		parent = w.run;
		if (!next(t, &w))
			break;
	}
	if (w.depth == chain->n)
		return;
	parent = mc_run_add(t, parent, chain->id + w.depth, chain->n - w.depth);
	copy_hold(t, parent, chain->node, chain->n - w.depth);
}

void mc_mirror_have(struct mc_tree *t, const struct mc_chain *chain)
{
	struct walk w = {0};

	while (look(t, chain, &w)) {
		struct mc_run *r = &t->run.at[w.run];
		struct mc_copy *c = mc_run_copy(r, chain->node);

		assert(c && c->held >= w.common);
		if (c->resident < w.common)
			mc_run_copy_set(t, r, c, c->held, w.common);
		if (!next(t, &w))
			break;
	}
	assert(w.depth == chain->n);
}

void mc_mirror_cut(struct mc_tree *t, const struct mc_chain *chain, uint32_t resident, uint32_t held)
{
	struct walk w = {0};
	bool more = true;

	assert(resident <= held);
	while (more && look(t, chain, &w)) {
		struct mc_run *r = &t->run.at[w.run];
		uint32_t first = w.depth, run = w.run;
		struct mc_copy *c;

		more = next(t, &w);
		if (w.depth <= resident)
			continue;
		c = mc_run_copy(r, chain->node);
		if (!c)
			return;
		if (held <= first)
			mc_run_copy_remove(t, run, chain->node);
		else if (held < w.depth || resident < w.depth)
			mc_run_copy_set(t, r, c, held < w.depth ? least(c->held, held - first) : c->held,
					resident > first ? least(c->resident, resident - first) : 0);
	}
}

void mc_mirror_clear(struct mc_tree *t, uint32_t node)
{
	assert(!t->pool.n);
	for (uint32_t i = 0; i < t->run.n; i++)
		if (t->run.at[i].id && mc_run_copy(&t->run.at[i], node))
			mc_run_copy_remove(t, i, node);
}
