#include "trace/stats.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/vec.h"
#include "trace/turns.h"

static void lengths(const struct mc_trace *t, struct mc_trace_stats *out)
{
	double *v = mc_xcalloc((size_t)t->n, sizeof *v);

	for (int64_t i = 0; i < t->n; i++) {
		out->input_tokens += t->input[i];
		v[i] = t->input[i];
	}
	mc_summary_reals(v, (size_t)t->n, &out->input);
	for (int64_t i = 0; i < t->n; i++) {
		out->output_tokens += t->output[i];
		out->without_output += !t->output[i];
		v[i] = t->output[i];
	}
	mc_summary_reals(v, (size_t)t->n, &out->output);
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
	struct mc_summary gaps;
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
	mc_summary_reals(gap, (size_t)positive, &gaps);
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

static void reuse(const struct mc_trace *t, const struct mc_trace_numbers *numbers,
		  struct mc_trace_stats *out)
{
	uint32_t distinct = numbers->distinct;
	mc_time *used = mc_xmalloc((size_t)distinct * sizeof *used);
	struct {
		MC_VEC(mc_time)
	} age = {0};
	double ratios = 0;

	memset(used, 0xff, (size_t)distinct * sizeof *used); /* -1: never */
	for (int64_t i = 0; i < t->n; i++) {
		const uint32_t *block = numbers->of + t->first[i];
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
				mc_vec_push(&age, t->arrival[i] - used[block[k]]);
			used[block[k]] = t->arrival[i];
		}
	}
	out->references = t->first[t->n];
	out->distinct = distinct;
	out->by_block = (double)out->hit_blocks / (double)out->references;
	out->by_token = (double)out->hit_tokens / (double)out->input_tokens;
	out->mean_of_requests = ratios / (double)t->n;
	mc_summary_times(age.at, age.n, &out->age_s);
	mc_vec_fini(&age);
	free(used);
}

/* Hits of the same infinite cache when answers are written back. */
static void reuse_of_answers(const struct mc_trace *t, const struct mc_trace_numbers *numbers,
			     struct mc_trace_stats *out)
{
	struct mc_trace_turn *turn = mc_trace_turns(t);
	bool *held = mc_xcalloc(numbers->distinct, sizeof *held);

	for (int64_t i = 0; turn && i < t->n; i++) {
		const uint32_t *block = numbers->of + t->first[i];
		uint64_t n = mc_trace_blocks(t, i), hit = 0;

		while (hit < n && held[block[hit]])
			hit++;
		out->kept_blocks += hit;
		out->kept_tokens += leading_tokens(t, i, hit);
		for (uint64_t k = 0; k < n; k++)
			held[block[k]] = true;
		out->children += t->parent[i] >= 0;
		if (turn[i].next < 0)
			continue;
		out->continued++;
		block = numbers->of + t->first[turn[i].next];
		for (uint32_t k = turn[i].from; k < turn[i].to; k++)
			held[block[k]] = true;
	}
	free(held);
	free(turn);
}

void mc_trace_stats_compute(const struct mc_trace *t, const struct mc_trace_numbers *numbers,
			    struct mc_trace_stats *out)
{
	memset(out, 0, sizeof *out);
	out->requests = t->n;
	if (!t->n)
		return;
	lengths(t, out);
	arrivals(t, out);
	reuse(t, numbers, out);
	reuse_of_answers(t, numbers, out);
}

/* The k numbers with the highest counts, ties in order of number. Returns how many. */
static int64_t choose(const uint32_t *count, uint32_t n, int64_t k, uint32_t *top)
{
	int64_t have = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t at;

		if (have == k && (!k || count[i] <= count[top[k - 1]]))
			continue;
		at = have < k ? have++ : k - 1;
		for (; at > 0 && count[top[at - 1]] < count[i]; at--)
			top[at] = top[at - 1];
		top[at] = i;
	}
	return have;
}

int64_t mc_trace_hottest(const struct mc_trace *t, const struct mc_trace_numbers *numbers, int64_t k,
			 struct mc_trace_hot *out)
{
	uint32_t *count = mc_xcalloc(numbers->distinct, sizeof *count);
	uint32_t *top = mc_xcalloc((size_t)k, sizeof *top), *rank = count, next = 0;

	for (uint64_t j = 0; j < t->first[t->n]; j++)
		count[numbers->of[j]]++;
	k = choose(count, numbers->distinct, k, top);
	for (int64_t i = 0; i < k; i++)
		out[i].uses = count[top[i]];
	memset(rank, 0, (size_t)numbers->distinct * sizeof *rank);
	for (int64_t i = 0; i < k; i++)
		rank[top[i]] = (uint32_t)i + 1;
	/* A number's first appearance is where the next new number is due. */
	for (int64_t i = 0; i < t->n; i++)
		for (uint64_t j = t->first[i]; j < t->first[i + 1]; j++) {
			uint32_t number = numbers->of[j];

			if (number != next)
				continue;
			next++;
			if (rank[number]) {
				out[rank[number] - 1].id = t->block[j];
				out[rank[number] - 1].position = j - t->first[i];
			}
		}
	free(count);
	free(top);
	return k;
}
