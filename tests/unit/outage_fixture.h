/* What the tests of faults have in common. */
#ifndef MC_TESTS_OUTAGE_FIXTURE_H
#define MC_TESTS_OUTAGE_FIXTURE_H

#include "cluster_fixture.h"

#define MS MC_NS_PER_MS

static const uint64_t name[6][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}};

static inline void init(struct setup *u, int prefill, int decode)
{
	setup_init(u, 16);
	setup_set(u, "run.check=true");
	setup_set(u, "cluster.prefill=%d", prefill);
	setup_set(u, "cluster.decode=%d", decode);
}

static inline mc_time prefill_time(const struct setup *u, uint32_t n, uint32_t cached)
{
	return mc_time_from_s(mc_cost_prefill_gpu_s(&u->cost, n, cached));
}

static inline void near(mc_time got, mc_time expected)
{
	ck_assert_int_ge(got, expected - 3);
	ck_assert_int_le(got, expected + 3);
}

static inline void outcomes(const struct mc_result *r, int completed, int rejected, int failed,
			    int unfinished)
{
	int n[4] = {0};

	for (int64_t i = 0; i < r->n_rows; i++)
		n[r->row[i].outcome]++;
	ck_assert_int_eq(n[MC_COMPLETED], completed);
	ck_assert_int_eq(n[MC_REJECTED], rejected);
	ck_assert_int_eq(n[MC_FAILED], failed);
	ck_assert_int_eq(n[MC_UNFINISHED], unfinished);
}

#endif
