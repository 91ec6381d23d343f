/* The n-th hottest blocks, against sorting all of them; and how many nodes have them, by hand. */
#include "cluster_fixture.h"

#include "trace/hot.h"

#define IDS 300

struct naive {
	uint64_t id, uses;
	int64_t request;
	uint64_t position;
};

/* Most used first; of equals the one that was met first. */
static uint32_t naive_order(const struct mc_trace *t, struct naive *v)
{
	uint32_t n = 0;

	for (int64_t i = 0; i < t->n; i++)
		for (uint64_t j = t->first[i]; j < t->first[i + 1]; j++) {
			uint32_t k = 0;

			while (k < n && v[k].id != t->block[j])
				k++;
			if (k == n)
				v[n++] = (struct naive){t->block[j], 0, i, j - t->first[i]};
			v[k].uses++;
		}
	for (uint32_t i = 1; i < n; i++) { /* stable */
		struct naive x = v[i];
		uint32_t k = i;

		for (; k && v[k - 1].uses < x.uses; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
	return n;
}

START_TEST(ranks_against_sorting)
{
	uint64_t r = (uint64_t)_i + 1;
	struct naive all[IDS];
	struct mc_trace t;
	uint32_t distinct;

	mc_trace_init(&t, 1);
	for (int i = 0; i < 60; i++) {
		uint64_t id[12], n = 1 + draw(&r, 12);

		for (uint64_t k = 0; k < n; k++)
			id[k] = draw(&r, 2 + draw(&r, IDS - 2));
		mc_trace_push(&t, 0, (uint32_t)n, 1, id);
	}
	distinct = naive_order(&t, all);
	for (int i = 0; i < 50; i++) {
		uint64_t rank[5];
		uint32_t n = 0, want = 0, got;
		struct mc_trace_ranked out[5];

		for (uint64_t at = 1 + draw(&r, 20); n < 5; at += 1 + draw(&r, distinct / 3))
			rank[n++] = at;
		while (want < n && rank[want] <= distinct)
			want++;
		got = mc_trace_ranks(&t, rank, n, out);
		ck_assert_uint_eq(got, want);
		for (uint32_t k = 0; k < got; k++) {
			const struct naive *x = &all[rank[k] - 1];

			ck_assert_uint_eq(out[k].rank, rank[k]);
			ck_assert_uint_eq(out[k].uses, x->uses);
			ck_assert_int_eq(out[k].request, x->request);
			ck_assert_uint_eq(out[k].position, x->position);
		}
	}
	mc_trace_fini(&t);
}
END_TEST

/*
 * Node 0 computes 100 blocks, node 1 the first 20 of them and others, and fetches the 80 that it lacks later:
 * ranks 1 and 10 are on one node, then on two; rank 100 on one until the fetch has ended, promised before
 * that or not; ranks 1,000 and 10,000 do not exist.
 */
START_TEST(copies_by_hand)
{
	const uint64_t name[4][2] = {{1, 1}, {1, 2}, {3, 3}, {1, 4}};
	struct mc_replicas replicas = {0};
	struct mc_cluster_hooks hooks = {.replicas = &replicas};
	struct setup u;
	struct mc_result r;
	mc_time fetched;

	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	setup_set(&u, "run.sample=1ms");
	setup_set(&u, "cluster.prefill=2");
	setup_set(&u, "cluster.decode=1");
	/* What the decode node has does not count. */
	setup_set(&u, "kv.decode_share=1");
	add(&u, 0, 1600, 1, name[0], 100);
	add(&u, 0, 1700, 3, name[1], 20);
	add(&u, MC_NS_PER_S, 5000, 1, name[2], 0);
	add(&u, 1100 * MC_NS_PER_MS, 2400, 3, name[3], 100);
	ck_assert_int_eq(
	    mc_cluster_run(&(struct mc_cluster_setup){&u.s, &u.cost, &u.trace, &hooks}, &r, NULL), 0);
	ck_assert_uint_eq(r.row[3].source, 0);
	fetched = r.row[3].decided + INT64_C(128100000); /* 1.28 MB at 10 MB/s and the start-up */
	ck_assert_uint_eq(replicas.n, 3);
	for (uint32_t k = 0; k < 3; k++) {
		ck_assert_uint_eq(replicas.block[k].rank, k < 1 ? 1 : k < 2 ? 10 : 100);
		ck_assert_uint_eq(replicas.block[k].uses, k < 2 ? 3 : 2);
	}
	ck_assert_uint_eq(replicas.at.n, r.samples.n);
	ck_assert_uint_eq(replicas.copies.n, 3 * r.samples.n);
	ck_assert_uint_gt(r.samples.n, 1200);
	for (size_t i = 0; i < r.samples.n; i++) {
		mc_time at = replicas.at.at[i];
		const uint32_t *copies = replicas.copies.at + 3 * i;
		uint32_t both = (at >= r.row[0].prefill_end) + (at >= r.row[1].prefill_end);

		ck_assert_int_eq(at, r.samples.at[i].at);
		ck_assert_uint_eq(copies[0], both);
		ck_assert_uint_eq(copies[1], both);
		ck_assert_uint_eq(copies[2], (at >= r.row[0].prefill_end) + (at > fetched));
	}
	mc_replicas_fini(&replicas);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("replicas");
	TCase *t = tcase_create("replicas");

	tcase_add_loop_test(t, ranks_against_sorting, 0, 20);
	tcase_add_test(t, copies_by_hand);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
