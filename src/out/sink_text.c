/* One screen for people: what users felt, what the cluster did, and as the last line what held it back. */
#include <inttypes.h>
#include <string.h>

#include "cluster/clients.h"
#include "cluster/cluster.h"
#include "cluster/faults.h"
#include "base/units.h"
#include "kv/evict.h"
#include "out/report.h"
#include "out/textfmt.h"
#include "out/times.h"
#include "sched/admission.h"

#define OBJECTIVE 64 /* bytes */

/* Who comes, where that is not as the trace says. */
static void clients(FILE *out, const struct mc_scenario *s)
{
	char n[MC_GROUPED], t[MC_UNITS_TEXT];

	if (mc_clients_closed(s))
		fprintf(out, "%-11s %s in a closed loop, think time %s (%s)", "clients",
			mc_text_grouped(s->clients.number, n), mc_units_format_time(s->clients.think, t),
			s->clients.think_shape);
	else if (s->clients.concurrency)
		fprintf(out, "%-11s %s requests under way at most", "clients",
			mc_text_grouped(s->clients.concurrency, n));
	else if (s->clients.retries)
		fprintf(out, "%-11s as many as come", "clients");
	else
		return;
	if (s->clients.retries)
		fprintf(out, "; %" PRId64 " retries of what is refused, after %s and more",
			s->clients.retries, mc_units_format_time(s->clients.backoff, t));
	putc('\n', out);
}

/* "TTFT <= 30 s" */
static const char *objective(const struct mc_metrics *m, const char *name, mc_time slo, char *buf)
{
	char t[MC_UNITS_TEXT];

	if (m->n_classes)
		snprintf(buf, OBJECTIVE, "%s within that of their class", name);
	else if (slo)
		snprintf(buf, OBJECTIVE, "%s <= %s", name, mc_units_format_time(slo, t));
	else
		snprintf(buf, OBJECTIVE, "%s, which has no objective", name);
	return buf;
}

/* Who decides what, and how. */
static void conductor(FILE *out, const struct mc_scenario *s)
{
	const struct mc_admission *admission = mc_admission_find(s->conductor.admission);
	char t[MC_UNITS_TEXT];

	fprintf(out, "%-11s %s", "conductor", s->conductor.policy);
	if (!s->cluster.coupled)
		fprintf(out, ", decode %s", s->conductor.decode_policy);
	if (admission->judges)
		fprintf(out, ", admission %s", admission->name);
	else if (!strcmp(s->conductor.decode_check, "on"))
		fprintf(out, ", decode check");
	if (admission->uses_length)
		fprintf(out, " (%s)", s->conductor.length_predictor);
	if (s->conductor.staleness)
		fprintf(out, ", hears of nodes %s late", mc_units_format_time(s->conductor.staleness, t));
	fprintf(out, "; ");
}

static void head(FILE *out, const struct mc_report *report)
{
	const struct mc_scenario *s = report->scenario;
	char n[MC_GROUPED];

	fprintf(out, "%-11s %s, mooncake %s, seed %" PRId64 "\n", "run", report->name, report->version,
		s->seed);
	fprintf(out, "%-11s %s, %s requests, fingerprint %016" PRIx64 "%s\n", "trace", s->trace.path,
		mc_text_grouped(report->trace->n, n), report->trace->fingerprint,
		s->trace.spread_ticks ? ", ticks spread" : "");
	if (s->cluster.coupled)
		fprintf(out, "%-11s %" PRId64 " coupled nodes (%s, %s tokens) of %s, %s", "cluster",
			s->cluster.coupled, s->cluster.batching,
			mc_text_grouped(s->cluster.max_batched_tokens, n), report->profile, report->model);
	else
		fprintf(out, "%-11s %" PRId64 " prefill + %" PRId64 " decode nodes of %s, %s", "cluster",
			s->cluster.prefill, s->cluster.decode, report->profile, report->model);
	if (report->result->n_switchable)
		fprintf(out, ", %" PRId64 " of which may change", s->roles.switchable);
	if (s->cluster.prefill_group > 1 && !s->cluster.coupled)
		fprintf(out, ", prefill groups of %" PRId64, s->cluster.prefill_group);
	if (s->net.rack_nodes)
		fprintf(out, ", racks of %" PRId64 " (%s, %g to 1)", s->net.rack_nodes, s->net.rack_order,
			s->net.oversubscription);
	putc('\n', out);
	mc_times_text(out, report);
	clients(out, s);
	conductor(out, s);
	if (!strcmp(s->kv.pool, "off")) {
		fprintf(out, "no KV pool\n\n");
		return;
	}
	if (s->cluster.coupled) {
		fprintf(out, "prefixes cached in spare VRAM, %s\n\n", s->kv.evict);
		return;
	}
	fprintf(out, "KV pool (%s) of %s %s a node, %s%s", s->kv.pool,
		mc_text_grouped(s->kv.dram_bytes ? s->kv.dram_bytes : s->kv.dram_tokens, n),
		s->kv.dram_bytes ? "bytes" : "tokens", s->kv.evict,
		mc_evictor_find(s->kv.evict)->foresee ? " (from the future)" : "");
	if (strcmp(s->kv.ssd_write, "never"))
		fprintf(out, ", and SSDs (%s)", s->kv.ssd_write);
	fprintf(out, "\n\n");
}

