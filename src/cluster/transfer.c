/* What moves KV: fetches of cached blocks to a prefill instance, and hand-overs to decode nodes. */
#include "cluster/state.h"

/* The blocks that another node had are here. */
static void on_fetched(void *arg, uint32_t flow)
{
	struct mc_flight *f = arg;
	struct mc_cluster *c = f->cluster;
	struct mc_row *row = f->row;
	uint32_t depth = f->hit < f->lease.held ? f->hit : f->lease.held;

	(void)flow;
	c->view.node[row->source].sends--;
	mc_pool_release(c->pool[row->source], &f->source);
	if (depth > f->local)
		mc_pool_commit(c->pool[row->prefill], &f->lease, f->local, depth);
	mc_prefill_fetched(&c->prefill[row->prefill], &f->prefill);
	mc_cluster_report(c, row->prefill);
}

void mc_cluster_fetch(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt)
{
	struct mc_row *row = f->row;
	double bytes = mc_view_span_tokens(&c->view, prompt, f->local, f->hit) * c->cost->kv_bytes;
	struct mc_flow_spec spec = {
	    .link = {mc_cluster_link_out(row->source), mc_cluster_link_in(row->prefill)},
	    .n_links = 2,
	    .bytes = bytes,
	    .startup = mc_time_from_s(c->cost->net_startup_s),
	    .done = on_fetched,
	    .arg = f,
	};

	f->source = mc_pool_pin(c->pool[row->source], prompt->block, f->hit);
	c->view.node[row->source].sends++;
	c->result->fetched_bytes += bytes;
	mc_net_flow_start(c->net, &spec);
}

/* All KV of the prompt is at the decode node, in its DRAM, and stays there as long as the request needs it
 * and the pool keeps it. */
static void on_handover(void *arg, uint32_t flow)
{
	struct mc_flight *f = arg;
	struct mc_cluster *c = f->cluster;
	struct mc_row *row = f->row;

	(void)flow;
	row->handover_end = c->loop.now;
	if (!c->layerwise)
		c->view.node[row->prefill].sends--;
	mc_pool_release(c->pool[row->prefill], &f->lease);
	if (f->decode_lease.held > f->sent_from)
		mc_pool_commit(c->pool[mc_view_decode_node(&c->view, row->decode)], &f->decode_lease,
			       f->sent_from, f->decode_lease.held);
	mc_decode_arrive(&c->decode[row->decode], &f->decode);
}

/*
 * Reserve what the decode node's DRAM keeps of the prompt; returns the tokens that it lacks. Blocks that
 * another hand-over is still bringing are sent again: the sender knows what is there, not what will be.
 */
static uint32_t reserve(struct mc_cluster *c, struct mc_flight *f)
{
	const struct mc_trace *t = c->trace;
	int64_t request = f->row - c->result->row;
	struct mc_pool *pool = c->pool[mc_view_decode_node(&c->view, f->row->decode)];
	struct mc_prompt prompt = {.tokens = f->row->input, .block = t->block + t->first[request]};

	prompt.n_blocks = (uint32_t)mc_trace_blocks(t, request);
	if (pool && c->caching) {
		f->decode_lease = mc_pool_acquire(pool, prompt.block, prompt.n_blocks);
		f->sent_from = mc_pool_resident(pool, &f->decode_lease);
	}
	return mc_view_span_tokens(&c->view, &prompt, f->sent_from, prompt.n_blocks);
}

void mc_cluster_hand_over(struct mc_cluster *c, struct mc_flight *f, mc_time produce_end)
{
	double bytes = reserve(c, f) * c->cost->kv_bytes;
	struct mc_flow_spec spec = {
	    .link = {mc_cluster_link_out(f->row->prefill),
		     mc_cluster_link_in(mc_view_decode_node(&c->view, f->row->decode))},
	    .n_links = 2,
	    .bytes = bytes,
	    .startup = mc_time_from_s(c->cost->net_startup_s),
	    .produce_end = produce_end,
	    .tail = produce_end ? bytes / (double)c->cost->shape.layers : 0,
	    .done = on_handover,
	    .arg = f,
	};

	c->result->handover_bytes += bytes;
	mc_decode_announce(&c->decode[f->row->decode], &f->decode);
	mc_net_flow_start(c->net, &spec);
}
