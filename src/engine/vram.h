/*
 * VRAM of a coupled node: paged blocks, taken as tokens are made. With a pool, the whole blocks of prompts
 * are the pool's and may be shared, and what no request uses caches prefixes; without one nothing is shared.
 */
#ifndef MC_ENGINE_VRAM_H
#define MC_ENGINE_VRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kv/pool.h"

/* A prompt starts only where this share of the blocks stays free, so that those that run can go on for a
 * while (vLLM's watermark). */
#define MC_VRAM_WATERMARK 0.01

struct mc_vram {
	struct mc_pool *pool; /* borrowed; NULL: nothing is cached */
	int64_t block_tokens;
	uint32_t blocks;    /* in all */
	uint32_t watermark; /* of them */
	uint32_t taken;     /* blocks that are one request's alone */
};

/* What a request has. */
struct mc_vram_hold {
	struct mc_lease lease; /* of the pool */
	uint32_t own;          /* blocks beside it */
};

/* Tokens that need room; the first n blocks of them have names. */
struct mc_vram_ask {
	const uint64_t *id; /* n of them; n = 0 without a pool */
	uint32_t n;
	int64_t tokens;
};

/* blocks >= 1. */
void mc_vram_init(struct mc_vram *v, struct mc_pool *pool, int64_t block_tokens, uint32_t blocks);

/* Blocks that no request uses. */
static inline uint32_t mc_vram_spare(const struct mc_vram *v)
{
	return v->pool ? mc_pool_spare(v->pool) : v->blocks - v->taken;
}

static inline int64_t mc_vram_blocks_of(const struct mc_vram *v, int64_t tokens)
{
	return (tokens + v->block_tokens - 1) / v->block_tokens;
}

/* Tokens of a request that is alone, at most: what is above it can never start. */
int64_t mc_vram_most(const struct mc_vram *v);
/* Is there room, with the watermark left? cached: blocks of it that are there. */
bool mc_vram_fits(const struct mc_vram *v, const struct mc_vram_ask *ask, uint32_t *cached);
/* Take it; it fits. */
struct mc_vram_hold mc_vram_acquire(struct mc_vram *v, const struct mc_vram_ask *ask);
/* Another block, down to the last one; false: there is none. */
bool mc_vram_grow(struct mc_vram *v, struct mc_vram_hold *hold);
/* What was cached of it stays cached, until the room is needed. */
void mc_vram_release(struct mc_vram *v, struct mc_vram_hold *hold);
/* Tokens that fit into what it has. */
static inline int64_t mc_vram_holds(const struct mc_vram *v, const struct mc_vram_hold *hold)
{
	return ((int64_t)hold->lease.held + hold->own) * v->block_tokens;
}

#endif
