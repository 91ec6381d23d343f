/*
 * The Conductor knows that a node was lost. What depended on it goes on elsewhere, in the order in which it
 * was dispatched:
 * - a request whose prefill instance is lost, before all its KV was handed over, starts over: it is decided
 *   on anew, its arrival stays;
 * - so does one whose decode node is lost after that, and the answer so far is thrown away;
 * - one whose decode node is lost before that gets another one, and its hand-over begins again (or begins
 *   there, if it had not yet);
 * - one that waits for blocks from the node computes them.
 * One that was placed again too often (faults.retries) has failed.
 */
#include <assert.h>

#include "cluster/state.h"

void mc_cluster_row_clear(struct mc_row *row)
{
	row->prefill_start = row->prefill_end = row->handover_end = -1;
	row->fetch_wait = row->predicted_ttft = 0;
	row->compute_s = row->load_s = 0;
	row->local_hit = row->remote_hit = row->ssd_hit = 0;
	row->prefill = row->decode = row->source = row->ssd_source = MC_NONE;
}

static void give_up(struct mc_flight *f)
{
	f->row->outcome = MC_FAILED;
	mc_cluster_close(f);
}

/* May it be placed once more? */
static bool retry(const struct mc_cluster *c, struct mc_flight *f)
{
	bool may = f->row->retries < c->scenario->faults.retries;

	f->row->retries += may;
	return may;
}

/* It goes from its prefill instance, which lives. */
static void drop_prompt(struct mc_cluster *c, struct mc_flight *f)
{
	mc_pool_release(c->pool[f->row->prefill], &f->lease);
}

/* Hand what is computed of it over to its (new) decode node, or what will be. */
static void settle_in(struct mc_cluster *c, struct mc_flight *f)
{
	bool ended = f->row->prefill_end >= 0;

	mc_cluster_reserve(c, f);
	if (ended || c->layerwise)
		mc_cluster_hand_over(c, f, ended ? 0 : f->prefill.end);
}

void mc_cluster_find_home(struct mc_cluster *c, struct mc_flight *f)
{
	struct mc_prompt prompt = mc_cluster_prompt(c, f->row);
	struct mc_decision d;

	mc_cluster_look(c);
	mc_conductor_decide_decode(&c->conductor, &c->view, &prompt, &d);
	f->row->decode = d.decode;
	f->homeless = d.refusal != MC_TAKEN;
	if (!d.refusal) {
		mc_view_decode_add(&c->view, d.decode, 1, prompt.tokens);
		mc_cluster_admit_rehomed(c, f);
		if (f->stage == MC_STAGE_HANDOVER)
			settle_in(c, f);
	} else if (f->row->prefill_end >= 0) {
		drop_prompt(c, f);
		mc_cluster_close(f);
		mc_cluster_refuse(c, (int64_t)prompt.request, d.refusal);
	}
}

void mc_cluster_move(struct mc_cluster *c, struct mc_flight *f)
{
	mc_cluster_admit_gone(c, f);
	mc_view_decode_add(&c->view, f->row->decode, -1, -(int64_t)f->row->input);
	if (f->stage == MC_STAGE_HANDOVER) {
		mc_cluster_report_decode(c, f->row, &(struct mc_decode_change){.announced = -1});
		c->result->outages.moves++;
		if (f->row->prefill_end >= 0 && !retry(c, f)) {
			drop_prompt(c, f);
			f->row->decode = MC_NONE;
			give_up(f);
			return;
		}
	}
	mc_cluster_find_home(c, f);
}

/* Prompt tokens of the parts of its placement up to a block, by tier. */
static void count_hits(struct mc_cluster *c, struct mc_flight *f, uint32_t upto)
{
	struct mc_prompt prompt = mc_cluster_prompt(c, f->row);
	struct mc_row *row = f->row;
	uint32_t hit = mc_view_hit_tokens(&c->view, &prompt, f->local);

	c->hit_tokens -= mc_row_hit(row);
	row->local_hit = hit;
	row->remote_hit = row->ssd_hit = 0;
	row->source = row->ssd_source = MC_NONE;
	for (uint32_t k = 0; k < f->parts && f->fetch[k].part.to <= upto; k++)
		hit = mc_cluster_note_part(c, row, &f->fetch[k].part, hit);
	c->hit_tokens += hit;
	f->prefill.cached = hit;
}

