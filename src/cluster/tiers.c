/* The nodes' pools: how large they are, and who has one. */
#include <stdlib.h>

#include "cluster/state.h"

/* Blocks that a pool of that many tokens, or bytes where not 0, holds, rounded down; -1: beyond counting. */
static int64_t capacity(const struct mc_cluster *c, int64_t tokens, int64_t bytes, double nodes)
{
	double n = bytes ? (double)bytes / c->cost->kv_bytes : (double)tokens;

	n = n * nodes / (double)c->view.block_tokens;
	return n < INT32_MAX ? (int64_t)n : -1;
}

static int bad(struct mc_cluster *c, bool bytes, const char *what)
{
	return mc_scenario_bad(c->err, bytes ? "kv.dram_bytes" : "kv.dram_tokens", what);
}

int mc_cluster_tiers_init(struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;
	const struct mc_evictor *evictor = mc_evictor_find(s->kv.evict);
	int64_t prefill = capacity(c, s->kv.dram_tokens, s->kv.dram_bytes, c->view.group);
	int64_t decode = capacity(c, s->kv.dram_tokens, s->kv.dram_bytes, s->kv.decode_share);

	if (prefill < 0 || decode < 0)
		return bad(c, s->kv.dram_bytes, "is over 2^31 blocks for one pool; use larger blocks");
	if (!prefill)
		return bad(c, s->kv.dram_bytes, "holds not even one block; expected the KV of one or more");
	if (evictor->foresee)
		c->future = mc_future_new(c->trace);
	c->pool = mc_xcalloc(mc_cluster_nodes(c), sizeof *c->pool);
	for (uint32_t i = 0; i < mc_cluster_nodes(c); i++) {
		int64_t blocks = i < c->view.n_prefill ? prefill : decode;

		if (!blocks)
			continue;
		c->pool[i] = mc_pool_new(c->tree, i, (uint32_t)blocks, evictor);
		mc_pool_foresee(c->pool[i], c->future);
	}
	return MC_OK;
}

void mc_cluster_tiers_fini(struct mc_cluster *c)
{
	for (uint32_t i = 0; i < mc_cluster_nodes(c) && c->pool; i++)
		mc_pool_free(c->pool[i]);
	free(c->pool);
}
