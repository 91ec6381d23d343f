#include "unit.h"

#include <string.h>

#include "kv/future.h"
#include "kv/heat.h"
#include "kv/pool.h"
#include "kv_naive.h"
#include "kv_prompts.h"

enum { NODES = 3, LEASES = 6, DEEP = 40, STEPS = 3000 };

struct held {
	uint64_t id[DEEP];
	uint32_t n, committed;
	struct mc_lease lease;
};

struct node {
	uint32_t node;
	struct mc_pool *pool;
	struct naive naive;
	struct held held[LEASES];
};

/* ck_assert_uint_eq, of which each tells Check where it is: too slow for millions. */
static void same(uint64_t got, uint64_t expected)
{
	if (got != expected)
		ck_assert_uint_eq(got, expected);
}

static void compare_stats(const struct mc_pool *pool, const struct naive *o)
{
	struct mc_pool_stats s = mc_pool_stats(pool);
	uint32_t resident = 0, pinned = 0;

	for (uint32_t i = 0; i < o->n; i++) {
		resident += o->at[i].resident;
		pinned += o->at[i].pins > 0;
	}
	same(s.capacity, o->capacity);
	same(s.present, o->n);
	same(s.resident, resident);
	same(s.pinned, pinned);
	same(s.evicted, o->evicted);
	same(s.dropped, o->dropped);
	same(s.lost, o->lost);
	same(s.discarded, o->discarded);
	same(s.refused, o->refused);
}

/* What the tree says of one prompt, against all oracles. */
static void compare_prompt(struct mc_tree *tree, struct node *node, const uint64_t *id, uint32_t n)
{
	struct mc_step way[DEEP];
	uint32_t steps = mc_tree_trail(tree, id, n, way), known = steps ? way[steps - 1].end : 0, best = 0;

	for (uint32_t k = 0; k < NODES; k++) {
		struct naive *o = &node[k].naive;
		uint32_t m = 0, mr = 0;

		while (m < n && block(o, id[m]))
			m++;
		while (mr < m && block(o, id[mr])->resident)
			mr++;
		best = mr > best ? mr : best;
		same(known >= m, true);
		same(mc_tree_match(tree, way, steps, k), m);
		same(mc_tree_match_resident(tree, way, steps, k), mr);
	}
	same(mc_tree_best(tree, 0, way, steps), best);
}

