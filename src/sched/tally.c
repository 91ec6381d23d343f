#include "sched/tally.h"

#include <assert.h>
#include <stdbool.h>

#include "base/hash.h"

void mc_tally_init(struct mc_tally *t)
{
	*t = (struct mc_tally){0};
	mc_vec_push(&t->node, (struct mc_tally_node){0});
}

void mc_tally_fini(struct mc_tally *t)
{
	mc_vec_fini(&t->node);
}

static struct mc_tally_sum plus(struct mc_tally_sum a, const struct mc_tally_sum *b)
{
	return (struct mc_tally_sum){a.n + b->n, a.context + b->context, a.kv + b->kv};
}

static void gather(struct mc_tally *t, uint32_t i)
{
	struct mc_tally_node *v = &t->node.at[i];

	v->below = plus(plus(v->own, &t->node.at[v->left].below), &t->node.at[v->right].below);
}

/* Order by time; of equal times by handle. */
static bool before(const struct mc_tally *t, uint32_t a, uint32_t b)
{
	mc_time x = t->node.at[a].at, y = t->node.at[b].at;

	return x < y || (x == y && a < b);
}

/* Parts of a subtree before a node, and behind it. */
static void split(struct mc_tally *t, uint32_t root, uint32_t by, uint32_t *low, uint32_t *high)
{
	uint32_t rest;

	if (!root) {
		*low = *high = 0;
	} else if (before(t, root, by)) {
		split(t, t->node.at[root].right, by, &rest, high);
		t->node.at[root].right = rest;
		gather(t, root);
		*low = root;
	} else {
		split(t, t->node.at[root].left, by, low, &rest);
		t->node.at[root].left = rest;
		gather(t, root);
		*high = root;
	}
}

/* All of a lie before all of b. */
static uint32_t merge(struct mc_tally *t, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a ? a : b;
	if (t->node.at[a].rank > t->node.at[b].rank) {
		t->node.at[a].right = merge(t, t->node.at[a].right, b);
		gather(t, a);
		return a;
	}
	t->node.at[b].left = merge(t, a, t->node.at[b].left);
	gather(t, b);
	return b;
}

uint32_t mc_tally_add(struct mc_tally *t, mc_time at, const struct mc_tally_sum *weight)
{
	struct mc_tally_node v = {
	    .at = at, .own = *weight, .below = *weight, .rank = mc_hash_u64(++t->added)};
	uint32_t i = t->free, low, high;

	if (i) {
		t->free = t->node.at[i].left;
		t->node.at[i] = v;
	} else {
		i = (uint32_t)t->node.n;
		mc_vec_push(&t->node, v);
	}
	split(t, t->root, i, &low, &high);
	t->root = merge(t, merge(t, low, i), high);
	return i;
}

void mc_tally_remove(struct mc_tally *t, uint32_t handle)
{
	struct mc_tally_node *v = &t->node.at[handle];
	uint32_t *link = &t->root;

	while (*link != handle) {
		struct mc_tally_node *up = &t->node.at[*link];

		assert(*link);
		up->below.n -= v->own.n;
		up->below.context -= v->own.context;
		up->below.kv -= v->own.kv;
		link = before(t, handle, *link) ? &up->left : &up->right;
	}
	*link = merge(t, v->left, v->right);
	v->left = t->free;
	t->free = handle;
}

struct mc_tally_sum mc_tally_until(const struct mc_tally *t, mc_time at)
{
	struct mc_tally_sum sum = {0};
	uint32_t i = t->root;

	while (i) {
		const struct mc_tally_node *v = &t->node.at[i];

		if (v->at <= at) {
			sum = plus(plus(sum, &v->own), &t->node.at[v->left].below);
			i = v->right;
		} else {
			i = v->left;
		}
	}
	return sum;
}
