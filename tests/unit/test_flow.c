/* Flows: cases by hand, whose times are exact. Random ones are in test_flow_random.c. */
#include "unit.h"

#include <math.h>

#include "net/flow.h"
#include "net/solve.h"
#include "net/state.h"

#define MS MC_NS_PER_MS

struct world {
	struct mc_loop loop;
	struct mc_net *net;
	mc_time end[32];
	uint32_t id[32];
	unsigned done;
};

struct token {
	struct world *w;
	unsigned n;
};
static struct token token[32];

static void setup(struct world *w, unsigned links, double bytes_per_s)
{
	*w = (struct world){0};
	mc_loop_init(&w->loop);
	w->net = mc_net_new(&w->loop, 5);
	for (unsigned i = 0; i < links; i++)
		ck_assert_uint_eq(mc_net_link_add(w->net, bytes_per_s), i);
}

static void teardown(struct world *w)
{
	mc_net_free(w->net);
	mc_loop_fini(&w->loop);
}

static void done(void *arg, uint32_t flow)
{
	struct token *t = arg;

	ck_assert_uint_eq(t->w->id[t->n], flow);
	ck_assert_int_eq(t->w->end[t->n], 0);
	t->w->end[t->n] = t->w->loop.now;
	t->w->done++;
}

/* Start flow n of the world over links a and b (one link if they are equal). */
static void start(struct world *w, unsigned n, unsigned a, unsigned b, struct mc_flow_spec spec)
{
	spec.link[0] = a;
	spec.link[1] = b;
	spec.n_links = a == b ? 1 : 2;
	spec.done = done;
	spec.arg = &token[n];
	token[n] = (struct token){w, n};
	w->id[n] = mc_net_flow_start(w->net, &spec);
	ck_assert_int_eq(w->end[n], 0);
}

static void nop(struct mc_loop *loop, struct mc_event *ev)
{
	(void)loop;
	(void)ev;
}

/* Up to `until`, and not only up to the last event before it. */
static void run(struct world *w, mc_time until)
{
	struct mc_err err = {0};
	struct mc_event alarm;

	mc_event_init(&alarm, UINT16_MAX - 1, nop);
	if (until < MC_TIME_MAX)
		mc_loop_at(&w->loop, &alarm, until);
	mc_loop_run(&w->loop, until);
	ck_assert_msg(mc_net_check(w->net, &err) == 0, "%s", err.text);
}

START_TEST(alone_at_full_rate)
{
	struct world w;

	setup(&w, 2, 1e9);
	start(&w, 0, 0, 1, (struct mc_flow_spec){.bytes = 3e6, .startup = 20000});
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 0);
	ck_assert_uint_eq(mc_net_link_flows(w.net, 0), 0);
	run(&w, 20000);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 1e9);
	ck_assert_uint_eq(mc_net_link_flows(w.net, 0), 1);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 3 * MS + 20000);
	ck_assert_double_eq(mc_net_link_bytes(w.net, 0), 3e6);
	ck_assert_double_eq(mc_net_link_bytes(w.net, 1), 3e6);
	ck_assert_uint_eq(mc_net_link_flows(w.net, 0), 0);
	teardown(&w);
}
END_TEST

/* 3 MB and 1 MB: both at half rate until 2 ms, then 2 MB are left at full rate. */
START_TEST(two_share_one_link)
{
	struct world w;

	setup(&w, 1, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 3e6});
	start(&w, 1, 0, 0, (struct mc_flow_spec){.bytes = 1e6});
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 0.5e9);
	run(&w, 2 * MS - 1);
	ck_assert_double_eq_tol(mc_net_link_bytes(w.net, 0), 2e6, 2);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[1], 2 * MS);
	ck_assert_int_eq(w.end[0], 4 * MS);
	ck_assert_double_eq(mc_net_link_bytes(w.net, 0), 4e6);
	teardown(&w);
}
END_TEST

