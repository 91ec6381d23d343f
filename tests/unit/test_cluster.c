/* The whole simulated cluster: single requests by closed form, conservation laws on random scenarios, a queue
 * by theory. */
#include "cluster_random.h"

#include <gsl/gsl_randist.h>

#include "des/stream.h"
#include "kv/evict.h"
#include "stat/ci.h"

START_TEST(one_request_by_closed_form)
{
	struct setup u;
	struct mc_result r;
	const uint64_t name[2] = {1, 2};
	mc_time gpu = INT64_C(102000000), last;

	/* 1,000 tokens: 50 ms to decide, 102 ms of prefill. KV leaves layer by layer; after the first token,
	 * the last layer's 100,000 B at 10 MB/s. Then the last layer's load (0.1 ms) and ten iterations from
	 * 1,000 tokens of context. */
	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	add(&u, 0, 1000, 11, name, 0);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[0].outcome, MC_COMPLETED);
	ck_assert_int_eq(r.row[0].decided, 50000000);
	ck_assert_int_eq(r.row[0].prefill_end, 50000000 + gpu);
	ck_assert_int_eq(r.row[0].predicted_ttft, r.row[0].prefill_end);
	/* 900 kB are produced at 8.8 MB/s after the start-up; the last 100 kB take 10 ms. */
	ck_assert_int_ge(r.row[0].handover_end - r.row[0].prefill_end, 10000000);
	ck_assert_int_le(r.row[0].handover_end - r.row[0].prefill_end, 10000002);
	last = r.row[0].handover_end + 100000;
	for (int k = 0; k < 10; k++)
		last += 10000000 + (1000 + k) * 1000;
	ck_assert_int_eq(r.row[0].end, last);
	ck_assert_int_eq(r.row[0].tbt, 100000 + 11000000); /* one of ten: the first */
	mc_result_fini(&r);

	/* Sent after prefill: start-up and all 1,000,000 B. */
	setup_set(&u, "cluster.stream=after");
	setup_run(&u, &r);
	ck_assert_int_ge(r.row[0].handover_end - r.row[0].prefill_end, 100100000);
	ck_assert_int_le(r.row[0].handover_end - r.row[0].prefill_end, 100100002);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Outputs of one token and none end with prefill and never see a decode node. */
