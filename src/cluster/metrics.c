#include "cluster/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cluster/loads.h"
#include "cluster/verdict.h"
#include "stat/wquant.h"

static const int64_t class_max[MC_LENGTH_CLASSES] = {2048, 8192, 16384, 32768, 65536, INT64_MAX};

/* Columns of times, one value a request that has it. */
enum column { TTFT, HANDOVER, TTFT_HANDOVER, TBT, TPOT, E2E, COLUMNS };

struct columns {
	mc_time *v[COLUMNS];
	size_t n[COLUMNS];
	mc_time *class_v[MC_LENGTH_CLASSES][2]; /* TTFT and TBT by length */
	size_t class_n[MC_LENGTH_CLASSES][2];
	int64_t class_input[MC_LENGTH_CLASSES], class_hit[MC_LENGTH_CLASSES];
	/* sums over completed prefills, and over what is outside the profile's ranges */
	double compute, gpu, queue, fetch, error;
	int64_t prefills, prefill_tokens, outside_fit, outside_trust;
};

static int length_class(uint32_t input)
{
	int c = 0;

	while (input > class_max[c])
		c++;
	return c;
}

static void put(struct columns *col, enum column which, int class, mc_time value)
{
	col->v[which][col->n[which]++] = value;
	if (which == TTFT || which == TBT) {
		int k = which == TBT;

		col->class_v[class][k][col->class_n[class][k]++] = value;
	}
}

static void columns_init(struct columns *col, const struct mc_metrics *m)
{
	size_t total = (size_t)m->total + 1;

	memset(col, 0, sizeof *col);
	for (int i = 0; i < COLUMNS; i++)
		col->v[i] = mc_xcalloc(total, sizeof(mc_time));
	for (int c = 0; c < MC_LENGTH_CLASSES; c++)
		for (int k = 0; k < 2; k++)
			col->class_v[c][k] =
			    mc_xcalloc((size_t)m->by_length[c].requests + 1, sizeof(mc_time));
}

static void columns_fini(struct columns *col)
{
	for (int i = 0; i < COLUMNS; i++)
		free(col->v[i]);
	for (int c = 0; c < MC_LENGTH_CLASSES; c++)
		for (int k = 0; k < 2; k++)
			free(col->class_v[c][k]);
}

bool mc_row_arrived(const struct mc_result *r, const struct mc_row *row)
{
	return row->arrival >= 0 && (row->arrival <= r->end || row->outcome != MC_UNFINISHED);
}

static void count_outcomes(const struct mc_result *r, struct mc_metrics *m)
{
	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];
		struct mc_length_class *class = &m->by_length[length_class(row->input)];

		if (!mc_row_arrived(r, row))
			continue;
		if (!row->counted) {
			m->warmup++;
			continue;
		}
		m->total++;
		class->requests++;
		m->completed += row->outcome == MC_COMPLETED;
		class->completed += row->outcome == MC_COMPLETED;
		m->rejected += row->outcome == MC_REJECTED;
		m->failed += row->outcome == MC_FAILED;
		m->unfinished += row->outcome == MC_UNFINISHED;
		m->retried += row->retries > 0;
		m->resent += row->attempts > 1 ? row->attempts - 1 : 0;
		m->refusals += row->refusals;
		if (row->outcome == MC_REJECTED)
			m->rejected_by[row->refusal]++;
	}
}

/* A dispatched request: where its prompt was cached, and whether the profile knows its size. */
static void add_dispatched(const struct mc_cost *cost, const struct mc_row *row, struct columns *col,
			   struct mc_metrics *m)
{
	int class = length_class(row->input);
	int64_t context = (int64_t)row->input + (row->output > 1 ? row->output - 1 : 0);
	int64_t hit = mc_row_hit(row);

	m->input_tokens += row->input;
	m->local_hit_tokens += row->local_hit;
	m->remote_hit_tokens += row->remote_hit;
	m->ssd_hit_tokens += row->ssd_hit;
	m->hit_tokens += hit;
	col->class_input[class] += row->input;
	col->class_hit[class] += hit;
	col->outside_fit +=
	    row->input > cost->fit_prefill_max || (row->output > 1 && context > cost->fit_context_max);
	col->outside_trust +=
	    row->input > cost->trust_prefill_max || (row->output > 1 && context > cost->trust_context_max);
}

static double seconds(mc_time from, mc_time to)
{
	return mc_time_to_s(to - from);
}

static void add_prefill(const struct mc_row *row, struct columns *col)
{
	int class = length_class(row->input);
	mc_time ttft = row->prefill_end - row->arrival;
	double error = seconds(ttft, row->predicted_ttft);

	put(col, TTFT, class, ttft);
	col->prefills++;
	col->prefill_tokens += row->input;
	col->compute += row->compute_s;
	col->gpu += row->compute_s + row->load_s;
	col->queue += seconds(row->decided, row->prefill_start);
	col->fetch += mc_time_to_s(row->fetch_wait);
	col->error += error < 0 ? -error : error;
	if (row->output < 2) {
		put(col, TTFT_HANDOVER, class, ttft);
	} else if (row->handover_end >= 0) {
		put(col, HANDOVER, class, row->handover_end - row->prefill_end);
		put(col, TTFT_HANDOVER, class, row->handover_end - row->arrival);
	}
}

