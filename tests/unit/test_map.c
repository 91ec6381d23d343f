#include "unit.h"

#include <string.h>

#include "base/map.h"

#define KEYS 1024

/* Check writes to a pipe at every assertion: too slow for millions. */
static void is(size_t got, size_t want, int step)
{
	if (got != want)
		ck_abort_msg("step %d: %zu, not %zu", step, got, want);
}

/* Against an array, with keys that crowd together: small tables, many deletions, wrap-around. */
START_TEST(equals_an_array)
{
	struct mc_map m = {0};
	uint32_t want[KEYS];
	size_t n = 0;
	uint64_t x = (uint64_t)_i + 1;

	memset(want, 0xff, sizeof want);
	for (int step = 0; step < 200000; step++) {
		uint32_t range = step / 20000 % 2 ? KEYS : 24, k;
		uint64_t key;

		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		k = (uint32_t)(x >> 33) % range;
		key = k == 0 ? 0 : k == 1 ? UINT64_MAX : k * UINT64_C(0x100000001);
		is(mc_map_get(&m, key), want[k], step);
		if ((x >> 60) % 2) {
			n += want[k] == MC_MAP_NONE;
			want[k] = (uint32_t)(x >> 20) % MC_MAP_NONE;
			mc_map_put(&m, key, want[k]);
		} else {
			n -= want[k] != MC_MAP_NONE;
			is(mc_map_del(&m, key), want[k], step);
			want[k] = MC_MAP_NONE;
		}
		is(m.n, n, step);
		is(!m.cell || 2 * m.n <= m.mask + 1, true, step);
	}
	for (uint32_t k = 2; k < KEYS; k++)
		ck_assert_uint_eq(mc_map_get(&m, k * UINT64_C(0x100000001)), want[k]);
	mc_map_fini(&m);
}
END_TEST

START_TEST(empty)
{
	struct mc_map m = {0};

	ck_assert_uint_eq(mc_map_get(&m, 0), MC_MAP_NONE);
	ck_assert_uint_eq(mc_map_del(&m, 0), MC_MAP_NONE);
	mc_map_put(&m, 0, 0);
	ck_assert_uint_eq(mc_map_get(&m, 0), 0);
	ck_assert_uint_eq(mc_map_get(&m, 1), MC_MAP_NONE);
	mc_map_fini(&m);
	ck_assert_uint_eq(mc_map_get(&m, 0), MC_MAP_NONE);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("map");
	TCase *t = tcase_create("map");

	tcase_add_loop_test(t, equals_an_array, 0, 4);
	tcase_add_test(t, empty);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
