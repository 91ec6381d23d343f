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
			f[i].next = c->free_flights;
			c->free_flights = &f[i];
		}
	} else {
		c->free_flights = f->next;
	}
	return f;
}

void mc_cluster_close(struct mc_flight *f)
{
	struct mc_cluster *c = f->cluster;

	c->result->end = c->loop.now;
	mc_cluster_admit_forget(f->expected);
	c->open--;
	*(f->prev ? &f->prev->next : &c->first) = f->next;
	*(f->next ? &f->next->prev : &c->last) = f->prev;
	f->next = c->free_flights;
	c->free_flights = f;
	mc_cluster_roles_eased(c);
	if (f->row->outcome != MC_UNFINISHED)
		mc_cluster_ended(c, f->row - c->result->row);
}

void mc_cluster_finish(struct mc_flight *f)
{
	mc_cluster_admit_ended(f->cluster, f);
	f->row->end = f->cluster->loop.now;
	f->row->outcome = MC_COMPLETED;
	mc_cluster_close(f);
}

void mc_cluster_prefill_starting(void *cluster, struct mc_prefill_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, prefill);
	struct mc_cluster *c = cluster;
	struct mc_row *row = f->row;
	const struct mc_prompt prompt = {.tokens = row->input};
	uint32_t counted = f->hit < f->lease.held ? f->hit : f->lease.held, there, hit, local;

	if (!f->lease.held)
		return;
	there = mc_pool_resident(c->pool[row->prefill], &f->lease);
	if (there == counted)
		return;
	f->local = there < f->local ? there : f->local;
	f->hit = there;
	hit = mc_view_hit_tokens(&c->view, &prompt, there);
	/* What came from elsewhere stays counted as that, as far as it goes. */
	local = mc_view_hit_tokens(&c->view, &prompt, f->local);
	c->hit_tokens += (uint64_t)hit - mc_row_hit(row);
	row->remote_hit = row->remote_hit < hit - local ? row->remote_hit : hit - local;
	row->ssd_hit =
	    row->ssd_hit < hit - local - row->remote_hit ? row->ssd_hit : hit - local - row->remote_hit;
	row->local_hit = hit - row->remote_hit - row->ssd_hit;
	job->cached = hit;
}

void mc_cluster_prefill_launched(void *cluster, struct mc_prefill_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, prefill);
	struct mc_cluster *c = cluster;

	f->stage = MC_STAGE_HANDOVER;
	f->row->prefill_start = job->start;
	f->row->fetch_wait = job->fetch_wait;
	f->row->compute_s = job->compute_s;
	f->row->load_s = job->load_s;
	mc_cluster_admit_joins(c, f, job->end);
	mc_cluster_report(c, f->row->prefill);
	if (c->scenario->run.check)
		mc_cluster_check_launch(c, f);
	if (f->row->decode != MC_NONE)
		mc_cluster_reserve(c, f);
	if (c->layerwise && f->row->decode != MC_NONE)
		mc_cluster_hand_over(c, f, job->end);
}

struct mc_prompt mc_cluster_prompt(const struct mc_cluster *c, const struct mc_row *row)
{
	const struct mc_class *class = &c->result->classes.at[row->class];
	/* One without objectives is a load to those that have some. */
	mc_time slo_ttft = c->scenario->slo.ttft, slo_tbt = c->scenario->slo.tbt;

	return (struct mc_prompt){.request = (uint64_t)(row - c->result->row),
				  .tokens = row->input,
				  .max_tokens = row->output,
				  .arrival = row->sent,
				  .ttft = class->ttft ? class->ttft : slo_ttft,
				  .tbt = class->tbt ? class->tbt : slo_tbt,
				  .admit_load = class->admit_load,
				  .true_output = row->output};
}

static const uint64_t *prompt_blocks(const struct mc_cluster *c, const struct mc_row *row)
{
	return c->trace->block + c->trace->first[row - c->result->row];
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
	if (c->write_through)
		mc_cluster_ssd_store(c, row->prefill, prompt_blocks(c, row), f->lease.held);
	mc_cluster_report(c, row->prefill);
	if (f->homeless) {
		mc_cluster_find_home(c, f);
	} else if (row->decode == MC_NONE) {
		mc_pool_release(c->pool[row->prefill], &f->lease);
		mc_cluster_finish(f);
	} else if (!mc_cluster_admit_prefilled(c, f)) {
		return;
	} else if (c->layerwise) {
		mc_cluster_stream_over(c, f);
	} else {
		mc_cluster_hand_over(c, f, 0);
	}
}

void mc_cluster_decode_finished(void *cluster, struct mc_decode_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, decode);
	struct mc_cluster *c = cluster;

	f->row->tbt = mc_decode_tbt(job->at, job);
	mc_cluster_report_decode(c, f->row,
				 &(struct mc_decode_change){.running = -1, .announced = -1, .assigned = -1});
	mc_cluster_answer_done(c, f);
	if (f->decode_lease.held)
		mc_pool_release(c->pool[mc_view_decode_node(&c->view, f->row->decode)], &f->decode_lease);
	mc_cluster_finish(f);
}

