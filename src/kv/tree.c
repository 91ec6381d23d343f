#include "kv/tree.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "kv/run.h"

#define MIN_BUCKETS 64

struct mc_tree *mc_tree_new(void)
{
	struct mc_tree *t = mc_xcalloc(1, sizeof *t);

	t->free_run = MC_NONE;
	t->second = t->third = MC_NONE;
	t->mask = MIN_BUCKETS - 1;
	t->bucket = mc_xcalloc(MIN_BUCKETS, sizeof *t->bucket);
	return t;
}

void mc_tree_groups(struct mc_tree *t, uint32_t second, uint32_t third)
{
	assert(second <= third && !t->pool.n);
	t->second = second;
	t->third = third;
}

void mc_tree_free(struct mc_tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->run.n; i++) {
		struct mc_run *r = &t->run.at[i];

		if (!r->id)
			continue;
		free(r->id);
		if (r->cap > 1)
			free(r->many);
	}
	mc_vec_fini(&t->run);
	mc_vec_fini(&t->pool);
	free(t->bucket);
	free(t);
}

/* The bucket of a run that begins with this id, or the empty one where it would be. */
static uint32_t bucket_of(const struct mc_tree *t, uint64_t id)
{
	uint64_t hash = mc_hash_u64(id);
	uint32_t tag = (uint32_t)(hash >> 32), at = (uint32_t)hash & t->mask;

	for (; t->bucket[at].run; at = (at + 1) & t->mask)
		if (t->bucket[at].tag == tag && t->run.at[t->bucket[at].run - 1].id[0] == id)
			break;
	return at;
}

static void bucket_put(struct mc_tree *t, uint64_t id, uint32_t run)
{
	uint32_t at = bucket_of(t, id);

	t->bucket[at] = (struct mc_bucket){(uint32_t)(mc_hash_u64(id) >> 32), run + 1};
}

static void buckets_grow(struct mc_tree *t)
{
	free(t->bucket);
	t->mask = 2 * t->mask + 1;
	t->bucket = mc_xcalloc((size_t)t->mask + 1, sizeof *t->bucket);
	for (uint32_t i = 0; i < t->run.n; i++)
		if (t->run.at[i].id)
			bucket_put(t, t->run.at[i].id[0], i);
}

/* Take a key out and move back those behind it that were pushed past their place. */
static void bucket_drop(struct mc_tree *t, uint64_t id)
{
	uint32_t hole = bucket_of(t, id), at = hole;

	assert(t->bucket[hole].run);
	for (;;) {
		uint32_t home;

		at = (at + 1) & t->mask;
		if (!t->bucket[at].run)
			break;
		home = (uint32_t)mc_hash_u64(t->run.at[t->bucket[at].run - 1].id[0]) & t->mask;
		if (((at - home) & t->mask) >= ((at - hole) & t->mask)) {
			t->bucket[hole] = t->bucket[at];
			hole = at;
		}
	}
	t->bucket[hole].run = 0;
}

uint32_t mc_run_find(const struct mc_tree *t, uint64_t id)
{
	return t->bucket[bucket_of(t, id)].run - 1; /* empty: 0 - 1 is MC_NONE */
}

uint32_t mc_run_common(const struct mc_run *r, const uint64_t *id, uint32_t n)
{
	uint32_t most = n < r->n ? n : r->n, k = 0;

	while (k < most && r->id[k] == id[k])
		k++;
	return k;
}

/* Position of the first copy of a node >= this one. */
static uint32_t rank(struct mc_run *r, uint32_t node)
{
	const struct mc_copy *c = mc_run_copies(r);
	uint32_t lo = 0, n = r->copies;

	while (n > 1) {
		uint32_t half = n / 2;

		lo += c[lo + half - 1].node < node ? half : 0;
		n -= half;
	}
	return lo + (n && c[lo].node < node);
}

struct mc_copy *mc_run_copy(struct mc_run *r, uint32_t node)
{
	uint32_t at = rank(r, node);

	return at < r->copies && mc_run_copies(r)[at].node == node ? &mc_run_copies(r)[at] : NULL;
}

uint32_t mc_run_add(struct mc_tree *t, uint32_t parent, const uint64_t *id, uint32_t n)
{
	uint32_t i = t->free_run;

	if (i == MC_NONE) {
		i = (uint32_t)t->run.n;
		mc_vec_push(&t->run, (struct mc_run){0});
	} else {
		t->free_run = t->run.at[i].parent;
	}
	t->run.at[i] = (struct mc_run){
	    .id = mc_xmalloc(n * sizeof *id),
	    .n = n,
	    .first = parent == MC_NONE ? 0 : t->run.at[parent].first + t->run.at[parent].n,
	    .parent = parent,
	    .cap = 1,
	};
	memcpy(t->run.at[i].id, id, n * sizeof *id);
	t->runs++;
	t->blocks += n;
	if (2 * t->runs > t->mask)
		buckets_grow(t);
	else
		bucket_put(t, id[0], i);
	return i;
}

