#include "unit.h"

#include <string.h>

#include "kv/pool.h"
#include "kv_prompts.h"

enum { NODES = 3, LEASES = 6, DEEP = 40, BLOCKS = 64 };

/*
 * The oracle of one node: its blocks in a list, each naming the id before it, when it was last unpinned, and
 * nothing clever. Leases keep their whole prompts.
 */
struct block {
	uint64_t id, parent;
	uint64_t unpinned; /* a counter */
	uint32_t pins;
	bool resident;
};

struct held {
	uint64_t id[DEEP];
	uint32_t n, committed;
	struct mc_lease lease;
};

struct node {
	struct mc_pool *pool;
	struct block at[BLOCKS];
	uint32_t n, capacity;
	uint64_t clock, evicted, refused, dropped;
	struct held held[LEASES];
};

static struct block *block(struct node *o, uint64_t id)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->at[i].id == id)
			return &o->at[i];
	return NULL;
}

static void forget(struct node *o, struct block *b)
{
	for (uint32_t i = 0; i < o->n; i++) /* nothing is chained to it */
		ck_assert_uint_ne(o->at[i].parent, b->id);
	*b = o->at[--o->n];
}

static bool evict_oldest(struct node *o)
{
	struct block *old = NULL;

	for (uint32_t i = 0; i < o->n; i++)
		if (!o->at[i].pins && (!old || o->at[i].unpinned < old->unpinned))
			old = &o->at[i];
	if (!old)
		return false;
	forget(o, old);
	o->evicted++;
	return true;
}

static uint32_t model_acquire(struct node *o, const uint64_t *id, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n && block(o, id[i]); i++)
		block(o, id[i])->pins++;
	for (; i < n; i++) {
		if (o->n == o->capacity && !evict_oldest(o))
			break;
		o->at[o->n++] = (struct block){.id = id[i], .parent = i ? id[i - 1] : 0, .pins = 1};
	}
	o->refused += n - i;
	return i;
}

static void model_commit(struct node *o, const uint64_t *id, uint32_t from, uint32_t depth)
{
	if (from && !block(o, id[from - 1])->resident)
		return;
	for (uint32_t i = from; i < depth; i++)
		block(o, id[i])->resident = true;
}

static void model_release(struct node *o, const uint64_t *id, uint32_t n)
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

static void compare_stats(struct node *o)
{
	struct mc_pool_stats s = mc_pool_stats(o->pool);
	uint32_t resident = 0, pinned = 0;

	for (uint32_t i = 0; i < o->n; i++) {
		resident += o->at[i].resident;
		pinned += o->at[i].pins > 0;
	}
	ck_assert_uint_eq(s.capacity, o->capacity);
	ck_assert_uint_eq(s.present, o->n);
	ck_assert_uint_eq(s.resident, resident);
	ck_assert_uint_eq(s.pinned, pinned);
	ck_assert_uint_eq(s.evicted, o->evicted);
	ck_assert_uint_eq(s.dropped, o->dropped);
	ck_assert_uint_eq(s.refused, o->refused);
}

/* What the tree says of one prompt, against all oracles. */
static void compare_prompt(struct mc_tree *tree, struct node *node, const uint64_t *id, uint32_t n)
{
	struct mc_step way[DEEP];
	uint32_t steps = mc_tree_trail(tree, id, n, way), known = steps ? way[steps - 1].end : 0, best = 0;

	for (uint32_t k = 0; k < NODES; k++) {
		struct node *o = &node[k];
		uint32_t m = 0, mr = 0;

		while (m < n && block(o, id[m]))
			m++;
		while (mr < m && block(o, id[mr])->resident)
			mr++;
		best = mr > best ? mr : best;
		ck_assert_uint_ge(known, m);
		ck_assert_uint_eq(mc_tree_match(tree, way, steps, k), m);
		ck_assert_uint_eq(mc_tree_match_resident(tree, way, steps, k), mr);
	}
	ck_assert_uint_eq(mc_tree_best(tree, way, steps), best);
}

/* All nodes against their oracles: equal counts and every chain of an oracle found means equal sets. */
static void compare(struct mc_tree *tree, struct node *node, struct rng *r)
{
	struct mc_err err = {0};
	uint64_t id[DEEP];

	for (uint32_t k = 0; k < NODES; k++) {
		struct node *o = &node[k];

		compare_stats(o);
		ck_assert_msg(!mc_pool_check(o->pool, &err), "%s", err.text);
		for (uint32_t i = 0; i < o->n; i++) { /* the chain that ends in this block */
			uint32_t n = 0;

			for (const struct block *b = &o->at[i]; b; b = b->parent ? block(o, b->parent) : NULL)
				n++;
			for (const struct block *b = &o->at[i]; b; b = b->parent ? block(o, b->parent) : NULL)
				id[--n] = b->id;
			for (n = 1; n < DEEP && id[n - 1] != o->at[i].id; n++)
				;
			compare_prompt(tree, node, id, n);
		}
	}
	compare_prompt(tree, node, id, prompt(r, DEEP, id));
	ck_assert_msg(!mc_tree_check(tree, &err), "%s", err.text);
}

