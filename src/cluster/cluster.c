#include "cluster/cluster.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/clients.h"
#include "cluster/state.h"
#include "engine/kinds.h"

const char *mc_outcome_name(enum mc_outcome o)
{
	static const char *const name[] = {"unfinished", "completed", "rejected", "failed"};

	return name[o];
}

char *mc_cluster_name(uint32_t n_prefill, uint32_t node, char *buf, size_t n)
{
	bool prefill = node < n_prefill;
	const char *kind = n_prefill == MC_NONE ? "node" : prefill ? "prefill" : "decode";

	snprintf(buf, n, "%s%u", kind, prefill ? node : node - n_prefill);
	return buf;
}

char *mc_cluster_node_name(const struct mc_result *r, uint32_t node, char *buf, size_t n)
{
	return mc_cluster_name(r->coupled ? MC_NONE : r->n_prefill, node, buf, n);
}

void mc_result_fini(struct mc_result *r)
{
	free(r->row);
	mc_vec_fini(&r->classes);
	mc_vec_fini(&r->samples);
	for (uint32_t i = 0; i < r->n_decode && r->segment; i++)
		mc_vec_fini(&r->segment[i]);
	free(r->segment);
	mc_vec_fini(&r->first);
	free(r->prefill_busy);
	free(r->stage_bytes);
	free(r->decode_busy);
	for (uint32_t l = 0; l < r->n_links && r->link_name; l++)
		free(r->link_name[l]);
	free(r->link_name);
	free(r->link_bytes);
	free(r->link_capacity);
	free(r->switchable);
	memset(r, 0, sizeof *r);
}

/* Ctrl-C: also when the trace is through and the last requests take their time. */
void mc_cluster_heed_interrupt(struct mc_cluster *c)
{
	if (!c->hooks->interrupted || !*c->hooks->interrupted)
		return;
	c->result->interrupted = true;
	c->loop.stop = true;
}

static void on_sample(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_cluster, sample);

	mc_cluster_sample(c);
	if (c->scenario->run.check)
		mc_cluster_check(c);
	if (mc_cluster_over(c))
		return;
	/* Nothing else is to come? */
	c->stuck = loop->n == (uint32_t)mc_event_pending(&c->replicate) +
				  (c->roles && mc_event_pending(&c->roles->look));
	if (c->stuck) {
		loop->stop = true;
		return;
	}
	mc_cluster_heed_interrupt(c);
	mc_loop_at(loop, ev, (mc_time)c->result->samples.n * c->result->sample);
}

static void init_rows(struct mc_cluster *c)
{
	const struct mc_trace *t = c->trace;
	struct mc_result *r = c->result;
	bool closed = mc_clients_closed(c->scenario);

	r->n_rows = t->n;
	r->sample = c->scenario->run.sample;
	r->row = mc_xmalloc((size_t)t->n * sizeof *r->row);
	for (int64_t i = 0; i < t->n; i++)
		r->row[i] = (struct mc_row){
		    .arrival = closed ? -1 : t->arrival[i],
		    .sent = -1,
		    .decided = -1,
		    .prefill_start = -1,
		    .prefill_end = -1,
		    .handover_end = -1,
		    .end = -1,
		    .input = t->input[i],
		    .output = t->output[i],
		    .prefill = MC_NONE,
		    .decode = MC_NONE,
		    .source = MC_NONE,
		    .ssd_source = MC_NONE,
		    .class = (uint8_t)mc_classes_draw(&r->classes, (uint64_t)c->scenario->seed, i),
		    .counted = !closed && t->arrival[i] >= c->scenario->run.warmup,
		};
}

static void init_prefill(struct mc_cluster *c)
{
	uint32_t n = c->view.n_prefill;
	const struct mc_scenario *s = c->scenario;
	struct mc_prefill_ops ops = {.starting = c->by_deadline ? mc_cluster_prefill_starting : NULL,
				     .launched = mc_cluster_prefill_launched,
				     .finished = mc_cluster_prefill_finished,
				     .arg = c};
	uint32_t group = (uint32_t)s->cluster.prefill_group;

	c->prefill = mc_xcalloc(n, sizeof *c->prefill);
	for (uint32_t i = 0; i < n; i++) {
		mc_prefill_init(&c->prefill[i], &c->loop, c->cost, &ops);
		mc_prefill_set_group(&c->prefill[i], group, s->cluster.prefill_chunk);
		if (c->by_deadline)
			mc_prefill_set_order(&c->prefill[i], MC_PREFILL_DEADLINE,
					     s->cluster.prefill_late_share);
		mc_view_prefill_set(&c->view, i, mc_prefill_free_at(&c->prefill[i]));
	}
}

