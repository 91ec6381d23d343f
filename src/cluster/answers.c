/*
 * KV of answers, kept where a later prompt goes on from it (kv.write_back). When the last token exists the
 * decode node has the KV of prompt and answer in VRAM: it comes to the node's DRAM, under the ids that the
 * later prompt gives it, and where decode nodes are no source, to a prefill instance that has the prompt.
 */
#include <stdlib.h>

#include "cluster/state.h"

void mc_cluster_answers_init(struct mc_cluster *c)
{
	if (c->caching && c->scenario->kv.write_back)
		c->turn = mc_trace_turns(c->trace);
}

/* The first prefill instance that has the leading blocks up to the turn's `from`, this one before all others;
 * MC_NONE: none has. */
static uint32_t holder(const struct mc_cluster *c, const struct mc_trace_turn *turn, uint32_t first,
		       uint32_t steps)
{
	const struct mc_copy *copy;
	uint32_t s = 0, n, before;

	if (!c->view.node[first].down &&
	    mc_tree_match_resident(c->tree, c->steps.at, steps, first) >= turn->from)
		return first;
	while (s < steps && c->steps.at[s].end < turn->from)
		s++;
	if (s == steps)
		return MC_NONE;
	copy = mc_tree_copies(c->tree, c->steps.at[s].run, &n);
	before = mc_tree_first(c->tree, c->steps.at[s].run);
	for (uint32_t k = 0; k < n && copy[k].node < c->view.n_prefill; k++)
		if (before + copy[k].resident >= turn->from && !c->view.node[copy[k].node].down)
			return copy[k].node;
	return MC_NONE;
}

static void send(struct mc_cluster *c, const struct mc_flight *f, const struct mc_trace_turn *turn,
		 const uint64_t *id)
{
	struct mc_copy_job job = {.id = id,
				  .n = turn->to,
				  .from = mc_view_decode_node(&c->view, f->row->decode),
				  .bytes = &c->result->write_back_bytes};
	uint32_t steps;

	mc_vec_reserve(&c->steps, turn->to);
	steps = mc_tree_trail(c->tree, id, turn->to, c->steps.at);
	job.to = holder(c, turn, f->row->prefill, steps);
	if (job.to == MC_NONE) {
		c->result->write_back_homeless++;
		return;
	}
	job.have = mc_tree_match_resident(c->tree, c->steps.at, steps, job.to);
	if (job.have < job.n)
		mc_cluster_copy(c, &job);
}

void mc_cluster_answer_done(struct mc_cluster *c, const struct mc_flight *f)
{
	const struct mc_trace_turn *turn = c->turn ? c->turn + (f->row - c->result->row) : NULL;
	uint32_t node = mc_view_decode_node(&c->view, f->row->decode);
	const uint64_t *id;
	struct mc_lease lease;

	if (!turn || turn->next < 0)
		return;
	id = c->trace->block + c->trace->first[turn->next];
	if (c->pool[node]) {
		lease = mc_cluster_acquire(c, node, id, turn->to);
		mc_pool_commit(c->pool[node], &lease, 0, lease.held); /* VRAM has it all */
		if (c->write_through)
			mc_cluster_ssd_store(c, node, id, lease.held);
		mc_pool_release(c->pool[node], &lease);
	}
	c->result->write_backs++;
	if (c->view.sources == MC_SOURCES_PREFILL)
		send(c, f, turn, id);
}
