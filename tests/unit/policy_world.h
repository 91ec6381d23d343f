/*
 * A view with pools behind it, for tests of scheduling policies: nodes, what they hold, and a prompt.
 */
#ifndef MC_TESTS_UNIT_POLICY_WORLD_H
#define MC_TESTS_UNIT_POLICY_WORLD_H

#include <string.h>

#include "fixture.h"
#include "kv/pool.h"
#include "sched/policy.h"

#define NODES_MAX 12
#define DEPTH     10

struct world {
	struct mc_cost cost;
	struct mc_view view;
	struct mc_tree *tree;
	struct mc_pool *pool[NODES_MAX];
	uint64_t id[DEPTH];
	struct mc_step step[DEPTH];
};

static inline void world_init(struct world *w, uint32_t nodes, int64_t block_tokens)
{
	memset(w, 0, sizeof *w);
	w->cost = plain_cost();
	w->tree = mc_tree_new();
	mc_view_init(&w->view, nodes, nodes);
	w->view.cost = &w->cost;
	w->view.tree = w->tree;
	w->view.block_tokens = block_tokens;
	w->view.group = 1;
	w->view.chunk = 1000;
	for (uint32_t i = 0; i < nodes; i++)
		w->pool[i] = mc_pool_new(w->tree, i, 40, mc_evictor_find("lru"));
}

static inline void world_fini(struct world *w)
{
	for (uint32_t i = 0; i < w->view.n_prefill; i++)
		mc_pool_free(w->pool[i]);
	mc_tree_free(w->tree);
	mc_view_fini(&w->view);
}

/* n blocks of which prompts of one family share the leading half. */
static inline void make_ids(uint64_t *id, uint32_t n, uint64_t family, uint64_t own)
{
	uint64_t chain = family;

	for (uint32_t b = 0; b < n; b++)
		id[b] = chain = mc_hash_pair(chain, b < (n + 1) / 2 ? 0 : own);
}

static inline void hold(struct world *w, uint32_t node, const uint64_t *id, uint32_t n)
{
	struct mc_lease l = mc_pool_acquire(w->pool[node], id, n);

	mc_pool_commit(w->pool[node], &l, 0, l.held);
	mc_pool_release(w->pool[node], &l);
}

static inline struct mc_prompt make_prompt(struct world *w, uint32_t tokens)
{
	struct mc_prompt p = {.tokens = tokens, .max_tokens = 10, .block = w->id, .step = w->step};

	p.n_blocks = (uint32_t)((tokens + w->view.block_tokens - 1) / w->view.block_tokens);
	p.n_steps = mc_tree_trail(w->tree, w->id, p.n_blocks, w->step);
	return p;
}

/* One world out of many: loads, sends and contents of pools at random, and a prompt for it. */
static inline struct mc_prompt random_world(struct world *w, uint64_t *rnd)
{
	struct mc_prompt p;

	world_init(w, 1 + (uint32_t)draw(rnd, NODES_MAX), 16);
	w->view.now = 1000000000;
	w->cost.net_bytes_per_s = 1e8; /* fetching a block takes a tenth of computing it */
	for (uint32_t i = 0; i < w->view.n_prefill; i++) {
		w->view.node[i].sends = (uint32_t)draw(rnd, 3);
		mc_view_prefill_set(&w->view, i, w->view.now + (mc_time)draw(rnd, 4) * 3000000 - 6000000);
		if (draw(rnd, 3))
			mc_view_decode_add(&w->view, i, 1 + (int64_t)draw(rnd, 5), (int64_t)draw(rnd, 9000));
		for (uint64_t k = draw(rnd, 4); k-- > 0;) {
			make_ids(w->id, DEPTH, draw(rnd, 3), draw(rnd, 3));
			hold(w, i, w->id, 1 + (uint32_t)draw(rnd, DEPTH));
		}
		for (uint32_t node = i; i && node < 2 * w->view.n_prefill; node += w->view.n_prefill)
			mc_view_down(&w->view, node, draw(rnd, 4) == 0); /* 0 lives */
	}
	make_ids(w->id, DEPTH, draw(rnd, 3), draw(rnd, 3));
	p = make_prompt(w, 1 + (uint32_t)draw(rnd, 16 * DEPTH));
	p.ttft = (mc_time)draw(rnd, 4) * 3000000;
	p.arrival = w->view.now - (mc_time)draw(rnd, 3) * 1000000;
	return p;
}

static inline void *policy_new(const struct mc_policy *policy, double threshold, uint64_t seed)
{
	return policy->create ? policy->create(&(struct mc_policy_params){threshold, seed}) : NULL;
}

static inline void policy_free(const struct mc_policy *policy, void *state)
{
	if (policy->destroy)
		policy->destroy(state);
}

/*
 * Node 0 holds four of five blocks of 1,000 tokens and is busy for 405 ms, node 1 is idle, node 2 busy for a
 * second. Alone, the prompt takes 526 ms, with four blocks 114 ms; moving those takes 400.1 ms. So waiting
 * for node 0 (519 ms) beats computing on node 1, and fetching to node 1 (514.1 ms) beats both.
 */
static inline struct mc_prompt telling_world(struct world *w)
{
	world_init(w, 3, 1000);
	make_ids(w->id, 5, 1, 1);
	hold(w, 0, w->id, 4);
	mc_view_prefill_set(&w->view, 0, mc_time_from_s(0.405));
	mc_view_prefill_set(&w->view, 2, mc_time_from_s(1));
	/* Iterations of 11 ms for three short requests, 60 ms for a long one, 12 ms for one in between. */
	mc_view_decode_add(&w->view, 0, 3, 1000);
	mc_view_decode_add(&w->view, 1, 1, 50000);
	mc_view_decode_add(&w->view, 2, 1, 2000);
	return make_prompt(w, 5000);
}

/*
 * Pressed: node 0 holds four of five blocks and is busy for 200 ms, node 1 holds three and is idle, node 2 is
 * busy for a second. Node 1 computes the rest in 220 ms, which is what a threshold of 1.5 says; with the
 * fourth block from node 0 it takes 214.1. Node 0 takes 314, of which 114 are of the engine: least where
 * engine time counts. Nobody meets the objective.
 */
static inline struct mc_prompt pressed_world(struct world *w)
{
	struct mc_prompt p;

	world_init(w, 3, 1000);
	make_ids(w->id, 5, 2, 1);
	hold(w, 0, w->id, 4);
	hold(w, 1, w->id, 3);
	mc_view_prefill_set(&w->view, 0, mc_time_from_s(0.2));
	mc_view_prefill_set(&w->view, 2, mc_time_from_s(1));
	p = make_prompt(w, 5000);
	p.ttft = mc_time_from_s(0.1);
	return p;
}

#endif
