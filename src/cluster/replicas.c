#include "cluster/replicas.h"

#include <string.h>

#include "cluster/state.h"

void mc_replicas_fini(struct mc_replicas *r)
{
	mc_vec_fini(&r->at);
	mc_vec_fini(&r->copies);
	memset(r, 0, sizeof *r);
}

void mc_cluster_replicas_init(struct mc_cluster *c)
{
	static const uint64_t rank[MC_REPLICA_RANKS] = {1, 10, 100, 1000, 10000};
	struct mc_replicas *r = c->hooks->replicas;

	if (!r)
		return;
	memset(r, 0, sizeof *r);
	r->n = mc_trace_ranks(c->trace, rank, MC_REPLICA_RANKS, r->block);
}

/* Prefill instances that have the block resident. */
static uint32_t count(struct mc_cluster *c, const struct mc_trace_ranked *b)
{
	const uint64_t *id = c->trace->block + c->trace->first[b->request];
	uint32_t n = (uint32_t)b->position + 1, steps, copies, found = 0, within;
	const struct mc_copy *copy;

	mc_vec_reserve(&c->steps, n);
	steps = mc_tree_trail(c->tree, id, n, c->steps.at);
	if (!steps || c->steps.at[steps - 1].end < n)
		return 0;
	within = n - mc_tree_first(c->tree, c->steps.at[steps - 1].run);
	copy = mc_tree_copies(c->tree, c->steps.at[steps - 1].run, &copies);
	for (uint32_t k = 0; k < copies; k++)
		found += copy[k].node < c->view.n_prefill && copy[k].resident >= within;
	return found;
}

/* As the time series does. */
static void thin_out(struct mc_replicas *r)
{
	for (size_t i = 1; 2 * i < r->at.n; i++) {
		r->at.at[i] = r->at.at[2 * i];
		memcpy(r->copies.at + i * r->n, r->copies.at + 2 * i * r->n, r->n * sizeof *r->copies.at);
	}
	r->at.n /= 2;
	r->copies.n = r->at.n * r->n;
}

void mc_cluster_replicas_sample(struct mc_cluster *c)
{
	struct mc_replicas *r = c->hooks->replicas;

	if (!r)
		return;
	mc_vec_push(&r->at, c->loop.now);
	for (uint32_t k = 0; k < r->n; k++)
		mc_vec_push(&r->copies, count(c, &r->block[k]));
	if (r->at.n == MC_CLUSTER_SAMPLES)
		thin_out(r);
}
