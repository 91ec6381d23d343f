/* The JSON result: `mooncake-result` schema 1. Key names are an interface: other tools read them. */
#include <inttypes.h>

#include "cluster/cluster.h"
#include "out/json.h"
#include "out/report.h"
#include "out/times.h"

static void summary(json_t *o, const char *key, const struct mc_summary *s)
{
	json_t *x = mc_json_object(o, key);

	mc_json_real(x, "mean", s->mean);
	mc_json_real(x, "p50", s->p50);
	mc_json_real(x, "p90", s->p90);
	mc_json_real(x, "p95", s->p95);
	mc_json_real(x, "p99", s->p99);
	mc_json_real(x, "max", s->max);
	mc_json_int(x, "count", (int64_t)s->count);
}

static void head(json_t *o, const struct mc_report *report)
{
	char hex[24];
	json_t *x;

	mc_json_text(o, "schema", MC_RESULT_SCHEMA);
	mc_json_text(o, "kind", "mooncake-result");
	mc_json_text(o, "version", report->version);
	mc_json_text(o, "name", report->name);
	mc_json_int(o, "seed", report->scenario->seed);
	x = mc_json_object(o, "trace");
	mc_json_text(x, "path", report->scenario->trace.path);
	snprintf(hex, sizeof hex, "%016" PRIx64, report->trace->fingerprint);
	mc_json_text(x, "fingerprint", hex);
	mc_json_int(x, "requests", report->trace->n);
	mc_json_int(x, "bad_records", report->trace->bad);
	mc_json_text(x, "ticks", report->scenario->trace.spread_ticks ? "spread" : "as recorded");
	json_object_set_new(o, "scenario", mc_conf_dump(report->conf));
	mc_times_json(o, report);
}

static void requests(json_t *o, const struct mc_metrics *m)
{
	json_t *x = mc_json_object(o, "requests");

	mc_json_int(x, "total", m->total);
	mc_json_int(x, "completed", m->completed);
	mc_json_int(x, "rejected", m->rejected);
	mc_json_int(x, "failed", m->failed);
	mc_json_int(x, "unfinished", m->unfinished);
	mc_json_int(x, "effective", m->effective);
	mc_json_int(x, "warmup", m->warmup);
	mc_json_int(x, "retried", m->retried);
	mc_json_int(x, "no_objective", m->no_objective);
	mc_json_int(x, "resent", m->resent);
	mc_json_int(x, "refusals", m->refusals);
	x = mc_json_object(o, "rejected_by");
	for (int i = MC_TAKEN + 1; i < MC_REFUSALS; i++)
		mc_json_int(x, mc_refusal_name((enum mc_refusal)i), m->rejected_by[i]);
}

static void latencies(json_t *o, const struct mc_scenario *s, const struct mc_metrics *m)
{
	json_t *x;

	summary(o, "ttft_s", &m->ttft);
	summary(o, "handover_s", &m->handover);
	summary(o, "ttft_handover_s", &m->ttft_handover);
	summary(o, "tbt_s", &m->tbt);
	summary(o, "itl_s", &m->itl);
	summary(o, "tpot_s", &m->tpot);
	summary(o, "e2e_s", &m->e2e);
	x = mc_json_object(o, "slo");
	mc_json_real(x, "ttft_s", mc_time_to_s(s->slo.ttft));
	mc_json_real(x, "tbt_s", mc_time_to_s(s->slo.tbt));
	mc_json_int(x, "ttft_met", m->ttft_met);
	mc_json_int(x, "tbt_met", m->tbt_met);
	mc_json_real(x, "effective_ratio", m->effective_ratio);
}

static void cache(json_t *o, const struct mc_result *r, const struct mc_metrics *m)
{
	json_t *x = mc_json_object(o, "cache");

	mc_json_int(x, "input_tokens", m->input_tokens);
	mc_json_int(x, "hit_tokens", m->hit_tokens);
	mc_json_real(x, "hit_ratio", m->hit_ratio);
	mc_json_int(x, "local_hit_tokens", m->local_hit_tokens);
	mc_json_int(x, "remote_hit_tokens", m->remote_hit_tokens);
	mc_json_int(x, "ssd_hit_tokens", m->ssd_hit_tokens);
	mc_json_int(x, "fetched_bytes", (int64_t)r->fetched_bytes);
	mc_json_int(x, "ssd_read_bytes", (int64_t)r->ssd_read_bytes);
	mc_json_int(x, "ssd_written_bytes", (int64_t)r->ssd_written_bytes);
	mc_json_int(x, "ssd_evicted_blocks", (int64_t)r->ssd_evicted_blocks);
	mc_json_int(x, "ssd_unstored_blocks", (int64_t)r->ssd_unstored_blocks);
	mc_json_int(x, "replica_copies", (int64_t)r->replica_copies);
	mc_json_int(x, "replica_bytes", (int64_t)r->replica_bytes);
	mc_json_int(x, "replica_dropped_blocks", (int64_t)r->replica_dropped_blocks);
	mc_json_int(x, "write_backs", (int64_t)r->write_backs);
	mc_json_int(x, "write_back_bytes", (int64_t)r->write_back_bytes);
	mc_json_int(x, "write_back_homeless", (int64_t)r->write_back_homeless);
	mc_json_int(x, "evicted_blocks", (int64_t)r->evicted_blocks);
	mc_json_int(x, "unstored_blocks", (int64_t)r->unstored_blocks);
	mc_json_int(x, "stale_blocks", (int64_t)r->stale_blocks);
}

