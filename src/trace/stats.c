#include "trace/stats.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "trace/number.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double rank(const double *sorted, int64_t n, int64_t percent)
{
	return sorted[(n * percent + 99) / 100 - 1];
}

/* Sorts v. */
static void summarise(double *v, int64_t n, struct mc_trace_spread_of *out)
{
	double sum = 0;

	memset(out, 0, sizeof *out);
	if (!n)
		return;
	qsort(v, (size_t)n, sizeof *v, by_value);
	for (int64_t i = 0; i < n; i++)
		sum += v[i];
	out->count = n;
	out->mean = sum / (double)n;
	out->p50 = rank(v, n, 50);
	out->p90 = rank(v, n, 90);
	out->p99 = rank(v, n, 99);
	out->max = v[n - 1];
}

static void lengths(const struct mc_trace *t, struct mc_trace_stats *out)
{
	double *v = mc_xcalloc((size_t)t->n, sizeof *v);

	for (int64_t i = 0; i < t->n; i++) {
		out->input_tokens += t->input[i];
		v[i] = t->input[i];
	}
	summarise(v, t->n, &out->input);
	for (int64_t i = 0; i < t->n; i++) {
		out->output_tokens += t->output[i];
		out->without_output += !t->output[i];
		v[i] = t->output[i];
	}
	summarise(v, t->n, &out->output);
	free(v);
}

static double coefficient_of_variation(const double *v, int64_t n)
{
	double mean = 0, square = 0;

	for (int64_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (int64_t i = 0; i < n; i++)
		square += (v[i] - mean) * (v[i] - mean) / (double)n;
	return mean > 0 ? sqrt(square) / mean : 0;
}

static void arrivals(const struct mc_trace *t, struct mc_trace_stats *out)
{
	double *gap = mc_xcalloc((size_t)t->n, sizeof *gap);
	struct mc_trace_spread_of gaps;
	int64_t here = 0, positive = 0;

	for (int64_t i = 0; i < t->n; i++) {
		if (i)
			gap[i - 1] = mc_time_to_s(t->arrival[i] - t->arrival[i - 1]);
		if (!i || t->arrival[i] > t->arrival[i - 1]) {
			out->instants++;
			here = 0;
		}
		if (++here > out->instant_max)
			out->instant_max = here;
	}
	out->gap_cv = coefficient_of_variation(gap, t->n - 1);
	for (int64_t i = 0; i + 1 < t->n; i++)
		if (gap[i] > 0)
			gap[positive++] = gap[i];
	summarise(gap, positive, &gaps);
	out->instant_gap_s = gaps.p50;
	out->duration_s = mc_time_to_s(t->arrival[t->n - 1] - t->arrival[0]);
	out->rate = out->duration_s > 0 ? (double)t->n / out->duration_s : 0;
	free(gap);
}

static uint64_t leading_tokens(const struct mc_trace *t, int64_t request, uint64_t blocks)
{
	uint64_t whole = blocks * (uint64_t)t->block_tokens;

	return whole < t->input[request] ? whole : t->input[request];
}

static void reuse(const struct mc_trace *t, struct mc_trace_stats *out)
{
	uint32_t distinct, *number = mc_trace_number(t, &distinct);
	mc_time *used = mc_xmalloc((size_t)distinct * sizeof *used);
	struct {
		MC_VEC(double)
	} age = {0};
	double ratios = 0;

	memset(used, 0xff, (size_t)distinct * sizeof *used); /* -1: never */
	for (int64_t i = 0; i < t->n; i++) {
		const uint32_t *block = number + t->first[i];
		uint64_t n = mc_trace_blocks(t, i), hit = 0, tokens;

		while (hit < n && used[block[hit]] >= 0)
			hit++;
		tokens = leading_tokens(t, i, hit);
		out->hit_blocks += hit;
		out->hit_tokens += tokens;
		out->full_hits += hit == n;
		ratios += (double)tokens / t->input[i];
		for (uint64_t k = 0; k < n; k++) {
			if (used[block[k]] >= 0)
				mc_vec_push(&age, mc_time_to_s(t->arrival[i] - used[block[k]]));
			used[block[k]] = t->arrival[i];
		}
	}
	out->references = t->first[t->n];
	out->distinct = distinct;
	out->by_block = (double)out->hit_blocks / (double)out->references;
	out->by_token = (double)out->hit_tokens / (double)out->input_tokens;
	out->mean_of_requests = ratios / (double)t->n;
	summarise(age.at, (int64_t)age.n, &out->age_s);
	mc_vec_fini(&age);
	free(used);
	free(number);
}

void mc_trace_stats_compute(const struct mc_trace *t, struct mc_trace_stats *out)
{
	memset(out, 0, sizeof *out);
	out->requests = t->n;
	if (!t->n)
		return;
	lengths(t, out);
	arrivals(t, out);
	reuse(t, out);
}

/* More uses first; of equals the earlier number, which is the order of first use. */
struct heat {
	struct mc_trace_hot hot;
	uint32_t number;
};

static int by_uses(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;

	if (x->hot.uses != y->hot.uses)
		return x->hot.uses < y->hot.uses ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

int64_t mc_trace_hottest(const struct mc_trace *t, int64_t k, struct mc_trace_hot *out)
{
	uint32_t distinct, *number = mc_trace_number(t, &distinct);
	struct heat *h = mc_xcalloc(distinct, sizeof *h);

	for (int64_t i = 0; i < t->n; i++)
		for (uint64_t j = t->first[i]; j < t->first[i + 1]; j++) {
			struct heat *one = &h[number[j]];

			if (!one->hot.uses++) {
				one->number = number[j];
				one->hot.id = t->block[j];
				one->hot.position = j - t->first[i];
			}
		}
	qsort(h, distinct, sizeof *h, by_uses);
	if (k > distinct)
		k = distinct;
	for (int64_t i = 0; i < k; i++)
		out[i] = h[i].hot;
	free(h);
	free(number);
	return k;
}
