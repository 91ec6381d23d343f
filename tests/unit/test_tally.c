/* Sums by time against a list that is added up anew. */
#include "fixture.h"
#include "unit.h"

#include "sched/tally.h"

#define MOST 300

struct item {
	uint32_t handle; /* 0: none */
	mc_time at;
	struct mc_tally_sum weight;
};

static struct mc_tally_sum naive(const struct item *item, mc_time at)
{
	struct mc_tally_sum s = {0};

	for (int i = 0; i < MOST; i++) {
		if (!item[i].handle || item[i].at > at)
			continue;
		s.n += item[i].weight.n;
		s.context += item[i].weight.context;
		s.kv += item[i].weight.kv;
	}
	return s;
}

static void same(const struct mc_tally *t, const struct item *item, mc_time at)
{
	struct mc_tally_sum a = mc_tally_until(t, at), b = naive(item, at);

	ck_assert_int_eq(a.n, b.n);
	ck_assert_int_eq(a.context, b.context);
	ck_assert_int_eq(a.kv, b.kv);
}

/* Few different times, so that ties are common; removed ones leave no trace, their handles are used again. */
START_TEST(random_history)
{
	struct item item[MOST] = {0};
	struct mc_tally t;
	uint64_t r = 7;
	size_t most = 0;

	mc_tally_init(&t);
	same(&t, item, MC_TIME_MAX);
	for (int step = 0; step < 20000; step++) {
		struct item *i = &item[draw(&r, step < 10000 ? MOST : 40)];

		if (i->handle) {
			mc_tally_remove(&t, i->handle);
			i->handle = 0;
		} else {
			i->at = (mc_time)draw(&r, 50) * 1000;
			i->weight = (struct mc_tally_sum){1, (int64_t)draw(&r, 1000), (int64_t)draw(&r, 9)};
			i->handle = mc_tally_add(&t, i->at, &i->weight);
			ck_assert_uint_gt(i->handle, 0);
		}
		most = t.node.n > most ? t.node.n : most;
		same(&t, item, (mc_time)draw(&r, 52) * 1000 - 1 + (mc_time)draw(&r, 3));
	}
	same(&t, item, MC_TIME_MAX);
	same(&t, item, -1);
	ck_assert_uint_le(most, MOST + 1);
	mc_tally_fini(&t);
}
END_TEST

/* Added in order, it does not become a list: a sum looks at few. */
START_TEST(ascending)
{
	struct mc_tally_sum one = {1, 2, 3}, s;
	struct mc_tally t;

	mc_tally_init(&t);
	for (int i = 0; i < 200000; i++)
		mc_tally_add(&t, i, &one);
	for (int i = 0; i < 200000; i += 7) {
		s = mc_tally_until(&t, i);
		ck_assert_int_eq(s.n, i + 1);
		ck_assert_int_eq(s.kv, 3 * (i + 1));
	}
	mc_tally_fini(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("tally");
	TCase *t = tcase_create("tally");

	tcase_add_test(t, random_history);
	tcase_add_test(t, ascending);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