static void add_completed(const struct mc_class *of, const struct mc_row *row, struct columns *col,
			  struct mc_metrics *m)
{
	int class = length_class(row->input);
	bool ttft_met = mc_row_ttft_met(row, of), tbt_met = mc_row_tbt_met(row, of);
	mc_time n = (mc_time)row->output - 1;

	m->ttft_met += ttft_met;
	m->tbt_met += tbt_met;
	m->effective += ttft_met && tbt_met;
	m->by_length[class].effective += ttft_met && tbt_met;
	m->output_tokens += row->output;
	m->effective_tokens += ttft_met && tbt_met ? row->output : 0;
	put(col, E2E, class, row->end - row->arrival);
	if (row->output < 2)
		return;
	put(col, TBT, class, row->tbt);
	put(col, TPOT, class, (row->end - row->handover_end + n / 2) / n);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void summarize(struct columns *col, struct mc_metrics *m)
{
	struct mc_summary *to[COLUMNS] = {&m->ttft, &m->handover, &m->ttft_handover,
					  &m->tbt,  &m->tpot,     &m->e2e};

	for (int i = 0; i < COLUMNS; i++)
		mc_summary_times(col->v[i], col->n[i], to[i]);
	for (int c = 0; c < MC_LENGTH_CLASSES; c++) {
		struct mc_length_class *class = &m->by_length[c];

		class->max_tokens = class_max[c];
		class->hit_ratio = ratio((double)col->class_hit[c], (double)col->class_input[c]);
		mc_summary_times(col->class_v[c][0], col->class_n[c][0], &class->ttft);
		mc_summary_times(col->class_v[c][1], col->class_n[c][1], &class->tbt);
	}
}

/* Between the nodes of a group; a node sends over one boundary, with its own NICs. */
static void stages(const struct mc_cost *cost, const struct mc_result *r, struct mc_metrics *m)
{
	for (uint32_t i = 0; i < r->n_prefill && r->prefill_group > 1; i++) {
		double boundary = (double)r->stage_bytes[i] / (r->prefill_group - 1);
		double use = ratio(boundary, cost->net_bytes_per_s * mc_time_to_s(r->end));

		m->stage_bytes += r->stage_bytes[i];
		m->stage_nic_ratio = use > m->stage_nic_ratio ? use : m->stage_nic_ratio;
	}
}

static void roles(const struct mc_result *r, struct mc_metrics *m)
{
	double end = mc_time_to_s(r->end);

	m->prefill_nodes_mean = (double)r->n_prefill * r->prefill_group;
	m->decode_nodes_mean = r->n_decode;
	if (!r->n_switchable)
		return;
	m->prefill_nodes_mean = ratio(r->roles.prefill_s, end);
	m->decode_nodes_mean = ratio(r->roles.decode_s, end);
}

static void busy(const struct mc_result *r, struct mc_metrics *m)
{
	double end = mc_time_to_s(r->end), prefill = 0, decode = 0;

	for (uint32_t i = 0; i < r->n_prefill; i++)
		prefill += mc_time_to_s(r->prefill_busy[i]);
	for (uint32_t i = 0; i < r->n_decode; i++)
		decode += mc_time_to_s(r->decode_busy[i]);
	roles(r, m);
	m->prefill_busy_ratio = ratio(prefill, end * m->prefill_nodes_mean);
	m->decode_busy_ratio = ratio(decode, end * m->decode_nodes_mean);
	m->network_bytes = r->fetched_bytes + r->handover_bytes + r->write_back_bytes + r->replica_bytes;
	m->resent_bytes = r->resent_bytes;
	m->busiest_link = MC_NONE;
	for (uint32_t i = 0; i < r->n_net_links; i++) {
		double use = ratio(r->link_bytes[i], r->link_capacity[i] * end);

		if (m->busiest_link == MC_NONE || use > m->busiest_link_ratio) {
			m->busiest_link = i;
			m->busiest_link_ratio = use;
		}
		if (i - r->rack_link < r->n_rack_links && use > m->busiest_rack_ratio)
			m->busiest_rack_ratio = use;
	}
}

static void iterations(const struct mc_cost *cost, const struct mc_result *r, struct mc_metrics *m)
{
	int64_t members = 0, outside_fit = 0, outside_trust = 0;

	for (uint32_t i = 0; i < r->n_decode; i++) {
		for (size_t k = 0; k < r->segment[i].n; k++) {
			const struct mc_segment *g = &r->segment[i].at[k];

			m->iterations += g->count;
			members += (int64_t)g->count * g->batch;
			outside_fit += g->batch > cost->fit_batch_max ? g->count : 0;
			outside_trust += g->batch > cost->trust_batch_max ? g->count : 0;
		}
	}
	m->batch_mean = ratio((double)members, (double)m->iterations);
	m->batch_outside_fit_ratio = ratio((double)outside_fit, (double)m->iterations);
	m->batch_outside_trust_ratio = ratio((double)outside_trust, (double)m->iterations);
}

static inline void add(struct mc_wquant *q, int pass, mc_time interval, uint64_t requests)
{
	if (pass == 1)
		mc_wquant_add1(q, interval, requests);
	else
		mc_wquant_add2(q, interval, requests);
}

/* Every token interval of a counted request, with how many requests had it; the pass is 1 or 2 of
 * stat/wquant.h. */
static void intervals(const struct mc_cost *cost, const struct mc_result *r, int pass, struct mc_wquant *q)
{
	for (size_t k = 0; k < r->first.n; k++)
		add(q, pass, r->first.at[k], 1);
	for (uint32_t i = 0; i < r->n_decode; i++) {
		for (size_t k = 0; k < r->segment[i].n; k++) {
			const struct mc_segment *g = &r->segment[i].at[k];

			/* The first interval of those that joined includes their wait: it is in r->first. */
			if (!g->counted)
				continue;
			add(q, pass, g->lead + mc_cost_decode_ns(cost, g->batch, g->context),
			    g->counted - g->joined);
			for (int64_t j = 1; j < g->count; j++)
				add(q, pass, mc_cost_decode_ns(cost, g->batch, g->context + j * g->batch),
				    g->counted);
		}
	}
}

static void inter_token(const struct mc_cost *cost, const struct mc_result *r, struct mc_metrics *m)
{
	struct mc_wquant q;

	mc_wquant_init(&q);
	intervals(cost, r, 1, &q);
	mc_wquant_prepare(&q);
	intervals(cost, r, 2, &q);
	mc_wquant_result(&q, &m->itl);
	mc_wquant_fini(&q);
}

static void rates(const struct mc_scenario *s, const struct mc_result *r, const struct columns *col,
		  struct mc_metrics *m)
{
	double n = (double)col->prefills, total = (double)m->total;

