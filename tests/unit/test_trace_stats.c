/* Statistics against naive recounts on random traces, and against the published figures where the data are at
 * hand. */
#include "unit.h"

#include <math.h>
#include <stdbool.h>

#include "base/hash.h"
#include "base/vec.h"
#include "trace/lru.h"
#include "trace/stats.h"
#include "trace_unit.h"

#define BLOCK 8

static uint64_t state;

static uint64_t draw(uint64_t n)
{
	return mc_hash_u64(state++) % n;
}

/* n prompts that branch off one another: node k of a random tree is reached by the ids of its ancestors. */
static void make(struct mc_trace *t, int64_t n, uint64_t branches, uint64_t depth)
{
	mc_time at = 0;

	mc_trace_init(t, BLOCK);
	for (int64_t i = 0; i < n; i++) {
		uint64_t id[64], h = 0, blocks = 1 + draw(depth);

		for (uint64_t k = 0; k < blocks; k++)
			id[k] = h = mc_hash_pair(h, draw(branches));
		at += (mc_time)draw(3) * MC_NS_PER_S;
		mc_trace_push(t, at, (uint32_t)(blocks * BLOCK - draw(BLOCK)), (uint32_t)draw(5), id);
	}
}

/* A pool as a list, most recent first. */
struct list {
	uint64_t id[64];
	uint64_t n, capacity;
};

static uint64_t find(const struct list *l, uint64_t id)
{
	uint64_t i = 0;

	while (i < l->n && l->id[i] != id)
		i++;
	return i;
}

static void touch(struct list *l, uint64_t id)
{
	uint64_t at = find(l, id);

	if (at == l->n && l->n < l->capacity)
		l->n++;
	if (at == l->n)
		at--;
	memmove(l->id + 1, l->id, at * sizeof *l->id);
	l->id[0] = id;
}

static void simulate(const struct mc_trace *t, uint64_t capacity, uint64_t *blocks, uint64_t *tokens)
{
	struct list l = {.capacity = capacity};

	*blocks = *tokens = 0;
	for (int64_t i = 0; i < t->n; i++) {
		const uint64_t *id = t->block + t->first[i];
		uint64_t n = mc_trace_blocks(t, i), hit = 0;

		while (hit < n && find(&l, id[hit]) < l.n)
			hit++;
		*blocks += hit;
		*tokens += hit * BLOCK < t->input[i] ? hit * BLOCK : t->input[i];
		for (uint64_t k = 0; k < n; k++)
			touch(&l, id[k]);
	}
}

/* Every capacity from 1 on, most of them smaller than one prompt, so that its blocks push each other out. */
START_TEST(lru_of_every_capacity)
{
	for (int round = 0; round < 60; round++) {
		struct mc_trace t;
		struct mc_trace_numbers numbers;
		struct mc_lru_curve curve;

		make(&t, 20 + (int64_t)draw(60), 1 + draw(4), 1 + draw(30));
		mc_trace_numbers_init(&numbers, &t);
		mc_lru_curve_init(&curve, &t, &numbers);
		for (uint64_t c = 1; c <= 50; c++) {
			uint64_t blocks, tokens, want_blocks, want_tokens;

			mc_lru_curve_at(&curve, c, &blocks, &tokens);
			simulate(&t, c, &want_blocks, &want_tokens);
			HOLDS(blocks == want_blocks && tokens == want_tokens,
			      "round %d, capacity %d: %d, not %d", round, (int)c, (int)blocks,
			      (int)want_blocks);
		}
		mc_lru_curve_fini(&curve);
		mc_trace_numbers_fini(&numbers);
		mc_trace_fini(&t);
	}
}
END_TEST

/* More touches than one group of the stack's words, and an infinite pool that equals the reuse ceiling. */
START_TEST(long_traces)
{
	struct mc_trace t;
	struct mc_trace_numbers numbers;
	struct mc_trace_stats s;
	struct mc_lru_curve curve;
	uint64_t blocks, tokens, want_blocks, want_tokens, before = 0;

	make(&t, 3000, 3, 12);
	mc_trace_numbers_init(&numbers, &t);
	mc_trace_stats_compute(&t, &numbers, &s);
	mc_lru_curve_init(&curve, &t, &numbers);
	for (uint64_t c = 7; c <= 63; c += 14) {
		mc_lru_curve_at(&curve, c, &blocks, &tokens);
		simulate(&t, c, &want_blocks, &want_tokens);
		ck_assert_uint_eq(blocks, want_blocks);
		ck_assert_uint_eq(tokens, want_tokens);
		ck_assert_uint_ge(blocks, before);
		before = blocks;
	}
	mc_lru_curve_at(&curve, UINT64_MAX, &blocks, &tokens);
	ck_assert_uint_eq(blocks, s.hit_blocks);
	ck_assert_uint_eq(tokens, s.hit_tokens);
	mc_lru_curve_fini(&curve);
	mc_trace_numbers_fini(&numbers);
	mc_trace_fini(&t);
}
END_TEST

/* Was the id used by a request before i? When last? Quadratic, from the definition. */
static bool used_before(const struct mc_trace *t, int64_t i, uint64_t id, mc_time *when)
{
	bool any = false;

	for (uint64_t j = 0; j < t->first[i]; j++)
		if (t->block[j] == id)
			any = true;
	for (int64_t r = i - 1; any && r >= 0; r--)
		for (uint64_t j = t->first[r]; j < t->first[r + 1]; j++)
			if (t->block[j] == id) {
				*when = t->arrival[r];
				return true;
			}
	return any;
}