void mc_cluster_unfetched(struct mc_cluster *c, struct mc_flight *f)
{
	uint32_t depth = f->failed_at < f->lease.held ? f->failed_at : f->lease.held;

	if (!f->failure_known || f->fetches || mc_cluster_dead(c, f->row->prefill))
		return;
	c->result->outages.failed_fetches++;
	f->hit = f->failed_at;
	count_hits(c, f, f->hit);
	if (depth > f->local)
		mc_pool_commit(c->pool[f->row->prefill], &f->lease, f->local, depth);
	f->failed_at = MC_NONE;
	mc_prefill_unfetched(&c->prefill[f->row->prefill], &f->prefill);
	mc_cluster_report(c, f->row->prefill);
}

/* What it did is lost. */
static void count_lost(struct mc_cluster *c, const struct mc_flight *f)
{
	const struct mc_row *row = f->row;
	mc_time gpu = mc_time_from_s(row->compute_s + row->load_s);

	if (row->prefill_start < 0)
		return;
	c->lost_begun_s += row->compute_s + row->load_s;
	c->lost_crossing += f->prefill.stage_bytes;
	c->result->outages.lost_tokens += f->stage == MC_STAGE_DECODE ? f->decode.made : 0;
	if (row->prefill_end < 0)
		return; /* what was computed of it is counted when the instance stops */
	c->lost_ended_s += row->compute_s + row->load_s;
	c->lost_crossed += f->prefill.stage_bytes;
	c->result->outages.lost_prefill += f->stage == MC_STAGE_DECODE ? 0 : gpu;
}

/* Take it out of all that still stands. Its transfers have failed. */
static void undo(struct mc_cluster *c, struct mc_flight *f)
{
	struct mc_row *row = f->row;
	uint32_t decode = row->decode == MC_NONE ? MC_NONE : mc_view_decode_node(&c->view, row->decode);

	assert(!f->fetches);
	count_lost(c, f);
	mc_cluster_admit_gone(c, f);
	if (decode != MC_NONE) {
		mc_cluster_report_decode(
		    c, row,
		    &(struct mc_decode_change){.running = -(f->stage == MC_STAGE_DECODE),
					       .announced = -(f->stage != MC_STAGE_PREFILL)});
		mc_view_decode_add(&c->view, row->decode, -1, -(int64_t)row->input);
		if (f->stage == MC_STAGE_HANDOVER)
			mc_decode_withdraw(&c->decode[row->decode], &f->decode);
		if (f->decode_lease.held)
			mc_pool_release(c->pool[decode], &f->decode_lease);
	}
	mc_cluster_row_clear(row);
}

static void start_over(struct mc_cluster *c, struct mc_flight *f)
{
	undo(c, f);
	if (!retry(c, f)) {
		give_up(f);
		return;
	}
	c->result->outages.restarts++;
	mc_vec_push(&c->again, f->row - c->result->row);
	mc_cluster_close(f);
}

static bool lost_with(const struct mc_cluster *c, const struct mc_flight *f, uint32_t node)
{
	return f->stage == MC_STAGE_DECODE ? mc_view_decode_node(&c->view, f->row->decode) == node
					   : f->row->prefill == node;
}

/* Leases at the node are void with its memory. */
static void clear_memory(struct mc_cluster *c, uint32_t node)
{
	for (struct mc_flight *f = c->first; f; f = f->next) {
		if (f->row->prefill == node)
			f->lease = (struct mc_lease){MC_NONE, 0};
		if (f->row->decode != MC_NONE && mc_view_decode_node(&c->view, f->row->decode) == node)
			f->decode_lease = (struct mc_lease){MC_NONE, 0};
	}
	if (!c->pool[node])
		return;
	c->result->outages.lost_blocks += mc_pool_stats(c->pool[node]).resident;
	mc_pool_clear(c->pool[node]);
}

void mc_cluster_recover(struct mc_cluster *c, uint32_t node)
{
	bool prefill = node < c->view.n_prefill;
	struct mc_flight *next;

	clear_memory(c, node);
	if (prefill)
		mc_prefill_clear(&c->prefill[node]);
	else
		mc_decode_clear(&c->decode[node - c->view.n_prefill]);
	if (prefill)
		mc_cluster_report(c, node);
	mc_cluster_hear(c, node);
	for (struct mc_flight *f = c->first; f; f = next) {
		next = f->next;
		if (lost_with(c, f, node)) {
			start_over(c, f);
		} else if (f->stage != MC_STAGE_DECODE && f->row->decode != MC_NONE &&
			   mc_view_decode_node(&c->view, f->row->decode) == node) {
			mc_cluster_move(c, f);
		} else if (f->failed_at != MC_NONE && f->failed_node == node) {
			f->failure_known = true;
			mc_cluster_unfetched(c, f);
		}
	}
	mc_cluster_hear(c, node); /* what was told of requests that were there */
	for (size_t i = 0; i < c->again.n; i++)
		mc_cluster_dispatch(c, c->again.at[i]);
	c->again.n = 0;
}
