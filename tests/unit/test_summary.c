#include "unit.h"

#include <string.h>

#include "base/vec.h"
#include "stat/sort.h"
#include "stat/summary.h"
#include "stat/wquant.h"

/* Check writes to a pipe at every assertion of its own: too slow for millions. */
#define hold(cond, ...)                                                                                      \
	do {                                                                                                 \
		if (!(cond))                                                                                 \
			ck_abort_msg(__VA_ARGS__);                                                           \
	} while (0)

static uint64_t state = 1;

static uint64_t draw(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 1;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int by_real(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorted, reversed, equal, few distinct, saw-tooth, one odd digit, both signs over the full range. */
static int64_t shaped(int shape, size_t i, size_t n)
{
	switch (shape) {
	case 0:
		return (int64_t)i;
	case 1:
		return (int64_t)(n - i);
	case 2:
		return 42;
	case 3:
		return (int64_t)(draw() >> 40) % 3;
	case 4:
		return (int64_t)(i % 17) << 40;
	case 5:
		return (int64_t)(draw() >> 40) % 1000 - 500;
	case 6:
		return (int64_t)(draw() >> 20) % 200000000;
	default:
		return (int64_t)(draw() << 1 ^ draw() >> 30);
	}
}

#define SHAPES 8

START_TEST(sort_equals_qsort)
{
	for (size_t n = 0; n < 3000; n = n < 200 ? n + 1 : n * 3 / 2) {
		int64_t *a = mc_xcalloc(n, sizeof *a), *b = mc_xcalloc(n, sizeof *b);

		for (size_t i = 0; i < n; i++)
			a[i] = b[i] = shaped(_i, i, n);
		mc_sort_i64(a, n);
		qsort(b, n, sizeof *b, by_value);
		ck_assert_msg(!memcmp(a, b, n * sizeof *a), "shape %d, n %zu", _i, n);
		free(a);
		free(b);
	}
}
END_TEST

START_TEST(sort_of_reals)
{
	double a[1000], b[1000];

	for (int i = 0; i < 1000; i++)
		a[i] = b[i] = ((double)draw() - 4e18) * (i % 3 ? 1e-30 : 1e200);
	mc_sort_f64(a, 1000);
	qsort(b, 1000, sizeof *b, by_real);
	ck_assert_int_eq(memcmp(a, b, sizeof a), 0);
}
END_TEST

START_TEST(top_sum_equals_sorting)
{
	for (int round = 0; round < 3000; round++) {
		size_t n = round < 1000 ? (size_t)(draw() >> 40) % 40 : (size_t)(draw() >> 40) % 700;
		size_t m = (size_t)(draw() >> 40) % (n + 3);
		int64_t *a = mc_xcalloc(n, sizeof *a), *b = mc_xcalloc(n, sizeof *b), sum = 0;

		for (size_t i = 0; i < n; i++)
			a[i] = b[i] = shaped(_i, i, n) >> 12;
		qsort(b, n, sizeof *b, by_value);
		for (size_t i = 0; i < n && i < m; i++)
			sum += b[n - 1 - i];
		hold(mc_stat_top_sum(a, n, m) == sum, "shape %d, n %zu, m %zu", _i, n, m);
		mc_sort_i64(a, n);
		hold(!memcmp(a, b, n * sizeof *a), "is no permutation");
		free(a);
		free(b);
	}
}
END_TEST

START_TEST(nearest_rank)
{
	/* The example of the definition: 15 20 35 40 50, 30th percentile 20, 40th 20, 50th 35, 100th 50. */
	ck_assert_uint_eq(mc_stat_rank(5, 30), 1);
	ck_assert_uint_eq(mc_stat_rank(5, 40), 1);
	ck_assert_uint_eq(mc_stat_rank(5, 50), 2);
	ck_assert_uint_eq(mc_stat_rank(5, 100), 4);
	ck_assert_uint_eq(mc_stat_rank(1, 1), 0);
	ck_assert_uint_eq(mc_stat_rank(100, 99), 98);
	ck_assert_uint_eq(mc_stat_rank(101, 99), 99);
	/* The definition, counted. */
	for (size_t n = 1; n < 300; n++) {
		for (int p = 1; p <= 100; p++) {
			size_t r = 0;

			while ((r + 1) * 100 < (size_t)p * n)
				r++;
			hold(mc_stat_rank(n, p) == r, "n %zu, p %d", n, p);
		}
	}
}
END_TEST

START_TEST(summaries)
{
	mc_time t[200];
	double d[200];
	struct mc_summary s;

	for (int i = 0; i < 200; i++) {
		t[i] = (mc_time)(200 - i) * MC_NS_PER_MS;
		d[i] = 200 - i;
	}
	mc_summary_times(t, 200, &s);
	ck_assert(s.count == 200 && s.mean == 0.1005 && s.max == 0.2);
	ck_assert(s.p50 == 0.1 && s.p90 == 0.18 && s.p95 == 0.19 && s.p99 == 0.198);
	mc_summary_reals(d, 200, &s);
	ck_assert(s.count == 200 && s.mean == 100.5 && s.max == 200);
	ck_assert(s.p50 == 100 && s.p90 == 180 && s.p95 == 190 && s.p99 == 198);
	mc_summary_times(t, 0, &s);
	ck_assert(s.count == 0 && s.mean == 0 && s.max == 0 && s.p99 == 0);
	mc_summary_reals(d, 0, &s);
	ck_assert(s.count == 0 && s.mean == 0);
	/* The sum of these would not fit in 64 bits. */
	t[0] = t[1] = t[2] = INT64_MAX - 1;
	mc_summary_times(t, 3, &s);
	ck_assert(s.mean == (double)INT64_MAX / 1e9);
}
END_TEST

static mc_time weighted_shape(int shape)
{
	switch (shape) {
	case 0:
		return (mc_time)(draw() >> 30) % 200000000; /* fine, spread */
	case 1:
		return 50000000 + (mc_time)(draw() >> 40) % 3000; /* a few buckets */
	case 2:
		return 77777; /* one value */
	case 3:
		return (mc_time)(draw() >> 20) % 20000000000; /* on both sides of the fine range */
	case 4:
		return (mc_time)(draw() >> (1 + draw() % 60)); /* all octaves */
	case 5:
		return 8000000000 + (mc_time)(draw() >> 40) % 5; /* coarse, few distinct */
	default:
		return draw() >> 60 ? MC_TIME_MAX : 0;
	}
}

/* Exactly what writing out every value as often as it weighs, and sorting, gives. */
static void check_weighted(int shape, size_t n, unsigned max_weight)
{
	struct {
		MC_VEC(mc_time)
	} all = {0};
	struct mc_wquant_pair *pair = mc_xcalloc(n, sizeof *pair);
	struct mc_summary want, got;
	struct mc_wquant q;

	mc_wquant_init(&q);
	for (size_t i = 0; i < n; i++) {
		pair[i] = (struct mc_wquant_pair){weighted_shape(shape), (draw() >> 40) % (max_weight + 1)};
		mc_wquant_add1(&q, pair[i].t, pair[i].w);
		for (uint64_t w = 0; w < pair[i].w; w++)
			mc_vec_push(&all, pair[i].t);
	}
	mc_wquant_prepare(&q);
	for (size_t i = n; i-- > 0;)
		mc_wquant_add2(&q, pair[i].t, pair[i].w);
	mc_wquant_result(&q, &got);
	mc_summary_times(all.at, all.n, &want);
	ck_assert_msg(!memcmp(&want, &got, sizeof want), "shape %d, n %zu, weight %u", shape, n, max_weight);
	mc_wquant_fini(&q);
	mc_vec_fini(&all);
	free(pair);
}

START_TEST(weighted_equals_sorting)
{
	for (int round = 0; round < 12; round++) {
		check_weighted(_i, (size_t)(draw() >> 40) % 200, 1);
		check_weighted(_i, (size_t)(draw() >> 40) % 3000, 9);
	}
	check_weighted(_i, 300000, 2);
	check_weighted(_i, 0, 1);
	check_weighted(_i, 5, 0);
}
END_TEST

START_TEST(buckets_are_in_order)
{
	size_t last = 0;

	for (int shift = 0; shift < 63; shift++) {
		for (int k = 0; k < 512; k++) {
			mc_time t = (INT64_C(1) << shift) + (((INT64_C(1) << shift) * (__int128)k) >> 9);
			size_t b = mc_wquant_bucket(t);

			hold(b >= last, "%lld", (long long)t);
			last = b;
		}
	}
	ck_assert_uint_eq(mc_wquant_bucket((INT64_C(1) << 32) - 1) + 1, mc_wquant_bucket(INT64_C(1) << 32));
	ck_assert_uint_eq(mc_wquant_bucket(INT64_MAX), MC_WQUANT_FINE + 31 * 256 - 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("summary");
	TCase *t = tcase_create("summary");

	tcase_add_loop_test(t, sort_equals_qsort, 0, SHAPES);
	tcase_add_test(t, sort_of_reals);
	tcase_add_loop_test(t, top_sum_equals_sorting, 0, SHAPES);
	tcase_add_test(t, nearest_rank);
	tcase_add_test(t, summaries);
	tcase_add_loop_test(t, weighted_equals_sorting, 0, 7);
	tcase_add_test(t, buckets_are_in_order);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
