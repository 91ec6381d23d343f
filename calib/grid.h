/*
 * Which steps of a model are measured, in which order: prefills of one prompt (new tokens x context) and
 * decodes (sequences x context). Levels: the corners first, then each level halves the distances along both
 * axes, so that the points of all levels so far are a whole grid; within a level prefill and decode take
 * turns, in an order that spreads, so that any prefix of it all can be used.
 *
 * Distances are those of log(x + half), where half is about where a dimension begins to matter: equal
 * factors above it, equal steps below.
 */
#ifndef MC_CALIB_GRID_H
#define MC_CALIB_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct mc_calib_limits {
	int64_t tokens;  /* new ones of a prefill, at least 2 */
	int64_t batch;   /* sequences of a decode */
	int64_t context; /* tokens of a sequence, in all, more than `tokens` or equal */
};

/* A step of equal sequences, as samples have it. */
struct mc_calib_point {
	int64_t rows, context, seqs;
	int level;
};

struct mc_calib_grid {
	MC_VEC(struct mc_calib_point)
};

enum { MC_CALIB_LEVELS = 5 }; /* 33 x 33 points of each kind at most */

/* The corners, and so many levels more. */
void mc_calib_grid(struct mc_calib_grid *g, const struct mc_calib_limits *l, int levels);
/* n points of a range's inside that are on no grid (but by chance): new tokens, sequences and contexts by the
 * same distances at random, prefills and decodes in turn; a quarter of the prefills have no context. The
 * same seed gives the same ones. */
void mc_calib_grid_random(struct mc_calib_grid *g, const struct mc_calib_limits *l, uint64_t seed, size_t n);

#endif