static void init_decode(struct mc_cluster *c)
{
	uint32_t n = c->view.n_decode;
	const struct mc_scenario *s = c->scenario;
	struct mc_decode_ops ops = {mc_cluster_decode_finished, c};
	struct mc_decode_params params = {c->cost->vram_kv_tokens, s->cluster.max_batch, s->run.fast_forward};

	c->decode = mc_xcalloc(n, sizeof *c->decode);
	for (uint32_t i = 0; i < n; i++)
		mc_decode_init(&c->decode[i], &c->loop, c->cost, &params, &ops);
}

/* Prefill and decode nodes, with their pools. */
static int init_instances(struct mc_cluster *c)
{
	init_prefill(c);
	init_decode(c);
	return mc_cluster_tiers_init(c);
}

static int cluster_init(struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;
	int64_t coupled = s->cluster.coupled;
	struct mc_role_extra extra = mc_roles_extra(s);
	uint32_t n_prefill =
	    (uint32_t)(coupled ? coupled : s->cluster.prefill / s->cluster.prefill_group) + extra.prefill;
	uint32_t n_decode = (uint32_t)(coupled ? coupled : s->cluster.decode) + extra.decode;
	uint64_t seed = (uint64_t)s->seed;
	struct mc_conductor_params params = {
	    .policy = s->conductor.policy,
	    .decode_policy = s->conductor.decode_policy,
	    .admission = s->conductor.admission,
	    .length_predictor = s->conductor.length_predictor,
	    .policy_params = {s->conductor.balancing_threshold, seed},
	    .length_params = {s->conductor.length_quantile, s->conductor.length_error, seed}};
	int rc;

	mc_loop_init(&c->loop);
	c->tree = c->known = mc_tree_new();
	mc_tree_groups(c->tree, n_prefill, n_prefill + n_decode);
	mc_view_init(&c->view, n_prefill, n_decode);
	c->view.cost = c->cost;
	c->view.tree = c->tree;
	c->view.block_tokens = c->trace->block_tokens;
	c->view.group = (uint32_t)s->cluster.prefill_group;
	c->view.chunk = s->cluster.prefill_chunk;
	c->view.sources = !strcmp(s->kv.pool, "global")    ? MC_SOURCES_ALL
			  : !strcmp(s->kv.pool, "prefill") ? MC_SOURCES_PREFILL
							   : MC_SOURCES_NONE;
	if (coupled)
		mc_cluster_coupled_view(c);
	c->caching = strcmp(s->kv.pool, "off") != 0;
	c->layerwise = !strcmp(s->cluster.stream, "layerwise");
	c->by_deadline = !strcmp(s->cluster.prefill_order, "deadline");
	c->schedule = mc_time_from_s(c->cost->schedule_s);
	mc_cluster_fabric_init(c);
	init_rows(c);
	mc_cluster_replicas_init(c);
	mc_cluster_answers_init(c);
	mc_cluster_arrivals_init(c);
	mc_event_init(&c->sample, MC_EV_SAMPLE, on_sample);
	rc = coupled ? mc_cluster_coupled_init(c) : init_instances(c);
	mc_cluster_stale_init(c);
	rc = rc ? rc : mc_cluster_ssd_init(c);
	c->result->n_links = mc_fabric_links(c->fabric);
	c->link_seen = mc_xcalloc(c->result->n_links, sizeof *c->link_seen);
	rc = rc ? rc : mc_cluster_outages_init(c);
	rc = rc ? rc : mc_conductor_init(&c->conductor, &params, c->err);
	if (!rc)
		mc_cluster_admit_init(c);
	return rc;
}

static void collect_instances(struct mc_cluster *c)
{
	struct mc_result *r = c->result;

	for (uint32_t i = 0; i < r->n_decode; i++) {
		struct mc_decode *d = &c->decode[i];

		r->segment[i] = d->segments;
		r->decode_busy[i] = d->busy;
		d->segments = (struct mc_segments){0};
		for (size_t k = 0; k < d->first_intervals.n; k++)
			mc_vec_push(&r->first, d->first_intervals.at[k]);
	}
	for (uint32_t i = 0; i < r->n_prefill; i++) {
		r->prefill_busy[i] = c->prefill[i].busy;
		r->stage_bytes[i] = c->prefill[i].stage_bytes;
	}
}