static void requests(FILE *out, const struct mc_report *report)
{
	const struct mc_metrics *m = report->metrics;
	const struct mc_scenario *s = report->scenario;
	char a[MC_GROUPED], b[MC_GROUPED], t[2][OBJECTIVE];
	double done = m->completed ? (double)m->completed : 1;

	fprintf(out, "%-11s %s counted: %s completed", "requests", mc_text_grouped(m->total, a),
		mc_text_grouped(m->completed, b));
	for (int i = MC_TAKEN + 1; i < MC_REFUSALS; i++)
		if (m->rejected_by[i])
			fprintf(out, ", %s refused (%s)", mc_text_grouped(m->rejected_by[i], a),
				mc_refusal_name((enum mc_refusal)i));
	if (m->failed)
		fprintf(out, ", %s failed", mc_text_grouped(m->failed, a));
	if (m->unfinished)
		fprintf(out, ", %s unfinished", mc_text_grouped(m->unfinished, a));
	if (m->resent)
		fprintf(out, "; %s refusals, sent again %s times", mc_text_grouped(m->refusals, a),
			mc_text_grouped(m->resent, b));
	if (m->warmup)
		fprintf(out, "; %s in the warm-up", mc_text_grouped(m->warmup, a));
	fprintf(out, "\n%-11s %s (%.1f %%)", "effective", mc_text_grouped(m->effective, a),
		100 * m->effective_ratio);
	if (m->n_classes && m->no_objective)
		fprintf(out, ", %s have no objective to meet", mc_text_grouped(m->no_objective, a));
	fprintf(out, "; of the completed %.1f %% had %s, %.1f %% %s\n\n", 100 * (double)m->ttft_met / done,
		objective(m, "TTFT", s->slo.ttft, t[0]), 100 * (double)m->tbt_met / done,
		objective(m, "TBT", s->slo.tbt, t[1]));
}

static void latency(FILE *out, const char *name, double scale, const struct mc_summary *s)
{
	const double v[] = {s->mean, s->p50, s->p90, s->p95, s->p99, s->max};

	fprintf(out, "%-20s", name);
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		if (s->count)
			fprintf(out, " %10.*f", mc_text_decimals(v[i] * scale), v[i] * scale);
		else
			fprintf(out, " %10s", "-");
	}
	putc('\n', out);
}

static void latencies(FILE *out, const struct mc_metrics *m)
{
	fprintf(out, "%-20s %10s %10s %10s %10s %10s %10s\n", "", "mean", "p50", "p90", "p95", "p99", "max");
	latency(out, "TTFT             s", 1, &m->ttft);
	latency(out, "hand-over       ms", 1e3, &m->handover);
	latency(out, "TTFT + hand-over s", 1, &m->ttft_handover);
	latency(out, "TBT             ms", 1e3, &m->tbt);
	latency(out, "token interval  ms", 1e3, &m->itl);
	latency(out, "TPOT            ms", 1e3, &m->tpot);
	latency(out, "end to end       s", 1, &m->e2e);
	putc('\n', out);
}

