#include "stat/wquant.h"

#include <string.h>

#define BUCKETS     (MC_WQUANT_FINE + 256 * (63 - MC_WQUANT_FINE_BITS))
#define COMPACT_MIN 65536

void mc_wquant_init(struct mc_wquant *q)
{
	*q = (struct mc_wquant){.weight = mc_xcalloc(BUCKETS, sizeof *q->weight),
				.touched = mc_xcalloc(BUCKETS / MC_WQUANT_PAGE + 1, 1)};
}

void mc_wquant_fini(struct mc_wquant *q)
{
	for (size_t i = 0; i < q->n_targets; i++) {
		free(q->target[i].fine);
		mc_vec_fini(&q->target[i].pair);
	}
	free(q->weight);
	free(q->touched);
	*q = (struct mc_wquant){0};
}

/* Weight that the values up to the p-th percentile reach: ceil(p total / 100). */
static uint64_t sought(const struct mc_wquant *q, int p)
{
	return (uint64_t)(((unsigned __int128)q->total * (unsigned)p + 99) / 100);
}

static void add_target(struct mc_wquant *q, size_t bucket, uint64_t before)
{
	struct mc_wquant_target *t = &q->target[q->n_targets++];

	*t = (struct mc_wquant_target){.bucket = bucket, .before = before, .compact_at = COMPACT_MIN};
	if (bucket < MC_WQUANT_FINE)
		t->fine = mc_xcalloc(MC_WQUANT_WIDTH, sizeof *t->fine);
	q->weight[bucket] |= MC_WQUANT_SOUGHT;
}

void mc_wquant_prepare(struct mc_wquant *q)
{
	size_t end = q->total ? mc_wquant_bucket(q->max) + 1 : 0;
	uint64_t below = 0, want[MC_SUMMARY_PERCENTILES];
	int p = 0;

	assert(q->total < MC_WQUANT_SOUGHT);
	for (int i = 0; i < MC_SUMMARY_PERCENTILES; i++)
		want[i] = sought(q, mc_summary_percentile[i]);
	for (size_t b = 0; b < end && p < MC_SUMMARY_PERCENTILES; b++) {
		uint64_t w;

		if (!q->touched[b / MC_WQUANT_PAGE]) {
			b |= MC_WQUANT_PAGE - 1;
			continue;
		}
		w = q->weight[b];
		if (below + w >= want[p])
			add_target(q, b, below);
		below += w;
		while (p < MC_SUMMARY_PERCENTILES && below >= want[p])
			p++;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct mc_wquant_pair *x = a, *y = b;

	return (x->t > y->t) - (x->t < y->t);
}

/* Sort, and make one pair of equal times. */
static void compact(struct mc_wquant_target *t)
{
	size_t n = 0;

	if (!t->pair.n)
		return;
	qsort(t->pair.at, t->pair.n, sizeof *t->pair.at, by_time);
	for (size_t i = 1; i < t->pair.n; i++) {
		if (t->pair.at[i].t == t->pair.at[n].t)
			t->pair.at[n].w += t->pair.at[i].w;
		else
			t->pair.at[++n] = t->pair.at[i];
	}
	t->pair.n = n + 1;
}

void mc_wquant_look(struct mc_wquant *q, size_t bucket, mc_time time, uint64_t w)
{
	struct mc_wquant_target *t = q->target;

	while (t->bucket != bucket)
		t++;
	if (t->fine) {
		t->fine[time % MC_WQUANT_WIDTH] += w;
		return;
	}
	mc_vec_push(&t->pair, ((struct mc_wquant_pair){time, w}));
	if (t->pair.n >= t->compact_at) {
		compact(t);
		t->compact_at = 2 * t->pair.n > COMPACT_MIN ? 2 * t->pair.n : COMPACT_MIN;
	}
}

/* The smallest time in t's bucket such that the weight up to it reaches `want`. */
static mc_time find(const struct mc_wquant_target *t, uint64_t want)
{
	uint64_t w = t->before;

	if (t->fine) {
		for (int i = 0; i < MC_WQUANT_WIDTH; i++) {
			w += t->fine[i];
			if (w >= want)
				return (mc_time)t->bucket * MC_WQUANT_WIDTH + i;
		}
	}
	for (size_t i = 0; i < t->pair.n; i++) {
		w += t->pair.at[i].w;
		if (w >= want)
			return t->pair.at[i].t;
	}
	assert(!"the second pass saw other values than the first");
	return 0;
}

void mc_wquant_result(struct mc_wquant *q, struct mc_summary *out)
{
	double v[MC_SUMMARY_PERCENTILES];

	*out = (struct mc_summary){0};
	assert(q->seen == q->total);
	if (!q->total)
		return;
	for (size_t i = 0; i < q->n_targets; i++)
		compact(&q->target[i]);
	for (int p = 0, i = 0; p < MC_SUMMARY_PERCENTILES; p++) {
		uint64_t want = sought(q, mc_summary_percentile[p]);

		while ((size_t)i + 1 < q->n_targets && q->target[i + 1].before < want)
			i++;
		v[p] = mc_time_to_s(find(&q->target[i], want));
	}
	*out = (struct mc_summary){.mean = (double)q->sum / (double)q->total / 1e9,
				   .p50 = v[0],
				   .p90 = v[1],
				   .p95 = v[2],
				   .p99 = v[3],
				   .max = mc_time_to_s(q->max),
				   .count = (int64_t)q->total};
}