static void run_drop(struct mc_tree *t, uint32_t run)
{
	struct mc_run *r = &t->run.at[run];

	bucket_drop(t, r->id[0]);
	t->runs--;
	t->blocks -= r->n;
	free(r->id);
	if (r->cap > 1)
		free(r->many);
	*r = (struct mc_run){.parent = t->free_run};
	t->free_run = run;
}

void mc_run_copy_add(struct mc_tree *t, uint32_t run, const struct mc_copy *copy)
{
	struct mc_run *r = &t->run.at[run];
	uint32_t at = rank(r, copy->node);
	struct mc_copy *c;

	if (r->copies == r->cap) {
		uint32_t cap = 2 * r->cap + 2;

		c = r->cap > 1 ? r->many : NULL;
		c = mc_xrealloc(c, cap, sizeof *c);
		if (r->cap == 1)
			c[0] = r->one;
		r->many = c;
		r->cap = cap;
	}
	c = mc_run_copies(r);
	memmove(c + at + 1, c + at, (r->copies - at) * sizeof *c);
	c[at] = *copy;
	r->copies++;
	r->whole[mc_tree_group(t, copy->node)] += copy->resident == r->n;
}

void mc_run_copy_remove(struct mc_tree *t, uint32_t run, uint32_t node)
{
	struct mc_run *r = &t->run.at[run];
	uint32_t at = rank(r, node);
	struct mc_copy *c = mc_run_copies(r);

	assert(at < r->copies && c[at].node == node);
	r->whole[mc_tree_group(t, node)] -= c[at].resident == r->n;
	r->copies--;
	memmove(c + at, c + at + 1, (r->copies - at) * sizeof *c);
	if (!r->copies)
		run_drop(t, run);
}

void mc_run_copy_set(const struct mc_tree *t, struct mc_run *r, struct mc_copy *copy, uint32_t held,
		     uint32_t resident)
{
	assert(held && held <= r->n && resident <= held);
	r->whole[mc_tree_group(t, copy->node)] += (resident == r->n) - (copy->resident == r->n);
	copy->held = held;
	copy->resident = resident;
}

/* From scratch. */
static void whole_count(const struct mc_tree *t, struct mc_run *r, uint32_t whole[MC_TREE_GROUPS])
{
	memset(whole, 0, MC_TREE_GROUPS * sizeof *whole);
	for (uint32_t k = 0; k < r->copies; k++)
		whole[mc_tree_group(t, mc_run_copies(r)[k].node)] += mc_run_copies(r)[k].resident == r->n;
}

/* Nobody holds more than the leading `at` blocks: forget the other ids. */
static void truncate_run(struct mc_tree *t, struct mc_run *r, uint32_t at)
{
	t->blocks -= r->n - at;
	r->n = at;
	whole_count(t, r, r->whole);
}

/* One copy of a run that was split: its leading part goes to `head`, what it has beyond stays (false:
 * nothing). */
static bool split_copy(struct mc_tree *t, uint32_t head, const struct mc_copy *was, struct mc_copy *rest)
{
	uint32_t at = t->run.at[head].n;
	struct mc_pool *pool = t->pool.n ? t->pool.at[was->node] : NULL;
	struct mc_copy lead = *was;

	if (was->held > at) {
		lead.held = at;
		lead.resident = was->resident < at ? was->resident : at;
		lead.entry = pool ? mc_pool_entry_split(pool, was->entry, head) : MC_NONE;
		*rest = *was;
		rest->held -= at;
		rest->resident -= lead.resident;
	} else if (pool) {
		mc_pool_entry_move(pool, was->entry, head);
	}
	mc_run_copy_add(t, head, &lead);
	return was->held > at;
}

uint32_t mc_run_split(struct mc_tree *t, uint32_t run, uint32_t at)
{
	struct mc_run *r = &t->run.at[run];
	uint32_t head, kept = 0, n = r->copies, most = 0;
	uint64_t *rest;

	assert(at && at < r->n);
	for (uint32_t k = 0; k < n; k++)
		most = mc_run_copies(r)[k].held > most ? mc_run_copies(r)[k].held : most;
	if (most <= at) {
		truncate_run(t, r, at);
		return run;
	}
	bucket_drop(t, r->id[0]);
	head = mc_run_add(t, r->parent, r->id, at);
	r = &t->run.at[run]; /* the table may have moved */
	t->run.at[head].heat = r->heat;
	t->run.at[head].tick = r->tick;
	rest = mc_xmalloc((r->n - at) * sizeof *rest);
	memcpy(rest, r->id + at, (r->n - at) * sizeof *rest);
	free(r->id);
	r->id = rest;
	r->n -= at;
	t->blocks -= at;
	r->first += at;
	r->parent = head;
	bucket_put(t, rest[0], run);
	for (uint32_t k = 0; k < n; k++) {
		struct mc_copy was = mc_run_copies(r)[k];

		kept += split_copy(t, head, &was, &mc_run_copies(r)[kept]);
	}
	r->copies = kept;
	whole_count(t, r, r->whole);
	return head;
}

