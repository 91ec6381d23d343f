#include "engine/vram.h"

#include <assert.h>

void mc_vram_init(struct mc_vram *v, struct mc_pool *pool, int64_t block_tokens, uint32_t blocks)
{
	*v = (struct mc_vram){.pool = pool, .block_tokens = block_tokens, .blocks = blocks};
	v->watermark = (uint32_t)(MC_VRAM_WATERMARK * blocks);
	assert(blocks && block_tokens > 0);
}

int64_t mc_vram_most(const struct mc_vram *v)
{
	return (int64_t)(v->blocks - v->watermark) * v->block_tokens;
}

bool mc_vram_fits(const struct mc_vram *v, const struct mc_vram_ask *ask, uint32_t *cached)
{
	int64_t need = mc_vram_blocks_of(v, ask->tokens) - ask->n;

	*cached = 0;
	if (ask->n)
		need += mc_pool_need(v->pool, ask->id, ask->n, cached);
	return need + v->watermark <= mc_vram_spare(v);
}

static bool take(struct mc_vram *v, uint32_t n)
{
	if (v->pool ? !mc_pool_take(v->pool, n) : n > v->blocks - v->taken)
		return false;
	v->taken += n;
	return true;
}

struct mc_vram_hold mc_vram_acquire(struct mc_vram *v, const struct mc_vram_ask *ask)
{
	struct mc_vram_hold hold = {{MC_NONE, 0}, (uint32_t)(mc_vram_blocks_of(v, ask->tokens) - ask->n)};
	bool there = true;

	if (ask->n)
		hold.lease = mc_pool_acquire(v->pool, ask->id, ask->n);
	there = take(v, hold.own);
	assert(there && hold.lease.held == ask->n);
	return hold;
}

bool mc_vram_grow(struct mc_vram *v, struct mc_vram_hold *hold)
{
	bool there = take(v, 1);

	hold->own += there;
	return there;
}

void mc_vram_release(struct mc_vram *v, struct mc_vram_hold *hold)
{
	assert(hold->own <= v->taken);
	v->taken -= hold->own;
	if (v->pool)
		mc_pool_give(v->pool, hold->own);
	if (hold->lease.held)
		mc_pool_release(v->pool, &hold->lease);
	*hold = (struct mc_vram_hold){{MC_NONE, 0}, 0};
}
