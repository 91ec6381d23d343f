/*
 * Attention of one new token for each sequence. The context is cut into parts of 1,024 tokens; threads take
 * (sequence, KV head, part) one after another, so that one long sequence keeps all of them busy, and what the
 * parts gave is merged in their order: the result depends on neither threads nor batch. Bytes: 8 head_dim
 * kv_heads a token of context, each read once for all heads of its group; limit: the memory's bandwidth.
 * Source: the split of Flash-Decoding (arXiv 2311.01282).
 */
#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/cpu/attend.h"

enum { PART = 1024 };

/* Scratch: [seqs][heads][parts], each head_dim sums, then top and sum. */
struct job {
	const struct mc_attention *a;
	struct mc_cpu_team *team;
	size_t parts;
	atomic_size_t next;
};

static size_t parts_of(int tokens)
{
	return tokens > PART ? ((size_t)tokens + PART - 1) / PART : 1;
}

static size_t record_floats(const struct mc_attention *a)
{
	return (size_t)a->pages.layout.head_dim + 2;
}

static float *record(const struct job *j, size_t seq, size_t head, size_t part)
{
	return (float *)j->a->scratch +
	       ((seq * (size_t)j->a->heads + head) * j->parts + part) * record_floats(j->a);
}

static void finish(float *y, const float *out, float sum, size_t head_dim)
{
	float by = 1 / sum;

	for (size_t d = 0; d < head_dim; d++)
		y[d] = out[d] * by;
}

static float *row_of(const struct mc_attention *a, size_t seq, size_t head)
{
	return (float *)a->out + (size_t)a->batch.row_start[seq] * (size_t)a->out_stride +
	       head * (size_t)a->pages.layout.head_dim;
}

static void work(void *arg, int thread, int threads)
{
	struct job *j = arg;
	const struct mc_attention *a = j->a;
	size_t kv_heads = (size_t)a->pages.layout.kv_heads, group = (size_t)a->heads / kv_heads,
	       head_dim = (size_t)a->pages.layout.head_dim, i;

	(void)threads;
	while ((i = atomic_fetch_add(&j->next, 1)) < (size_t)a->batch.seqs * kv_heads * j->parts) {
		size_t part = i % j->parts;
		struct mc_cpu_tile t = {.a = a,
					.vec = j->team->vec,
					.scratch = mc_cpu_team_scratch(j->team, thread),
					.seq = (int)(i / j->parts / kv_heads),
					.head = (int)(i / j->parts % kv_heads),
					.rows = 1,
					.from = (int)part * PART};
		struct mc_cpu_attended r;
		int tokens = a->batch.context[t.seq] + 1;

		if (t.from >= tokens)
			continue;
		t.to = tokens - t.from < PART ? tokens : t.from + PART;
		mc_cpu_attend(&t, &r);
		for (size_t g = 0; g < group; g++) {
			size_t head = (size_t)t.head * group + g;
			float *to;

			if (parts_of(tokens) == 1) {
				finish(row_of(a, (size_t)t.seq, head), r.out + g * head_dim, r.sum[g],
				       head_dim);
				continue;
			}
			to = record(j, (size_t)t.seq, head, part);
			memcpy(to, r.out + g * head_dim, head_dim * sizeof *to);
			to[head_dim] = r.top[g];
			to[head_dim + 1] = r.sum[g];
		}
	}
}

/* The first record becomes the sum of all. */
static void merge_head(const struct job *j, size_t seq, size_t head, size_t parts)
{
	size_t head_dim = (size_t)j->a->pages.layout.head_dim;
	float *sum = record(j, seq, head, 0);

	for (size_t p = 1; p < parts; p++) {
		const float *x = record(j, seq, head, p);
		float top = sum[head_dim] > x[head_dim] ? sum[head_dim] : x[head_dim];
		float keep = expf(sum[head_dim] - top), by = expf(x[head_dim] - top);

		for (size_t d = 0; d < head_dim; d++)
			sum[d] = sum[d] * keep + x[d] * by;
		sum[head_dim] = top;
		sum[head_dim + 1] = sum[head_dim + 1] * keep + x[head_dim + 1] * by;
	}
	finish(row_of(j->a, seq, head), sum, sum[head_dim + 1], head_dim);
}

static void merge(void *arg, int thread, int threads)
{
	const struct job *j = arg;
	size_t heads = (size_t)j->a->heads, range[2];

	mc_cpu_part((size_t)j->a->batch.seqs * heads, 1, thread, threads, range);
	for (size_t i = range[0]; i < range[1]; i++) {
		size_t parts = parts_of(j->a->batch.context[i / heads] + 1);

		if (parts > 1)
			merge_head(j, i / heads, i % heads, parts);
	}
}

size_t mc_cpu_attention_scratch(struct mc_device *d, const struct mc_attention *a)
{
	size_t parts = parts_of(a->batch.max_tokens);

	(void)d;
	return parts > 1 ? (size_t)a->batch.seqs * (size_t)a->heads * parts * record_floats(a) * sizeof(float)
			 : 0;
}

void mc_cpu_attention_decode(struct mc_cpu_team *t, const void *arguments)
{
	const struct mc_attention *a = arguments;
	struct job j = {.a = a, .team = t, .parts = parts_of(a->batch.max_tokens)};
	size_t sums = (size_t)a->batch.seqs * (size_t)a->heads * (size_t)a->pages.layout.head_dim;

	assert(j.parts == 1 || a->scratch);
	mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, sums * (size_t)a->batch.max_tokens, 1 << 16), work,
			&j);
	if (j.parts > 1)
		mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, sums * j.parts, 1 << 16), merge, &j);
}