/* What failed, and what came of it. */
static void faults(FILE *out, const struct mc_report *report)
{
	const struct mc_outages *f = &report->result->outages;
	char a[MC_GROUPED], b[MC_GROUPED], c[MC_GROUPED], t[MC_UNITS_TEXT], u[MC_UNITS_TEXT];

	if (!mc_faults_any(report->scenario))
		return;
	fprintf(out, "%-11s %s node%s lost (%s), %s NIC%s (%s); ", "faults",
		mc_text_grouped((int64_t)f->nodes, a), f->nodes == 1 ? "" : "s",
		mc_units_format_time(f->node_down, t), mc_text_grouped((int64_t)f->nics, b),
		f->nics == 1 ? "" : "s", mc_units_format_time(f->nic_down, u));
	fprintf(out, "lost %s blocks, %s of prefill, %s output tokens\n",
		mc_text_grouped((int64_t)f->lost_blocks, a), mc_units_format_time(f->lost_prefill, t),
		mc_text_grouped(f->lost_tokens, b));
	fprintf(out,
		"%-11s requests: %s started over, %s got another decode node, %s computed what they could "
		"not fetch\n",
		"", mc_text_grouped((int64_t)f->restarts, a), mc_text_grouped((int64_t)f->moves, b),
		mc_text_grouped((int64_t)f->failed_fetches, c));
}

/* Nodes that changed between prefill and decode. */
static void roles(FILE *out, const struct mc_report *report)
{
	const struct mc_role_times *r = &report->result->roles;
	char t[MC_UNITS_TEXT], u[MC_UNITS_TEXT];

	if (!report->result->n_switchable)
		return;
	fprintf(out, "%-11s %llu switches, %s draining and %s away in all; ", "roles",
		(unsigned long long)r->switches, mc_units_format_time(mc_time_from_s(r->drain_s), t),
		mc_units_format_time(mc_time_from_s(r->away_s), u));
	fprintf(out, "%.2f prefill and %.2f decode nodes on average\n", report->metrics->prefill_nodes_mean,
		report->metrics->decode_nodes_mean);
}

/* Of the pools, where they had anything refused. */
static void loads(FILE *out, const struct mc_metrics *m)
{
	char n[MC_GROUPED];

	if (m->rejected)
		fprintf(out,
			"%-11s prefill %.2f, decode %.2f, correlation %.2f; %s prefills wasted, %.1f s\n",
			"loads", m->prefill_load_mean, m->decode_load_mean, m->load_correlation,
			mc_text_grouped(m->wasted_prefills, n), m->wasted_s);
}

static void decode(FILE *out, const struct mc_result *r, const struct mc_metrics *m)
{
	char a[MC_GROUPED], b[MC_GROUPED];

	fprintf(out, "%-11s batch %.1f, %s iterations; %.1f %% busy", "decode", m->batch_mean,
		mc_text_grouped(m->iterations, a), 100 * m->decode_busy_ratio);
	if (r->preemptions)
		fprintf(out, "; %s preemptions, %s tokens computed again",
			mc_text_grouped((int64_t)r->preemptions, a),
			mc_text_grouped((int64_t)r->recomputed_tokens, b));
	putc('\n', out);
}

