/*
 * The oracle of a coupled node (engine/coupled.h): one iteration after the other, a list of token times a
 * request, blocks by scans (kv_naive.h). Nothing is skipped, and nothing is kept that could be looked up.
 */
#ifndef MC_TESTS_COUPLED_NAIVE_H
#define MC_TESTS_COUPLED_NAIVE_H

#include "fixture.h"
#include "kv_naive.h"
#include "model/mixed.h"

enum { REQUESTS = 60, TOKENS = 80, NAMES = 64 };

/* What happens to one request. */
struct fate {
	mc_time arrival, start;
	uint32_t tokens, output, cached;
	uint64_t id[NAMES]; /* of its whole blocks */
	mc_time token[TOKENS];
	uint32_t made;
	double compute_s;
	/* where it is */
	uint32_t goal, kv, slice, blocks, leased, hit, lost; /* tokens, but for the last four */
};

struct node {
	const struct mc_cost *cost;
	bool chunked, caching;
	uint32_t budget, max_batch, block_tokens, blocks, watermark;
	struct fate fate[REQUESTS];
	uint32_t n, came;
	uint32_t queue[REQUESTS], queued, running[REQUESTS], runs; /* in order; those in prefill run, too */
	struct naive cache;                                        /* its capacity: what is not taken */
	mc_time now, prefill, decode;
	double redo_s;
	uint64_t preemptions, recomputed;
};

static inline uint32_t whole(const struct node *o, const struct fate *f)
{
	return o->caching ? f->tokens / o->block_tokens : 0;
}

static inline uint32_t pinned(const struct node *o)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->cache.n; i++)
		n += o->cache.at[i].pins > 0;
	return n;
}

static inline bool node_take(struct node *o, uint32_t n)
{
	if (o->cache.capacity - pinned(o) < n)
		return false;
	while (o->cache.capacity - o->cache.n < n)
		ck_assert(naive_evict(&o->cache));
	o->cache.capacity -= n;
	return true;
}

static inline bool node_fits(struct node *o, const struct fate *f, uint32_t tokens, uint32_t *hit)
{
	uint32_t all = (tokens + o->block_tokens - 1) / o->block_tokens, need = all - whole(o, f), k = 0;
	bool there = true;

	*hit = 0;
	for (; k < whole(o, f) && block(&o->cache, f->id[k]); k++) {
		const struct block *b = block(&o->cache, f->id[k]);

		need += !b->pins;
		there = there && b->resident;
		*hit += there;
	}
	need += whole(o, f) - k;
	return need + o->watermark <= o->cache.capacity - pinned(o);
}

/* The first that waits, if it fits; any: however long it is. */
static inline bool node_start(struct node *o, uint32_t budget, bool any)
{
	struct fate *f = o->queued ? &o->fate[o->queue[0]] : NULL;
	uint32_t hit, limit = o->max_batch && o->max_batch < o->budget ? o->max_batch : o->budget, kv;

	if (!f || !budget || o->runs >= limit || !node_fits(o, f, f->tokens + f->made, &hit))
		return false;
	kv = hit * o->block_tokens < f->tokens + f->made ? hit * o->block_tokens : f->tokens + f->made - 1;
	if (!any && f->tokens + f->made - kv > budget)
		return false;
	f->goal = f->tokens + f->made;
	f->kv = kv;
	f->hit = hit;
	f->leased = naive_acquire(&o->cache, f->id, whole(o, f));
	ck_assert_uint_eq(f->leased, whole(o, f));
	f->blocks = (f->goal + o->block_tokens - 1) / o->block_tokens;
	ck_assert(node_take(o, f->blocks - f->leased));
	if (f->start < 0) {
		f->start = o->now;
		f->cached = kv;
	}
	o->recomputed += f->lost > kv ? f->lost - kv : 0;
	f->lost = 0;
	o->running[o->runs++] = o->queue[0];
	memmove(o->queue, o->queue + 1, --o->queued * sizeof *o->queue);
	return true;
}

static inline void node_release(struct node *o, struct fate *f)
{
	o->cache.capacity += f->blocks - f->leased;
	naive_release(&o->cache, f->id, f->leased);
	f->blocks = f->leased = 0;
}

static inline void throw_out(struct node *o)
{
	uint32_t i = o->running[--o->runs];

	o->fate[i].lost = o->fate[i].kv;
	node_release(o, &o->fate[i]);
	memmove(o->queue + 1, o->queue, o->queued++ * sizeof *o->queue);
	o->queue[0] = i;
	o->preemptions++;
}

static inline bool decodes(const struct fate *f)
{
	return f->goal && f->kv >= f->goal;
}

/* Room for a token of all that decode. */
static inline bool node_grow(struct node *o)
{
	bool thrown = false;

	for (uint32_t k = 0; k < o->runs; k++) {
		struct fate *f = &o->fate[o->running[k]];

		if (!decodes(f) || f->kv + 1 <= f->blocks * o->block_tokens)
			continue;
		while (k < o->runs && !node_take(o, 1)) {
			throw_out(o);
			thrown = true;
		}
		if (k < o->runs)
			f->blocks++;
	}
	return thrown;
}

