#include "kv/replay.h"

#include "base/vec.h"
#include "kv/future.h"
#include "kv/pool.h"

struct replay {
	const struct mc_trace *trace;
	struct mc_tree *tree;
	struct mc_pool *pool;
	struct mc_future *future; /* NULL: not needed */
	struct {
		MC_VEC(struct mc_step)
	} steps; /* scratch */
};

/* Returns the leading blocks found. */
static uint32_t serve(struct replay *r, int64_t request)
{
	const uint64_t *id = r->trace->block + r->trace->first[request];
	uint32_t n = (uint32_t)mc_trace_blocks(r->trace, request), steps, found;
	struct mc_lease lease;

	mc_vec_reserve(&r->steps, n);
	steps = mc_tree_trail(r->tree, id, n, r->steps.at);
	found = mc_tree_match(r->tree, r->steps.at, steps, 0);
	if (r->future)
		mc_future_advance(r->future, request);
	lease = mc_pool_acquire(r->pool, id, n);
	mc_pool_commit(r->pool, &lease, 0, lease.held);
	mc_pool_release(r->pool, &lease);
	return found;
}

void mc_replay_run(const struct mc_trace *t, const struct mc_evictor *evictor, uint32_t capacity,
		   struct mc_replay *out)
{
	struct replay r = {.trace = t, .tree = mc_tree_new()};
	struct mc_pool_stats stats;

	r.pool = mc_pool_new(r.tree, 0, capacity, evictor);
	if (evictor->foresee) {
		r.future = mc_future_new(t);
		mc_pool_foresee(r.pool, r.future);
	}
	*out = (struct mc_replay){0};
	for (int64_t i = 0; i < t->n; i++) {
		uint64_t found = serve(&r, i), tokens = found * (uint64_t)t->block_tokens;

		out->hit_blocks += found;
		out->hit_tokens += tokens < t->input[i] ? tokens : t->input[i];
	}
	stats = mc_pool_stats(r.pool);
	out->evicted_blocks = stats.evicted;
	out->unstored_blocks = stats.refused;
	mc_pool_free(r.pool);
	mc_tree_free(r.tree);
	mc_future_free(r.future);
	mc_vec_fini(&r.steps);
}