static void cache(FILE *out, const struct mc_report *report)
{
	const struct mc_metrics *m = report->metrics;
	const struct mc_result *r = report->result;
	double input = m->input_tokens ? (double)m->input_tokens : 1;
	char a[MC_UNITS_TEXT], b[MC_UNITS_TEXT], n[MC_GROUPED], n2[MC_GROUPED];

	fprintf(out,
		"%-11s %.1f %% of %s prompt tokens: %.1f %% on the node, %.1f %% fetched (%s%s); %s "
		"blocks evicted\n",
		"cache hits", 100 * m->hit_ratio, mc_units_format_count((double)m->input_tokens, a),
		100 * (double)m->local_hit_tokens / input, 100 * (double)m->remote_hit_tokens / input,
		mc_units_format_bytes(r->fetched_bytes, b),
		m->ssd_hit_tokens ? ", SSDs of others included" : "",
		mc_text_grouped((int64_t)r->evicted_blocks, n));
	if (r->stale_blocks)
		fprintf(out, "%-11s %s blocks that a late view counted on were gone\n", "",
			mc_text_grouped((int64_t)r->stale_blocks, n));
	if (r->replica_copies || r->replica_dropped_blocks)
		fprintf(out, "%-11s %s copies of hot blocks (%s); %s blocks of spare copies given up\n", "",
			mc_text_grouped((int64_t)r->replica_copies, n),
			mc_units_format_bytes(r->replica_bytes, a),
			mc_text_grouped((int64_t)r->replica_dropped_blocks, n2));
	if (r->write_backs)
		fprintf(
		    out,
		    "%-11s %s answers kept for the prompts that go on from them; %s sent to prefill nodes\n",
		    "", mc_text_grouped((int64_t)r->write_backs, n),
		    mc_units_format_bytes(r->write_back_bytes, a));
	if (r->ssd_written_bytes > 0 || m->ssd_hit_tokens)
		fprintf(out,
			"%-11s %.1f %% of prompt tokens read from SSD (%s); %s written, %s blocks evicted, "
			"%s not written\n",
			"", 100 * (double)m->ssd_hit_tokens / input,
			mc_units_format_bytes(r->ssd_read_bytes, b),
			mc_units_format_bytes(r->ssd_written_bytes, a),
			mc_text_grouped((int64_t)r->ssd_evicted_blocks, n),
			mc_text_grouped((int64_t)r->ssd_unstored_blocks, n2));
}

static void parts(FILE *out, const struct mc_report *report)
{
	const struct mc_metrics *m = report->metrics;
	const struct mc_result *r = report->result;
	char a[MC_UNITS_TEXT], b[MC_UNITS_TEXT];
	const char *link = m->busiest_link != MC_NONE ? r->link_name[m->busiest_link] : "none";

	cache(out, report);
	fprintf(
	    out,
	    "%-11s compute %.3f s, with cache load %.3f s, queue %.3f s, fetch wait %.3f s; %.1f %% busy\n",
	    "prefill", m->compute_s_mean, m->gpu_time_s_mean, m->queue_s_mean, m->fetch_wait_s_mean,
	    100 * m->prefill_busy_ratio);
	decode(out, r, m);
	loads(out, m);
	fprintf(out, "%-11s %s of KV moved; busiest link %s, %.1f %%", "network",
		mc_units_format_bytes(m->network_bytes, a), link, 100 * m->busiest_link_ratio);
	if (r->n_rack_links)
		fprintf(out, "; busiest rack %.1f %%", 100 * m->busiest_rack_ratio);
	if (m->resent_bytes > 0)
		fprintf(out, "; %s sent again", mc_units_format_bytes(m->resent_bytes, b));
	if (r->prefill_group > 1)
		fprintf(out, "; %s between nodes of groups, %.2g %% of a node's NICs",
			mc_units_format_bytes((double)m->stage_bytes, b), 100 * m->stage_nic_ratio);
	putc('\n', out);
	faults(out, report);
	roles(out, report);
	fprintf(out, "%-11s %.2f requests/s, %s prompt and ", "throughput", m->requests_per_s,
		mc_units_format_count(m->input_tokens_per_s, a));
	fprintf(out, "%s output tokens/s over %.1f s; goodput %.2f requests/s\n\n",
		mc_units_format_count(m->output_tokens_per_s, a), m->duration_s, m->goodput_requests_per_s);
}

static void by_length(FILE *out, const struct mc_metrics *m)
{
	char label[32], n[MC_GROUPED];
	int64_t over = 0;

	fprintf(out, "%-14s %9s %10s %7s %11s %9s %12s %9s\n", "prompt tokens", "requests", "effective",
		"hits", "TTFT mean s", "p99", "TBT mean ms", "p99");
	for (int c = 0; c < MC_LENGTH_CLASSES; c++) {
		const struct mc_length_class *k = &m->by_length[c];

		if (k->max_tokens == INT64_MAX)
			snprintf(label, sizeof label, "over %" PRId64 "k", over / 1024);
		else
			snprintf(label, sizeof label, "to %" PRId64 "k", k->max_tokens / 1024);
		over = k->max_tokens;
		if (!k->requests)
			continue;
		fprintf(out, "%-14s %9s %8.1f %% %5.1f %%", label, mc_text_grouped(k->requests, n),
			100 * (double)k->effective / (double)k->requests, 100 * k->hit_ratio);
		fprintf(out, " %11.*f %9.*f", mc_text_decimals(k->ttft.mean), k->ttft.mean,
			mc_text_decimals(k->ttft.p99), k->ttft.p99);
		fprintf(out, " %12.*f %9.*f\n", mc_text_decimals(1e3 * k->tbt.mean), 1e3 * k->tbt.mean,
			mc_text_decimals(1e3 * k->tbt.p99), 1e3 * k->tbt.p99);
	}
	putc('\n', out);
}