	m->compute_s_mean = ratio(col->compute, n);
	m->gpu_time_s_mean = ratio(col->gpu, n);
	m->queue_s_mean = ratio(col->queue, n);
	m->fetch_wait_s_mean = ratio(col->fetch, n);
	m->ttft_error_mean_s = ratio(col->error, n);
	m->hit_ratio = ratio((double)m->hit_tokens, (double)m->input_tokens);
	m->effective_ratio = ratio((double)m->effective, total);
	m->outside_fit_ratio = ratio((double)col->outside_fit, total);
	m->outside_trust_ratio = ratio((double)col->outside_trust, total);
	m->duration_s = r->end > s->run.warmup ? seconds(s->run.warmup, r->end) : 0;
	m->requests_per_s = ratio((double)m->completed, m->duration_s);
	m->input_tokens_per_s = ratio((double)col->prefill_tokens, m->duration_s);
	m->output_tokens_per_s = ratio((double)m->output_tokens, m->duration_s);
	m->goodput_requests_per_s = ratio((double)m->effective, m->duration_s);
	m->goodput_tokens_per_s = ratio((double)m->effective_tokens, m->duration_s);
}

void mc_metrics_compute(const struct mc_scenario *s, const struct mc_cost *cost, const struct mc_result *r,
			struct mc_metrics *m)
{
	struct mc_class class;
	struct columns col;

	memset(m, 0, sizeof *m);
	count_outcomes(r, m);
	columns_init(&col, m);
	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];

		if (!row->counted || !mc_row_arrived(r, row))
			continue;
		if (row->prefill != MC_NONE)
			add_dispatched(cost, row, &col, m);
		if (row->prefill_end >= 0)
			add_prefill(row, &col);
		class = mc_row_class(s, r, row);
		if (row->outcome == MC_COMPLETED)
			add_completed(&class, row, &col, m);
	}
	summarize(&col, m);
	columns_fini(&col);
	mc_metrics_classes(s, r, m);
	mc_metrics_ranges(cost, r, m);
	iterations(cost, r, m);
	inter_token(cost, r, m);
	busy(r, m);
	stages(cost, r, m);
	rates(s, r, &col, m);
	m->wasted_prefills = (int64_t)r->wasted_prefills;
	for (int64_t i = 0; i < r->n_rows; i++)
		m->wasted_s += r->row[i].wasted_s;
	mc_metrics_loads(s, r, m);
	mc_verdict_steady(s, r, m);
	mc_verdict_bottleneck(s, r, m);
}
