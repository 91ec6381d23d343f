/*
 * A cluster of coupled nodes (cluster.coupled): each does prefill and decode itself (engine/coupled.h). The
 * Conductor's policies choose a node as they would a prefill instance; its decode instance is the same node,
 * and no KV moves. What a node caches is in the VRAM that its requests leave.
 */
#include <string.h>

#include "cluster/faults.h"
#include "cluster/state.h"

/* KV blocks in the VRAM of a node. */
static int64_t vram_blocks(const struct mc_cluster *c)
{
	return c->cost->vram_kv_tokens / c->view.block_tokens;
}

int mc_cluster_coupled_scenario(const struct mc_scenario *s, struct mc_err *err)
{
	const char *none = "is for prefill and decode nodes, not for coupled ones (cluster.coupled)";

	if (!s->cluster.coupled)
		return MC_OK;
	if (strcmp(s->kv.pool, "local") && strcmp(s->kv.pool, "off"))
		return mc_scenario_bad(
		    err, "kv.pool",
		    "is for nodes that send KV; coupled nodes (cluster.coupled) do not: expected local "
		    "(each caches in the VRAM that its requests leave) or off");
	if (strcmp(s->kv.ssd_write, "never"))
		return mc_scenario_bad(err, "kv.ssd_write", none);
	if (mc_faults_any(s))
		return mc_scenario_bad(err,
				       s->faults.node_mtbf < MC_TIME_MAX  ? "faults.node_mtbf"
				       : s->faults.nic_mtbf < MC_TIME_MAX ? "faults.nic_mtbf"
									  : "faults.events",
				       none);
	if (!strcmp(s->conductor.admission, "baseline"))
		return mc_scenario_bad(
		    err, "conductor.admission",
		    "judges between prefill and decode, which coupled nodes (cluster.coupled) do not part");
	if (!strcmp(s->conductor.decode_check, "on"))
		return mc_scenario_bad(err, "conductor.decode_check", none);
	if (!strcmp(s->kv.evict, "belady"))
		return mc_scenario_bad(
		    err, "kv.evict",
		    "has to know in which order prompts start; coupled nodes (cluster.coupled) find it "
		    "out as they go");
	return MC_OK;
}

void mc_cluster_coupled_view(struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;

	c->view.coupled = true;
	c->view.group = 1;
	c->view.chunk = strcmp(s->cluster.batching, "chunked") ? INT64_MAX : s->cluster.max_batched_tokens;
}

static void report(void *cluster, struct mc_coupled *node)
{
	struct mc_cluster *c = cluster;

	mc_cluster_report(c, (uint32_t)(node - c->coupled));
}

void mc_cluster_coupled_look(struct mc_cluster *c)
{
	for (uint32_t i = 0; i < c->view.n_prefill && c->coupled; i++)
		if (c->coupled[i].waiting.n && !c->coupled[i].pass)
			report(c, &c->coupled[i]);
}

/* What is cached is known now. */
static void on_started(void *cluster, struct mc_coupled_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, coupled);
	struct mc_cluster *c = cluster;

	f->row->prefill_start = job->start;
	if (f->row->decode != MC_NONE) {
		mc_cluster_report_decode(c, f->row, &(struct mc_decode_change){.announced = 1});
		mc_cluster_admit_joins(c, f, job->start + job->expected);
	}
	c->hit_tokens += job->cached;
	c->hit_tokens -= f->row->local_hit;
	f->row->local_hit = job->cached;
}

static void on_first(void *cluster, struct mc_coupled_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, coupled);
	struct mc_cluster *c = cluster;

	f->row->prefill_end = c->result->end = c->loop.now;
	f->row->compute_s = job->compute_s;
	if (f->row->decode == MC_NONE)
		return;
	f->row->handover_end = c->loop.now;
	mc_cluster_report_decode(c, f->row, &(struct mc_decode_change){.running = 1});
	mc_cluster_admit_joins(c, f, c->loop.now);
}

static void on_finished(void *cluster, struct mc_coupled_job *job)
{
	struct mc_flight *f = mc_container_of(job, struct mc_flight, coupled);
	struct mc_cluster *c = cluster;

	if (f->row->decode != MC_NONE) {
		f->row->tbt = mc_coupled_tbt(job->at, job);
		mc_cluster_report_decode(
		    c, f->row, &(struct mc_decode_change){.running = -1, .announced = -1, .assigned = -1});
		mc_cluster_answer_done(c, f);
	}
	mc_cluster_finish(f);
}

/* The caches of prefixes share VRAM with what runs. */
static int init_pools(struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;
	int64_t blocks = vram_blocks(c);
	const char *key = s->kv.vram_tokens || !s->kv.vram_bytes ? "kv.vram_tokens" : "kv.vram_bytes";

	if (!blocks)
		return mc_scenario_bad(c->err, key,
				       "holds not even one block; expected kv.block_tokens or more");
	if (blocks >= INT32_MAX)
		return mc_scenario_bad(c->err, key, "is over 2^31 blocks for one node; use larger blocks");
	c->pool = mc_xcalloc(c->view.n_prefill, sizeof *c->pool);
	for (uint32_t i = 0; i < c->view.n_prefill && c->caching; i++)
		c->pool[i] = mc_pool_new(c->tree, i, (uint32_t)blocks, mc_evictor_find(s->kv.evict));
	return MC_OK;
}

