/* Prefill instances: order, waits for blocks, groups; every number by hand or from the pipeline's own
 * recurrence. */
#include "fixture.h"
#include "unit.h"

#include <string.h>

#include "engine/kinds.h"
#include "engine/prefill.h"
#include "model/pipeline.h"

struct bench {
	struct mc_loop loop;
	struct mc_prefill node;
	struct mc_cost cost;
	int launched, finished;
	struct mc_prefill_job *order[8];
};

static void on_launched(void *arg, struct mc_prefill_job *job)
{
	struct bench *b = arg;

	ck_assert_int_ge(job->end, b->loop.now);
	b->launched++;
}

static void on_finished(void *arg, struct mc_prefill_job *job)
{
	struct bench *b = arg;

	ck_assert_int_eq(job->end, b->loop.now);
	b->order[b->finished++] = job;
}

static void bench_init(struct bench *b)
{
	struct mc_prefill_ops ops = {.launched = on_launched, .finished = on_finished, .arg = b};

	memset(b, 0, sizeof *b);
	b->cost = plain_cost();
	mc_loop_init(&b->loop);
	mc_prefill_init(&b->node, &b->loop, &b->cost, &ops);
}

static void bench_fini(struct bench *b)
{
	mc_prefill_fini(&b->node);
	mc_loop_fini(&b->loop);
}

static struct mc_prefill_job make_job(const struct bench *b, uint32_t n, uint32_t cached, bool fetching)
{
	return (struct mc_prefill_job){
	    .tokens = n,
	    .cached = cached,
	    .fetching = fetching,
	    .expected = mc_time_from_s(mc_cost_prefill_gpu_s(&b->cost, n, cached) / b->node.group),
	};
}

/* 1,000 tokens: 1 + 100 + 1 ms; with 400 cached: 1 + 60 + 0.84 + 0.4 ms. */
#define WHOLE  INT64_C(102000000)
#define CACHED INT64_C(62240000)

START_TEST(in_order)
{
	struct bench b;
	struct mc_prefill_job x, y;

	bench_init(&b);
	x = make_job(&b, 1000, 0, false);
	y = make_job(&b, 1000, 400, false);
	mc_prefill_submit(&b.node, &x);
	mc_prefill_submit(&b.node, &y);
	ck_assert_int_eq(mc_prefill_free_at(&b.node), WHOLE + CACHED);
	mc_loop_run(&b.loop, MC_TIME_MAX);
	ck_assert_ptr_eq(b.order[0], &x);
	ck_assert_int_eq(x.end, WHOLE);
	ck_assert_int_eq(y.start, WHOLE);
	ck_assert_int_eq(y.end, WHOLE + CACHED);
	ck_assert_int_eq(y.fetch_wait, 0);
	ck_assert_double_eq_tol(y.compute_s, 0.06184, 1e-12);
	ck_assert_double_eq_tol(y.load_s, 0.0004, 1e-12);
	ck_assert_int_eq(b.node.busy, WHOLE + CACHED);
	bench_fini(&b);
}
END_TEST

struct arrival {
	struct mc_event ev;
	struct mc_prefill_job *job;
};

static void on_blocks(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_prefill_job *job = mc_container_of(ev, struct arrival, ev)->job;

	(void)loop;
	mc_prefill_fetched(job->at, job);
}

/* Blocks that come in time cost nothing; late ones hold up the first chunk, but for one layer's share of it.
 */
START_TEST(fetch_overlaps_by_layer)
{
	const mc_time late[] = {0, 50000000, 56015999, 56016001, 200000000};

	for (size_t k = 0; k < sizeof late / sizeof *late; k++) {
		struct bench b;
		struct mc_prefill_job x, y;
		struct arrival a = {.job = &x};
		mc_time held = late[k] + CACHED / 10, end;

		bench_init(
		    &b); /* no chunks: the whole prompt is the first one, its last layer 1/10 of the time */
		x = make_job(&b, 1000, 400, true);
		y = make_job(&b, 1000, 0, false);
		mc_prefill_submit(&b.node, &x);
		mc_prefill_submit(&b.node, &y);
		mc_event_init(&a.ev, MC_EV_NET, on_blocks);
		mc_loop_at(&b.loop, &a.ev, late[k]);
		mc_loop_run(&b.loop, MC_TIME_MAX);
		end = held > CACHED ? held : CACHED;
		ck_assert_int_eq(x.end, end);
		ck_assert_int_eq(x.fetch_wait, end - CACHED);
		ck_assert_int_eq(y.start, end);
		ck_assert_int_eq(b.node.busy, WHOLE + CACHED);
		bench_fini(&b);
	}
}
END_TEST