/* What it computes of its blocks is there for those that start after it. */
static inline uint32_t node_give(struct node *o, struct fate *f, uint32_t budget)
{
	uint32_t depth;

	f->slice = f->goal - f->kv < budget ? f->goal - f->kv : budget;
	depth = (f->kv + f->slice) / o->block_tokens;
	depth = depth < f->leased ? depth : f->leased;
	if (depth > f->hit)
		naive_commit(&o->cache, f->id, f->hit, depth);
	return f->slice;
}

static inline bool node_slices(struct node *o, bool may_start)
{
	uint32_t left = o->budget;
	bool any = false;

	for (uint32_t k = 0; k < o->runs; k++)
		left -= o->chunked && decodes(&o->fate[o->running[k]]);
	for (uint32_t k = 0;; k++) {
		struct fate *f;
		uint32_t used;

		if (k == o->runs && (!may_start || !node_start(o, left, o->chunked || !any)))
			break;
		f = &o->fate[o->running[k]];
		f->slice = 0;
		if (decodes(f))
			continue;
		used = node_give(o, f, o->chunked ? left : UINT32_MAX);
		left -= used < left ? used : left;
		any = true;
	}
	return any;
}

static inline void token(struct fate *f, mc_time at)
{
	f->token[f->made++] = at;
}

/* What of a prompt is computed in the pass. */
static inline struct mc_slices slice_of(const struct node *o, const struct fate *f)
{
	struct mc_slices s = {0};
	struct fate after = *f;

	after.kv += f->slice;
	mc_slices_add(&s, o->cost, after.kv, f->kv, decodes(&after));
	return s;
}

/* One pass; tokens of those that decode as well where `both`. */
static inline void node_pass(struct node *o, bool both, bool slices)
{
	double batch = 0, context = 0;
	struct mc_slices sum = {0};
	mc_time alone = 0, takes;

	for (uint32_t k = 0; k < o->runs; k++) {
		const struct fate *f = &o->fate[o->running[k]];

		sum.s += slice_of(o, f).s;
		sum.tokens += slice_of(o, f).tokens;
		batch += both && decodes(f);
		context += both && decodes(f) ? f->kv : 0;
	}
	if (batch > 0)
		alone = mc_cost_decode_ns(o->cost, (int64_t)batch, (int64_t)context);
	takes = slices ? mc_time_from_s(mc_cost_mixed_s(o->cost, &sum, batch, context)) : alone;
	takes = takes > alone ? takes : alone;
	o->prefill += takes - alone;
	o->decode += alone;
	o->now += takes;
	for (uint32_t k = 0; k < o->runs; k++) {
		struct fate *f = &o->fate[o->running[k]];
		struct mc_slices s = slice_of(o, f);

		if (decodes(f)) {
			f->kv += both;
			if (both)
				token(f, o->now);
			continue;
		}
		if (sum.s > 0)
			*(f->made ? &o->redo_s : &f->compute_s) +=
			    mc_time_to_s(takes - alone) * mc_slices_share(&sum, o->cost, &s);
		f->kv += f->slice;
		f->slice = 0;
		if (decodes(f))
			token(f, o->now);
	}
}

static inline void node_leave(struct node *o)
{
	uint32_t kept = 0, gone[REQUESTS], n = 0;

	for (uint32_t k = 0; k < o->runs; k++) {
		struct fate *f = &o->fate[o->running[k]];

		if (f->made < f->output)
			o->running[kept++] = o->running[k];
		else
			gone[n++] = o->running[k];
	}
	o->runs = kept;
	for (uint32_t k = 0; k < n; k++)
		node_release(o, &o->fate[gone[k]]);
}

/* All requests, to the end. */
static inline void node_run(struct node *o)
{
	for (;;) {
		bool thrown = false, slices;

		if (!o->runs && !o->queued) {
			if (o->came == o->n)
				return;
			if (o->fate[o->came].arrival > o->now)
				o->now = o->fate[o->came].arrival;
		}
		while (o->came < o->n && o->fate[o->came].arrival <= o->now)
			o->queue[o->queued++] = o->came++;
		if (o->chunked)
			thrown = node_grow(o);
		slices = node_slices(o, !thrown);
		if (!slices)
			thrown = thrown || node_grow(o);
		node_pass(o, o->chunked || !slices, slices);
		node_leave(o);
	}
}

/* Mean of the longest ceil(10 %) intervals, all of which are appended to `all` (n of them). */
static inline mc_time fate_tbt(const struct fate *f, mc_time *all, uint32_t *n)
{
	mc_time v[TOKENS], sum = 0;
	uint32_t m = f->output - 1, top = (m + 9) / 10;

	for (uint32_t i = 0; i < m; i++)
		all[(*n)++] = v[i] = f->token[i + 1] - f->token[i];
	for (uint32_t k = 0; k < top; k++) {
		uint32_t best = k;

		for (uint32_t i = k + 1; i < m; i++)
			best = v[i] > v[best] ? i : best;
		sum += v[best];
		v[best] = v[k];
	}
	return (sum + top / 2) / top;
}

#endif
