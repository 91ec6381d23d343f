/* The bound: equal to a search of all choices where that is small, not passed by any policy elsewhere. */
#include "unit.h"

#include <stdint.h>
#include <string.h>

#include "kv/future.h"
#include "kv/pool.h"
#include "kv/replay.h"
#include "kv_prompts.h"

enum { REQUESTS = 9, DEEP = 5, DISTINCT = 13, CASES = 2000, UNKNOWN = -1 };

/* A tiny trace. Request i is released before request end[i] comes, or after the last. */
struct game {
	struct mc_trace t;
	uint32_t capacity, end[REQUESTS];
	uint32_t block[REQUESTS][DEEP], blocks; /* ids as small numbers */
	uint32_t held[REQUESTS];                /* found: blocks of a lease; the same whatever was chosen */
	bool known[REQUESTS];
	int8_t best[REQUESTS][1 << DISTINCT]; /* hits from a request on, by what is present */
};

static uint32_t bits(uint32_t set)
{
	return (uint32_t)__builtin_popcount(set);
}

/* The leading n blocks of a request. */
static uint32_t leading(const struct game *g, int64_t request, uint32_t n)
{
	uint32_t set = 0;

	while (n-- > 0)
		set |= 1u << g->block[request][n];
	return set;
}

/* Nobody's child is there without its parent. */
static bool closed(const struct game *g, uint32_t present)
{
	for (int64_t r = 0; r < g->t.n; r++)
		for (uint32_t k = 1; k < g->t.input[r]; k++)
			if (present >> g->block[r][k] & 1 && !(present >> g->block[r][k - 1] & 1))
				return false;
	return true;
}

/* The most hits of requests r and later, over all choices of what goes. */
static int search(struct game *g, int64_t r, uint32_t present)
{
	uint32_t n, found = 0, pinned, go, room, can;
	int most = UNKNOWN;

	if (r == g->t.n)
		return 0;
	if (g->best[r][present] != UNKNOWN)
		return g->best[r][present];
	n = g->t.input[r];
	while (found < n && present >> g->block[r][found] & 1)
		found++;
	pinned = leading(g, r, found);
	for (int64_t q = 0; q < r; q++)
		if (g->end[q] > r)
			pinned |= leading(g, q, g->held[q]);
	if (pinned & ~present)
		ck_abort_msg("a pinned block is not there");
	can = present & ~pinned;
	go = bits(present) + n - found > g->capacity ? bits(present) + n - found - g->capacity : 0;
	go = go < bits(can) ? go : bits(can);
	room = g->capacity - (bits(present) - go);
	room = found + room < n ? found + room : n;
	if (g->known[r] && g->held[r] != room)
		ck_abort_msg("how much is held depends on what was chosen");
	g->known[r] = true;
	g->held[r] = room;
	for (uint32_t set = can;; set = (set - 1) & can) { /* every part of what can go */
		if (bits(set) == go && closed(g, present & ~set)) {
			int hits = (int)found + search(g, r + 1, (present & ~set) | leading(g, r, room));

			most = hits > most ? hits : most;
		}
		if (!set)
			break;
	}
	g->best[r][present] = (int8_t)most;
	return most;
}

/* The same with a policy. */
static int play(const struct game *g, const struct mc_evictor *ev)
{
	struct mc_tree *tree = mc_tree_new();
	struct mc_pool *pool = mc_pool_new(tree, 0, g->capacity, ev);
	struct mc_future *future = mc_future_new(&g->t);
	struct mc_lease lease[REQUESTS];
	struct mc_step way[DEEP];
	int hits = 0;

	mc_pool_foresee(pool, future);
	for (int64_t r = 0; r < g->t.n; r++) {
		const uint64_t *id = g->t.block + g->t.first[r];
		uint32_t n = g->t.input[r];

		for (int64_t q = 0; q < r; q++)
			if (g->end[q] == r)
				mc_pool_release(pool, &lease[q]);
		hits += (int)mc_tree_match(tree, way, mc_tree_trail(tree, id, n, way), 0);
		mc_future_advance(future, r);
		lease[r] = mc_pool_acquire(pool, id, n);
		if (lease[r].held != g->held[r])
			ck_assert_uint_eq(lease[r].held, g->held[r]);
		mc_pool_commit(pool, &lease[r], 0, lease[r].held);
	}
	for (int64_t r = 0; r < g->t.n; r++)
		if (g->end[r] >= g->t.n)
			mc_pool_release(pool, &lease[r]);
	mc_pool_free(pool);
	mc_tree_free(tree);
	mc_future_free(future);
	return hits;
}

