#include "kv/heat.h"

#include <string.h>

#include "kv/run.h"

static uint32_t cooled(const struct mc_run *r, uint32_t tick)
{
	uint32_t halvings = tick - r->tick;

	return halvings < 32 ? r->heat >> halvings : 0;
}

void mc_tree_touch(struct mc_tree *t, const struct mc_step *step, uint32_t steps, uint32_t tick)
{
	for (uint32_t k = 0; k < steps; k++) {
		struct mc_run *r = &t->run.at[step[k].run];
		uint32_t heat = cooled(r, tick);

		if (step[k].end < r->first + r->n)
			return;
		r->heat = heat < UINT32_MAX - MC_TREE_HEAT ? heat + MC_TREE_HEAT : UINT32_MAX;
		r->tick = tick;
	}
}

uint32_t mc_tree_heat(const struct mc_tree *t, uint32_t run, uint32_t tick)
{
	return cooled(&t->run.at[run], tick);
}

uint32_t mc_tree_next(const struct mc_tree *t, uint32_t run)
{
	while (++run < t->run.n) /* MC_NONE: from 0 on */
		if (t->run.at[run].id)
			return run;
	return MC_NONE;
}

uint32_t mc_tree_length(const struct mc_tree *t, uint32_t run)
{
	return t->run.at[run].n;
}

uint32_t mc_tree_parent(const struct mc_tree *t, uint32_t run)
{
	return t->run.at[run].parent;
}

uint64_t mc_tree_last(const struct mc_tree *t, uint32_t run)
{
	return t->run.at[run].id[t->run.at[run].n - 1];
}

uint32_t mc_tree_chain(const struct mc_tree *t, uint32_t run, uint64_t *id)
{
	uint32_t n = t->run.at[run].first + t->run.at[run].n;

	for (; run != MC_NONE; run = t->run.at[run].parent)
		memcpy(id + t->run.at[run].first, t->run.at[run].id, t->run.at[run].n * sizeof *id);
	return n;
}
