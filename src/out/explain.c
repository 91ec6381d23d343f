#include "out/explain.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "out/json.h"
#include "out/textfmt.h"

static bool least(const struct mc_explanation *x, mc_time (*of)(const struct mc_score *))
{
	mc_time chosen = of(&x->score[x->decision.placed.prefill]);

	for (uint32_t i = 0; i < x->n; i++)
		if (x->score[i].prefill != MC_NONE && of(&x->score[i]) < chosen)
			return false;
	return true;
}

static mc_time total(const struct mc_score *s)
{
	return s->total;
}

static mc_time queue(const struct mc_score *s)
{
	return s->queue;
}

/* "prefill 3", "SSD of prefill 3": of a node of the tree; name has 48 bytes. */
static const char *where(const struct mc_explanation *x, uint32_t node, char *name)
{
	uint32_t nodes = x->n + x->n_decode;
	bool ssd = node >= nodes;

	node -= ssd ? nodes : 0;
	snprintf(name, 48, "%s%s %u", ssd ? "SSD of " : "", node < x->n ? "prefill" : "decode",
		 node < x->n ? node : node - x->n);
	return name;
}

/* Where its parts come from. */
static const char *from(const struct mc_explanation *x, const struct mc_score *s, char *buf, size_t n)
{
	size_t at = 0;
	char name[48];

	snprintf(buf, n, "-");
	for (uint32_t k = 0; k < s->n_parts && at < n; k++)
		at += (size_t)snprintf(buf + at, n - at, "%s%s", k ? ", " : "",
				       where(x, s->part[k].node, name));
	return buf;
}

/* What serves a prompt. */
static const char *noun(const struct mc_report *report)
{
	return report->scenario->cluster.coupled ? "node" : "prefill";
}

/* Which branch of Algorithm 1, or which rule, in words. */
static void because(const struct mc_report *report, const struct mc_explanation *x, char *buf, size_t n)
{
	const struct mc_scenario *s = report->scenario;
	const struct mc_policy *policy = mc_policy_find(s->conductor.policy);
	const struct mc_score *p = &x->decision.placed;
	size_t at = 0;
	char name[48];

	if (p->n_parts) {
		at = (size_t)snprintf(buf, n,
				      "fetch branch: of the leading blocks prefill %u holds %u in DRAM",
				      p->prefill, p->local);
		for (uint32_t k = 0; k < p->n_parts; k++)
			at += (size_t)snprintf(buf + at, n - at, ", %s gives those up to %u",
					       where(x, p->part[k].node, name), p->part[k].to);
		if (policy->uses_threshold)
			at += (size_t)snprintf(buf + at, n - at, "; balancing threshold %g",
					       s->conductor.balancing_threshold);
	} else if (p->local && s->cluster.coupled)
		at = (size_t)snprintf(
		    buf, n, "of the leading blocks node %u holds %u in VRAM; coupled nodes fetch nothing",
		    p->prefill, p->local);
	else if (p->local && policy->fetches && !policy->uses_threshold)
		at = (size_t)snprintf(buf, n,
				      "local branch: of the leading blocks prefill %u holds %u, and fetching "
				      "more would not be worth it",
				      p->prefill, p->local);
	else if (p->local && policy->fetches)
		at = (size_t)snprintf(buf, n,
				      "local branch: of the leading blocks prefill %u holds %u, and nobody "
				      "has more than %g times as many",
				      p->prefill, p->local, s->conductor.balancing_threshold);
	else if (p->local)
		at = (size_t)snprintf(buf, n,
				      "of the leading blocks prefill %u holds %u; this policy never fetches",
				      p->prefill, p->local);
	else
		at = (size_t)snprintf(buf, n, "%s %u holds no block of the prompt: all of it is computed",
				      noun(report), p->prefill);
	if (least(x, total))
		snprintf(buf + at, n - at, "; its total is the smallest of all instances");
	else if (least(x, queue))
		snprintf(buf + at, n - at,
			 "; its queue is the shortest, though its total is not the smallest");
	else
		snprintf(buf + at, n - at, "; chosen by the policy's own rule (%s), not by cost",
			 policy->help);
}

