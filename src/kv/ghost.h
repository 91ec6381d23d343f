/* The ids of the last blocks that were evicted from somewhere, as many as its size, less those that came
 * back. */
#ifndef MC_KV_GHOST_H
#define MC_KV_GHOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct mc_ghost {
	struct mc_map slot; /* of an id that is remembered */
	struct {
		MC_VEC(uint64_t)
	} ring;
	uint32_t size, at; /* at: where the next one goes */
};

void mc_ghost_init(struct mc_ghost *g, uint32_t size); /* size >= 1 */
void mc_ghost_fini(struct mc_ghost *g);
/* Evicted: n ids in the order of the prompt, the last one first. */
void mc_ghost_push(struct mc_ghost *g, const uint64_t *id, uint32_t n);
bool mc_ghost_has(const struct mc_ghost *g, uint64_t id);
/* How many leading ids, 1 .. n, are all there or all not there. */
uint32_t mc_ghost_alike(const struct mc_ghost *g, const uint64_t *id, uint32_t n);
/* They are back. */
void mc_ghost_drop(struct mc_ghost *g, const uint64_t *id, uint32_t n);

#endif
