#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/vec.h"

#define CELLS_MIN 16

static size_t find(const struct mc_map *m, uint64_t key)
{
	size_t i = mc_hash_u64(key) & m->mask;

	while (m->cell[i].value != MC_MAP_NONE && m->cell[i].key != key)
		i = (i + 1) & m->mask;
	return i;
}

static void resize(struct mc_map *m, size_t cells)
{
	struct mc_map old = *m;

	m->cell = mc_xrealloc(NULL, cells, sizeof *m->cell);
	m->mask = cells - 1;
	for (size_t i = 0; i < cells; i++)
		m->cell[i].value = MC_MAP_NONE;
	for (size_t i = 0; old.cell && i <= old.mask; i++)
		if (old.cell[i].value != MC_MAP_NONE)
			m->cell[find(m, old.cell[i].key)] = old.cell[i];
	free(old.cell);
}

void mc_map_put(struct mc_map *m, uint64_t key, uint32_t value)
{
	size_t i;

	assert(value != MC_MAP_NONE);
	if (!m->cell)
		resize(m, CELLS_MIN);
	i = find(m, key);
	if (m->cell[i].value == MC_MAP_NONE) {
		if (2 * (m->n + 1) > m->mask + 1) {
			resize(m, 2 * (m->mask + 1));
			i = find(m, key);
		}
		m->n++;
	}
	m->cell[i] = (struct mc_map_cell){key, value};
}

uint32_t mc_map_del(struct mc_map *m, uint64_t key)
{
	size_t hole;
	uint32_t value;

	if (!m->n)
		return MC_MAP_NONE;
	hole = find(m, key);
	value = m->cell[hole].value;
	if (value == MC_MAP_NONE)
		return value;
	/* Pull back what a search would no longer reach over the hole: a cell whose home is not in (hole, i].
	 */
	for (size_t i = (hole + 1) & m->mask; m->cell[i].value != MC_MAP_NONE; i = (i + 1) & m->mask) {
		size_t home = mc_hash_u64(m->cell[i].key) & m->mask;

		if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
			m->cell[hole] = m->cell[i];
			hole = i;
		}
	}
	m->cell[hole].value = MC_MAP_NONE;
	m->n--;
	return value;
}

void mc_map_fini(struct mc_map *m)
{
	free(m->cell);
	*m = (struct mc_map){0};
}