static void prefill_table(FILE *out, const struct mc_report *report, const struct mc_explanation *x)
{
	struct mc_text_table *t = mc_text_table_new(8, 1);
	char name[160];
	const char *const head[] = {noun(report), "holds",        "cached at start", "from",
				    "T_queue s",  "T_transfer s", "T_prefill s",     "total s"};

	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		mc_text_cell(t, "%s", head[i]);
	for (uint32_t i = 0; i < x->n; i++) {
		bool chosen = i == x->decision.placed.prefill;
		const struct mc_score *s = chosen ? &x->decision.placed : &x->score[i];

		mc_text_cell(t, "%s %u", chosen ? "*" : " ", i);
		for (int k = 1; s->prefill == MC_NONE && k < 8; k++)
			mc_text_cell(t, "%s", k == 1 ? "down" : "-");
		if (s->prefill == MC_NONE)
			continue;
		mc_text_cell(t, "%u", s->local);
		mc_text_cell(t, "%u", s->hit);
		mc_text_cell(t, "%s", from(x, s, name, sizeof name));
		mc_text_cell(t, "%.3f", mc_time_to_s(s->queue));
		mc_text_cell(t, "%.3f", mc_time_to_s(s->transfer));
		mc_text_cell(t, "%.3f", mc_time_to_s(s->compute));
		mc_text_cell(t, "%.3f", mc_time_to_s(s->total));
	}
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void decode_table(FILE *out, const struct mc_explanation *x)
{
	struct mc_text_table *t = mc_text_table_new(2, 1);

	mc_text_cell(t, "decode");
	mc_text_cell(t, "predicted iteration ms");
	for (uint32_t i = 0; i < x->n_decode; i++) {
		mc_text_cell(t, "%s %u", i == x->decision.decode ? "*" : " ", i);
		if (x->decode_load[i] < 0)
			mc_text_cell(t, "down");
		else
			mc_text_cell(t, "%.3f", 1e3 * mc_time_to_s(x->decode_load[i]));
	}
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void aftermath(FILE *out, const struct mc_row *row)
{
	fprintf(out, "what happened: %s", mc_outcome_name((enum mc_outcome)row->outcome));
	if (row->outcome == MC_REJECTED)
		fprintf(out, " (%s)", mc_refusal_name((enum mc_refusal)row->refusal));
	if (row->prefill_start >= 0)
		fprintf(out, "; waited %.3f s for prefill", mc_time_to_s(row->prefill_start - row->decided));
	if (row->prefill_end >= 0) {
		fprintf(out, ", stood still %.3f s for fetched blocks, TTFT %.3f s (predicted %.3f s)",
			mc_time_to_s(row->fetch_wait), mc_time_to_s(row->prefill_end - row->arrival),
			mc_time_to_s(row->predicted_ttft));
		if (row->output > 1 && row->handover_end >= 0)
			fprintf(out, ", hand-over %.3f s",
				mc_time_to_s(row->handover_end - row->prefill_end));
	}
	if (row->outcome == MC_COMPLETED) {
		if (row->output > 1)
			fprintf(out, ", TBT %.1f ms", 1e3 * mc_time_to_s(row->tbt));
		fprintf(out, ", last token %.3f s after arrival", mc_time_to_s(row->end - row->arrival));
	}
	putc('\n', out);
}

/* Refused for load, at the place that was chosen for it: the tables tell. */
static bool placed(const struct mc_explanation *x)
{
	enum mc_refusal r = x->decision.refusal;

	return r == MC_TAKEN || r == MC_REFUSED_PREFILL_LOAD || r == MC_REFUSED_DECODE_LOAD;
}

static void refused(FILE *out, const struct mc_report *report, const struct mc_explanation *x)
{
	const struct mc_row *row = &report->result->row[x->request];
	const struct mc_scenario *s = report->scenario;

	fprintf(out, "refused: %s: ", mc_refusal_name(x->decision.refusal));
	if (x->decision.refusal == MC_REFUSED_PREFILL_LOAD)
		fprintf(out, "the first token was predicted %.3f s after arrival: too late for its objective",
			mc_time_to_s(x->decided - row->arrival + x->decision.placed.total));
	else if (x->decision.refusal == MC_REFUSED_DECODE_LOAD)
		fprintf(out,
			"by conductor.admission=%s, its decode node would miss a TBT objective, or have no "
			"room",
			s->conductor.admission);
	else if (x->decision.refusal == MC_REFUSED_DECODE_CAPACITY)
		fprintf(out, "no node could ever hold its KV");
	else
		fprintf(out, "no node lives to serve it");
	putc('\n', out);
}

/* What the profile's transfers cost beside their bytes, which T_transfer and hand-overs have in them. */
static void network(FILE *out, const struct mc_report *report)
{
	const struct mc_cost *c = report->cost;
	char a[MC_UNITS_TEXT], b[MC_UNITS_TEXT], d[MC_UNITS_TEXT], e[MC_UNITS_TEXT];

	if (!c || !(c->net_request_s > 0 || c->net_slice_s > 0 || c->net_peer_loss > 0))
		return;
	fprintf(out,
		"network: a transfer takes %s before its first byte, and of a NIC %s, and %s for each slice "
		"of %s; "
		"%.3g %% longer with each further peer\n",
		mc_units_format_time(mc_time_from_s(c->net_startup_s), a),
		mc_units_format_time(mc_time_from_s(c->net_request_s), b),
		mc_units_format_time(report->scenario->net.slice_cost ? report->scenario->net.slice_cost
								      : mc_time_from_s(c->net_slice_s),
				     d),
		mc_units_format_bytes(report->scenario->net.slice ? (double)report->scenario->net.slice
								  : c->net_slice_bytes,
				      e),
		100 * c->net_peer_loss);
}

static void explain_text(FILE *out, const struct mc_report *report, const struct mc_explanation *x)
{
	const struct mc_row *row = &report->result->row[x->request];
	const struct mc_scenario *s = report->scenario;
	char why[512];

	fprintf(out,
		"request %" PRId64 ": arrived at %.3f s, decided at %.3f s; prompt of %u tokens in %" PRIu64
		" blocks of %" PRId64 ", output of %u tokens\n",
		x->request, mc_time_to_s(row->arrival), mc_time_to_s(x->decided), row->input,
		mc_trace_blocks(report->trace, x->request), report->trace->block_tokens, row->output);
	fprintf(out, "policy: %s", s->conductor.policy);
	if (mc_policy_find(s->conductor.policy)->uses_threshold)
		fprintf(out, ", balancing threshold %g", s->conductor.balancing_threshold);
	if (!s->cluster.coupled)
		fprintf(out, "; decode %s", s->conductor.decode_policy);
	fprintf(out, "\n\n");
	if (placed(x)) {
		prefill_table(out, report, x);
		because(report, x, why, sizeof why);
		fprintf(out, "why: %s\n\n", why);
	}
	if (x->decision.refusal == MC_REFUSED_DECODE_LOAD && !s->cluster.coupled) {
		decode_table(out, x);
		putc('\n', out);
	}
	if (x->decision.refusal) {
		refused(out, report, x);
		return;
	}
	if (x->decision.decode == MC_NONE) {
		fprintf(out, "decode: none; the prompt's only token ends it\n");
	} else if (s->cluster.coupled) {
		fprintf(out, "decode: on the same node\n");
	} else {
		decode_table(out, x);
	}
	putc('\n', out);
	network(out, report);
	aftermath(out, row);
}

static json_t *score_json(const struct mc_explanation *x, uint32_t i)
{
	bool chosen = i == x->decision.placed.prefill;
	const struct mc_score *s = chosen ? &x->decision.placed : &x->score[i];
	json_t *o = json_object(), *parts;
	char name[48];

	mc_json_int(o, "prefill", i);
	json_object_set_new(o, "chosen", json_boolean(chosen));
	json_object_set_new(o, "down", json_boolean(s->prefill == MC_NONE));
	if (s->prefill == MC_NONE)
		return o;
	parts = json_array();
	mc_json_int(o, "local_blocks", s->local);
	mc_json_int(o, "hit_blocks", s->hit);
	json_object_set_new(o, "parts", parts);
	for (uint32_t k = 0; k < s->n_parts; k++) {
		json_t *part = json_object();

		mc_json_text(part, "from", where(x, s->part[k].node, name));
		mc_json_int(part, "first_block", s->part[k].from);
		mc_json_int(part, "end_block", s->part[k].to);
		json_array_append_new(parts, part);
	}
	mc_json_real(o, "queue_s", mc_time_to_s(s->queue));
	mc_json_real(o, "transfer_s", mc_time_to_s(s->transfer));
	mc_json_real(o, "prefill_s", mc_time_to_s(s->compute));
	mc_json_real(o, "total_s", mc_time_to_s(s->total));
	return o;
}

static void when(json_t *o, const char *key, bool happened, mc_time t)
{
	json_object_set_new(o, key, happened ? json_real(mc_time_to_s(t)) : json_null());
}

static void actual_json(json_t *doc, const struct mc_row *row)
{
	json_t *o = mc_json_object(doc, "actual");
	bool first = row->prefill_end >= 0, done = row->outcome == MC_COMPLETED, many = row->output > 1;

	mc_json_text(o, "outcome", mc_outcome_name((enum mc_outcome)row->outcome));
	when(o, "queue_s", row->prefill_start >= 0, row->prefill_start - row->decided);
	when(o, "fetch_wait_s", first, row->fetch_wait);
	when(o, "ttft_s", first, row->prefill_end - row->arrival);
	when(o, "predicted_ttft_s", row->prefill != MC_NONE, row->predicted_ttft);
	when(o, "handover_s", many && row->handover_end >= 0, row->handover_end - row->prefill_end);
	when(o, "tbt_s", done && many, row->tbt);
	when(o, "e2e_s", done, row->end - row->arrival);
}

static void explain_json(FILE *out, const struct mc_report *report, const struct mc_explanation *x)
{
	const struct mc_row *row = &report->result->row[x->request];
	json_t *doc = json_object(), *all = json_array();
	char why[512];

	mc_json_text(doc, "schema", MC_RESULT_SCHEMA);
	mc_json_text(doc, "kind", "mooncake-explanation");
	mc_json_int(doc, "request", x->request);
	mc_json_real(doc, "arrival_s", mc_time_to_s(row->arrival));
	mc_json_real(doc, "decided_s", mc_time_to_s(x->decided));
	mc_json_int(doc, "input_tokens", row->input);
	mc_json_int(doc, "output_tokens", row->output);
	mc_json_text(doc, "policy", report->scenario->conductor.policy);
	mc_json_text(doc, "refusal", x->decision.refusal ? mc_refusal_name(x->decision.refusal) : "");
	for (uint32_t i = 0; i < x->n && placed(x); i++) {
		json_array_append_new(all, score_json(x, i));
	}
	json_object_set_new(doc, "prefill", all);
	all = json_array();
	for (uint32_t i = 0; i < x->n_decode; i++) {
		json_t *o = json_object();

		mc_json_int(o, "decode", i);
		json_object_set_new(o, "chosen", json_boolean(i == x->decision.decode));
		json_object_set_new(o, "down", json_boolean(x->decode_load[i] < 0));
		when(o, "predicted_iteration_s", x->decode_load[i] >= 0, x->decode_load[i]);
		json_array_append_new(all, o);
	}
	json_object_set_new(doc, "decode", all);
	if (placed(x)) {
		because(report, x, why, sizeof why);
		mc_json_text(doc, "why", why);
	}
	actual_json(doc, row);
	mc_report_dump(out, doc);
	json_decref(doc);
}

void mc_explain_write(FILE *out, const char *format, const struct mc_report *report,
		      const struct mc_explanation *x)
{
	if (!strcmp(format, "json"))
		explain_json(out, report, x);
	else
		explain_text(out, report, x);
}