/* Links 0..2 send to link 3: a third each; the bystander 0 -> 4 takes what is left of link 0. */
START_TEST(incast)
{
	struct world w;

	setup(&w, 5, 9e8);
	for (unsigned i = 0; i < 3; i++)
		start(&w, i, i, 3, (struct mc_flow_spec){.bytes = 3e6});
	start(&w, 3, 0, 4, (struct mc_flow_spec){.bytes = 12e6});
	for (unsigned i = 0; i < 3; i++)
		ck_assert_double_eq_tol(mc_net_flow_rate(w.net, w.id[i]), 3e8, 1e-3);
	ck_assert_double_eq_tol(mc_net_flow_rate(w.net, w.id[3]), 6e8, 1e-3);
	run(&w, MC_TIME_MAX);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(w.end[i], 10 * MS);
	/* 6 MB by 10 ms, the other 6 MB at 900 MB/s. */
	ck_assert_int_eq(w.end[3], 10 * MS + 6666667);
	teardown(&w);
}
END_TEST

/* A congested sender: 0 -> 1, 0 -> 2, 0 -> 3 get a third; 4 -> 3 gets the rest of link 3. */
START_TEST(congested_sender)
{
	struct world w;

	setup(&w, 5, 9e8);
	for (unsigned i = 0; i < 3; i++)
		start(&w, i, 0, i + 1, (struct mc_flow_spec){.bytes = 1e9});
	start(&w, 3, 4, 3, (struct mc_flow_spec){.bytes = 6e6});
	ck_assert_double_eq_tol(mc_net_flow_rate(w.net, w.id[2]), 3e8, 1e-3);
	ck_assert_double_eq_tol(mc_net_flow_rate(w.net, w.id[3]), 6e8, 1e-3);
	run(&w, 20 * MS);
	ck_assert_int_eq(w.end[3], 10 * MS);
	teardown(&w); /* three flows under way are dropped */
}
END_TEST

/* Slower than its share: sent as it is produced, then the tail at full rate. */
START_TEST(production_is_the_limit)
{
	struct world w;

	setup(&w, 2, 1e9);
	start(&w, 0, 0, 1, (struct mc_flow_spec){.bytes = 5e6, .tail = 1e6, .produce_end = 10 * MS});
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 4e8);
	run(&w, 5 * MS);
	ck_assert_double_eq_tol(mc_net_link_bytes(w.net, 1), 2e6, 1e-6);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 11 * MS);
	teardown(&w);
}
END_TEST

/* No tail: complete at the very end of production, and at once. */
START_TEST(no_tail_ends_with_production)
{
	struct world w;

	setup(&w, 2, 1e9);
	start(&w, 0, 0, 1, (struct mc_flow_spec){.bytes = 5e6, .produce_end = 12345678});
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 12345678);
	teardown(&w);
}
END_TEST

/* Produced faster than the link: the link is the limit throughout. */
START_TEST(link_is_the_limit)
{
	struct world w;

	setup(&w, 2, 1e9);
	start(&w, 0, 0, 1, (struct mc_flow_spec){.bytes = 5e6, .tail = 1e6, .produce_end = 2 * MS});
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 1e9);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 5 * MS);
	teardown(&w);
}
END_TEST

/*
 * 8 MB produced over 10 ms at 0.8 GB/s, tail 0; a second flow of 1 MB: half the link each until 2 ms, backlog
 * 0.6 MB; then 1 GB/s drains it at 0.2 GB/s by 5 ms; from there 0.8 GB/s.
 */
START_TEST(backlog_drains)
{
	struct world w;

	setup(&w, 1, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 8e6, .produce_end = 10 * MS});
	start(&w, 1, 0, 0, (struct mc_flow_spec){.bytes = 1e6});
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 5e8);
	run(&w, 2 * MS);
	ck_assert_int_eq(w.end[1], 2 * MS);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 1e9);
	run(&w, 5 * MS - 1);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 1e9);
	run(&w, 5 * MS);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 8e8);
	ck_assert_double_eq_tol(mc_net_link_bytes(w.net, 0), 5e6, 1e-6);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 10 * MS);
	teardown(&w);
}
END_TEST

/* What a limited flow leaves goes to the other one. Start-up lets 1 ms of production pile up: gone by 2 ms.
 */
START_TEST(startup_piles_up)
{
	struct world w;

	setup(&w, 1, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 5e6, .produce_end = 10 * MS, .startup = MS});
	run(&w, MS);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 1e9);
	run(&w, 2 * MS);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 5e8);
	start(&w, 1, 0, 0, (struct mc_flow_spec){.bytes = 4e6});
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[1]), 5e8);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 10 * MS);
	ck_assert_int_eq(w.end[1], 10 * MS);
	ck_assert_double_eq(mc_net_link_bytes(w.net, 0), 9e6);
	teardown(&w);
}
END_TEST

