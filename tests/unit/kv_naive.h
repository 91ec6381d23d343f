/*
 * The oracle of one node's pool: its blocks in a list, each naming the id before it, and every eviction
 * policy over it, block by block by linear scans, from its description alone (src/kv/evict_NAME.c).
 */
#ifndef MC_TESTS_KV_NAIVE_H
#define MC_TESTS_KV_NAIVE_H

#include "unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "trace/store.h"

enum { BLOCKS = 64, FIRST = 0, MAIN = 1, NEVER = 1000000000 };

struct block {
	uint64_t id, parent;      /* parent 0: none */
	uint64_t unpinned, stamp; /* counters: when last unpinned; its place in the order of coming */
	uint32_t pins, depth, uses, queue;
	int64_t next; /* request that uses it next, as far as was known; NEVER */
	bool resident;
};

struct naive;

struct model {
	const char *name;
	void (*hit)(struct block *b);
	struct block *(*victim)(struct naive *o); /* NULL: nothing can go */
	bool ghosts;                              /* blocks evicted from FIRST are remembered, go to MAIN */
};

struct naive {
	const struct model *model;
	struct block at[BLOCKS];
	uint32_t n, capacity;
	uint64_t clock, evicted, refused, dropped, lost, discarded;
	uint64_t hand, last;          /* sieve; the last stamp of a newcomer */
	uint64_t ghost[BLOCKS];       /* the latest first; 0: came back */
	uint32_t ghosts, share;       /* how many are remembered; blocks of the first queue */
	const struct mc_trace *trace; /* belady */
	int64_t come;                 /* requests of it */
};

static inline struct block *block(struct naive *o, uint64_t id)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->at[i].id == id)
			return &o->at[i];
	return NULL;
}

static inline bool can_go(struct naive *o, const struct block *b)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->at[i].parent == b->id)
			return false;
	return !b->pins;
}

/* The least of the blocks that can go, of one queue, by an order. */
static inline struct block *least(struct naive *o, uint32_t queue,
				  bool (*less)(const struct block *a, const struct block *b))
{
	struct block *least = NULL;

	for (uint32_t i = 0; i < o->n; i++)
		if (o->at[i].queue == queue && can_go(o, &o->at[i]) && (!least || less(&o->at[i], least)))
			least = &o->at[i];
	return least;
}

static inline bool came_before(const struct block *a, const struct block *b)
{
	return a->stamp < b->stamp;
}

static inline bool left_before(const struct block *a, const struct block *b)
{
	return a->unpinned < b->unpinned;
}

static inline bool less_used(const struct block *a, const struct block *b)
{
	return a->uses != b->uses ? a->uses < b->uses : left_before(a, b);
}

static inline bool less_used_or_later(const struct block *a, const struct block *b)
{
	if (a->uses != b->uses)
		return a->uses < b->uses;
	return a->depth != b->depth ? a->depth > b->depth : left_before(a, b);
}

static inline struct block *fifo_victim(struct naive *o)
{
	return least(o, FIRST, came_before);
}

static inline struct block *lfu_victim(struct naive *o)
{
	return least(o, FIRST, less_used);
}

static inline struct block *length_aware_victim(struct naive *o)
{
	return least(o, FIRST, less_used_or_later);
}

/* Farthest first; of one prompt the latest; of those that are never used the least recently used. */
static inline bool used_later(const struct block *a, const struct block *b)
{
	if (a->next != b->next)
		return a->next > b->next;
	return a->next != NEVER ? a->depth > b->depth : left_before(a, b);
}

static inline struct block *belady_victim(struct naive *o)
{
	const struct mc_trace *t = o->trace;

	for (uint32_t i = 0; i < o->n; i++) {
		struct block *b = &o->at[i];

		if (b->next >= o->come)
			continue;
		for (b->next = o->come; b->next < t->n; b->next++)
			if (t->input[b->next] > b->depth && t->block[t->first[b->next] + b->depth] == b->id)
				break;
		if (b->next == t->n)
			b->next = NEVER;
	}
	return least(o, FIRST, used_later);
}

/* Without a rule for chains: that nothing hangs on it is asserted where it goes. */
static inline struct block *lru_victim(struct naive *o)
{
	struct block *old = NULL;

	for (uint32_t i = 0; i < o->n; i++)
		if (!o->at[i].pins && (!old || left_before(&o->at[i], old)))
			old = &o->at[i];
	return old;
}

/* The first block of a queue whose stamp is at least this. */
static inline struct block *next_in(struct naive *o, uint32_t queue, uint64_t stamp)
{
	struct block *next = NULL;

	for (uint32_t i = 0; i < o->n; i++)
		if (o->at[i].queue == queue && o->at[i].stamp >= stamp &&
		    (!next || came_before(&o->at[i], next)))
			next = &o->at[i];
	return next;
}

static inline struct block *sieve_victim(struct naive *o)
{
	if (!fifo_victim(o))
		return NULL;
	for (;;) {
		struct block *b = next_in(o, FIRST, o->hand);

		o->hand = b ? b->stamp + 1 : 0;
		if (b && !b->uses && can_go(o, b))
			return b;
		if (b)
			b->uses = 0;
	}
}

static inline uint32_t queue_blocks(const struct naive *o, uint32_t queue)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->n; i++)
		n += o->at[i].queue == queue;
	return n;
}

/* One turn of a queue: blocks with as many hits move to the end of the main one. */
static inline struct block *s3fifo_turn(struct naive *o, uint32_t queue, uint32_t hits)
{
	uint64_t at = 0;
	struct block *b;

	while ((b = next_in(o, queue, at))) {
		at = b->stamp + 1;
		if (b->uses >= hits) {
			b->uses = queue == FIRST ? 0 : b->uses - 1;
			b->queue = MAIN;
			b->stamp = ++o->clock;
		} else if (can_go(o, b)) {
			return b;
		}
	}
	return NULL;
}

