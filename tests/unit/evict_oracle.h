/*
 * Hits of one pool by every eviction policy, block by block from their descriptions (src/kv/evict_NAME.c),
 * for traces of any length: a record a block, heaps and linked lists over them. Nothing of src/kv/ is in it.
 * Requests come one after the other, none overlaps the next.
 */
#ifndef MC_TESTS_EVICT_ORACLE_H
#define MC_TESTS_EVICT_ORACLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "trace/number.h"

#define NOBODY UINT32_MAX
#define BEGIN  UINT64_MAX

enum { FIRST, MAIN };

struct block {
	uint32_t parent, children; /* present ones */
	uint32_t depth, uses, next_use;
	uint32_t prev, next; /* in its list */
	uint32_t version;    /* of its place in the heap */
	uint8_t queue;
	bool present, pinned;
	uint64_t came, left; /* stamps: place in the order of coming; last released */
	uint64_t gone;       /* number of its eviction from the first queue; 0: forgotten */
};

/* Blocks that may go, by a key of two numbers; what has changed since is passed over. */
struct place {
	uint64_t key[2];
	uint32_t block, version;
};

struct heap {
	MC_VEC(struct place)
};

struct list {
	uint32_t head, tail, n;
};

struct oracle;

struct rules {
	const char *name;
	void (*key)(const struct block *b,
		    uint64_t key[2]);         /* of a block that can go: the least goes first */
	uint32_t (*victim)(struct oracle *o); /* NOBODY: nothing can go */
	void (*hit)(struct block *b);         /* NULL: is nothing */
	uint32_t share, ghosts;               /* fractions of the capacity; 0: none */
	bool lists;
};

struct oracle {
	const struct rules *rules;
	const struct mc_trace *trace;
	const uint32_t *of;    /* numbers of the trace's ids */
	const uint32_t *after; /* by place in the trace: the next request with the same id */
	struct block *block;
	uint32_t capacity, present, share, ghosts;
	struct heap heap[2]; /* by queue */
	struct list list[2];
	uint32_t in_first; /* blocks of the first queue */
	uint64_t clock, evictions;
	uint32_t hand;    /* sieve: block to look at next; NOBODY: none is left before it */
	uint64_t hand_at; /* stamp of the last block that it passed; BEGIN: from the oldest */
	uint64_t newest;  /* stamp of the last block that came */
	uint64_t hit_blocks, hit_tokens;
};

static inline bool place_before(const struct place *a, const struct place *b)
{
	return a->key[0] != b->key[0] ? a->key[0] < b->key[0] : a->key[1] < b->key[1];
}