uint32_t mc_cluster_note_part(const struct mc_cluster *c, struct mc_row *row, const struct mc_part *part,
			      uint32_t hit)
{
	const struct mc_prompt prompt = {.tokens = row->input};
	uint32_t upto = mc_view_hit_tokens(&c->view, &prompt, part->to);
	bool ssd = part->node >= c->view.ssd;

	if (part->from == part->to) /* asked for in vain: face.c */
		return hit;
	*(ssd ? &row->ssd_hit : &row->remote_hit) += upto - hit;
	*(ssd ? &row->ssd_source : &row->source) = mc_view_home(&c->view, part->node);
	return upto;
}

/* Note the decision in the request's row. */
static void note(struct mc_cluster *c, struct mc_row *row, const struct mc_prompt *prompt,
		 const struct mc_decision *d)
{
	const struct mc_score *s = &d->placed;
	uint32_t hit = mc_view_hit_tokens(&c->view, prompt, s->local);

	row->prefill = s->prefill;
	row->decode = d->decode;
	row->local_hit = hit;
	for (uint32_t k = 0; k < s->n_parts; k++)
		hit = mc_cluster_note_part(c, row, &s->part[k], hit);
	row->predicted_ttft = row->decided - row->arrival + d->placed.total;
	c->input_tokens += prompt->tokens;
	c->hit_tokens += hit;
}

static void carry_out(struct mc_cluster *c, struct mc_row *row, const struct mc_prompt *prompt,
		      const struct mc_decision *d)
{
	struct mc_flight *f = flight_get(c);
	uint32_t cached = mc_view_hit_tokens(&c->view, prompt, d->placed.hit);

	*f = (struct mc_flight){
	    .cluster = c, .row = row, .failed_at = MC_NONE, .transfer = MC_NONE, .prev = c->last};
	*(c->last ? &c->last->next : &c->first) = f;
	c->last = f;
	c->open++;
	if (row->decode != MC_NONE)
		mc_view_decode_add(&c->view, row->decode, 1, prompt->tokens);
	mc_cluster_admit_dispatched(c, f, prompt, d);
	if (c->coupled) {
		mc_cluster_coupled_submit(c, f, prompt, cached);
		return;
	}
	f->local = d->placed.local;
	f->hit = d->placed.hit;
	f->prefill.tokens = prompt->tokens;
	f->prefill.cached = cached;
	f->prefill.fetching = d->placed.n_parts > 0;
	f->prefill.takes = d->placed.compute;
	f->prefill.deadline = prompt->ttft ? prompt->arrival + prompt->ttft : MC_TIME_MAX;
	f->prefill.expected = mc_view_prefill_occupancy(&c->view, prompt->tokens, cached);
	f->decode.context = prompt->tokens;
	f->decode.remaining = row->output > 1 ? row->output - 1 : 0;
	f->decode.counted = row->counted;
	/* Before the lease: what that evicts may push what is to be read off the SSD. */
	mc_cluster_fetch(c, f, prompt, &d->placed);
	f->lease = mc_cluster_acquire(c, row->prefill, prompt->block, prompt->n_blocks);
	if (c->stale)
		mc_cluster_stale_kept(c, row->prefill, f->lease.held);
	mc_prefill_submit(&c->prefill[row->prefill], &f->prefill);
	mc_cluster_report(c, row->prefill);
}

void mc_cluster_dispatch(struct mc_cluster *c, int64_t request)
{
	const struct mc_trace *t = c->trace;
	struct mc_row *row = &c->result->row[request];
	struct mc_prompt prompt = mc_cluster_prompt(c, row);
	struct mc_decision d;

	row->decided = c->loop.now;
	mc_cluster_coupled_look(c);
	mc_cluster_look(c);
	if (c->future)
		mc_future_advance(c->future, request);
	prompt.block = t->block + t->first[request];
	prompt.n_blocks = c->caching ? (uint32_t)mc_trace_blocks(t, request) : 0;
	mc_vec_reserve(&c->steps, prompt.n_blocks);
	prompt.step = c->steps.at;
	prompt.n_steps = mc_tree_trail(c->known, prompt.block, prompt.n_blocks, c->steps.at);
	mc_cluster_replicate_note(c, &prompt);
	mc_conductor_decide(&c->conductor, &c->view, &prompt, &d);
	if (c->hooks->explain && c->hooks->explain->request == request)
		mc_cluster_explain(c, &prompt, &d);
	if (d.refusal) {
		mc_cluster_refuse(c, request, d.refusal);
		return;
	}
	if (c->stale)
		mc_cluster_face(c, &prompt, &d.placed);
	note(c, row, &prompt, &d);
	carry_out(c, row, &prompt, &d);
}