/* Start-up longer than production: everything is there when it begins. All bytes in the tail: it waits. */
START_TEST(late_start_and_all_tail)
{
	struct world w;

	setup(&w, 1, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 1e6, .produce_end = MS, .startup = 2 * MS});
	start(&w, 1, 0, 0, (struct mc_flow_spec){.bytes = 1e6, .produce_end = 9 * MS, .tail = 1e6});
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[1]), 0);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 3 * MS);
	ck_assert_int_eq(w.end[1], 10 * MS);
	teardown(&w);
}
END_TEST

START_TEST(nothing_to_send)
{
	struct world w;

	setup(&w, 1, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 0});
	start(&w, 1, 0, 0, (struct mc_flow_spec){.bytes = 0, .startup = 7});
	start(&w, 2, 0, 0, (struct mc_flow_spec){.bytes = 0, .startup = 7, .produce_end = 9});
	ck_assert_uint_eq(w.done, 0);
	run(&w, 0);
	ck_assert_uint_eq(w.done, 1);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[1], 7);
	ck_assert_int_eq(w.end[2], 9);
	teardown(&w);
}
END_TEST

/* Seven flows start in one instant: one recomputation; their seven ends at one instant need one more. */
START_TEST(one_recomputation_an_instant)
{
	struct world w;

	setup(&w, 1, 7e8);
	for (unsigned i = 0; i < 7; i++)
		start(&w, i, 0, 0, (struct mc_flow_spec){.bytes = 1e6});
	run(&w, MC_TIME_MAX);
	for (unsigned i = 0; i < 7; i++)
		ck_assert_int_eq(w.end[i], 10 * MS);
	ck_assert_uint_eq(w.loop.fired, 1 + 7 + 1);
	teardown(&w);
}
END_TEST

/* Weights 3, 1 and none (1): 3/5, 1/5 and 1/5 of the link; the first is through at 1 ms, the rest half each.
 */
START_TEST(weights_share_in_proportion)
{
	struct world w;

	setup(&w, 1, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 6e5, .weight = 3});
	start(&w, 1, 0, 0, (struct mc_flow_spec){.bytes = 7e5, .weight = 1});
	start(&w, 2, 0, 0, (struct mc_flow_spec){.bytes = 2e5});
	ck_assert_double_eq_tol(mc_net_flow_rate(w.net, w.id[0]), 6e8, 1e-3);
	ck_assert_double_eq_tol(mc_net_link_rate(w.net, 0), 1e9, 1e-3);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], MS);
	ck_assert_int_eq(w.end[2], MS);
	ck_assert_int_eq(w.end[1], MS + MS / 2);
	teardown(&w);
}
END_TEST

/* Half the link each; one is cancelled at 1 ms: what it sent stays counted, the other one gets the rest. */
START_TEST(cancelled_on_the_way)
{
	struct world w;

	setup(&w, 1, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 3e6});
	start(&w, 1, 0, 0, (struct mc_flow_spec){.bytes = 1e6});
	start(&w, 2, 0, 0, (struct mc_flow_spec){.bytes = 1e6, .startup = 2 * MS});
	run(&w, MS);
	ck_assert_double_eq_tol(mc_net_flow_cancel(w.net, w.id[0]), 5e5, 1e-6);
	ck_assert_double_eq(mc_net_flow_cancel(w.net, w.id[2]), 0);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[1], MS + MS / 2);
	ck_assert_uint_eq(w.done, 1);
	ck_assert_double_eq_tol(mc_net_link_bytes(w.net, 0), 1.5e6, 1e-6);
	ck_assert_uint_eq(mc_net_link_flows(w.net, 0), 0);
	teardown(&w);
}
END_TEST

/* 3 MB: 1 MB by 1 ms, then a quarter of the speed for 4 ms, then double speed. A flow limited by its
 * production falls behind the slow link and catches up again. */