static void engines(json_t *o, const struct mc_result *r, const struct mc_metrics *m)
{
	json_t *x = mc_json_object(o, "prefill");

	mc_json_real(x, "compute_s_mean", m->compute_s_mean);
	mc_json_real(x, "gpu_time_s_mean", m->gpu_time_s_mean);
	mc_json_real(x, "queue_s_mean", m->queue_s_mean);
	mc_json_real(x, "fetch_wait_s_mean", m->fetch_wait_s_mean);
	mc_json_real(x, "prediction_error_s_mean", m->ttft_error_mean_s);
	mc_json_real(x, "busy_ratio", m->prefill_busy_ratio);
	mc_json_int(x, "wasted", m->wasted_prefills);
	mc_json_real(x, "wasted_s", m->wasted_s);
	x = mc_json_object(o, "decode");
	mc_json_real(x, "busy_ratio", m->decode_busy_ratio);
	mc_json_real(x, "batch_mean", m->batch_mean);
	mc_json_int(x, "iterations", m->iterations);
	mc_json_int(x, "preemptions", (int64_t)r->preemptions);
	mc_json_int(x, "recomputed_tokens", (int64_t)r->recomputed_tokens);
	x = mc_json_object(o, "load");
	mc_json_real(x, "prefill_mean", m->prefill_load_mean);
	mc_json_real(x, "decode_mean", m->decode_load_mean);
	mc_json_real(x, "correlation", m->load_correlation);
}

static void network(json_t *o, const struct mc_result *r, const struct mc_metrics *m)
{
	json_t *x = mc_json_object(o, "network");
	const char *link = m->busiest_link != MC_NONE ? r->link_name[m->busiest_link] : "none";

	mc_json_int(x, "bytes", (int64_t)m->network_bytes);
	mc_json_real(x, "busiest_link_ratio", m->busiest_link_ratio);
	mc_json_text(x, "busiest_link", link);
	mc_json_real(x, "busiest_rack_ratio", m->busiest_rack_ratio);
	mc_json_int(x, "resent_bytes", (int64_t)m->resent_bytes);
	mc_json_int(x, "stage_bytes", m->stage_bytes);
	mc_json_real(x, "stage_nic_ratio", m->stage_nic_ratio);
	x = mc_json_object(o, "throughput");
	mc_json_real(x, "requests_per_s", m->requests_per_s);
	mc_json_real(x, "input_tokens_per_s", m->input_tokens_per_s);
	mc_json_real(x, "output_tokens_per_s", m->output_tokens_per_s);
	mc_json_real(x, "goodput_requests_per_s", m->goodput_requests_per_s);
	mc_json_real(x, "goodput_tokens_per_s", m->goodput_tokens_per_s);
	mc_json_real(o, "duration_s", m->duration_s);
	mc_json_int(o, "events", (int64_t)r->events);
}

static void faults(json_t *o, const struct mc_outages *f)
{
	json_t *x = mc_json_object(o, "faults");

	mc_json_int(x, "nodes", (int64_t)f->nodes);
	mc_json_real(x, "node_down_s", mc_time_to_s(f->node_down));
	mc_json_int(x, "nics", (int64_t)f->nics);
	mc_json_real(x, "nic_down_s", mc_time_to_s(f->nic_down));
	mc_json_int(x, "lost_blocks", (int64_t)f->lost_blocks);
	mc_json_int(x, "restarts", (int64_t)f->restarts);
	mc_json_int(x, "moves", (int64_t)f->moves);
	mc_json_int(x, "failed_fetches", (int64_t)f->failed_fetches);
	mc_json_real(x, "lost_prefill_s", mc_time_to_s(f->lost_prefill));
	mc_json_int(x, "lost_tokens", f->lost_tokens);
}