static void step(struct node *o, struct rng *r)
{
	struct held *h = &o->held[rng_below(r, LEASES)];

	if (!h->n) {
		uint32_t wanted = prompt(r, rng_below(r, 4) ? 8 : DEEP, h->id), present = 0;

		while (present < wanted && block(o, h->id[present]))
			present++;
		if (present && !rng_below(r, 4)) { /* the source of a fetch */
			h->n = 1 + rng_below(r, present);
			h->lease = mc_pool_pin(o->pool, h->id, h->n);
			model_acquire(o, h->id, h->n);
		} else {
			h->lease = mc_pool_acquire(o->pool, h->id, wanted);
			h->n = model_acquire(o, h->id, wanted);
		}
		ck_assert_uint_eq(h->lease.held, h->n);
		ck_assert_int_eq(h->lease.tail == MC_NONE, h->n == 0);
	} else if (rng_below(r, 2)) {
		uint32_t depth = rng_below(r, h->n + 1), from = rng_below(r, 2) ? 0 : rng_below(r, depth + 1);

		if (rng_below(r, 2))
			depth = h->n;
		mc_pool_commit(o->pool, &h->lease, from, depth);
		model_commit(o, h->id, from, depth);
	} else {
		mc_pool_release(o->pool, &h->lease);
		ck_assert(h->lease.held == 0 && h->lease.tail == MC_NONE);
		model_release(o, h->id, h->n);
		h->n = 0;
	}
}

START_TEST(equals_the_naive_pool)
{
	static const uint32_t capacity[][NODES] = {{1, 2, 3}, {4, 6, 9}, {12, 20, 33}, {64, 41, 1}};
	struct mc_tree *tree = mc_tree_new();
	struct node *node = calloc(NODES, sizeof *node);
	struct rng r = {.at = (uint64_t)(_i + 1) << 32};

	for (uint32_t k = 0; k < NODES; k++) {
		node[k].capacity = capacity[_i % 4][k];
		node[k].pool = mc_pool_new(tree, k, node[k].capacity, mc_evictor_find("lru"));
	}
	for (int i = 0; i < 2000; i++) {
		step(&node[rng_below(&r, NODES)], &r);
		compare(tree, node, &r);
	}
	for (uint32_t k = 0; k < NODES; k++) { /* every path was walked */
		ck_assert(node[k].evicted && node[k].dropped);
		ck_assert(node[k].refused || node[k].capacity > DEEP);
		mc_pool_free(node[k].pool);
	}
	free(node);
	mc_tree_free(tree);
}
END_TEST

struct one {
	struct mc_tree *tree;
	struct mc_pool *pool;
	uint64_t id[100];
	struct mc_step way[100];
};

static struct one one_new(uint32_t capacity)
{
	struct one o = {.tree = mc_tree_new()};

	o.pool = mc_pool_new(o.tree, 0, capacity, mc_evictor_find("lru"));
	for (uint32_t i = 0; i < 100; i++)
		o.id[i] = mc_hash_u64(i);
	return o;
}

static void one_free(struct one *o)
{
	mc_pool_free(o->pool);
	mc_tree_free(o->tree);
}

static void expect(struct one *o, uint32_t present, uint32_t resident)
{
	struct mc_err err = {0};
	uint32_t steps = mc_tree_trail(o->tree, o->id, 100, o->way);

	ck_assert_uint_eq(mc_tree_match(o->tree, o->way, steps, 0), present);
	ck_assert_uint_eq(mc_tree_match_resident(o->tree, o->way, steps, 0), resident);
	ck_assert_msg(!mc_pool_check(o->pool, &err), "%s", err.text);
}

/* A fetch of blocks 4..7 ends while blocks 0..3 are still promised by a request ahead in the queue. */
START_TEST(fetch_before_its_producer)
{
	struct one o = one_new(20);
	struct mc_lease producer = mc_pool_acquire(o.pool, o.id, 4);
	struct mc_lease fetcher = mc_pool_acquire(o.pool, o.id, 10);

	expect(&o, 10, 0);
	mc_pool_commit(o.pool, &fetcher, 4, 8);
	expect(&o, 10, 0);
	mc_pool_commit(o.pool, &producer, 0, 4);
	expect(&o, 10, 4);
	mc_pool_commit(o.pool, &fetcher, 4, 8); /* in this order it counts at once */
	expect(&o, 10, 8);
	mc_pool_commit(o.pool, &fetcher, 9, 10); /* 8 is missing */
	expect(&o, 10, 8);
	mc_pool_release(o.pool, &producer);
	mc_pool_commit(o.pool, &fetcher, 0, 10);
	expect(&o, 10, 10);
	mc_pool_release(o.pool, &fetcher);
	one_free(&o);
}
END_TEST

