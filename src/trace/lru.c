#include "trace/lru.h"

#include <assert.h>

#include "base/vec.h"

/*
 * A bit a touch time, set at the last touch of every block. The number of ones from a block's last touch on
 * is its place in the LRU stack, so the smallest capacity that still holds it. Ones are counted by a Fenwick
 * tree over groups of words, small enough for the processor's caches when the trace is not.
 */
#define LRU_WORDS 8 /* words a group: one line of cache */
#define LRU_GROUP (64 * LRU_WORDS)

struct stack {
	uint64_t *bits;
	uint32_t *tree; /* 1-based by group */
	uint32_t groups;
	uint32_t now, live; /* touches so far; ones */
	uint32_t *last;     /* by block number: time of its last touch + 1, 0: never */
};

static void stack_init(struct stack *s, uint32_t touches, uint32_t blocks)
{
	*s = (struct stack){.groups = touches / LRU_GROUP + 1};
	s->bits = mc_xcalloc((size_t)s->groups * LRU_WORDS, sizeof *s->bits);
	s->tree = mc_xcalloc((size_t)s->groups + 1, sizeof *s->tree);
	s->last = mc_xcalloc(blocks, sizeof *s->last);
}

static void stack_fini(struct stack *s)
{
	free(s->bits);
	free(s->tree);
	free(s->last);
}

static void flip(struct stack *s, uint32_t time, uint32_t by)
{
	s->bits[time / 64] ^= UINT64_C(1) << time % 64;
	for (uint32_t at = time / LRU_GROUP + 1; at <= s->groups; at += at & -at)
		s->tree[at] += by;
}

/* Place in the stack of a block that was touched before: 1 is the most recent. */
static uint32_t place(const struct stack *s, uint32_t block)
{
	uint32_t time = s->last[block] - 1, before = 0;

	for (uint32_t at = time / LRU_GROUP; at; at &= at - 1)
		before += s->tree[at];
	for (uint32_t word = time / LRU_GROUP * LRU_WORDS; word < time / 64; word++)
		before += (uint32_t)__builtin_popcountll(s->bits[word]);
	before += (uint32_t)__builtin_popcountll(s->bits[time / 64] & ((UINT64_C(1) << time % 64) - 1));
	return s->live - before;
}

static void touch(struct stack *s, uint32_t block)
{
	if (s->last[block])
		flip(s, s->last[block] - 1, UINT32_MAX); /* -1 */
	else
		s->live++;
	flip(s, s->now, 1);
	s->last[block] = ++s->now;
}

static uint64_t tokens_of(const struct mc_trace *t, int64_t request, uint64_t block)
{
	uint64_t left = t->input[request] - block * (uint64_t)t->block_tokens;

	return left < (uint64_t)t->block_tokens ? left : (uint64_t)t->block_tokens;
}

void mc_lru_curve_init(struct mc_lru_curve *c, const struct mc_trace *t,
		       const struct mc_trace_numbers *numbers)
{
	struct stack s;

	assert(t->first[t->n] < UINT32_MAX);
	c->distinct = numbers->distinct;
	stack_init(&s, (uint32_t)t->first[t->n], c->distinct);
	c->blocks = mc_xcalloc((size_t)c->distinct + 1, sizeof *c->blocks);
	c->tokens = mc_xcalloc((size_t)c->distinct + 1, sizeof *c->tokens);
	for (int64_t i = 0; i < t->n; i++) {
		const uint32_t *block = numbers->of + t->first[i];
		uint64_t n = mc_trace_blocks(t, i);
		uint32_t need = 0; /* capacity that holds all leading blocks so far */

		for (uint64_t k = 0; k < n && s.last[block[k]]; k++) {
			uint32_t d = place(&s, block[k]);

			need = d > need ? d : need;
			c->blocks[need]++;
			c->tokens[need] += tokens_of(t, i, k);
		}
		for (uint64_t k = 0; k < n; k++)
			touch(&s, block[k]);
	}
	for (uint32_t d = 1; d <= c->distinct; d++) {
		c->blocks[d] += c->blocks[d - 1];
		c->tokens[d] += c->tokens[d - 1];
	}
	stack_fini(&s);
}

void mc_lru_curve_fini(struct mc_lru_curve *c)
{
	free(c->blocks);
	free(c->tokens);
}

void mc_lru_curve_at(const struct mc_lru_curve *c, uint64_t capacity, uint64_t *hit_blocks,
		     uint64_t *hit_tokens)
{
	if (capacity > c->distinct)
		capacity = c->distinct;
	*hit_blocks = c->blocks[capacity];
	*hit_tokens = c->tokens[capacity];
}