static void roles(json_t *o, const struct mc_report *report)
{
	const struct mc_result *r = report->result;
	json_t *x = mc_json_object(o, "roles"), *all = json_array();

	mc_json_int(x, "switches", (int64_t)r->roles.switches);
	mc_json_real(x, "drain_s", r->roles.drain_s);
	mc_json_real(x, "away_s", r->roles.away_s);
	mc_json_real(x, "prefill_nodes_mean", report->metrics->prefill_nodes_mean);
	mc_json_real(x, "decode_nodes_mean", report->metrics->decode_nodes_mean);
	for (uint32_t i = 0; i < r->n_switchable; i++) {
		json_t *node = json_object();

		mc_json_int(node, "prefill_instance", r->switchable[i].prefill);
		mc_json_int(node, "decode_node", r->switchable[i].decode);
		json_array_append_new(all, node);
	}
	json_object_set_new(x, "switchable", all);
}

static void by_length(json_t *o, const struct mc_metrics *m)
{
	json_t *all = json_array();
	int64_t over = 0;

	for (int c = 0; c < MC_LENGTH_CLASSES; c++) {
		const struct mc_length_class *class = &m->by_length[c];
		json_t *x = json_object();

		mc_json_int(x, "over_tokens", over);
		if (class->max_tokens == INT64_MAX)
			json_object_set_new(x, "max_tokens", json_null());
		else
			mc_json_int(x, "max_tokens", class->max_tokens);
		over = class->max_tokens;
		mc_json_int(x, "requests", class->requests);
		mc_json_int(x, "completed", class->completed);
		mc_json_int(x, "effective", class->effective);
		mc_json_real(x, "hit_ratio", class->hit_ratio);
		summary(x, "ttft_s", &class->ttft);
		summary(x, "tbt_s", &class->tbt);
		json_array_append_new(all, x);
	}
	json_object_set_new(o, "by_length", all);
}

static void by_class(json_t *o, const struct mc_metrics *m)
{
	json_t *all = json_array();

	for (uint32_t k = 0; k < m->n_classes; k++) {
		const struct mc_class_metrics *c = &m->by_class[k];
		json_t *x = json_object();

		mc_json_text(x, "name", c->class.name);
		mc_json_int(x, "requests", c->requests);
		mc_json_int(x, "completed", c->completed);
		mc_json_int(x, "rejected", c->rejected);
		mc_json_int(x, "effective", c->effective);
		mc_json_real(x, "effective_ratio", c->effective_ratio);
		summary(x, "ttft_s", &c->ttft);
		summary(x, "tbt_s", &c->tbt);
		json_array_append_new(all, x);
	}
	json_object_set_new(o, "by_class", all);
}

static void verdicts(json_t *o, const struct mc_report *report)
{
	const struct mc_metrics *m = report->metrics;
	struct mc_ignored_list list = {0};
	json_t *x = mc_json_object(o, "steady"), *all = json_array();

	json_object_set_new(x, "is_steady", json_boolean(m->steady));
	mc_json_real(x, "queue_growth", m->queue_growth);
	x = mc_json_object(o, "range");
	mc_json_real(x, "outside_fit_ratio", m->outside_fit_ratio);
	mc_json_real(x, "outside_trust_ratio", m->outside_trust_ratio);
	mc_json_real(x, "batch_outside_fit_ratio", m->batch_outside_fit_ratio);
	mc_json_real(x, "batch_outside_trust_ratio", m->batch_outside_trust_ratio);
	json_object_set_new(x, "operators", mc_times_ranges_json(m));
	mc_report_ignored_by(report, &list);
	for (size_t i = 0; i < list.n; i++) {
		x = json_object();
		mc_json_text(x, "key", list.at[i].key);
		mc_json_text(x, "reason", list.at[i].reason);
		json_array_append_new(all, x);
	}
	mc_vec_fini(&list);
	json_object_set_new(o, "ignored", all);
	json_object_set_new(o, "incomplete", json_boolean(report->result->interrupted));
	mc_json_text(o, "bottleneck", m->bottleneck);
}

json_t *mc_report_json(const struct mc_report *report)
{
	json_t *o = json_object();

	head(o, report);
	requests(o, report->metrics);
	latencies(o, report->scenario, report->metrics);
	cache(o, report->result, report->metrics);
	engines(o, report->result, report->metrics);
	network(o, report->result, report->metrics);
	faults(o, &report->result->outages);
	roles(o, report);
	by_length(o, report->metrics);
	by_class(o, report->metrics);
	verdicts(o, report);
	return o;
}

static void json_write(FILE *out, const struct mc_report *report)
{
	json_t *doc = mc_report_json(report);

	mc_report_dump(out, doc);
	json_decref(doc);
}

const struct mc_sink mc_sink_json = {
    .name = "json",
    .help = "everything, with the resolved scenario; for programs",
    .write = json_write,
};