START_TEST(commit_leaves_blocks_before_from)
{
	struct one o = one_new(20);
	struct mc_lease a = mc_pool_acquire(o.pool, o.id, 10);

	mc_pool_commit(o.pool, &a, 0, 0);
	mc_pool_commit(o.pool, &a, 10, 10);
	mc_pool_commit(o.pool, &a, 1, 10);
	expect(&o, 10, 0);
	mc_pool_commit(o.pool, &a, 0, 1);
	expect(&o, 10, 1);
	mc_pool_commit(o.pool, &a, 1, 10);
	mc_pool_commit(o.pool, &a, 0, 4); /* never back */
	expect(&o, 10, 10);
	mc_pool_release(o.pool, &a);
	one_free(&o);
}
END_TEST

/* What nobody will bring any more must not be waited for; what another lease still promises stays. */
START_TEST(release_drops_what_never_came)
{
	struct one o = one_new(20);
	struct mc_lease a = mc_pool_acquire(o.pool, o.id, 12), b = mc_pool_acquire(o.pool, o.id, 6);

	mc_pool_commit(o.pool, &a, 0, 2);
	mc_pool_release(o.pool, &a);
	expect(&o, 6, 2);
	mc_pool_release(o.pool, &b);
	expect(&o, 2, 2);
	ck_assert_uint_eq(mc_pool_stats(o.pool).dropped, 10);
	ck_assert_uint_eq(mc_pool_stats(o.pool).evicted, 0);
	one_free(&o);
}
END_TEST

/* The root of a long prompt outlives its tail, in a pool hardly larger than the prompt. */
START_TEST(tails_go_first)
{
	struct one o = one_new(50);
	struct mc_lease a = mc_pool_acquire(o.pool, o.id, 50), b;
	uint64_t other[30];

	mc_pool_commit(o.pool, &a, 0, 50);
	mc_pool_release(o.pool, &a);
	for (uint32_t i = 0; i < 30; i++)
		other[i] = mc_hash_u64(1000 + i);
	b = mc_pool_acquire(o.pool, other, 30);
	ck_assert_uint_eq(b.held, 30);
	expect(&o, 20, 20);
	a = mc_pool_acquire(o.pool, o.id,
			    50); /* its own beginning is pinned and stays, all the rest is b's */
	ck_assert_uint_eq(a.held, 20);
	ck_assert_uint_eq(mc_pool_stats(o.pool).refused, 30);
	mc_pool_release(o.pool, &b);
	expect(&o, 20, 20);
	mc_pool_release(o.pool, &a);
	one_free(&o);
}
END_TEST

START_TEST(all_pinned_and_empty)
{
	struct one o = one_new(3);
	struct mc_lease none = mc_pool_acquire(o.pool, o.id, 0), a = mc_pool_acquire(o.pool, o.id, 100), b;

	ck_assert(none.held == 0 && none.tail == MC_NONE);
	mc_pool_commit(o.pool, &none, 0, 0);
	mc_pool_release(o.pool, &none);
	none = mc_pool_pin(o.pool, o.id, 0);
	ck_assert(none.held == 0 && none.tail == MC_NONE);
	ck_assert_uint_eq(a.held, 3);
	b = mc_pool_acquire(o.pool, o.id + 50, 50);
	ck_assert(b.held == 0 && b.tail == MC_NONE);
	ck_assert_uint_eq(mc_pool_stats(o.pool).refused, 147);
	mc_pool_commit(o.pool, &a, 0, 3);
	mc_pool_release(o.pool, &a);
	b = mc_pool_acquire(o.pool, o.id + 50, 2);
	ck_assert_uint_eq(b.held, 2);
	expect(&o, 1, 1);
	mc_pool_release(o.pool, &b);
	mc_pool_free(NULL);
	one_free(&o);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pool");
	TCase *t = tcase_create("pool");

	tcase_add_loop_test(t, equals_the_naive_pool, 0, 8);
	tcase_add_test(t, fetch_before_its_producer);
	tcase_add_test(t, commit_leaves_blocks_before_from);
	tcase_add_test(t, release_drops_what_never_came);
	tcase_add_test(t, tails_go_first);
	tcase_add_test(t, all_pinned_and_empty);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