/* Small shares matter: 0.0012, 13.7, 100. */
static const char *percent(double ratio, char buf[32])
{
	snprintf(buf, 32, "%.3g", 100 * ratio);
	return buf;
}

static void warnings(FILE *out, const struct mc_report *report)
{
	const struct mc_metrics *m = report->metrics;
	struct mc_ignored_list list = {0};
	char a[32], b[32];

	if (report->result->interrupted)
		fprintf(
		    out,
		    "INCOMPLETE: the run was interrupted; these figures are of the requests up to then\n");
	mc_report_ignored_by(report, &list);
	for (size_t i = 0; i < list.n; i++)
		fprintf(out, "ignored: %s: %s\n", list.at[i].key, list.at[i].reason);
	mc_vec_fini(&list);
	if (report->trace->bad)
		fprintf(out, "warning: %" PRId64 " malformed records of the trace were left out\n",
			report->trace->bad);
	if (!m->steady)
		fprintf(out,
			"warning: not steady: queues were still growing (prefill wait x %.1f from the third "
			"to the last quarter "
			"of the arrivals); means depend on the run's length\n",
			m->queue_growth);
	if (m->outside_trust_ratio > 0 || m->batch_outside_trust_ratio > 0)
		fprintf(out,
			"warning: %s %% of requests and %s %% of decode iterations lie outside the range "
			"that %s is "
			"trusted on\n",
			percent(m->outside_trust_ratio, a), percent(m->batch_outside_trust_ratio, b),
			report->profile);
	if (m->outside_fit_ratio > 0 || m->batch_outside_fit_ratio > 0)
		fprintf(out,
			"note: outside the fitted range of %s: %s %% of requests by length, %s %% of "
			"decode iterations by "
			"batch\n",
			report->profile, percent(m->outside_fit_ratio, a),
			percent(m->batch_outside_fit_ratio, b));
	mc_times_ranges_text(out, report);
}

static void by_class(FILE *out, const struct mc_metrics *m)
{
	char n[MC_GROUPED], refused[MC_GROUPED];

	if (!m->n_classes)
		return;
	fprintf(out, "%-14s %9s %9s %10s %11s %9s %12s %9s\n", "class", "requests", "refused", "effective",
		"TTFT mean s", "p99", "TBT mean ms", "p99");
	for (uint32_t k = 0; k < m->n_classes; k++) {
		const struct mc_class_metrics *c = &m->by_class[k];

		fprintf(out, "%-14s %9s %9s", c->class.name, mc_text_grouped(c->requests, n),
			mc_text_grouped(c->rejected, refused));
		if (c->class.ttft && c->class.tbt)
			fprintf(out, " %8.1f %%", 100 * c->effective_ratio);
		else
			fprintf(out, " %10s", "-");
		fprintf(out, " %11.*f %9.*f", mc_text_decimals(c->ttft.mean), c->ttft.mean,
			mc_text_decimals(c->ttft.p99), c->ttft.p99);
		fprintf(out, " %12.*f %9.*f\n", mc_text_decimals(1e3 * c->tbt.mean), 1e3 * c->tbt.mean,
			mc_text_decimals(1e3 * c->tbt.p99), 1e3 * c->tbt.p99);
	}
	putc('\n', out);
}

static void text_write(FILE *out, const struct mc_report *report)
{
	head(out, report);
	requests(out, report);
	latencies(out, report->metrics);
	parts(out, report);
	by_length(out, report->metrics);
	by_class(out, report->metrics);
	warnings(out, report);
	fprintf(out, "bottleneck: %s\n", report->metrics->bottleneck);
}

const struct mc_sink mc_sink_text = {
    .name = "text",
    .help = "one screen for people",
    .write = text_write,
};
