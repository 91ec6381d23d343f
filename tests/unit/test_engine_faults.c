/* Batches under faults end with every byte equal to a model's, or failed with their reason. */
#include "engine_areas.h"
#include "engine_pair.h"
#include "unit.h"

enum { AREAS = 3, ROUNDS = 16 };

static const char *const two_a[] = {"a0", "a1", NULL}, *const two_b[] = {"b0", "b1", NULL};

static void areas_check(const struct area *x)
{
	for (size_t i = 0; i < AREAS; i++)
		area_check(x + i);
}

static void set_faults(uint64_t rng, int round)
{
	struct fake_faults f = {.lose = (unsigned)(rng >> 3) % 60,
				.drop = (unsigned)(rng >> 13) % 12,
				.refuse = (unsigned)(rng >> 23) % 6,
				.late = 700,
				.no_connect = (unsigned)(rng >> 33) % 300,
				.no_fence = (unsigned)(rng >> 43) % 300,
				.slow = 30,
				.slow_ns = 1000000};

	if (round % 5 == 1) {
		fake_port_up(round % 2 ? "a1" : "b0", (rng >> 50) & 1);
	}
	fake_set(&f);
}

/* Random batches under random faults, several at once. Reads and writes of one area touch no byte twice in a
 * batch; what failed is tried again, until calm comes. */
START_TEST(faults)
{
	struct pair p = {.want = world_want()};
	struct area x[AREAS] = {0};
	uint64_t rng = 77 + (uint64_t)_i;
	struct mc_engine_stats st;

	fake_start((uint64_t)_i * 1000 + 5);
	p.want.slice_timeout_ns = 15 * MS;
	p.want.batch_timeout_ns = 150 * MS;
	p.want.retries = 3;
	p.want.depth = 8;
	p.want.endpoints = _i % 2 ? 2 : 16;
	pair_open(&p, two_a, two_b);
	for (size_t i = 0; i < AREAS; i++) {
		x[i] = (struct area){.asker = p.a, .owner = p.b, .peer = p.peer};
		area_open(x + i, BYTES, 10 + i, false);
	}
	ck_assert_int_eq(mc_engine_refresh(p.a, p.peer, NULL), 0);
	for (int round = 0; round < ROUNDS; round++) {
		rng = mc_hash_u64(rng);
		set_faults(rng, round);
		for (size_t i = 0; i < AREAS; i++)
			ck_assert(area_submit(x + i, &rng));
		for (size_t i = 0; i < AREAS; i++)
			area_settle(x + i, 20000 * MS);
	}
	fake_set(&(struct fake_faults){0});
	fake_port_up("a1", true);
	fake_port_up("b0", true);
	for (size_t i = 0; i < AREAS; i++)
		area_recover(x + i, &rng, 15000 * MS);
	mc_engine_stats(p.a, &st);
	ck_assert_uint_gt(st.resent, 0);
	ck_assert_uint_gt(st.fences, 0);
	areas_check(x);
	usleep(25000); /* whatever was late has come in by now */
	areas_check(x);
	if (getenv("MC_TEST_VERBOSE"))
		fprintf(stderr, "# %u of %d failed, %lu resent, %lu fences, %u late\n",
			x[0].failed + x[1].failed + x[2].failed, AREAS * ROUNDS, (unsigned long)st.resent,
			(unsigned long)st.fences, fake_late_writes());
	pair_close(&p);
	areas_check(x);
	for (size_t i = 0; i < AREAS; i++)
		area_free(x + i);
	fake_stop();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("engine_faults");
	TCase *c = tcase_create("faults");

	tcase_add_loop_test(c, faults, 0, area_seeds(3));
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
