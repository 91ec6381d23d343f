/* Blocks of a pool's memory that hold what has no name: random leases beside them, against the naive pool. */
#include "fixture.h"
#include "kv_naive.h"

#include "kv/pool.h"

enum { LEASES = 12, LONG = 16 };

struct held {
	uint64_t id[LONG];
	uint32_t n, from; /* from: blocks that were resident at once */
	struct mc_lease lease;
};

struct world {
	struct mc_tree *tree;
	struct mc_pool *pool;
	struct naive naive; /* its capacity: what is not taken */
	struct held held[LEASES];
	uint32_t leases, taken;
	uint64_t names;
};

static uint32_t spare(const struct world *w)
{
	uint32_t n = w->naive.capacity;

	for (uint32_t i = 0; i < w->naive.n; i++)
		n -= w->naive.at[i].pins > 0;
	return n;
}

/* By how much a lease would lower that, tried on a copy. */
static uint32_t need(const struct world *w, const struct held *h, uint32_t *resident)
{
	struct world copy = *w;
	uint32_t before = spare(w), there = 0;

	while (there < h->n && block(&copy.naive, h->id[there]) && block(&copy.naive, h->id[there])->resident)
		there++;
	*resident = there;
	there = naive_acquire(&copy.naive, h->id, h->n);
	return before - spare(&copy) + h->n - there; /* those that it had no room for */
}

static void take(struct world *w, uint64_t *r)
{
	uint32_t n = (uint32_t)draw(r, 6), left = spare(w);
	bool fits = n <= left;

	ck_assert_uint_eq(mc_pool_spare(w->pool), left);
	ck_assert(mc_pool_take(w->pool, n) == fits);
	if (!fits)
		return;
	while (w->naive.capacity - w->naive.n < n)
		ck_assert(naive_evict(&w->naive));
	w->naive.capacity -= n;
	w->taken += n;
}

static void give(struct world *w, uint64_t *r)
{
	uint32_t n = (uint32_t)draw(r, w->taken + 1);

	mc_pool_give(w->pool, n);
	w->naive.capacity += n;
	w->taken -= n;
}

static void lease(struct world *w, uint64_t *r)
{
	struct held *h = &w->held[w->leases];
	uint32_t session = (uint32_t)draw(r, 5), shared = (uint32_t)draw(r, 9), resident, there;
	uint64_t own = ++w->names;

	h->n = 1 + (uint32_t)draw(r, LONG);
	for (uint32_t b = 0; b < h->n; b++)
		h->id[b] = mc_hash_pair(b < shared ? session : 10 + own, b) | 1;
	ck_assert_uint_eq(mc_pool_need(w->pool, h->id, h->n, &resident), need(w, h, &there));
	ck_assert_uint_eq(resident, there);
	h->from = there;
	h->lease = mc_pool_acquire(w->pool, h->id, h->n);
	ck_assert_uint_eq(h->lease.held, naive_acquire(&w->naive, h->id, h->n));
	w->leases++;
}

static void release(struct world *w, uint64_t *r)
{
	struct held *h = &w->held[draw(r, w->leases)];

	if (draw(r, 4)) {
		mc_pool_commit(w->pool, &h->lease, h->from < h->lease.held ? h->from : h->lease.held,
			       h->lease.held);
		naive_commit(&w->naive, h->id, h->from < h->lease.held ? h->from : h->lease.held,
			     h->lease.held);
	}
	naive_release(&w->naive, h->id, h->lease.held);
	mc_pool_release(w->pool, &h->lease);
	*h = w->held[--w->leases];
}

START_TEST(random_steps)
{
	uint64_t r = (uint64_t)_i + 1, evicted = 0;

	for (int k = 0; k < 60; k++) {
		struct world w = {.tree = mc_tree_new()};
		const char *policy = mc_evictors_names[_i];
		uint32_t capacity = 4 + (uint32_t)draw(&r, BLOCKS - 4);

		if (!strcmp(policy, "belady")) /* asks for the future */
			policy = "lru";
		naive_init(&w.naive, policy, capacity);
		w.pool = mc_pool_new(w.tree, 0, capacity, mc_evictor_find(policy));
		for (int step = 0; step < 200; step++) {
			uint64_t what = draw(&r, 4);
			struct mc_err err = {0};

			if (what == 0)
				take(&w, &r);
			else if (what == 1)
				give(&w, &r);
			else if (what == 2 && w.leases < LEASES)
				lease(&w, &r);
			else if (w.leases)
				release(&w, &r);
			ck_assert_msg(mc_pool_check(w.pool, &err) == 0, "%s", err.text);
			ck_assert_uint_eq(mc_pool_stats(w.pool).present, w.naive.n);
			ck_assert_uint_eq(mc_pool_stats(w.pool).evicted, w.naive.evicted);
			ck_assert_uint_eq(mc_pool_stats(w.pool).taken, w.taken);
		}
		evicted += w.naive.evicted;
		mc_pool_free(w.pool);
		mc_tree_free(w.tree);
	}
	ck_assert_uint_gt(evicted, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pool_take");
	TCase *t = tcase_create("pool_take");
	int n = 0;

	while (mc_evictors_names[n])
		n++;
	suite_add_tcase(s, t);
	tcase_add_loop_test(t, random_steps, 0, n);
	return s;
}

UNIT_MAIN
