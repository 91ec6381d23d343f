#include "cluster/verdict.h"

#include <stdio.h>
#include <string.h>

#include "cluster/cluster.h"

#define STEADY_SAMPLES 8    /* fewer are not judged */
#define STEADY_GROWTH  1.2  /* a queue that has grown evenly since the start shows 7/5 */
#define SATURATED      0.70 /* below it, nothing is called a bottleneck */
#define SPAN_SHARE     0.90 /* the span named: where the load stays above this share of its peak (or of 1) */

/* Mean wait of prefill in s, and of the requests that wait for a batch slot, in samples of [from, to). */
static size_t quarter(const struct mc_result *r, double from, double to, double *wait_s, double *waiting)
{
	size_t n = 0;

	*wait_s = *waiting = 0;
	for (size_t i = 0; i < r->samples.n; i++) {
		const struct mc_sample *a = &r->samples.at[i];
		double at = mc_time_to_s(a->at);

		if (at < from || at >= to)
			continue;
		*wait_s += mc_time_to_s(a->prefill_wait_mean);
		*waiting += a->decode_waiting;
		n++;
	}
	if (n) {
		*wait_s /= (double)n;
		*waiting /= (double)n;
	}
	return n;
}

void mc_verdict_steady(const struct mc_scenario *s, const struct mc_result *r, struct mc_metrics *m)
{
	double first = mc_time_to_s(s->run.warmup), last = first, wait[2], waiting[2], span;
	size_t n[2];

	m->steady = true;
	m->queue_growth = 0;
	for (int64_t i = 0; i < r->n_rows && r->row[i].arrival >= 0 && r->row[i].arrival <= r->end; i++)
		last = mc_time_to_s(r->row[i].arrival);
	span = last - first;
	n[0] = quarter(r, first + span / 2, first + span * 3 / 4, &wait[0], &waiting[0]);
	n[1] = quarter(r, first + span * 3 / 4, last, &wait[1], &waiting[1]);
	if (n[0] < STEADY_SAMPLES / 4 || n[1] < STEADY_SAMPLES / 4)
		return;
	m->queue_growth = (wait[1] > 1e-3 ? wait[1] : 1e-3) / (wait[0] > 1e-3 ? wait[0] : 1e-3);
	if (m->queue_growth > STEADY_GROWTH && wait[1] - wait[0] > mc_time_to_s(s->slo.ttft) / 10)
		m->steady = false;
	if (waiting[1] > STEADY_GROWTH * waiting[0] && waiting[1] - waiting[0] > r->n_decode)
		m->steady = false;
}

enum part { PREFILL, DECODE, LINK, PARTS };

/* What the parts are judged by. */
struct series {
	const struct mc_scenario *s;
	const struct mc_result *r;
	double
	    *busy; /* share of the prefill instances in use between a sample and the one before; n samples */
};

/* How much of its instance a prompt uses while it is there. A coupled node does other things, too; in a group
 * it passes through idle nodes, too, and beside other prompts: its engine time counts, spread evenly. */
static double weight(const struct mc_result *r, const struct mc_row *row)
{
	if ((r->prefill_group == 1 && !r->coupled) || row->prefill_end <= row->prefill_start)
		return 1;
	return (row->compute_s + row->load_s) / r->prefill_group /
	       mc_time_to_s(row->prefill_end - row->prefill_start);
}

/* Prefill instances at a sample. */
static uint32_t instances(const struct mc_result *r, size_t sample)
{
	return r->n_switchable ? r->samples.at[sample].prefill_nodes : r->n_prefill;
}

/* From the requests: what samples see at an instant would beat with arrivals that come in ticks. */
static double *prefill_busy(const struct mc_result *r)
{
	double *busy = mc_xcalloc(r->samples.n, sizeof *busy);

	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];
		mc_time from = row->prefill_start, to = row->prefill_end >= 0 ? row->prefill_end : r->end;

		while (from >= 0 && from < to) {
			size_t bin = (size_t)(from / r->sample) + 1; /* the sample that ends it */
			mc_time end = (mc_time)bin * r->sample;

			end = end < to ? end : to;
			if (bin >= r->samples.n)
				break;
			busy[bin] +=
			    (double)(end - from) * weight(r, row) / ((double)r->sample * instances(r, bin));
			from = end;
		}
	}
	/* Spread evenly, prompts of a group may overlap. */
	for (size_t i = 0; i < r->samples.n; i++)
		busy[i] = busy[i] < 1 ? busy[i] : 1;
	return busy;
}

static double load(const struct series *x, enum part part, size_t i)
{
	const struct mc_sample *a = &x->r->samples.at[i];
	mc_time slo = part == DECODE ? x->s->slo.tbt : x->s->slo.ttft;
	mc_time of = part == DECODE ? a->decode_iteration_max : a->prefill_wait_mean;
	double floor = part == DECODE ? a->decode_kv_ratio_max : x->busy[i],
	       share = slo > 0 ? (double)of / (double)slo : 0;

	if (part == LINK)
		return a->link_ratio_max;
	return share > floor ? share : floor;
}

struct span {
	double peak;     /* of the load, smoothed */
	size_t from, to; /* samples, inclusive */
};

/* Where a part's load, smoothed over w samples, is highest, extended while it stays near that. */
static struct span busiest_span(const struct series *x, enum part part, size_t w)
{
	size_t n = x->r->samples.n, at = 0;
	double *smooth = mc_xcalloc(n - w + 1, sizeof *smooth), sum = 0;
	struct span p = {0};
	double near;