START_TEST(ceilings_and_ages)
{
	struct mc_trace t;
	struct mc_trace_numbers numbers;
	struct mc_trace_stats s;
	uint64_t blocks = 0, tokens = 0, input = 0, again = 0;
	double ratios = 0, age = 0;
	mc_time when = 0;

	make(&t, 300, 3, 8);
	mc_trace_numbers_init(&numbers, &t);
	mc_trace_stats_compute(&t, &numbers, &s);
	for (int64_t i = 0; i < t.n; i++) {
		uint64_t hit = 0, n = mc_trace_blocks(&t, i), whole = 0;

		while (hit < n && used_before(&t, i, t.block[t.first[i] + hit], &when))
			hit++;
		whole = hit * BLOCK < t.input[i] ? hit * BLOCK : t.input[i];
		blocks += hit;
		tokens += whole;
		input += t.input[i];
		ratios += (double)whole / t.input[i];
		for (uint64_t k = 0; k < n; k++)
			if (used_before(&t, i, t.block[t.first[i] + k], &when)) {
				again++;
				age += mc_time_to_s(t.arrival[i] - when);
			}
	}
	ck_assert_uint_eq(s.hit_blocks, blocks);
	ck_assert_uint_eq(s.hit_tokens, tokens);
	ck_assert_uint_eq(s.references - s.distinct, again);
	ck_assert_int_eq(s.age_s.count, (int64_t)again);
	ck_assert_double_lt(fabs(s.age_s.mean - age / (double)again), 1e-9);
	ck_assert_double_eq(s.by_block, (double)blocks / (double)t.first[t.n]);
	ck_assert_double_eq(s.by_token, (double)tokens / (double)input);
	ck_assert_double_lt(fabs(s.mean_of_requests - ratios / 300), 1e-12);
	mc_trace_numbers_fini(&numbers);
	mc_trace_fini(&t);
}
END_TEST

START_TEST(by_hand)
{
	static const uint64_t a[] = {UINT64_MAX, 5}, b[] = {UINT64_MAX, 5, 6}, c[] = {9};
	struct mc_trace t;
	struct mc_trace_numbers numbers;
	struct mc_trace_stats s;
	struct mc_trace_hot hot[5];

	mc_trace_init(&t, 10);
	mc_trace_push(&t, 0, 20, 0, a);
	mc_trace_push(&t, 2 * MC_NS_PER_S, 25, 7, b); /* 20 of 25 tokens hit */
	mc_trace_push(&t, 2 * MC_NS_PER_S, 5, 3, c);
	mc_trace_push(&t, 8 * MC_NS_PER_S, 25, 3, b); /* all 25 */
	mc_trace_numbers_init(&numbers, &t);
	mc_trace_stats_compute(&t, &numbers, &s);
	ck_assert_int_eq(s.requests, 4);
	ck_assert_int_eq(s.without_output, 1);
	ck_assert_uint_eq(s.input_tokens, 75);
	ck_assert_uint_eq(s.output_tokens, 13);
	ck_assert_double_eq(s.input.p50, 20);
	ck_assert_double_eq(s.output.max, 7);
	ck_assert_double_eq(s.duration_s, 8);
	ck_assert_double_eq(s.rate, 0.5);
	ck_assert_int_eq(s.instants, 3);
	ck_assert_int_eq(s.instant_max, 2);
	ck_assert_double_eq(s.instant_gap_s, 2);
	ck_assert_double_lt(fabs(s.gap_cv - sqrt(56.0 / 9) / (8.0 / 3)), 1e-12); /* of 2, 0, 6 */
	ck_assert_uint_eq(s.distinct, 4);
	ck_assert_uint_eq(s.hit_blocks, 5);
	ck_assert_uint_eq(s.hit_tokens, 45);
	ck_assert_int_eq(s.full_hits, 1);
	ck_assert_double_lt(fabs(s.mean_of_requests - 1.8 / 4), 1e-12);
	ck_assert_double_eq(s.age_s.max, 6);
	ck_assert_int_eq(mc_trace_hottest(&t, &numbers, 2, hot), 2);
	ck_assert(hot[0].id == UINT64_MAX && hot[0].uses == 3 && hot[0].position == 0);
	ck_assert(hot[1].id == 5 && hot[1].uses == 3 && hot[1].position == 1);
	ck_assert_int_eq(mc_trace_hottest(&t, &numbers, 5, hot), 4);
	ck_assert(hot[2].id == 6 && hot[2].uses == 2 && hot[2].position == 2);
	ck_assert(hot[3].id == 9 && hot[3].uses == 1 && hot[3].position == 0);
	ck_assert_int_eq(mc_trace_hottest(&t, &numbers, 0, hot), 0);
	mc_trace_numbers_fini(&numbers);
	mc_trace_fini(&t);
}
END_TEST

START_TEST(one_request)
{
	static const uint64_t id[] = {7};
	struct mc_trace t;
	struct mc_trace_numbers numbers;
	struct mc_trace_stats s;

	mc_trace_init(&t, 512);
	mc_trace_push(&t, 0, 3, 1, id);
	mc_trace_numbers_init(&numbers, &t);
	mc_trace_stats_compute(&t, &numbers, &s);
	ck_assert_double_eq(s.rate, 0);
	ck_assert_double_eq(s.gap_cv, 0);
	ck_assert_int_eq(s.instants, 1);
	ck_assert_uint_eq(s.hit_tokens, 0);
	ck_assert_int_eq(s.age_s.count, 0);
	mc_trace_numbers_fini(&numbers);
	mc_trace_fini(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("trace_stats");
	TCase *t = tcase_create("stats");

	tcase_add_test(t, lru_of_every_capacity);
	tcase_add_test(t, long_traces);
	tcase_add_test(t, ceilings_and_ages);
	tcase_add_test(t, by_hand);
	tcase_add_test(t, one_request);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