uint32_t mc_tree_trail(const struct mc_tree *t, const uint64_t *id, uint32_t n, struct mc_step *step)
{
	uint32_t depth = 0, steps = 0;

	while (depth < n) {
		uint32_t run = mc_run_find(t, id[depth]), common;

		if (run == MC_NONE)
			break;
		common = mc_run_common(&t->run.at[run], id + depth, n - depth);
		depth += common;
		step[steps++] = (struct mc_step){run, depth};
		if (common < t->run.at[run].n)
			break;
	}
	return steps;
}

uint32_t mc_tree_first(const struct mc_tree *t, uint32_t run)
{
	return t->run.at[run].first;
}

const struct mc_copy *mc_tree_copies(const struct mc_tree *t, uint32_t run, uint32_t *n)
{
	*n = t->run.at[run].copies;
	return mc_run_copies(&t->run.at[run]);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t mc_tree_match(const struct mc_tree *t, const struct mc_step *step, uint32_t steps, uint32_t node)
{
	while (steps-- > 0) { /* the last run of which it has something: all before it are whole */
		struct mc_run *r = &t->run.at[step[steps].run];
		const struct mc_copy *c = mc_run_copy(r, node);

		if (c)
			return least(r->first + c->held, step[steps].end);
	}
	return 0;
}

uint32_t mc_tree_match_resident(const struct mc_tree *t, const struct mc_step *step, uint32_t steps,
				uint32_t node)
{
	while (steps-- > 0) {
		struct mc_run *r = &t->run.at[step[steps].run];
		const struct mc_copy *c = mc_run_copy(r, node);

		if (c && c->resident)
			return least(r->first + c->resident, step[steps].end);
	}
	return 0;
}

uint32_t mc_tree_best(const struct mc_tree *t, uint32_t group, const struct mc_step *step, uint32_t steps)
{
	while (steps-- > 0) {
		struct mc_run *r = &t->run.at[step[steps].run];
		uint32_t most = r->whole[group] ? r->n : 0;

		for (uint32_t k = 0; !r->whole[group] && k < r->copies; k++) {
			const struct mc_copy *c = &mc_run_copies(r)[k];

			if (c->resident > most && mc_tree_group(t, c->node) == group)
				most = c->resident;
		}
		if (most)
			return least(r->first + most, step[steps].end);
	}
	return 0;
}

uint32_t mc_tree_blocks(const struct mc_tree *t)
{
	return t->blocks;
}

uint32_t mc_tree_runs(const struct mc_tree *t)
{
	return t->runs;
}

static const char *run_check(const struct mc_tree *t, uint32_t i)
{
	struct mc_run *r = &t->run.at[i];
	const struct mc_copy *c = mc_run_copies(r);
	uint32_t whole[MC_TREE_GROUPS];

	if (!r->n || !r->copies)
		return "a run without blocks or copies";
	if (mc_run_find(t, r->id[0]) != i)
		return "a run is not found by its first id";
	if (r->parent == MC_NONE ? r->first != 0 : !t->run.at[r->parent].id)
		return "a run is chained to nothing";
	if (r->parent != MC_NONE && r->first != t->run.at[r->parent].first + t->run.at[r->parent].n)
		return "a run does not begin where its parent ends";
	for (uint32_t k = 0; k < r->copies; k++) {
		if (!c[k].held || c[k].held > r->n || c[k].resident > c[k].held ||
		    (k && c[k - 1].node >= c[k].node))
			return "copies out of order or range";
	}
	whole_count(t, r, whole);
	return memcmp(whole, r->whole, sizeof whole) ? "whole copies miscounted" : NULL;
}

int mc_tree_check(const struct mc_tree *t, struct mc_err *err)
{
	uint32_t runs = 0, blocks = 0;

	for (uint32_t i = 0; i < t->run.n; i++) {
		const char *bad;

		if (!t->run.at[i].id)
			continue;
		bad = run_check(t, i);
		if (bad)
			return mc_err_set(err, MC_FAIL, "prefix tree: %s (run %u)", bad, i);
		runs++;
		blocks += t->run.at[i].n;
	}
	if (runs != t->runs || blocks != t->blocks)
		return mc_err_set(err, MC_FAIL, "prefix tree: %u runs of %u blocks, counted %u of %u",
				  t->runs, t->blocks, runs, blocks);
	return MC_OK;
}