static inline void heap_push(struct heap *h, struct place p)
{
	size_t i = h->n;

	mc_vec_push(h, p);
	for (; i && place_before(&p, &h->at[(i - 1) / 2]); i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = p;
}

static inline void heap_pop(struct heap *h)
{
	struct place p = h->at[--h->n];
	size_t i = 0, k;

	for (; (k = 2 * i + 1) < h->n; i = k) {
		k += k + 1 < h->n && place_before(&h->at[k + 1], &h->at[k]);
		if (!place_before(&h->at[k], &p))
			break;
		h->at[i] = h->at[k];
	}
	h->at[i] = p;
}

static inline bool can_go(const struct block *b)
{
	return b->present && !b->pinned && !b->children;
}

/* It is, or has become, a block that can go. */
static inline void offer(struct oracle *o, uint32_t i)
{
	struct block *b = &o->block[i];
	struct place p = {.block = i, .version = ++b->version};

	if (o->rules->lists || !can_go(b))
		return;
	o->rules->key(b, p.key);
	heap_push(&o->heap[b->queue], p);
}

static inline uint32_t heap_least(struct oracle *o, int queue)
{
	struct heap *h = &o->heap[queue];

	while (h->n) {
		const struct block *b = &o->block[h->at[0].block];

		if (can_go(b) && b->queue == queue && b->version == h->at[0].version)
			return h->at[0].block;
		heap_pop(h);
	}
	return NOBODY;
}

static inline void list_append(struct oracle *o, uint32_t i)
{
	struct block *b = &o->block[i];
	struct list *l = &o->list[b->queue];

	b->prev = l->tail;
	b->next = NOBODY;
	*(l->tail == NOBODY ? &l->head : &o->block[l->tail].next) = i;
	l->tail = i;
	l->n++;
}

static inline void list_remove(struct oracle *o, uint32_t i)
{
	struct block *b = &o->block[i];
	struct list *l = &o->list[b->queue];

	*(b->prev == NOBODY ? &l->head : &o->block[b->prev].next) = b->next;
	*(b->next == NOBODY ? &l->tail : &o->block[b->next].prev) = b->prev;
	l->n--;
}

/* ---- policies ---- */

static inline void fifo_key(const struct block *b, uint64_t key[2])
{
	key[0] = b->came;
}

static inline void lru_key(const struct block *b, uint64_t key[2])
{
	key[0] = b->left;
}

static inline void lfu_key(const struct block *b, uint64_t key[2])
{
	key[0] = b->uses;
	key[1] = b->left;
}

static inline void length_aware_key(const struct block *b, uint64_t key[2])
{
	key[0] = (uint64_t)b->uses << 32 | (UINT32_MAX - b->depth);
	key[1] = b->left;
}

static inline void belady_key(const struct block *b, uint64_t key[2])
{
	key[0] = UINT32_MAX - b->next_use;
	key[1] = UINT32_MAX - b->depth;
}

static inline void twoq_key(const struct block *b, uint64_t key[2])
{
	key[0] = b->queue == FIRST ? b->came : b->left;
}

static inline uint32_t least_victim(struct oracle *o)
{
	return heap_least(o, FIRST);
}

static inline uint32_t twoq_victim(struct oracle *o)
{
	uint32_t in = heap_least(o, FIRST), main = heap_least(o, MAIN);

	if (in == NOBODY || (main != NOBODY && o->in_first <= o->share))
		return main;
	return in;
}

/* A queue from its beginning: blocks with as many hits move to the end of the main one. */
static inline uint32_t s3fifo_turn(struct oracle *o, int queue, uint32_t hits)
{
	for (uint32_t i = o->list[queue].head, next; i != NOBODY; i = next) {
		struct block *b = &o->block[i];

		if (b->uses >= hits) {
			list_remove(o, i);
			o->in_first -= queue == FIRST;
			b->uses = queue == FIRST ? 0 : b->uses - 1;
			b->queue = MAIN;
			next = b->next;
			list_append(o, i);
			if (next == NOBODY && queue == MAIN)
				next = i;
		} else if (can_go(b)) {
			return i;
		} else {
			next = b->next;
		}
	}
	return NOBODY;
}

static inline bool any_can_go(const struct oracle *o, int queue)
{
	for (uint32_t i = o->list[queue].head; i != NOBODY; i = o->block[i].next)
		if (can_go(&o->block[i]))
			return true;
	return false;
}

static inline uint32_t s3fifo_victim(struct oracle *o)
{
	uint32_t i = NOBODY;

	if (!any_can_go(o, FIRST) && !any_can_go(o, MAIN))
		return NOBODY;
	if (o->in_first >= o->share || !any_can_go(o, MAIN))
		i = s3fifo_turn(o, FIRST, 2);
	return i != NOBODY ? i : s3fifo_turn(o, MAIN, 1);
}

static inline uint32_t sieve_victim(struct oracle *o)
{
	if (!any_can_go(o, FIRST))
		return NOBODY;
	for (;;) {
		uint32_t i = o->hand == NOBODY ? o->list[FIRST].head : o->hand;
		struct block *b = &o->block[i];

		o->hand = b->next;
		o->hand_at = b->came;
		if (!b->uses && can_go(b))
			return i;
		b->uses = 0;
	}
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

static const struct rules all_rules[] = {
    {"2q", twoq_key, twoq_victim, NULL, 4, 2, false},
    {"belady", belady_key, least_victim, NULL, 0, 0, false},
    {"fifo", fifo_key, least_victim, NULL, 0, 0, false},
    {"length-aware", length_aware_key, least_victim, hit_counts, 0, 0, false},
    {"lfu", lfu_key, least_victim, hit_counts, 0, 0, false},
    {"lru", lru_key, least_victim, NULL, 0, 0, false},
    {"s3fifo", NULL, s3fifo_victim, hit_counts_to_three, 10, 1, true},
    {"sieve", NULL, sieve_victim, hit_marks, 0, 0, true},
};

/* ---- the pool ---- */

static inline void take_out(struct oracle *o, uint32_t i)
{
	struct block *b = &o->block[i];

	if (o->rules->lists)
		list_remove(o, i);
	if (b->queue == FIRST) {
		o->in_first--;
		b->gone = ++o->evictions;
	}
	b->present = false;
	o->present--;
	if (b->parent != NOBODY) {
		o->block[b->parent].children--;
		offer(o, b->parent);
	}
}

static inline void bring_in(struct oracle *o, uint32_t i)
{
	struct block *b = &o->block[i];
	bool back = o->rules->ghosts && b->gone && o->evictions - b->gone < o->ghosts;

	b->queue = back ? MAIN : FIRST;
	b->gone = 0;
	b->uses = 0;
	b->came = ++o->clock;
	b->present = true;
	o->in_first += !back;
	o->present++;
	if (b->parent != NOBODY)
		o->block[b->parent].children++;
	if (!o->rules->lists)
		return;
	list_append(o, i);
	if (o->hand == NOBODY && o->hand_at >= o->newest) /* behind all that ever came */
		o->hand_at = BEGIN;
	else if (o->hand == NOBODY) /* behind all that are left */
		o->hand = i;
	o->newest = b->came;
}

static inline void serve(struct oracle *o, int64_t r)
{
	const struct mc_trace *t = o->trace;
	const uint32_t *id = o->of + t->first[r];
	uint64_t tokens;
	uint32_t n = (uint32_t)mc_trace_blocks(t, r), found = 0, end, i;

	while (found < n && o->block[id[found]].present)
		found++;
	tokens = found * (uint64_t)t->block_tokens;
	o->hit_blocks += found;
	o->hit_tokens += tokens < t->input[r] ? tokens : t->input[r];
	for (uint32_t k = 0; k < n; k++) {
		struct block *b = &o->block[id[k]];

		b->parent = k ? id[k - 1] : NOBODY;
		b->depth = k;
		b->pinned = true;
		b->next_use = o->after[t->first[r] + k];
		if (k < found && o->rules->hit)
			o->rules->hit(b);
	}
	while (o->capacity - o->present < n - found && (i = o->rules->victim(o)) != NOBODY)
		take_out(o, i);
	end = o->capacity - o->present < n - found ? found + o->capacity - o->present : n;
	for (uint32_t k = end; k-- > found;)
		bring_in(o, id[k]);
	for (uint32_t k = n; k-- > 0;) {
		o->block[id[k]].pinned = false;
		o->block[id[k]].left = ++o->clock;
		offer(o, id[k]);
	}
}

static inline uint32_t share_of(uint32_t capacity, uint32_t fraction)
{
	return fraction && capacity / fraction ? capacity / fraction : 1;
}

/* hits: blocks, tokens. False: no such policy. */
static inline bool oracle_run(const char *name, const struct mc_trace *t,
			      const struct mc_trace_numbers *numbers, uint32_t capacity, uint64_t hits[2])
{
	struct oracle o = {.trace = t, .of = numbers->of, .capacity = capacity};
	uint32_t *after = malloc(t->first[t->n] * sizeof *after), *last;

	for (size_t i = 0; i < sizeof all_rules / sizeof *all_rules; i++)
		if (!strcmp(all_rules[i].name, name))
			o.rules = &all_rules[i];
	if (!o.rules)
		return free(after), false;
	last = malloc(numbers->distinct * sizeof *last);
	memset(last, 0xff, numbers->distinct * sizeof *last);
	for (int64_t r = t->n; r-- > 0;)
		for (uint64_t k = t->first[r]; k < t->first[r + 1]; k++) {
			after[k] = last[numbers->of[k]];
			last[numbers->of[k]] = (uint32_t)r;
		}
	o.after = after;
	o.block = calloc(numbers->distinct, sizeof *o.block);
	o.share = share_of(capacity, o.rules->share);
	o.ghosts = o.rules->lists ? capacity - o.share : share_of(capacity, o.rules->ghosts);
	o.ghosts += !o.ghosts;
	o.list[FIRST] = o.list[MAIN] = (struct list){NOBODY, NOBODY, 0};
	o.hand = NOBODY;
	o.hand_at = BEGIN;
	for (int64_t r = 0; r < t->n; r++)
		serve(&o, r);
	hits[0] = o.hit_blocks;
	hits[1] = o.hit_tokens;
	mc_vec_fini(&o.heap[FIRST]);
	mc_vec_fini(&o.heap[MAIN]);
	free(o.block);
	free(after);
	free(last);
	return true;
}

#endif