/* While it stands still the instance expects the rest of its computing, never a time that has passed. */
START_TEST(free_at_while_waiting)
{
	struct bench b;
	struct mc_prefill_job x, y;
	struct arrival a = {.job = &x};

	bench_init(&b);
	x = make_job(&b, 1000, 400, true);
	y = make_job(&b, 1000, 0, false);
	mc_prefill_submit(&b.node, &x);
	mc_prefill_submit(&b.node, &y);
	mc_event_init(&a.ev, MC_EV_NET, on_blocks);
	mc_loop_at(&b.loop, &a.ev, 500000000);
	ck_assert_int_eq(mc_prefill_free_at(&b.node), CACHED + WHOLE);
	mc_loop_run(&b.loop, 400000000);
	b.loop.now = 400000000;
	ck_assert_int_eq(mc_prefill_free_at(&b.node), 400000000 + WHOLE);
	mc_loop_run(&b.loop, MC_TIME_MAX);
	ck_assert_int_eq(mc_prefill_free_at(&b.node), y.end);
	bench_fini(&b);
}
END_TEST

/* Three stages, chunks of 250: the same as running the recurrence by itself; the next prompt enters behind
 * the last chunk. */
START_TEST(group_pipelines_prompts)
{
	struct bench b;
	struct mc_prefill_job x, y;
	double stage[3] = {0}, first, second;
	struct mc_pipeline_job work = {1000, 0, 250, 3, 0};

	bench_init(&b);
	b.cost.hop_s_per_token = 1e-6;
	mc_prefill_set_group(&b.node, 3, 250);
	x = make_job(&b, 1000, 0, false);
	y = make_job(&b, 1000, 400, false);
	mc_prefill_submit(&b.node, &x);
	mc_prefill_submit(&b.node, &y);
	mc_loop_run(&b.loop, MC_TIME_MAX);
	first = mc_cost_prefill_group(&b.cost, &work, stage);
	work.p = 400;
	work.start_s = mc_time_to_s(mc_time_from_s(stage[0]));
	second = mc_cost_prefill_group(&b.cost, &work, stage);
	ck_assert_int_eq(x.end, mc_time_from_s(first));
	ck_assert_int_eq(y.end, mc_time_from_s(second));
	ck_assert_int_lt(y.start, x.end);
	ck_assert_int_lt(x.end, WHOLE);
	/* New tokens alone, 100 bytes each, over two boundaries. */
	ck_assert_int_eq(x.stage_bytes, 200000);
	ck_assert_int_eq(b.node.stage_bytes, 320000);
	bench_fini(&b);
}
END_TEST

/* Where nothing but the hops takes time, a prompt takes as long as its bytes need on the NICs of one node. */
START_TEST(hops_take_the_time_of_their_bytes)
{
	struct bench b;
	struct mc_prefill_job x;

	bench_init(&b);
	b.cost.pf_a = b.cost.pf_b = b.cost.pf_c = b.cost.net_startup_s = 0;
	mc_cost_set_bandwidth(&b.cost, 1e6);
	mc_prefill_set_group(&b.node, 5, 4000);
	x = make_job(&b, 1000, 0, false);
	mc_prefill_submit(&b.node, &x);
	mc_loop_run(&b.loop, MC_TIME_MAX);
	ck_assert_int_eq(x.stage_bytes, 400000);
	ck_assert_int_eq(x.end, 400 * MC_NS_PER_MS);
	bench_fini(&b);
}
END_TEST

/* A group stands still before its first chunk until all blocks are there; what it computes stays the same. */
START_TEST(group_waits_for_blocks)
{
	for (mc_time late = 0; late < 2; late++) {
		struct bench b;
		struct mc_prefill_job x;
		struct arrival a = {.job = &x};
		double stage[3] = {0}, plain;
		struct mc_pipeline_job work = {1000, 400, 250, 3, 0};

		bench_init(&b);
		mc_prefill_set_group(&b.node, 3, 250);
		x = make_job(&b, 1000, 400, true);
		mc_prefill_submit(&b.node, &x);
		mc_event_init(&a.ev, MC_EV_NET, on_blocks);
		mc_loop_at(&b.loop, &a.ev, late * 50000000);
		mc_loop_run(&b.loop, MC_TIME_MAX);
		plain = mc_cost_prefill_group(&b.cost, &work, stage);
		ck_assert_int_eq(x.fetch_wait, late * 50000000);
		ck_assert_int_eq(x.end, late * 50000000 + mc_time_from_s(plain));
		ck_assert_int_eq(b.node.busy, CACHED);
		bench_fini(&b);
	}
}
END_TEST

/* Lost in the middle of x, with y standing behind it: half of x is counted, both come back, and the instance
 * serves again. */