/* All nodes against their oracles: equal counts and every chain of an oracle found means equal sets. */
static void compare(struct mc_tree *tree, struct node *node, struct rng *r)
{
	struct mc_err err = {0};
	uint64_t id[DEEP];

	for (uint32_t k = 0; k < NODES; k++) {
		struct naive *o = &node[k].naive;

		compare_stats(node[k].pool, o);
		ck_assert_msg(!mc_pool_check(node[k].pool, &err), "%s: %s", o->model->name, err.text);
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

/* The next prompt that comes, or one of the last for another node. Returns its blocks. */
static uint32_t come(struct naive *o, struct mc_future *future, struct rng *r, uint64_t *id)
{
	int64_t at = mc_future_come(future);

	if (at > 3 && !rng_below(r, 4))
		at -= 1 + rng_below(r, 3);
	mc_future_advance(future, at);
	o->come = mc_future_come(future);
	memcpy(id, o->trace->block + o->trace->first[at], o->trace->input[at] * sizeof *id);
	return o->trace->input[at];
}

/* Give up some run, of which the node may have a part. */
static void discard(struct mc_tree *tree, struct node *o, struct rng *r)
{
	uint32_t copies, k = 0, from, run = mc_tree_next(tree, MC_NONE);
	const struct mc_copy *copy;
	uint64_t id[DEEP];

	for (uint32_t skip = rng_below(r, mc_tree_runs(tree) + 1); skip-- > 1;)
		run = mc_tree_next(tree, run);
	if (run == MC_NONE)
		return;
	from = mc_tree_first(tree, run);
	mc_tree_chain(tree, run, id);
	copy = mc_tree_copies(tree, run, &copies);
	while (k < copies && copy[k].node != o->node)
		k++;
	if (k == copies)
		same(mc_pool_discard(o->pool, run), 0);
	else {
		uint32_t want = naive_discard(&o->naive, id, from, from + copy[k].held);

		same(mc_pool_discard(o->pool, run), want);
	}
}

static void step(struct mc_tree *tree, struct node *o, struct mc_future *future, struct rng *r)
{
	struct held *h = &o->held[rng_below(r, LEASES)];

	if (!rng_below(r, 20)) {
		discard(tree, o, r);
		return;
	}

	if (!rng_below(r, 1000)) {
		mc_pool_clear(o->pool);
		naive_clear(&o->naive);
		for (int i = 0; i < LEASES; i++)
			o->held[i].n = 0;
		return;
	}
	if (!h->n) {
		uint32_t wanted = come(&o->naive, future, r, h->id), present = 0;

		while (present < wanted && block(&o->naive, h->id[present]))
			present++;
		if (present && !rng_below(r, 4)) { /* the source of a fetch */
			h->n = 1 + rng_below(r, present);
			h->lease = mc_pool_pin(o->pool, h->id, h->n);
			naive_acquire(&o->naive, h->id, h->n);
		} else {
			h->lease = mc_pool_acquire(o->pool, h->id, wanted);
			h->n = naive_acquire(&o->naive, h->id, wanted);
		}
		ck_assert_uint_eq(h->lease.held, h->n);
		ck_assert_int_eq(h->lease.tail == MC_NONE, h->n == 0);
	} else if (rng_below(r, 2)) {
		uint32_t depth = rng_below(r, h->n + 1), from = rng_below(r, 2) ? 0 : rng_below(r, depth + 1);

		if (rng_below(r, 2))
			depth = h->n;
		mc_pool_commit(o->pool, &h->lease, from, depth);
		naive_commit(&o->naive, h->id, from, depth);
	} else {
		mc_pool_release(o->pool, &h->lease);
		ck_assert(h->lease.held == 0 && h->lease.tail == MC_NONE);
		naive_release(&o->naive, h->id, h->n);
		h->n = 0;
	}
}

/* All prompts of a test. Each goes to one node or a few, the others only hear of it. */
static struct mc_trace foreseen(struct rng *r)
{
	struct mc_trace t;
	uint64_t id[DEEP];

	mc_trace_init(&t, 1);
	for (int i = 0; i < STEPS; i++) {
		uint32_t n = prompt(r, rng_below(r, 4) ? 8 : DEEP, id);

		mc_trace_push(&t, i, n, 0, id);
	}
	return t;
}

static void equals_the_naive_pool(const struct mc_evictor *ev, uint64_t seed)
{
	static const uint32_t capacity[][NODES] = {{1, 2, 3}, {4, 6, 9}, {20, 24, 32}, {64, 41, 1}};
	struct mc_tree *tree = mc_tree_new();
	struct node *node = calloc(NODES, sizeof *node);
	struct rng r = {.at = (seed + 1) << 32};
	struct mc_trace t = foreseen(&r);
	struct mc_future *future = mc_future_new(&t);
	uint64_t dropped = 0, discarded = 0;

	for (uint32_t k = 0; k < NODES; k++) {
		naive_init(&node[k].naive, ev->name, capacity[seed % 4][k]);
		node[k].naive.trace = &t;
		node[k].node = k;
		node[k].pool = mc_pool_new(tree, k, capacity[seed % 4][k], ev);
		mc_pool_foresee(node[k].pool, future);
	}
	for (int i = 0; i < STEPS; i++) {
		uint32_t k = rng_below(&r, NODES);

		step(tree, &node[k], future, &r);
		compare_stats(node[k].pool, &node[k].naive);
		if (!rng_below(&r, 4))
			compare(tree, node, &r);
	}
	for (uint32_t k = 0; k < NODES; k++) { /* every path was walked */
		ck_assert(node[k].naive.evicted);
		dropped += node[k].naive.dropped;
		discarded += node[k].naive.discarded;
		ck_assert(node[k].naive.refused || node[k].naive.capacity > DEEP);
		mc_pool_free(node[k].pool);
	}
	ck_assert(dropped);
	ck_assert(discarded || seed % 4 < 2); /* the small pools have little that can go */
	free(node);
	mc_tree_free(tree);
	mc_future_free(future);
	mc_trace_fini(&t);
}

#ifdef __SANITIZE_ADDRESS__
enum { SEEDS = 8 }; /* slow, and what it shows are addresses */
#else
enum { SEEDS = 40 };
#endif

START_TEST(every_policy_equals_its_naive_pool)
{
	equals_the_naive_pool(mc_evictors[_i / SEEDS], (uint64_t)_i % SEEDS);
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

/* One node loses all it has, the leases of another on the same blocks hold. */
START_TEST(another_node_is_lost)
{
	struct one o = one_new(100);
	struct mc_pool *other = mc_pool_new(o.tree, 1, 100, mc_evictor_find("lru"));
	struct mc_lease a = mc_pool_acquire(o.pool, o.id, 40), b = mc_pool_acquire(other, o.id, 100);
	struct mc_err err = {0};

	mc_pool_commit(o.pool, &a, 0, 20);
	mc_pool_commit(other, &b, 0, 100);
	mc_pool_clear(other);
	ck_assert_msg(!mc_pool_check(other, &err) && !mc_tree_check(o.tree, &err), "%s", err.text);
	ck_assert_uint_eq(mc_pool_stats(other).lost, 100);
	ck_assert_uint_eq(mc_pool_stats(other).present, 0);
	ck_assert_uint_eq(mc_pool_stats(o.pool).pinned, 40);
	expect(&o, 40, 20);
	b = mc_pool_acquire(other, o.id, 30);
	mc_pool_clear(o.pool);
	expect(&o, 0, 0);
	ck_assert_msg(!mc_pool_check(other, &err) && !mc_tree_check(o.tree, &err), "%s", err.text);
	mc_pool_commit(other, &b, 0, 30);
	mc_pool_release(other, &b);
	mc_pool_clear(other);
	mc_pool_clear(other);
	ck_assert_uint_eq(mc_tree_blocks(o.tree), 0);
	ck_assert_uint_eq(mc_tree_runs(o.tree), 0);
	mc_pool_free(other);
	one_free(&o);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pool");
	TCase *t = tcase_create("pool");
	int policies = 0;

	while (mc_evictors[policies])
		policies++;
	tcase_add_loop_test(t, every_policy_equals_its_naive_pool, 0, policies * SEEDS);
	tcase_add_test(t, fetch_before_its_producer);
	tcase_add_test(t, commit_leaves_blocks_before_from);
	tcase_add_test(t, release_drops_what_never_came);
	tcase_add_test(t, tails_go_first);
	tcase_add_test(t, all_pinned_and_empty);
	tcase_add_test(t, another_node_is_lost);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