/* False: too many different blocks. */
static bool deal(struct game *g, struct rng *r)
{
	uint64_t seen[DISTINCT], id[DEEP];
	bool overlap = rng_below(r, 2);

	*g = (struct game){.capacity = 1 + rng_below(r, 9)};
	memset(g->best, UNKNOWN, sizeof g->best);
	mc_trace_init(&g->t, 1);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint32_t n = prompt(r, DEEP, id);

		mc_trace_push(&g->t, i, n, 0, id);
		g->end[i] = i + 1 + (overlap ? rng_below(r, 4) : 0);
		for (uint32_t k = 0; k < n; k++) {
			uint32_t b = 0;

			while (b < g->blocks && seen[b] != id[k])
				b++;
			if (b == DISTINCT)
				return false;
			if (b == g->blocks)
				seen[g->blocks++] = id[k];
			g->block[i][k] = b;
		}
	}
	return true;
}

START_TEST(equals_a_search_of_all_choices)
{
	struct game *g = malloc(sizeof *g);
	struct rng r = {.at = 1};
	int games = 0, beaten[16] = {0}, longer = 0;

	while (games < CASES) {
		if (deal(g, &r)) {
			int most = search(g, 0, 0);

			for (int i = 0; mc_evictors[i]; i++) {
				int hits = play(g, mc_evictors[i]);

				if (hits > most || (mc_evictors[i]->foresee && hits < most))
					ck_abort_msg("%s: %d hits; the best choices give %d",
						     mc_evictors[i]->name, hits, most);
				beaten[i] += hits < most;
			}
			for (int k = 0; k < REQUESTS; k++)
				longer += g->t.input[k] > g->held[k];
			games++;
		}
		mc_trace_fini(&g->t);
	}
	ck_assert_int_gt(longer, 0); /* prompts that did not fit were among them */
	for (int i = 0; mc_evictors[i]; i++)
		ck_assert_msg(mc_evictors[i]->foresee ? !beaten[i] : beaten[i] > CASES / 50, "%s: %d of %d",
			      mc_evictors[i]->name, beaten[i], CASES);
	free(g);
}
END_TEST

/* Larger ones, where a policy alone is compared with the bound. */
START_TEST(no_policy_has_more_hits)
{
	struct rng r = {.at = (uint64_t)_i << 32};
	struct mc_trace t;
	uint64_t id[24];
	uint32_t capacity = 1 + rng_below(&r, 100);
	struct mc_replay bound, other;

	mc_trace_init(&t, 1);
	for (int i = 0; i < 500; i++) {
		uint32_t n = prompt(&r, 24, id);

		mc_trace_push(&t, i, n, 0, id);
	}
	mc_replay_run(&t, mc_evictor_find("belady"), capacity, &bound);
	for (int i = 0; mc_evictors[i]; i++) {
		mc_replay_run(&t, mc_evictors[i], capacity, &other);
		ck_assert_msg(other.hit_blocks <= bound.hit_blocks, "%s, %u blocks: %d hits, the bound is %d",
			      mc_evictors[i]->name, capacity, (int)other.hit_blocks, (int)bound.hit_blocks);
		ck_assert_uint_eq(other.unstored_blocks, bound.unstored_blocks);
		/* What came in and did not stay went out again. */
		ck_assert_uint_le(
		    t.first[t.n] - other.hit_blocks - other.unstored_blocks - other.evicted_blocks, capacity);
	}
	mc_trace_fini(&t);
}
END_TEST

