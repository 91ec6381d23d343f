/*
 * A request's way: the Conductor decides, missing blocks are fetched, prefill, KV to the decode node, decode.
 */
#include <assert.h>

#include "cluster/state.h"

#define FLIGHTS_PER_CHUNK 256

static struct mc_flight *flight_get(struct mc_cluster *c)
{
	struct mc_flight *f = c->free_flights;

	if (!f) {
		f = mc_xcalloc(FLIGHTS_PER_CHUNK, sizeof *f);
		mc_vec_push(&c->chunks, f);
		for (size_t i = 1; i < FLIGHTS_PER_CHUNK; i++) {
			f[i].next_free = c->free_flights;
			c->free_flights = &f[i];
		}
	} else {
		c->free_flights = f->next_free;
	}
	return f;
}

static void finish(struct mc_flight *f)
{
	struct mc_cluster *c = f->cluster;

	f->row->end = c->loop.now;
	f->row->outcome = MC_COMPLETED;
	c->result->end = c->loop.now;
	c->open--;
	f->next_free = c->free_flights;
	c->free_flights = f;
}

static void report_prefill(struct mc_cluster *c, uint32_t i)
{
	c->view.now = c->loop.now;
	mc_view_prefill_set(&c->view, i, mc_prefill_free_at(&c->prefill[i]));
}

/* All KV of the prompt is at the decode node. */
static void on_handover(void *arg, uint32_t flow)
{
	struct mc_flight *f = arg;
	struct mc_cluster *c = f->cluster;
	struct mc_row *row = f->row;

	(void)flow;
	row->handover_end = c->loop.now;
	if (!c->layerwise)
		c->view.prefill[row->prefill].sends--;
	mc_pool_release(c->pool[row->prefill], &f->lease);
	mc_decode_arrive(&c->decode[row->decode], &f->decode);
}

/* KV goes to the decode node, layer by layer until produce_end (the last layer is there only then), or at
 * once. */
static void hand_over(struct mc_cluster *c, struct mc_flight *f, mc_time produce_end)
{
	double bytes = f->row->input * c->cost->kv_bytes;
	struct mc_flow_spec spec = {
	    .link = {mc_cluster_link_out(f->row->prefill), mc_cluster_link_decode(c, f->row->decode)},
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

void mc_cluster_prefill_launched(void *cluster, struct mc_prefill_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, prefill);
	struct mc_cluster *c = cluster;

	f->row->prefill_start = job->start;
	f->row->fetch_wait = job->fetch_wait;
	f->row->compute_s = job->compute_s;
	f->row->load_s = job->load_s;
	report_prefill(c, f->row->prefill);
	if (c->layerwise && f->row->decode != MC_NONE)
		hand_over(c, f, job->end);
}

void mc_cluster_prefill_finished(void *cluster, struct mc_prefill_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, prefill);
	struct mc_cluster *c = cluster;
	struct mc_row *row = f->row;

	row->prefill_end = c->loop.now;
	c->result->end = c->loop.now;
	if (f->lease.held > f->local)
		mc_pool_commit(c->pool[row->prefill], &f->lease, f->local, f->lease.held);
	report_prefill(c, row->prefill);
	if (row->decode == MC_NONE) {
		mc_pool_release(c->pool[row->prefill], &f->lease);
		finish(f);
	} else if (!c->layerwise) {
		c->view.prefill[row->prefill].sends++;
		hand_over(c, f, 0);
	}
}

void mc_cluster_decode_finished(void *cluster, struct mc_decode_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, decode);
	struct mc_cluster *c = cluster;

	f->row->tbt = mc_decode_tbt(job->at, job);
	mc_view_decode_add(&c->view, f->row->decode, -1, -(int64_t)job->context);
	finish(f);
}