START_TEST(capacity_changes)
{
	struct world w;

	setup(&w, 2, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 3e6});
	start(&w, 1, 1, 1, (struct mc_flow_spec){.bytes = 5e6, .produce_end = 10 * MS});
	run(&w, MS);
	mc_net_link_set_capacity(w.net, 0, 0.25e9);
	mc_net_link_set_capacity(w.net, 1, 0.25e9);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 0.25e9);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[1]), 0.25e9);
	run(&w, 5 * MS);
	mc_net_link_set_capacity(w.net, 0, 2e9);
	mc_net_link_set_capacity(w.net, 1, 1e9);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[1]), 1e9);
	run(&w, 7 * MS);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[1]), 5e8);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 5 * MS + MS / 2);
	ck_assert_int_eq(w.end[1], 10 * MS);
	teardown(&w);
}
END_TEST

/* 1 MB at once, 8 MB over 10 ms: the link at full speed until 5 ms, when all that there is is sent. */
START_TEST(head_is_there_at_once)
{
	struct world w;

	setup(&w, 1, 1e9);
	start(&w, 0, 0, 0, (struct mc_flow_spec){.bytes = 9e6, .head = 1e6, .produce_end = 10 * MS});
	run(&w, 5 * MS - 1);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 1e9);
	run(&w, 5 * MS);
	ck_assert_double_eq(mc_net_flow_rate(w.net, w.id[0]), 8e8);
	ck_assert_double_eq_tol(mc_net_link_bytes(w.net, 0), 5e6, 1e-6);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 10 * MS);
	teardown(&w);
}
END_TEST

/* The oracle itself, by hand: the example of Bertsekas and Gallager's section, caps added. */
START_TEST(solver_by_hand)
{
	static const double capacity[] = {10, 4, 100};
	struct mc_net_solve_flow f[] = {
	    {.link = {0, 1}, .n_links = 2, .cap = INFINITY}, {.link = {1}, .n_links = 1, .cap = INFINITY},
	    {.link = {0}, .n_links = 1, .cap = INFINITY},    {.link = {0}, .n_links = 1, .cap = 1},
	    {.link = {2}, .n_links = 1, .cap = 0},           {.link = {2, 0}, .n_links = 2, .cap = 3.5},
	};
	static const double want[] = {2, 2, 3.5, 1, 0, 3.5};

	mc_net_solve(capacity, 3, f, 6);
	for (int i = 0; i < 6; i++)
		ck_assert_double_eq_tol(f[i].rate, want[i], 1e-12);
}
END_TEST

/* The check is no use if it finds nothing: a rate that is none of max-min's. */
START_TEST(wrong_rates_are_found)
{
	struct world w;
	struct mc_err err = {0};
	struct mc_net_flow *flow;

	setup(&w, 2, 1e9);
	start(&w, 0, 0, 1, (struct mc_flow_spec){.bytes = 3e6});
	start(&w, 1, 0, 0, (struct mc_flow_spec){.bytes = 3e6});
	run(&w, MS);
	flow = mc_net_flow_get(w.net, w.id[0]);
	flow->rate *= 1.001;
	ck_assert_int_eq(mc_net_check(w.net, &err), MC_FAIL);
	ck_assert_msg(strstr(err.text, "max-min gives 500000000") != NULL, "%s", err.text);
	flow->rate = 0.5e9;
	ck_assert_int_eq(mc_net_check(w.net, &err), 0);
	run(&w, MC_TIME_MAX);
	teardown(&w);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("flow");
	TCase *t = tcase_create("flow");

	tcase_add_test(t, alone_at_full_rate);
	tcase_add_test(t, two_share_one_link);
	tcase_add_test(t, incast);
	tcase_add_test(t, congested_sender);
	tcase_add_test(t, production_is_the_limit);
	tcase_add_test(t, no_tail_ends_with_production);
	tcase_add_test(t, link_is_the_limit);
	tcase_add_test(t, backlog_drains);
	tcase_add_test(t, startup_piles_up);
	tcase_add_test(t, late_start_and_all_tail);
	tcase_add_test(t, nothing_to_send);
	tcase_add_test(t, one_recomputation_an_instant);
	tcase_add_test(t, weights_share_in_proportion);
	tcase_add_test(t, cancelled_on_the_way);
	tcase_add_test(t, capacity_changes);
	tcase_add_test(t, head_is_there_at_once);
	tcase_add_test(t, solver_by_hand);
	tcase_add_test(t, wrong_rates_are_found);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