	for (size_t i = 0; i < n; i++) {
		sum += load(x, part, i);
		if (i + 1 < w)
			continue;
		smooth[i + 1 - w] = sum / (double)w;
		if (smooth[i + 1 - w] > p.peak) {
			at = i + 1 - w;
			p.peak = smooth[at];
		}
		sum -= load(x, part, i + 1 - w);
	}
	/* What is far beyond full is saturated all the time that it is full. */
	near = SPAN_SHARE * (p.peak < 1 ? p.peak : 1);
	p.from = p.to = at;
	while (p.from > 0 && smooth[p.from - 1] >= near)
		p.from--;
	while (p.to < n - w && smooth[p.to + 1] >= near)
		p.to++;
	p.to += w - 1;
	while (p.from < p.to && load(x, part, p.from) < near)
		p.from++;
	while (p.from < p.to && load(x, part, p.to) < near)
		p.to--;
	free(smooth);
	return p;
}

/* Means of what the line shows, over a span. */
struct shown {
	double busy, wait_s, iteration_s, kv, link, batch;
	double longest_s; /* wait at the fullest node, at any time */
	uint32_t busiest;
};

static struct shown show(const struct series *series, const struct span *p)
{
	const struct mc_result *r = series->r;
	struct shown x = {.busiest = MC_NONE};
	double n = (double)(p->to - p->from + 1), top = -1;

	for (size_t i = p->from; i <= p->to; i++) {
		const struct mc_sample *a = &r->samples.at[i];

		x.busy += series->busy[i] / n;
		x.wait_s += mc_time_to_s(a->prefill_wait_mean) / n;
		x.iteration_s += mc_time_to_s(a->decode_iteration_max) / n;
		x.kv += a->decode_kv_ratio_max / n;
		x.link += a->link_ratio_max / n;
		x.batch += a->decode_batch_max / n;
		if (mc_time_to_s(a->prefill_wait_max) > x.longest_s)
			x.longest_s = mc_time_to_s(a->prefill_wait_max);
		if (a->link_ratio_max > top) {
			top = a->link_ratio_max;
			x.busiest = a->link_max;
		}
	}
	return x;
}

static void name_part(const struct series *series, enum part part, const struct span *p, struct mc_metrics *m)
{
	const struct mc_scenario *s = series->s;
	const struct mc_result *r = series->r;
	struct shown x = show(series, p);
	double from = mc_time_to_s(r->samples.at[p->from].at - r->sample),
	       to = mc_time_to_s(r->samples.at[p->to].at);
	char *out = m->bottleneck;
	size_t n = sizeof m->bottleneck;

	if (from < 0)
		from = 0;
	if (part == PREFILL)
		snprintf(out, n,
			 "prefill pool, %.0f %% busy from %.0f s to %.0f s (wait %.1f s on average, %.1f s "
			 "at the fullest node)",
			 100 * x.busy, from, to, x.wait_s, x.longest_s);
	else if (part == LINK)
		snprintf(out, n, "%s %s, %.0f %% busy from %.0f s to %.0f s",
			 x.busiest < r->n_net_links ? "link" : "SSD", r->link_name[x.busiest], 100 * x.link,
			 from, to);
	else
		snprintf(out, n,
			 "decode pool, iterations of %.0f ms at batch %.0f in the fullest node (slo.tbt %.0f "
			 "ms), VRAM %.0f %% "
			 "full, from %.0f s to %.0f s",
			 1e3 * x.iteration_s, x.batch, 1e3 * mc_time_to_s(s->slo.tbt), 100 * x.kv, from, to);
}

/* Coupled nodes miss TBT long before they are full: over a tenth of the requests did. */
static bool disturbed(const struct mc_result *r, const struct mc_metrics *m)
{
	return r->coupled && !m->no_objective && 10 * (m->completed - m->tbt_met) > m->completed;
}

void mc_verdict_bottleneck(const struct mc_scenario *s, const struct mc_result *r, struct mc_metrics *m)
{
	const char *const name[PARTS] = {"prefill pool", "decode pool",
					 r->n_links > r->n_net_links ? "busiest link or SSD"
								     : "busiest link"};
	const char *pools = r->coupled ? "prefix caches in VRAM" : "DRAM pools";
	size_t n = r->samples.n, w = n / 20 ? n / 20 : 1, at;
	struct series series = {s, r, NULL};
	struct span p[PARTS];
	enum part best = PREFILL;
	char *out = m->bottleneck;

	if (!n) {
		snprintf(out, sizeof m->bottleneck, "unknown: the run is shorter than run.sample");
		return;
	}
	series.busy = prefill_busy(r);
	for (enum part i = PREFILL; i < PARTS; i++) {
		p[i] = busiest_span(&series, i, w);
		if (p[i].peak > p[best].peak)
			best = i;
	}
	if (p[best].peak >= SATURATED)
		name_part(&series, best, &p[best], m);
	free(series.busy);
	if (p[best].peak >= SATURATED)
		return;
	at = (size_t)snprintf(out, sizeof m->bottleneck, "none: at most");
	for (enum part i = PREFILL; i < PARTS; i++)
		at += (size_t)snprintf(out + at, sizeof m->bottleneck - at, "%s %s %.0f %%", i ? "," : "",
				       name[i], 100 * p[i].peak);
	if (r->evicted_blocks)
		at += (size_t)snprintf(out + at, sizeof m->bottleneck - at, " loaded; %s evicted %llu blocks",
				       pools, (unsigned long long)r->evicted_blocks);
	else
		at += (size_t)snprintf(out + at, sizeof m->bottleneck - at, " loaded; %s never full", pools);
	if (disturbed(r, m))
		snprintf(out + at, sizeof m->bottleneck - at, "; TBT is missed as prompts hold up decodes");
}
