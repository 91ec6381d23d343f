#include "trace/reshape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "des/stream.h"
#include "stat/sort.h"

/* Parents by their new numbers; those that were cut off are none. */
static void cut_parents(struct mc_trace *t, int64_t skip, int64_t keep)
{
	int64_t left = 0;

	for (int64_t i = 0; i < keep; i++) {
		int64_t parent = t->parent[skip + i] - skip;

		t->parent[i] = parent >= 0 ? parent : -1;
		left += parent >= 0;
	}
	if (left)
		return;
	free(t->parent);
	t->parent = NULL;
}

int mc_trace_cut(struct mc_trace *t, mc_time start, int64_t limit, struct mc_err *err)
{
	int64_t skip = 0, keep;
	uint64_t base;

	while (skip < t->n && t->arrival[skip] < start)
		skip++;
	keep = t->n - skip;
	if (!keep) {
		mc_err_set(err, MC_USAGE, "skips all %lld requests, the last at %.6g s", (long long)t->n,
			   mc_time_to_s(t->arrival[t->n - 1]));
		mc_err_at(err, NULL, 0, 0, "start");
		return MC_USAGE;
	}
	if (limit && keep > limit)
		keep = limit;
	base = t->first[skip];
	memmove(t->block, t->block + base, (t->first[skip + keep] - base) * sizeof *t->block);
	memmove(t->input, t->input + skip, (size_t)keep * sizeof *t->input);
	memmove(t->output, t->output + skip, (size_t)keep * sizeof *t->output);
	for (int64_t i = 0; i < keep; i++)
		t->arrival[i] = t->arrival[skip + i] - start;
	for (int64_t i = 0; i <= keep; i++)
		t->first[i] = t->first[skip + i] - base;
	if (t->parent)
		cut_parents(t, skip, keep);
	t->n = keep;
	return 0;
}

int mc_trace_rate(struct mc_trace *t, double rate, struct mc_err *err)
{
	if (!(rate > 0) || isinf(rate) || (double)t->arrival[t->n - 1] / rate >= 9.2e18) {
		mc_err_set(err, MC_USAGE, "is %g; expected a factor above 0 that keeps times below 292 years",
			   rate);
		mc_err_at(err, NULL, 0, 0, "rate");
		return MC_USAGE;
	}
	if (rate != 1)
		for (int64_t i = 0; i < t->n; i++)
			t->arrival[i] = (mc_time)((double)t->arrival[i] / rate + 0.5);
	return 0;
}

void mc_trace_spread(struct mc_trace *t, uint64_t seed)
{
	gsl_rng *rng = mc_stream_new(seed, "spread", 0);
	struct {
		MC_VEC(double)
	} draw = {0};
	mc_time gap = 0;

	for (int64_t i = 0, end; i < t->n; i = end) {
		mc_time at = t->arrival[i];

		draw.n = 0;
		for (end = i; end < t->n && t->arrival[end] == at; end++)
			mc_vec_push(&draw, gsl_rng_uniform(rng));
		if (end < t->n)
			gap = t->arrival[end] - at;
		mc_sort_f64(draw.at, draw.n);
		for (int64_t j = i; j < end; j++)
			t->arrival[j] = at + (mc_time)(draw.at[j - i] * (double)gap);
	}
	mc_vec_fini(&draw);
	gsl_rng_free(rng);
}

int mc_trace_retime(const struct mc_trace *t, const struct mc_trace_params *params, struct mc_trace *out,
		    struct mc_err *err)
{
	int rc;

	*out = *t;
	out->arrival = mc_xmalloc((size_t)t->n * sizeof *out->arrival);
	memcpy(out->arrival, t->arrival, (size_t)t->n * sizeof *out->arrival);
	rc = mc_trace_rate(out, params->rate, err);
	if (rc)
		mc_trace_retime_fini(out);
	else if (params->spread_ticks)
		mc_trace_spread(out, params->seed);
	return rc;
}

void mc_trace_retime_fini(struct mc_trace *out)
{
	free(out->arrival);
	memset(out, 0, sizeof *out);
}

/* The ids of a prompt in blocks k times smaller; n of them are needed. */
static void divide(const uint64_t *id, uint64_t *to, uint64_t n, uint64_t k)
{
	for (uint64_t i = 0; i < n; id++) {
		uint64_t part = mc_hash_u64(*id), end = n - i < k ? n : i + k;

		while (i < end)
			to[i++] = part++;
	}
}

/* The ids of a prompt of `old` blocks in blocks k times bigger. */
static void merge(const uint64_t *id, uint64_t old, uint64_t *to, uint64_t n, uint64_t k)
{
	for (uint64_t i = 0; i < n; i++)
		to[i] = id[(i + 1) * k < old ? (i + 1) * k - 1 : old - 1];
}

int mc_trace_reblock(struct mc_trace *t, int64_t block_tokens, struct mc_err *err)
{
	uint64_t *first, *block, b = (uint64_t)block_tokens, was = (uint64_t)t->block_tokens;

	if (block_tokens < 1 || (b % was && was % b)) {
		mc_err_set(err, MC_USAGE, "is %lld; expected a divisor or a multiple of the trace's %lld",
			   (long long)block_tokens, (long long)t->block_tokens);
		mc_err_at(err, NULL, 0, 0, "kv_block_tokens");
		return MC_USAGE;
	}
	if (b == was)
		return 0;
	first = mc_xmalloc(((size_t)t->n + 1) * sizeof *first);
	first[0] = 0;
	for (int64_t i = 0; i < t->n; i++)
		first[i + 1] = first[i] + (t->input[i] + b - 1) / b;
	block = mc_xmalloc_large(first[t->n], sizeof *block);
	for (int64_t i = 0; i < t->n; i++) {
		const uint64_t *id = t->block + t->first[i];
		uint64_t n = first[i + 1] - first[i];

		if (b < was)
			divide(id, block + first[i], n, was / b);
		else
			merge(id, mc_trace_blocks(t, i), block + first[i], n, b / was);
	}
	free(t->first);
	free(t->block);
	t->first = first;
	t->block = block;
	t->cap = (size_t)t->n;
	t->block_cap = first[t->n];
	t->block_tokens = block_tokens;
	return 0;
}

void mc_trace_chain(struct mc_trace *t)
{
	for (int64_t i = 0; i < t->n; i++) {
		uint64_t chain = 0;

		for (uint64_t b = t->first[i]; b < t->first[i + 1]; b++)
			t->block[b] = chain = mc_hash_pair(chain, t->block[b]);
	}
}

int mc_trace_reshape(struct mc_trace *t, const struct mc_trace_params *p, struct mc_err *err)
{
	if (mc_trace_cut(t, p->start, p->limit, err) || mc_trace_rate(t, p->rate, err))
		return MC_USAGE;
	for (int64_t i = 0; p->max_output && i < t->n; i++)
		if (t->output[i] > p->max_output)
			t->output[i] = (uint32_t)p->max_output;
	if (p->spread_ticks)
		mc_trace_spread(t, p->seed);
	if (p->chain)
		mc_trace_chain(t);
	if (p->kv_block_tokens)
		return mc_trace_reblock(t, p->kv_block_tokens, err);
	return 0;
}