/* What the future says, against looking for it. */
START_TEST(future_is_what_comes)
{
	struct rng r = {.at = 7};
	struct mc_trace t;
	struct mc_future *f;
	uint64_t id[12];

	mc_trace_init(&t, 1);
	for (int i = 0; i < 60; i++) {
		uint32_t n = prompt(&r, 12, id);

		mc_trace_push(&t, i, n, 0, id);
	}
	f = mc_future_new(&t);
	ck_assert_uint_eq(mc_future_come(f), 0);
	for (int64_t come = 0; come <= t.n; come++) {
		for (int64_t i = 0; i < t.n; i++)
			for (uint32_t k = 0; k < t.input[i]; k++) {
				uint64_t is = t.block[t.first[i] + k];
				uint32_t next = (uint32_t)come, some = mc_future_request(f, is);

				for (; next < t.n; next++)
					if (t.input[next] > k && t.block[t.first[next] + k] == is)
						break;
				if (next == t.n)
					next = MC_NONE;
				if (mc_future_next(f, (uint32_t)i, k) != next)
					ck_assert_uint_eq(mc_future_next(f, (uint32_t)i, k), next);
				if (some >= t.n || t.input[some] <= k || t.block[t.first[some] + k] != is)
					ck_abort_msg("request %u does not name block %u of request %d", some,
						     k, (int)i);
			}
		if (come < t.n)
			mc_future_advance(f, come);
		mc_future_advance(f, come / 2); /* of old */
		ck_assert_uint_eq(mc_future_come(f), come < t.n ? come + 1 : t.n);
	}
	ck_assert_uint_eq(mc_future_request(f, 1), MC_NONE);
	mc_future_free(f);
	mc_future_free(NULL);
	mc_trace_fini(&t);
}
END_TEST

/* Blocks that the trace does not know go first, also from behind some that it knows and that stay. */
START_TEST(unknown_blocks_go_first)
{
	static const uint64_t ab[] = {10, 11}, abxyz[] = {10, 11, 90, 91, 92}, c[] = {20},
			      d[] = {30, 31, 32, 33};
	struct mc_tree *tree = mc_tree_new();
	struct mc_pool *pool = mc_pool_new(tree, 0, 6, mc_evictor_find("belady"));
	struct mc_future *future;
	struct mc_trace t;
	struct mc_lease l;
	struct mc_step way[5];

	mc_trace_init(&t, 1);
	mc_trace_push(&t, 0, 1, 0, c);
	mc_trace_push(&t, 1, 4, 0, d);
	mc_trace_push(&t, 2, 2, 0, ab);
	mc_trace_push(&t, 3, 1, 0, c);
	future = mc_future_new(&t);
	mc_pool_foresee(pool, future);
	mc_future_advance(future, 0);
	l = mc_pool_acquire(pool, c, 1);
	mc_pool_commit(pool, &l, 0, 1);
	mc_pool_release(pool, &l);
	l = mc_pool_acquire(pool, abxyz, 5);
	mc_pool_commit(pool, &l, 0, 5);
	mc_pool_release(pool, &l);
	mc_future_advance(future, 1);
	l = mc_pool_acquire(pool, d, 4);
	ck_assert_uint_eq(l.held, 4);
	ck_assert_uint_eq(mc_tree_match(tree, way, mc_tree_trail(tree, abxyz, 5, way), 0), 2);
	ck_assert_uint_eq(mc_tree_match(tree, way, mc_tree_trail(tree, c, 1, way), 0), 0);
	mc_pool_release(pool, &l);
	mc_pool_free(pool);
	mc_tree_free(tree);
	mc_future_free(future);
	mc_trace_fini(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("belady");
	TCase *t = tcase_create("belady");

	tcase_add_test(t, equals_a_search_of_all_choices);
	tcase_add_loop_test(t, no_policy_has_more_hits, 0, 60);
	tcase_add_test(t, future_is_what_comes);
	tcase_add_test(t, unknown_blocks_go_first);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