START_TEST(lost_and_used_again)
{
	struct bench b;
	struct mc_prefill_job x, y, z, *back;

	bench_init(&b);
	x = make_job(&b, 1000, 0, false);
	y = make_job(&b, 1000, 400, true);
	z = make_job(&b, 1000, 400, false);
	mc_prefill_submit(&b.node, &x);
	mc_prefill_submit(&b.node, &y);
	mc_loop_run(&b.loop, WHOLE / 2);
	b.loop.now = WHOLE / 2;
	mc_prefill_halt(&b.node);
	ck_assert_int_eq(b.node.busy, WHOLE / 2);
	mc_prefill_submit(&b.node, &z); /* by someone who does not know it yet */
	ck_assert_int_eq(mc_prefill_free_at(&b.node), WHOLE + 2 * CACHED);
	mc_loop_run(&b.loop, 2 * WHOLE);
	b.loop.now = 2 * WHOLE;
	ck_assert_int_eq(b.finished, 0);
	ck_assert_int_eq(mc_prefill_free_at(&b.node), 2 * WHOLE + 2 * CACHED);
	mc_prefill_stop(&b.node); /* counted already */
	ck_assert_int_eq(b.node.busy, WHOLE / 2);
	back = mc_prefill_clear(&b.node);
	ck_assert_ptr_eq(back, &x);
	ck_assert_ptr_eq(x.next, &y);
	ck_assert_ptr_eq(y.next, &z);
	ck_assert_ptr_null(z.next);
	ck_assert_int_eq(mc_prefill_free_at(&b.node), 2 * WHOLE);
	ck_assert_ptr_null(mc_prefill_clear(&b.node));
	mc_prefill_submit(&b.node, &z);
	mc_loop_run(&b.loop, MC_TIME_MAX);
	ck_assert_int_eq(b.finished, 1);
	ck_assert_int_eq(z.end, 2 * WHOLE + CACHED);
	ck_assert_int_eq(b.node.busy, WHOLE / 2 + CACHED);
	bench_fini(&b);
}
END_TEST

/* The head of the queue stands still for blocks that will not come: handed back first, or computed. */
START_TEST(lost_while_standing_still)
{
	for (int computed = 0; computed < 2; computed++) {
		struct bench b;
		struct mc_prefill_job x, y, *back;

		bench_init(&b);
		x = make_job(&b, 1000, 400, true);
		y = make_job(&b, 1000, 0, false);
		mc_prefill_submit(&b.node, &x);
		mc_prefill_submit(&b.node, &y);
		b.loop.now = 7;
		if (computed) {
			x.cached = 0;
			mc_prefill_unfetched(&b.node, &x);
			mc_loop_run(&b.loop, MC_TIME_MAX);
			ck_assert_int_eq(x.end, 7 + WHOLE);
			ck_assert_int_eq(x.fetch_wait, 7);
			ck_assert_int_eq(y.end, 7 + 2 * WHOLE);
		} else {
			back = mc_prefill_clear(&b.node);
			ck_assert_ptr_eq(back, &x);
			ck_assert_ptr_eq(x.next, &y);
			ck_assert_ptr_null(y.next);
			ck_assert_int_eq(b.node.busy, 0);
			mc_loop_run(&b.loop, MC_TIME_MAX);
			ck_assert_int_eq(b.launched, 0);
		}
		bench_fini(&b);
	}
}
END_TEST

/* Two prompts in the pipeline and one before it; the stages are free when the group is used again. */
START_TEST(lost_group)
{
	struct bench b, fresh;
	struct mc_prefill_job job[3], again, *back;

	bench_init(&b);
	mc_prefill_set_group(&b.node, 3, 250);
	for (int i = 0; i < 3; i++) {
		job[i] = make_job(&b, 1000, 0, false);
		mc_prefill_submit(&b.node, &job[i]);
	}
	mc_loop_run(&b.loop, job[0].end - 1);
	b.loop.now = job[0].end - 1;
	ck_assert_uint_ge(b.node.running, 2);
	back = mc_prefill_clear(&b.node);
	for (int i = 0; i < 3; i++, back = back->next)
		ck_assert_ptr_eq(back, &job[i]);
	ck_assert_ptr_null(back);
	ck_assert_int_gt(b.node.busy, WHOLE - 2);
	ck_assert_int_lt(b.node.busy, 2 * WHOLE);
	ck_assert_int_gt(b.node.stage_bytes, 200000 - 2);
	bench_init(&fresh);
	mc_prefill_set_group(&fresh.node, 3, 250);
	again = make_job(&fresh, 1000, 0, false);
	mc_prefill_submit(&fresh.node, &again);
	mc_loop_run(&fresh.loop, MC_TIME_MAX);
	mc_prefill_submit(&b.node, &job[2]);
	mc_loop_run(&b.loop, MC_TIME_MAX);
	ck_assert_int_eq(job[2].end - job[2].start, again.end);
	bench_fini(&b);
	bench_fini(&fresh);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("prefill");
	TCase *t = tcase_create("prefill");

	tcase_add_test(t, in_order);
	tcase_add_test(t, fetch_overlaps_by_layer);
	tcase_add_test(t, free_at_while_waiting);
	tcase_add_test(t, group_pipelines_prompts);
	tcase_add_test(t, hops_take_the_time_of_their_bytes);
	tcase_add_test(t, group_waits_for_blocks);
	tcase_add_test(t, lost_and_used_again);
	tcase_add_test(t, lost_while_standing_still);
	tcase_add_test(t, lost_group);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