/* Move what the parts recorded into the result. */
static void collect(struct mc_cluster *c)
{
	struct mc_result *r = c->result;

	r->n_prefill = c->view.n_prefill;
	r->n_decode = c->view.n_decode;
	r->coupled = c->view.coupled;
	r->prefill_group = c->view.group;
	r->events = c->loop.fired;
	r->segment = mc_xcalloc(r->n_decode, sizeof *r->segment);
	r->decode_busy = mc_xcalloc(r->n_decode, sizeof *r->decode_busy);
	r->prefill_busy = mc_xcalloc(r->n_prefill, sizeof *r->prefill_busy);
	r->stage_bytes = mc_xcalloc(r->n_prefill, sizeof *r->stage_bytes);
	if (c->coupled)
		mc_cluster_coupled_collect(c);
	else
		collect_instances(c);
	for (uint32_t i = 0; i < mc_cluster_nodes(c); i++) {
		struct mc_pool_stats p = c->pool[i] ? mc_pool_stats(c->pool[i]) : (struct mc_pool_stats){0};

		r->evicted_blocks += p.evicted;
		r->unstored_blocks += p.refused;
		if (!c->ssd || !c->ssd[i].pool)
			continue;
		p = mc_pool_stats(c->ssd[i].pool);
		r->ssd_evicted_blocks += p.evicted;
		r->ssd_unstored_blocks += p.refused;
	}
	mc_cluster_fabric_collect(c);
	mc_cluster_outages_collect(c);
	mc_cluster_roles_collect(c);
}

static void cluster_fini(struct mc_cluster *c)
{
	mc_conductor_fini(&c->conductor);
	mc_cluster_admit_fini(c);
	/* Takes its events out of the loop, where those of the instances are, too, when a run was cut off. */
	mc_fabric_free(c->fabric);
	for (uint32_t i = 0; i < c->view.n_prefill && c->prefill; i++)
		mc_prefill_fini(&c->prefill[i]);
	for (uint32_t i = 0; i < c->view.n_decode && c->decode; i++)
		mc_decode_fini(&c->decode[i]);
	mc_cluster_coupled_fini(c);
	mc_cluster_stale_fini(c);
	mc_cluster_tiers_fini(c);
	mc_cluster_ssd_fini(c);
	mc_cluster_outages_fini(c);
	mc_cluster_roles_fini(c);
	free(c->prefill);
	free(c->decode);
	mc_tree_free(c->tree);
	mc_future_free(c->future);
	mc_view_fini(&c->view);
	mc_cluster_arrivals_fini(c);
	mc_loop_fini(&c->loop);
	for (size_t i = 0; i < c->chunks.n; i++)
		free(c->chunks.at[i]);
	mc_vec_fini(&c->chunks);
	mc_vec_fini(&c->steps);
	free(c->link_seen);
	free(c->turn);
}

/* The run is cut off now. */
static void stop_instances(struct mc_cluster *c)
{
	if (c->coupled)
		mc_cluster_coupled_stop(c);
	for (uint32_t i = 0; i < c->view.n_decode && c->decode; i++)
		mc_decode_stop(&c->decode[i]);
	for (uint32_t i = 0; i < c->view.n_prefill && c->prefill; i++)
		mc_prefill_stop(&c->prefill[i]);
}

static void cluster_run(struct mc_cluster *c)
{
	mc_time until = c->scenario->run.until;

	mc_cluster_arrivals_begin(c);
	mc_loop_at(&c->loop, &c->sample, 0);
	mc_cluster_replicate_init(c);
	mc_cluster_roles_init(c);
	mc_loop_run(&c->loop, until);
	if (!mc_cluster_over(c)) { /* cut off: at run.until, or by a signal */
		if (!c->result->interrupted && !c->err->rc) {
			assert(until != MC_TIME_MAX || c->stuck);
			c->loop.now = until != MC_TIME_MAX ? until : c->loop.now;
		}
		stop_instances(c);
		c->result->end = c->loop.now;
	}
	mc_cluster_copies_stop(c);
	if (c->scenario->run.check && !c->err->rc)
		mc_cluster_check_end(c);
	collect(c);
}

int mc_cluster_run(const struct mc_cluster_setup *setup, struct mc_result *r, struct mc_err *err)
{
	struct mc_err own = {0};
	struct mc_cluster c = {
	    .scenario = setup->scenario,
	    .cost = setup->cost,
	    .trace = setup->trace,
	    .hooks = setup->hooks,
	    .result = r,
	    .err = err ? err : &own,
	};
	int rc;

	assert(setup->trace->n > 0);
	memset(r, 0, sizeof *r);
	rc = mc_classes_read(c.scenario, &r->classes, c.err);
	if (rc)
		return rc;
	rc = cluster_init(&c);
	if (!rc)
		rc = mc_cluster_limits(&c);
	if (!rc) {
		cluster_run(&c);
		rc = c.err->rc;
	}
	cluster_fini(&c);
	if (rc)
		mc_result_fini(r);
	return rc;
}
