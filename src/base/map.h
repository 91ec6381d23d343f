/*
 * A map from uint64_t to uint32_t: open addressing, linear probing from mc_hash_u64, at most half full,
 * deletion by backward shift (no tombstones; Knuth, TAOCP 3, 6.4, algorithm R). Any key; values below
 * MC_MAP_NONE.
 */
#ifndef MC_BASE_MAP_H
#define MC_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define MC_MAP_NONE UINT32_MAX

struct mc_map_cell {
	uint64_t key;
	uint32_t value; /* MC_MAP_NONE: empty */
};

/* {0} is an empty map. */
struct mc_map {
	struct mc_map_cell *cell; /* mask + 1, or NULL */
	size_t mask, n;
};

void mc_map_fini(struct mc_map *m);

static inline uint32_t mc_map_get(const struct mc_map *m, uint64_t key) /* MC_MAP_NONE: not there */
{
	if (!m->n)
		return MC_MAP_NONE;
	for (size_t i = mc_hash_u64(key) & m->mask;; i = (i + 1) & m->mask)
		if (m->cell[i].value == MC_MAP_NONE || m->cell[i].key == key)
			return m->cell[i].value;
}

/* Insert or replace; value < MC_MAP_NONE (asserted). */
void mc_map_put(struct mc_map *m, uint64_t key, uint32_t value);
/* Returns the value that was there, or MC_MAP_NONE. */
uint32_t mc_map_del(struct mc_map *m, uint64_t key);

#endif
