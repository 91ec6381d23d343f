#include "trace/lru.h"

#include <assert.h>

#include "base/vec.h"
#include "trace/number.h"

/*
 * A Fenwick tree over touch times holds 1 at the last touch of every block. The number of ones from a block's
 * last touch on is its place in the LRU stack, so the smallest capacity that still holds it.
 */
struct stack {
	uint32_t *tree;           /* 1-based by touch time */
	uint32_t size, now, live; /* touches so far; ones in the tree */
	uint32_t *last;           /* by block number: time of its last touch, 0: never */
};

static void add(struct stack *s, uint32_t at, uint32_t by)
{
	for (; at <= s->size; at += at & -at)
		s->tree[at] += by;
}

/* Place in the stack of a block that was touched before: 1 is the most recent. */
static uint32_t place(const struct stack *s, uint32_t block)
{
	uint32_t before = 0;

	for (uint32_t at = s->last[block] - 1; at; at &= at - 1)
		before += s->tree[at];
	return s->live - before;
}

static void touch(struct stack *s, uint32_t block)
{
	if (s->last[block])
		add(s, s->last[block], UINT32_MAX); /* -1 */
	else
		s->live++;
	s->last[block] = ++s->now;
	add(s, s->now, 1);
}

static uint64_t tokens_of(const struct mc_trace *t, int64_t request, uint64_t block)
{
	uint64_t left = t->input[request] - block * (uint64_t)t->block_tokens;

	return left < (uint64_t)t->block_tokens ? left : (uint64_t)t->block_tokens;
}

void mc_lru_curve_init(struct mc_lru_curve *c, const struct mc_trace *t)
{
	struct stack s = {0};
	uint32_t *number = mc_trace_number(t, &c->distinct);

	assert(t->first[t->n] < UINT32_MAX);
	s.size = (uint32_t)t->first[t->n];
	s.tree = mc_xcalloc((size_t)s.size + 1, sizeof *s.tree);
	s.last = mc_xcalloc(c->distinct, sizeof *s.last);
	c->blocks = mc_xcalloc((size_t)c->distinct + 1, sizeof *c->blocks);
	c->tokens = mc_xcalloc((size_t)c->distinct + 1, sizeof *c->tokens);
	for (int64_t i = 0; i < t->n; i++) {
		const uint32_t *block = number + t->first[i];
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
	free(s.tree);
	free(s.last);
	free(number);
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
