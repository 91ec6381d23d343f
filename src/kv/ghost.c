#include "kv/ghost.h"

#include <assert.h>

void mc_ghost_init(struct mc_ghost *g, uint32_t size)
{
	assert(size);
	*g = (struct mc_ghost){.size = size};
}

void mc_ghost_fini(struct mc_ghost *g)
{
	mc_map_fini(&g->slot);
	mc_vec_fini(&g->ring);
}

void mc_ghost_push(struct mc_ghost *g, const uint64_t *id, uint32_t n)
{
	while (n-- > 0) {
		if (g->ring.n < g->size)
			mc_vec_push(&g->ring, id[n]);
		else if (mc_map_get(&g->slot, g->ring.at[g->at]) ==
			 g->at) /* not back since, nor gone again */
			mc_map_del(&g->slot, g->ring.at[g->at]);
		g->ring.at[g->at] = id[n];
		mc_map_put(&g->slot, id[n], g->at);
		g->at = (g->at + 1) % g->size;
	}
}

bool mc_ghost_has(const struct mc_ghost *g, uint64_t id)
{
	return mc_map_get(&g->slot, id) != MC_MAP_NONE;
}

uint32_t mc_ghost_alike(const struct mc_ghost *g, const uint64_t *id, uint32_t n)
{
	bool there = mc_ghost_has(g, id[0]);
	uint32_t k = 1;

	while (k < n && mc_ghost_has(g, id[k]) == there)
		k++;
	return k;
}

void mc_ghost_drop(struct mc_ghost *g, const uint64_t *id, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		mc_map_del(&g->slot, id[k]);
}