START_TEST(short_outputs_skip_decode)
{
	struct setup u;
	struct mc_result r;
	const uint64_t name[2] = {1, 2};

	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	add(&u, 0, 100, 1, name, 0);
	add(&u, 5, 100, 0, name, 0);
	setup_run(&u, &r);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(r.row[i].outcome, MC_COMPLETED);
		ck_assert_int_eq(r.row[i].end, r.row[i].prefill_end);
		ck_assert_int_eq(r.row[i].handover_end, -1);
		ck_assert_uint_eq(r.row[i].decode, MC_NONE);
	}
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* What no decode node could hold is refused with its reason; the run goes on. */
START_TEST(too_large_is_refused)
{
	struct setup u;
	struct mc_result r;
	const uint64_t name[2] = {1, 2};

	setup_init(&u, 512);
	setup_set(&u, "run.check=true");
	add(&u, 0, 99990, 20, name, 0); /* 100,009 tokens of KV, 100,000 fit */
	add(&u, 1, 99990, 11, name, 0);
	add(&u, 2, 99990, 12, name, 0);
	setup_run(&u, &r);
	ck_assert_int_eq(r.row[0].outcome, MC_REJECTED);
	ck_assert_int_eq(r.row[0].refusal, MC_REFUSED_DECODE_CAPACITY);
	ck_assert_int_eq(r.row[1].outcome, MC_COMPLETED);
	ck_assert_int_eq(r.row[2].outcome, MC_REJECTED);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* A prompt uses what the one ahead of it in the same queue will have computed; other nodes may not source it
 * yet. */
START_TEST(promised_blocks_match_on_their_node)
{
	struct setup u;
	struct mc_result r;
	const uint64_t name[2] = {1, 1};

	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	setup_set(&u, "cluster.prefill=2");
	setup_set(&u, "conductor.balancing_threshold=1");
	add(&u, 0, 1600, 1, name, 0);
	add(&u, 0, 1600, 1, name, 0);
	setup_run(&u, &r);
	/* Waiting for the first costs 164 ms and then 1.7 ms; computing anew on the idle node 163.6 ms. */
	ck_assert_uint_eq(r.row[1].prefill, 1);
	ck_assert_uint_eq(r.row[1].local_hit + r.row[1].remote_hit, 0);
	mc_result_fini(&r);
	setup_set(&u, "cluster.prefill=1");
	setup_run(&u, &r);
	ck_assert_uint_eq(r.row[1].local_hit, 1599);
	ck_assert_int_eq(r.row[1].prefill_start, r.row[0].prefill_end);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* Prompts in one queue: each prediction, with what those ahead will have cached, is what comes true. */
START_TEST(queue_is_predicted_exactly)
{
	struct setup u;
	struct mc_result r;

	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	setup_set(&u, "cluster.prefill=1");
	for (uint64_t i = 0; i < 6; i++) {
		const uint64_t name[2] = {1, 2 + i};

		add(&u, (mc_time)i * 1000000, 800 + 16 * (uint32_t)i, 1, name, i % 2 ? 40 : 30);
	}
	setup_run(&u, &r);
	for (int i = 0; i < 6; i++) {
		ck_assert_uint_eq(r.row[i].local_hit, i < 1 ? 0 : i % 2 && i > 1 ? 640 : 480);
		ck_assert_int_eq(r.row[i].predicted_ttft, r.row[i].prefill_end - r.row[i].arrival);
	}
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/*
 * Node 0 computes 100 blocks and then is busy, node 1 has the first 20 of them and is idle: the other 80 are
 * fetched (1.28 MB at 10 MB/s, 128.1 ms). The prefill, 85.8 ms alone, waits for them but for a layer's share.
 */
START_TEST(one_fetch_by_closed_form)
{
	const mc_time alone = 85800000, moved = 128100000, wait = moved + alone / 10 - alone;
	const uint64_t name[4][2] = {{1, 1}, {1, 2}, {3, 3}, {1, 4}};
	struct setup u;
	struct mc_result r;
	const struct mc_row *f;

	setup_init(&u, 16);
	setup_set(&u, "run.check=true");
	setup_set(&u, "run.warmup=1050ms");
	setup_set(&u, "cluster.prefill=2");
	setup_set(&u, "cluster.decode=1");
	add(&u, 0, 1600, 1, name[0], 100);
	add(&u, 0, 1700, 3, name[1], 20);
	add(&u, MC_NS_PER_S, 5000, 1, name[2], 0); /* sends nothing */
	add(&u, 1100 * MC_NS_PER_MS, 2400, 3, name[3], 100);
	setup_run(&u, &r);
	f = &r.row[3];
	ck_assert_uint_eq(r.row[1].prefill, 1);
	ck_assert_uint_eq(r.row[2].prefill, 0);
	ck_assert_uint_eq(f->prefill, 1);
	ck_assert_uint_eq(f->source, 0);
	ck_assert_uint_eq(f->local_hit, 320);
	ck_assert_uint_eq(f->remote_hit, 1280);
	ck_assert_int_eq(f->predicted_ttft, 50000000 + moved + alone);
	ck_assert_int_eq(f->fetch_wait, wait);
	ck_assert_int_eq(f->prefill_end - f->decided, alone + wait);
	ck_assert_double_eq(r.fetched_bytes, 1.28e6);
	ck_assert_uint_eq(r.first.n, 1); /* the others are of the warm-up */
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

START_TEST(conservation_on_random_scenarios)
{
	uint64_t rnd = 7, ssd_hits = 0, write_backs = 0;
	uint64_t spared = 0;
	double written = 0, copied = 0;

	for (int round = 0; round < 150; round++) {
		struct setup u;
		struct mc_result a, b;
		int64_t done = 0;

		setup_init(&u, 16);
		random_scenario(&u, &rnd);
		add_sessions(&u, rnd, 10 + (int)draw(&rnd, 150));
		setup_run(&u, &a);
		for (int64_t i = 0; i < a.n_rows; i++)
			ssd_hits += a.row[i].ssd_hit;
		for (int64_t i = 0; i < a.n_rows; i++)
			done += a.row[i].outcome == MC_COMPLETED || a.row[i].outcome == MC_REJECTED;
		ck_assert_int_eq(done, u.trace.n);
		write_backs += a.write_backs;
		written += a.write_back_bytes;
		copied += a.replica_bytes;
		spared += a.replica_dropped_blocks;
		setup_set(&u, "run.fast_forward=false");
		setup_run(&u, &b);
		same_rows(&a, &b);
		ck_assert_uint_le(a.events, b.events);
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
	ck_assert_uint_gt(ssd_hits, 20000);
	ck_assert_uint_gt(write_backs, 200);
	ck_assert_double_gt(written, 1e6);
	ck_assert_double_gt(copied, 1e6);
	ck_assert_uint_gt(spared, 100);
}
END_TEST

/* Cut off anywhere, every request is in one class, and what had happened by then is what happens in the whole
 * run. */
START_TEST(cut_off_run)
{
	struct setup u;
	struct mc_result whole, cut;

	setup_init(&u, 16);
	setup_set(&u, "cluster.prefill=2");
	setup_set(&u, "cluster.decode=1");
	add_sessions(&u, 3, 120);
	setup_run(&u, &whole);
	setup_set(&u, "run.check=true");
	for (int k = 1; k < 20; k++) {
		mc_time until = whole.end * k / 20;

		setup_set(&u, "run.until=%lldns", (long long)until);
		setup_run(&u, &cut);
		for (int64_t i = 0; i < cut.n_rows; i++) {
			const struct mc_row *w = &whole.row[i], *c = &cut.row[i];

			ck_assert_int_eq(c->outcome == MC_COMPLETED,
					 w->outcome == MC_COMPLETED && w->end <= until);
			ck_assert_int_eq(c->prefill_end, w->prefill_end <= until ? w->prefill_end : -1);
		}
		ck_assert_int_eq(cut.end, until);
		mc_result_fini(&cut);
	}
	mc_result_fini(&whole);
	setup_fini(&u);
}
END_TEST

/* One node, a pool for everything: hits are those of an infinite cache, found again by looking through all
 * earlier prompts. */
START_TEST(hits_of_an_infinite_pool)
{
	struct setup u;
	struct mc_result r;

	setup_init(&u, 16);
	setup_set(&u, "cluster.prefill=1");
	setup_set(&u, "kv.dram_tokens=1M");
	add_sessions(&u, 11, 200);
	setup_run(&u, &r);
	for (int64_t i = 0; i < r.n_rows; i++) {
		const struct mc_trace *t = &u.trace;
		uint32_t hit = 0;
		uint64_t n = mc_trace_blocks(t, i);

		for (uint64_t b = 0; b < n; b++) {
			bool seen = false;

			for (uint64_t k = 0; k < t->first[i] && !seen; k++)
				seen = t->block[k] == t->block[t->first[i] + b];
			if (!seen)
				break;
			hit += 16;
		}
		hit = hit < t->input[i] ? hit : t->input[i] - 1;
		ck_assert_uint_eq(r.row[i].local_hit, hit);
		ck_assert_uint_eq(r.row[i].remote_hit, 0);
	}
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* One prefill node fed by a Poisson stream of equal prompts is an M/D/1 queue: mean wait rho D / 2 (1 - rho).
 */
START_TEST(prefill_node_is_m_d_1)
{
	const int n = 40000;
	const double service = 0.1, rho = 0.7;
	struct mc_ci ci;
	double wait[40000], at = 0;
	gsl_rng *rng = mc_stream_new(5, "test.arrivals", 0);
	struct setup u;
	struct mc_result r;

	setup_init(&u, 16);
	setup_set(&u, "cluster.prefill=1");
	u.cost.pf_a = service;
	u.cost.pf_b = u.cost.pf_c = 0;
	for (int i = 0; i < n; i++) {
		const uint64_t name[2] = {0, (uint64_t)i};

		at += gsl_ran_exponential(rng, service / rho);
		add(&u, mc_time_from_s(at), 16, 1, name, 0);
	}
	setup_run(&u, &r);
	for (int i = 0; i < n; i++)
		wait[i] = mc_time_to_s(r.row[i].prefill_start - r.row[i].decided);
	mc_ci_batch_means(wait + 1000, (size_t)n - 1000, 30, 0.99, &ci);
	ck_assert_double_le(ci.mean - ci.half, rho * service / (2 * (1 - rho)));
	ck_assert_double_ge(ci.mean + ci.half, rho * service / (2 * (1 - rho)));
	ck_assert_double_lt(ci.half,
			    0.1 * ci.mean); /* tight enough to tell rho = 0.65 (93 ms) from 0.7 (117 ms) */
	mc_result_fini(&r);
	setup_fini(&u);
	gsl_rng_free(rng);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cluster");
	TCase *t = tcase_create("cluster");

	tcase_add_test(t, one_request_by_closed_form);
	tcase_add_test(t, short_outputs_skip_decode);
	tcase_add_test(t, too_large_is_refused);
	tcase_add_test(t, promised_blocks_match_on_their_node);
	tcase_add_test(t, queue_is_predicted_exactly);
	tcase_add_test(t, one_fetch_by_closed_form);
	tcase_add_test(t, conservation_on_random_scenarios);
	tcase_add_test(t, cut_off_run);
	tcase_add_test(t, hits_of_an_infinite_pool);
	tcase_add_test(t, prefill_node_is_m_d_1);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
