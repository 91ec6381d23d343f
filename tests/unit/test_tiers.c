/* Where KV lies: what decode nodes keep, who may source from whom, and the SSD tier, by closed form. */
#include "cluster_fixture.h"

static const uint64_t one[2] = {1, 1}, other[2] = {2, 2};

/* Sent after prefill to the only decode node: the second prompt has 50 of its 100 blocks there already. */
START_TEST(decode_node_is_sent_what_it_lacks)
{
	static const struct {
		const char *share;
		double sent; /* of 3.2 MB */
	} way[] = {{"1", 2.4e6}, {"0", 3.2e6}};
	const uint64_t sibling[2] = {1, 3};

	for (int k = 0; k < 2; k++) {
		struct setup u;
		struct mc_result r;
		mc_time took;

		setup_init(&u, 16);
		setup_set(&u, "run.check=true");
		setup_set(&u, "cluster.stream=after");
		setup_set(&u, "cluster.decode=1");
		setup_set(&u, "kv.decode_share=%s", way[k].share);
		add(&u, 0, 1600, 3, one, 100);
		add(&u, 9 * MC_NS_PER_S, 1600, 3, sibling, 50);
		setup_run(&u, &r);
		took = r.row[1].handover_end - r.row[1].prefill_end;
		ck_assert_double_eq_tol(r.handover_bytes, way[k].sent, 1e-6);
		ck_assert_double_eq_tol(mc_time_to_s(took), 1e-4 + (way[k].sent - 1.6e6) / 1e7, 3e-9);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* Node 0 has the prompt and is busy. Who may fetch it, and from where, is the pool's kind. */
START_TEST(kinds_of_pool)
{
	static const struct {
		const char *pool;
		uint32_t remote, again; /* hit tokens of the second and the third */
	} way[] = {{"global", 1599, 1599}, {"prefill", 1599, 1599}, {"local", 0, 1599}, {"off", 0, 0}};

	for (int k = 0; k < 4; k++) {
		struct setup u;
		struct mc_result r;

		setup_init(&u, 16);
		setup_set(&u, "run.check=true");
		setup_set(&u, "cluster.prefill=2");
		setup_set(&u, "cluster.decode=1");
		setup_set(&u, "kv.pool=%s", way[k].pool);
		u.cost.net_bytes_per_s = 1e9;
		add(&u, 0, 1600, 3, one, 100);
		add(&u, 2 * MC_NS_PER_S, 8000, 1, other, 0);
		add(&u, 2 * MC_NS_PER_S, 1600, 1, one, 100);
		add(&u, 60 * MC_NS_PER_S, 1600, 1, one, 100);
		setup_run(&u, &r);
		ck_assert_uint_ne(r.row[1].prefill, r.row[2].prefill);
		ck_assert_uint_eq(r.row[2].local_hit + r.row[2].remote_hit,
				  r.row[2].prefill == r.row[0].prefill && way[k].again ? 1599
										       : way[k].remote);
		ck_assert_uint_eq(r.row[3].local_hit + r.row[3].remote_hit, way[k].again);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* A decode node's DRAM is a source in a global pool alone: the only prefill node has evicted the prompt. */
START_TEST(decode_node_as_source)
{
	for (int global = 0; global < 2; global++) {
		struct setup u;
		struct mc_result r;

		setup_init(&u, 16);
		setup_set(&u, "run.check=true");
		setup_set(&u, "cluster.prefill=1");
		setup_set(&u, "cluster.decode=1");
		setup_set(&u, "kv.dram_tokens=1600");
		setup_set(&u, "kv.pool=%s", global ? "global" : "prefill");
		u.cost.net_bytes_per_s = 1e9;
		add(&u, 0, 1600, 3, one, 100);
		add(&u, 2 * MC_NS_PER_S, 1600, 1, other, 0); /* never reaches the decode node */
		add(&u, 4 * MC_NS_PER_S, 1600, 1, one, 100);
		setup_run(&u, &r);
		ck_assert_uint_eq(r.row[2].remote_hit, global ? 1599 : 0);
		ck_assert_uint_eq(r.row[2].source, global ? 1 : MC_NONE);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

static void ssd_init(struct setup *u, const char *write)
{
	setup_init(u, 16);
	setup_set(u, "run.check=true");
	setup_set(u, "cluster.prefill=1");
	setup_set(u, "cluster.decode=1");
	setup_set(u, "kv.dram_tokens=1600");
	setup_set(u, "kv.ssd_write=%s", write);
	setup_set(u, "kv.ssd_tokens=16000");
	u->cost.ssd_read_bytes_per_s = 1e8;
	u->cost.ssd_write_bytes_per_s = 2e7;
	u->cost.ssd_latency_s = 1e-3;
}

/*
 * DRAM holds one prompt, the SSD the one before it. Its 1.6 MB are read in 1 + 16 ms, beside the engine that
 * waits for them: prefill of its last token (1.1 ms, 1.6 ms of load) ends a tenth of that after the last
 * byte.
 */
START_TEST(evicted_prompt_comes_from_ssd)
{
	static const char *const write[] = {"never", "evict", "through"};

	for (int k = 0; k < 3; k++) {
		struct setup u;
		struct mc_result r;
		double gpu;

		ssd_init(&u, write[k]);
		add(&u, 0, 1600, 1, one, 100);
		add(&u, 2 * MC_NS_PER_S, 1600, 1, other, 0);
		add(&u, 4 * MC_NS_PER_S, 1600, 1, one, 100);
		setup_run(&u, &r);
		ck_assert_uint_eq(r.row[2].ssd_hit, k ? 1599 : 0);
		ck_assert_uint_eq(r.row[2].ssd_source, k ? 0 : MC_NONE);
		ck_assert_double_eq_tol(r.ssd_read_bytes, k ? 1.6e6 : 0, 1e-9);
		/* evict: the first prompt, then the second, when the first is back; through: each of them at
		 * its end, and the first is still there */
		ck_assert_double_eq_tol(r.ssd_written_bytes, k ? 3.2e6 : 0, 1e-9);
		gpu = mc_cost_prefill_gpu_s(&u.cost, 1600, 1599);
		if (k) {
			/* evict: the second prompt is being written, and takes 20 of the device's 100 MB/s */
			ck_assert_double_eq_tol(mc_time_to_s(r.row[2].prefill_end - r.row[2].decided),
						(k == 1 ? 0.021 : 0.017) + gpu / 10, 3e-9);
			ck_assert_int_eq(r.row[2].predicted_ttft,
					 50000000 + mc_time_from_s(0.017) + mc_time_from_s(gpu));
		}
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* Written at 20 MB/s, the evicted prompt is there 80 ms after it went; until then it is computed again. */
START_TEST(readable_once_it_is_written)
{
	for (int late = 0; late < 2; late++) {
		struct setup u;
		struct mc_result r;

		ssd_init(&u, "evict");
		add(&u, 0, 1600, 1, one, 100);
		add(&u, 2 * MC_NS_PER_S, 160, 1, other,
		    0); /* ten blocks go, and all before them is written too */
		add(&u, 2 * MC_NS_PER_S + (late ? 81 : 79) * MC_NS_PER_MS, 1600, 1, one, 100);
		setup_run(&u, &r);
		ck_assert_uint_eq(r.row[2].local_hit, 1440);
		ck_assert_uint_eq(r.row[2].ssd_hit, late ? 159 : 0);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* What is too slow is not read: 1,600 tokens are computed in 164 ms and read at 1 MB/s in 1.6 s. */
START_TEST(slow_ssd_is_left_alone)
{
	struct setup u;
	struct mc_result r;

	ssd_init(&u, "evict");
	u.cost.ssd_read_bytes_per_s = u.cost.ssd_write_bytes_per_s = 1e6;
	add(&u, 0, 1600, 1, one, 100);
	add(&u, 2 * MC_NS_PER_S, 1600, 1, other, 0);
	add(&u, 14 * MC_NS_PER_S, 1600, 1, one, 100);
	setup_run(&u, &r);
	ck_assert_uint_eq(r.row[2].ssd_hit, 0);
	ck_assert_double_eq_tol(r.ssd_written_bytes, 3.2e6, 1e-9);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Of what does not fit the staging buffer the leading part is written, and the rest counted. */
START_TEST(staging_is_bounded)
{
	struct setup u;
	struct mc_result r;

	ssd_init(&u, "evict");
	setup_set(&u, "kv.ssd_staging_bytes=480000");
	add(&u, 0, 1600, 1, one, 100);
	add(&u, 2 * MC_NS_PER_S, 1600, 1, other, 0);
	add(&u, 4 * MC_NS_PER_S, 1600, 1, one, 100);
	setup_run(&u, &r);
	ck_assert_uint_eq(r.row[2].ssd_hit, 480);
	ck_assert_uint_eq(r.ssd_unstored_blocks, 70 + 70);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* What decode nodes receive comes to their DRAM: in a global pool it is written through, like all else. */
START_TEST(received_is_written_through)
{
	for (int global = 0; global < 2; global++) {
		struct setup u;
		struct mc_result r;

		ssd_init(&u, "through");
		setup_set(&u, "kv.pool=%s", global ? "global" : "prefill");
		add(&u, 0, 1600, 3, one, 100);
		add(&u, 9 * MC_NS_PER_S, 1600, 3, one, 100); /* nothing new comes */
		add(&u, 18 * MC_NS_PER_S, 16, 1, other, 0);
		setup_run(&u, &r);
		ck_assert_double_eq_tol(r.ssd_written_bytes, (global ? 3.2e6 : 1.6e6) + 16000, 1e-9);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* A group's nodes bring their staging buffers, as they do their SSDs. */
START_TEST(groups_stage_together)
{
	struct setup u;
	struct mc_result r;

	ssd_init(&u, "through");
	setup_set(&u, "cluster.prefill=2");
	setup_set(&u, "cluster.prefill_group=2");
	setup_set(&u, "kv.ssd_staging_bytes=480000");
	add(&u, 0, 1600, 1, one, 100);
	add(&u, 2 * MC_NS_PER_S, 16, 1, other, 0);
	setup_run(&u, &r);
	ck_assert_uint_eq(r.ssd_unstored_blocks, 40);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("tiers");
	TCase *t = tcase_create("tiers");

	tcase_add_test(t, decode_node_is_sent_what_it_lacks);
	tcase_add_test(t, kinds_of_pool);
	tcase_add_test(t, decode_node_as_source);
	tcase_add_test(t, evicted_prompt_comes_from_ssd);
	tcase_add_test(t, readable_once_it_is_written);
	tcase_add_test(t, slow_ssd_is_left_alone);
	tcase_add_test(t, staging_is_bounded);
	tcase_add_test(t, received_is_written_through);
	tcase_add_test(t, groups_stage_together);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