int mc_cluster_coupled_init(struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;
	struct mc_coupled_ops ops = {on_started, on_first, on_finished, report, c};
	struct mc_coupled_params params = {.chunked = !strcmp(s->cluster.batching, "chunked"),
					   .max_batch = s->cluster.max_batch,
					   .max_batched_tokens = s->cluster.max_batched_tokens,
					   .fast_forward = s->run.fast_forward};
	int rc = init_pools(c);

	if (rc)
		return rc;
	c->coupled = mc_xcalloc(c->view.n_prefill, sizeof *c->coupled);
	for (uint32_t i = 0; i < c->view.n_prefill; i++) {
		struct mc_coupled *n = &c->coupled[i];
		struct mc_vram vram;

		mc_vram_init(&vram, c->pool[i], c->view.block_tokens, (uint32_t)vram_blocks(c));
		mc_coupled_init(n, &c->loop, c->cost, &params, &ops);
		mc_coupled_set_vram(n, &vram);
		report(c, n);
		c->view.kv_limit = mc_vram_most(&vram);
	}
	return MC_OK;
}

void mc_cluster_coupled_fini(struct mc_cluster *c)
{
	for (uint32_t i = 0; i < c->view.n_prefill && c->coupled; i++)
		mc_coupled_fini(&c->coupled[i]);
	free(c->coupled);
}

void mc_cluster_coupled_submit(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt,
			       uint32_t cached)
{
	struct mc_coupled_job *job = &f->coupled;

	job->tokens = prompt->tokens;
	job->output = f->row->output > 1 ? f->row->output : 1;
	job->block = prompt->block;
	job->n_blocks = c->caching ? (uint32_t)(prompt->tokens / c->view.block_tokens) : 0;
	job->expected = mc_view_prefill_occupancy(&c->view, prompt->tokens, cached);
	job->counted = f->row->counted;
	mc_coupled_submit(&c->coupled[f->row->prefill], job);
}

void mc_cluster_coupled_stop(struct mc_cluster *c)
{
	for (uint32_t i = 0; i < c->view.n_prefill; i++)
		mc_coupled_stop(&c->coupled[i]);
}

void mc_cluster_coupled_collect(struct mc_cluster *c)
{
	struct mc_result *r = c->result;

	for (uint32_t i = 0; i < c->view.n_prefill; i++) {
		struct mc_coupled *n = &c->coupled[i];

		r->segment[i] = n->segments;
		n->segments = (struct mc_segments){0};
		r->prefill_busy[i] = n->prefill_busy;
		r->decode_busy[i] = n->decode_busy;
		r->preemptions += n->preemptions;
		r->recomputed_tokens += n->recomputed;
		for (size_t k = 0; k < n->intervals.n; k++)
			mc_vec_push(&r->first, n->intervals.at[k]);
	}
}

void mc_cluster_coupled_sample(const struct mc_cluster *c, struct mc_sample *s)
{
	__int128 wait = 0;

	for (uint32_t i = 0; i < c->view.n_prefill; i++) {
		const struct mc_coupled *n = &c->coupled[i];
		uint32_t batch = (uint32_t)n->batch.n;
		int64_t context = n->context + (int64_t)n->cursor * batch,
			used = (int64_t)n->vram.blocks - mc_vram_spare(&n->vram);
		mc_time t = batch ? mc_cost_decode_ns(c->cost, batch, context) : 0,
			queue = mc_coupled_free_at(n) - c->loop.now;
		double kv = (double)used / n->vram.blocks;

		queue = queue > 0 ? queue : 0;
		wait += queue;
		s->prefill_wait_max = queue > s->prefill_wait_max ? queue : s->prefill_wait_max;
		s->prefill_queued += n->waiting.n;
		s->prefill_running += n->partial.n;
		s->decode_running += batch;
		s->decode_batch_max = batch > s->decode_batch_max ? batch : s->decode_batch_max;
		s->decode_iteration_max = t > s->decode_iteration_max ? t : s->decode_iteration_max;
		s->decode_kv_ratio_max = kv > s->decode_kv_ratio_max ? kv : s->decode_kv_ratio_max;
		s->vram_reserved += used * n->vram.block_tokens;
		s->vram_active += context;
	}
	s->prefill_wait_mean = (mc_time)(wait / c->view.n_prefill);
}

const char *mc_cluster_coupled_check_end(const struct mc_cluster *c)
{
	int64_t tokens = 0, made = 0;
	double busy = 0, computed = 0, slack = 1e-6 + 1e-9 * (double)c->result->n_rows;

	for (int64_t i = 0; i < c->result->n_rows; i++) {
		const struct mc_row *r = &c->result->row[i];

		tokens += r->outcome == MC_COMPLETED && r->output > 1 ? r->output - 1 : 0;
		computed += r->prefill_end >= 0 ? r->compute_s : 0;
	}
	for (uint32_t i = 0; i < c->view.n_prefill; i++) {
		const struct mc_coupled *n = &c->coupled[i];

		for (size_t k = 0; k < n->segments.n; k++)
			made += (int64_t)n->segments.at[k].count * n->segments.at[k].batch;
		made += (int64_t)n->resumed;
		busy += mc_time_to_s(n->prefill_busy);
		computed += n->redo_s;
		if (!c->open && (n->vram.taken || n->batch.n || n->waiting.n || n->partial.n))
			return "a coupled node is not empty after the last request";
	}
	if (c->open ? made < tokens : made != tokens)
		return "tokens of the iterations are not those of the requests";
	if (busy < computed - slack || (!c->open && busy > computed + slack))
		return "engine time of the nodes is not that of the prompts";
	return NULL;
}
