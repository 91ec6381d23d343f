/* What a pool shares its memory with. */
#include "kv/pool_state.h"

uint32_t mc_pool_spare(const struct mc_pool *p)
{
	return p->stats.capacity - p->stats.taken - p->stats.pinned;
}

bool mc_pool_take(struct mc_pool *p, uint32_t n)
{
	/* All that is not pinned can be evicted: nothing pinned hangs on it. */
	if (n > mc_pool_spare(p) || mc_pool_make_room(p, n) < n)
		return false;
	p->stats.taken += n;
	return true;
}

void mc_pool_give(struct mc_pool *p, uint32_t n)
{
	assert(n <= p->stats.taken);
	p->stats.taken -= n;
}

uint32_t mc_pool_need(const struct mc_pool *p, const uint64_t *id, uint32_t n, uint32_t *resident)
{
	struct mc_tree *t = p->tree;
	uint32_t depth = 0, need = 0;
	bool there = true;

	*resident = 0;
	while (depth < n) {
		uint32_t run = mc_run_find(t, id[depth]), k;
		const struct mc_copy *c = run == MC_NONE ? NULL : mc_run_copy(&t->run.at[run], p->node);

		if (!c)
			break;
		k = mc_pool_least(mc_run_common(&t->run.at[run], id + depth, n - depth), c->held);
		need += p->entry.at[c->entry].pins ? 0 : k;
		if (there)
			*resident = depth + mc_pool_least(k, c->resident);
		there = there && c->resident >= k;
		depth += k;
		if (k < t->run.at[run].n)
			break;
	}
	return need + n - depth;
}