/* The blocks that another node had are here. */
static void on_fetched(void *arg, uint32_t flow)
{
	struct mc_flight *f = arg;
	struct mc_cluster *c = f->cluster;
	struct mc_row *row = f->row;
	uint32_t depth = f->hit < f->lease.held ? f->hit : f->lease.held;

	(void)flow;
	c->view.prefill[row->source].sends--;
	mc_pool_release(c->pool[row->source], &f->source);
	if (depth > f->local)
		mc_pool_commit(c->pool[row->prefill], &f->lease, f->local, depth);
	mc_prefill_fetched(&c->prefill[row->prefill], &f->prefill);
	report_prefill(c, row->prefill);
}

static void fetch(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt)
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
	c->view.prefill[row->source].sends++;
	c->result->fetched_bytes += bytes;
	mc_net_flow_start(c->net, &spec);
}

/* Note the decision in the request's row. */
static void note(struct mc_cluster *c, struct mc_row *row, const struct mc_prompt *prompt,
		 const struct mc_decision *d)
{
	uint32_t hit = mc_view_hit_tokens(&c->view, prompt, d->placed.hit);
	uint64_t local = (uint64_t)d->placed.local * (uint64_t)c->view.block_tokens;

	row->prefill = d->placed.prefill;
	row->decode = d->decode;
	row->source = d->placed.source;
	row->local_hit = local < hit ? (uint32_t)local : hit;
	row->remote_hit = hit - row->local_hit;
	row->predicted_ttft = row->decided - row->arrival + d->placed.total;
	c->input_tokens += prompt->tokens;
	c->hit_tokens += hit;
}

static void carry_out(struct mc_cluster *c, struct mc_row *row, const struct mc_prompt *prompt,
		      const struct mc_decision *d)
{
	struct mc_flight *f = flight_get(c);
	uint32_t cached = mc_view_hit_tokens(&c->view, prompt, d->placed.hit);

	*f = (struct mc_flight){.cluster = c, .row = row};
	f->local = d->placed.local;
	f->hit = d->placed.hit;
	f->prefill.tokens = prompt->tokens;
	f->prefill.cached = cached;
	f->prefill.fetching = row->source != MC_NONE;
	f->prefill.expected = mc_view_prefill_occupancy(&c->view, prompt->tokens, cached);
	f->decode.context = prompt->tokens;
	f->decode.remaining = row->output > 1 ? row->output - 1 : 0;
	f->decode.counted = row->counted;
	c->open++;
	f->lease = mc_pool_acquire(c->pool[row->prefill], prompt->block, prompt->n_blocks);
	if (row->decode != MC_NONE)
		mc_view_decode_add(&c->view, row->decode, 1, prompt->tokens);
	if (row->source != MC_NONE)
		fetch(c, f, prompt);
	mc_prefill_submit(&c->prefill[row->prefill], &f->prefill);
	report_prefill(c, row->prefill);
}

void mc_cluster_dispatch(struct mc_cluster *c, int64_t request)
{
	const struct mc_trace *t = c->trace;
	struct mc_row *row = &c->result->row[request];
	struct mc_prompt prompt = {
	    .request = (uint64_t)request, .tokens = t->input[request], .max_tokens = t->output[request]};
	struct mc_decision d;

	row->decided = c->view.now = c->loop.now;
	if (c->future)
		mc_future_advance(c->future, request);
	prompt.block = t->block + t->first[request];
	prompt.n_blocks = (uint32_t)mc_trace_blocks(t, request);
	mc_vec_reserve(&c->steps, prompt.n_blocks);
	prompt.step = c->steps.at;
	prompt.n_steps = mc_tree_trail(c->tree, prompt.block, prompt.n_blocks, c->steps.at);
	mc_conductor_decide(&c->conductor, &c->view, &prompt, &d);
	if (c->hooks->explain && c->hooks->explain->request == request)
		mc_cluster_explain(c, &prompt, &d);
	if (d.refusal) {
		row->outcome = MC_REJECTED;
		row->refusal = (uint8_t)d.refusal;
		return;
	}
	note(c, row, &prompt, &d);
	carry_out(c, row, &prompt, &d);
}