static inline struct block *s3fifo_victim(struct naive *o)
{
	struct block *b = NULL;

	if (!least(o, FIRST, came_before) && !least(o, MAIN, came_before))
		return NULL;
	if (queue_blocks(o, FIRST) >= o->share || !least(o, MAIN, came_before))
		b = s3fifo_turn(o, FIRST, 2);
	return b ? b : s3fifo_turn(o, MAIN, 1);
}

static inline struct block *twoq_victim(struct naive *o)
{
	struct block *in = least(o, FIRST, came_before), *main = least(o, MAIN, left_before);

	return !in || (main && queue_blocks(o, FIRST) <= o->share) ? main : in;
}

static inline void hit_counts(struct block *b)
{
	b->uses++;
}

static inline void hit_marks(struct block *b)
{
	b->uses = 1;
}

static inline void hit_counts_to_three(struct block *b)
{
	b->uses += b->uses < 3;
}

static inline void hit_is_nothing(struct block *b)
{
	(void)b;
}

static const struct model models[] = {
    {"2q", hit_is_nothing, twoq_victim, true},
    {"belady", hit_is_nothing, belady_victim, false},
    {"fifo", hit_is_nothing, fifo_victim, false},
    {"length-aware", hit_counts, length_aware_victim, false},
    {"lfu", hit_counts, lfu_victim, false},
    {"lru", hit_is_nothing, lru_victim, false},
    {"s3fifo", hit_counts_to_three, s3fifo_victim, true},
    {"sieve", hit_marks, sieve_victim, false},
};

static inline uint32_t at_least_one(uint32_t n)
{
	return n ? n : 1;
}

/* For the policy of this name, which must have a model. */
static inline void naive_init(struct naive *o, const char *name, uint32_t capacity)
{
	*o = (struct naive){.capacity = capacity};
	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		if (!strcmp(models[i].name, name))
			o->model = &models[i];
	ck_assert_msg(o->model, "%s has no model in kv_naive.h", name);
	ck_assert_uint_le(capacity, BLOCKS);
	o->share = at_least_one(strcmp(name, "2q") ? capacity / 10 : capacity / 4);
	o->ghosts = at_least_one(strcmp(name, "2q") ? capacity - o->share : capacity / 2);
}

static inline void forget(struct naive *o, struct block *b)
{
	for (uint32_t i = 0; i < o->n; i++) /* nothing is chained to it */
		if (o->at[i].parent == b->id)
			ck_abort_msg("%s: a block goes before one that is chained to it", o->model->name);
	*b = o->at[--o->n];
}

static inline bool naive_evict(struct naive *o)
{
	struct block *b = o->model->victim(o);

	if (!b)
		return false;
	if (o->model->ghosts && b->queue == FIRST) {
		memmove(o->ghost + 1, o->ghost, (BLOCKS - 1) * sizeof *o->ghost);
		o->ghost[0] = b->id;
	}
	forget(o, b);
	o->evicted++;
	return true;
}

/* Blocks from .. n-1 of a chain, if none of them is in use and nothing hangs on the last; it was not the
 * policy's choice, which remembers nothing. */
static inline uint32_t naive_discard(struct naive *o, const uint64_t *id, uint32_t from, uint32_t n)
{
	if (!can_go(o, block(o, id[n - 1])))
		return 0;
	for (uint32_t i = from; i < n; i++)
		if (block(o, id[i])->pins)
			return 0;
	for (uint32_t i = n; i-- > from;)
		forget(o, block(o, id[i]));
	o->discarded += n - from;
	return n - from;
}

static inline void naive_insert(struct naive *o, uint64_t id, uint64_t parent, uint32_t depth)
{
	struct block *b = &o->at[o->n++];

	if (o->hand > o->last)
		o->hand = 0;
	o->last = ++o->clock;
	*b = (struct block){.id = id, .parent = parent, .stamp = o->clock, .pins = 1, .depth = depth};
	for (uint32_t i = 0; i < o->ghosts; i++)
		if (o->ghost[i] == id) {
			b->queue = MAIN;
			o->ghost[i] = 0;
		}
}

/* The present ones are pinned, then there is room made for the others, then they come, the last one first. */
static inline uint32_t naive_acquire(struct naive *o, const uint64_t *id, uint32_t n)
{
	uint32_t found = 0, end;

	for (; found < n && block(o, id[found]); found++) {
		block(o, id[found])->pins++;
		o->model->hit(block(o, id[found]));
	}
	while (o->capacity - o->n < n - found && naive_evict(o))
		;
	end = o->capacity - o->n < n - found ? found + o->capacity - o->n : n;
	for (uint32_t i = end; i-- > found;)
		naive_insert(o, id[i], i ? id[i - 1] : 0, i);
	o->refused += n - end;
	return end;
}

static inline void naive_commit(struct naive *o, const uint64_t *id, uint32_t from, uint32_t depth)
{
	if (from && !block(o, id[from - 1])->resident)
		return;
	for (uint32_t i = from; i < depth; i++)
		block(o, id[i])->resident = true;
}

static inline void naive_release(struct naive *o, const uint64_t *id, uint32_t n)
{
	while (n--) {
		struct block *b = block(o, id[n]);

		if (--b->pins)
			continue;
		b->unpinned = ++o->clock;
		if (!b->resident) {
			forget(o, b);
			o->dropped++;
		}
	}
}

static inline void naive_clear(struct naive *o)
{
	o->lost += o->n;
	o->n = 0;
	o->hand = o->last = 0;
	memset(o->ghost, 0, sizeof o->ghost);
}

#endif
