/* plan/bisect and plan/capacity on functions whose answer is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bisect.h"
#include "plan/capacity.h"
#include "unit.h"

typedef bool passes_fn(double x, const void *arg);

static void run(struct mc_bisect *b, const struct mc_bisect_params *params, passes_fn *passes,
		const void *arg)
{
	double x;

	mc_bisect_init(b, params);
	while (mc_bisect_next(b, &x)) {
		ck_assert_ptr_null(mc_bisect_at(b, x)); /* nothing twice */
		mc_bisect_tell(b, &(struct mc_bisect_probe){.x = x, .pass = passes(x, arg)});
		ck_assert_uint_le(b->probe.n, MC_BISECT_PROBES);
	}
	ck_assert(b->state != MC_BISECT_SEARCHING);
	ck_assert(!mc_bisect_next(b, &x));
}

/* What the outcome says is what the probes say. */
static void consistent(const struct mc_bisect *b)
{
	for (size_t i = 0; i < b->probe.n; i++) {
		const struct mc_bisect_probe *p = &b->probe.at[i];

		if (p->x <= b->pass)
			ck_assert(p->pass);
		else if (p->x < b->fail)
			ck_abort_msg("%g was tried inside the bracket", p->x);
		if (p->x > b->again)
			ck_assert(!p->pass || p->x <= b->pass);
	}
	if (b->pass)
		ck_assert(mc_bisect_at(b, b->pass)->pass);
	if (!isinf(b->fail))
		ck_assert(!mc_bisect_at(b, b->fail)->pass);
}

static bool step(double x, const void *arg)
{
	return x <= *(const double *)arg;
}

/* A step anywhere within reach of the start, at several precisions. */
START_TEST(steps)
{
	static const double precisions[] = {0.001, 0.01, 0.1, 1};

	for (double at = 0.0013; at < 900; at *= 1.37) {
		for (size_t k = 0; k < sizeof precisions / sizeof *precisions; k++) {
			struct mc_bisect_params p = {.start = 1, .precision = precisions[k]};
			struct mc_bisect b;

			run(&b, &p, step, &at);
			ck_assert_int_eq(b.state, MC_BISECT_FOUND);
			ck_assert(b.pass <= at && at < b.fail);
			ck_assert_double_le(b.fail, b.pass * (1 + precisions[k]) * (1 + 1e-5));
			ck_assert(b.again == 0);
			consistent(&b);
			mc_bisect_fini(&b);
		}
	}
}
END_TEST

START_TEST(range)
{
	struct mc_bisect_params p = {.low = 0.5, .high = 3, .start = 100, .precision = 0.01};
	struct mc_bisect b;
	double at = 1.7;

	run(&b, &p, step, &at);
	ck_assert_int_eq(b.state, MC_BISECT_FOUND);
	ck_assert(b.pass <= at && at < b.fail);
	for (size_t i = 0; i < b.probe.n; i++)
		ck_assert(b.probe.at[i].x >= 0.5 && b.probe.at[i].x <= 3);
	mc_bisect_fini(&b);
	at = 0.4;
	run(&b, &p, step, &at);
	ck_assert_int_eq(b.state, MC_BISECT_NEVER);
	ck_assert_double_eq(b.fail, 0.5);
	ck_assert_uint_eq(b.probe.n, 1);
	mc_bisect_fini(&b);
	at = 3;
	run(&b, &p, step, &at);
	ck_assert_int_eq(b.state, MC_BISECT_ALWAYS);
	ck_assert_double_eq(b.pass, 3);
	mc_bisect_fini(&b);
}
END_TEST

/* Without a range it stops somewhere. */
START_TEST(out_of_reach)
{
	struct mc_bisect_params p = {.start = 2, .precision = 0.01};
	struct mc_bisect b;
	double at = 0;

	run(&b, &p, step, &at);
	ck_assert_int_eq(b.state, MC_BISECT_NEVER);
	ck_assert_double_eq_tol(b.fail, 2.0 / MC_BISECT_REACH, 1e-6);
	mc_bisect_fini(&b);
	at = INFINITY;
	run(&b, &p, step, &at);
	ck_assert_int_eq(b.state, MC_BISECT_ALWAYS);
	ck_assert_double_eq(b.pass, 2048);
	mc_bisect_fini(&b);
}
END_TEST

/* Passes below 1, and again between 1.06 and 1.16: doubling from there ends at 1.16. */
static bool hole(double x, const void *arg)
{
	(void)arg;
	return x < 1 || (x > 1.06 && x < 1.16);
}

/* Passes up to 2, and again between 2.2 and 2.6: it is told. */
static bool island(double x, const void *arg)
{
	(void)arg;
	return x < 2 || (x > 2.2 && x < 2.5);
}

START_TEST(not_monotone)
{
	struct mc_bisect_params p = {.start = 0.7, .precision = 0.01};
	struct mc_bisect b;

	run(&b, &p, island, NULL);
	ck_assert_int_eq(b.state, MC_BISECT_FOUND);
	ck_assert(b.pass < 2 && b.fail >= 2 && b.fail < 2.03);
	ck_assert(b.again > 2.2 && b.again < 2.5);
	consistent(&b);
	mc_bisect_fini(&b);

	/* A start in the upper part: 0.96 of the answer is still in it, 0.88 of it may be in the gap. */
	p = (struct mc_bisect_params){.start = 1.13, .precision = 0.01};
	run(&b, &p, hole, NULL);
	ck_assert_int_eq(b.state, MC_BISECT_FOUND);
	ck_assert(b.pass < 1 && b.fail >= 1 && b.fail < 1.02);
	ck_assert(b.again > 1.06 && b.again < 1.16);
	consistent(&b);
	mc_bisect_fini(&b);
}
END_TEST

/* A step with a noisy edge: x has its own luck, the same whenever it is asked. */
struct noise {
	double at, width;
	uint64_t seed;
};

static bool noisy(double x, const void *arg)
{
	const struct noise *n = arg;
	uint64_t h = n->seed;
	double luck;

	for (const char *p = (const char *)&x; p < (const char *)(&x + 1); p++)
		h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	h ^= h >> 29;
	luck = (double)(h % 100003) / 100003;
	return x < n->at * (1 + n->width * (luck - 0.5));
}

START_TEST(noise_at_the_edge)
{
	int again = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct noise n = {1 + (double)seed / 100, 0.1, seed * UINT64_C(0x9e3779b97f4a7c15)};
		struct mc_bisect_params p = {.start = 1, .precision = 0.01};
		struct mc_bisect b;

		run(&b, &p, noisy, &n);
		ck_assert_int_eq(b.state, MC_BISECT_FOUND);
		consistent(&b);
		ck_assert(b.pass > n.at * 0.949 / 1.01 && b.fail < n.at * 1.051 * 1.01);
		again += b.again > 0;
		mc_bisect_fini(&b);
	}
	ck_assert_int_gt(again, 20); /* the noise was really there */
}
END_TEST

/* Whatever the answers: it ends, with what was tried on either side. */
static bool coin(double x, const void *arg)
{
	return noisy(x, &(struct noise){1, 1e6, *(const uint64_t *)arg});
}

START_TEST(chaos)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct mc_bisect_params p = {.start = 1, .precision = 0.001};
		struct mc_bisect b;

		run(&b, &p, coin, &seed);
		consistent(&b);
		mc_bisect_fini(&b);
	}
}
END_TEST

static void push(struct mc_capacity_side *s, int64_t seed, enum mc_bisect_state state, double pass)
{
	struct mc_capacity_search *x;

	s->search = mc_xrealloc(s->search, s->n + 1, sizeof *s->search);
	x = &s->search[s->n++];
	*x = (struct mc_capacity_search){.seed = seed};
	x->bisect.state = state;
	x->bisect.pass = pass;
	x->bisect.fail = state == MC_BISECT_ALWAYS ? INFINITY : pass > 0 ? pass * 1.01 : 0.001;
}

START_TEST(summary)
{
	struct mc_capacity c = {.n = 4, .side = mc_xcalloc(4, sizeof *c.side)};
	struct mc_capacity_summary m;

	for (int64_t seed = 1; seed <= 3; seed++) {
		push(&c.side[0], seed, MC_BISECT_FOUND, (double)seed);
		push(&c.side[1], seed, MC_BISECT_FOUND, 2.0 * (double)seed);
		push(&c.side[3], seed, seed == 2 ? MC_BISECT_NEVER : MC_BISECT_FOUND, seed == 2 ? 0 : 5);
		c.side[0].random = c.side[1].random = c.side[3].random = true;
	}
	push(&c.side[2], 1, MC_BISECT_FOUND, 3); /* not random: one for all */
	mc_capacity_summarize(&c, 0, &m);
	ck_assert_double_eq_tol(m.pass.mean, 2, 1e-12);
	ck_assert_double_eq_tol(m.pass.half, 4.3027 / sqrt(3), 1e-3); /* t of two degrees of freedom; sd 1 */
	ck_assert_double_eq_tol(m.fail, 2.02, 1e-12);
	ck_assert_double_eq(m.ratio.mean, 1);
	ck_assert_double_eq(m.ratio.half, 0);
	mc_capacity_summarize(&c, 1, &m);
	ck_assert_double_eq(m.ratio.mean, 2); /* paired: no spread, though the sides have some */
	ck_assert_double_eq(m.ratio.half, 0);
	mc_capacity_summarize(&c, 2, &m);
	ck_assert_uint_eq(m.pass.n, 1);
	ck_assert_uint_eq(m.ratio.n, 3);
	ck_assert_double_eq_tol(m.ratio.mean, (3 + 1.5 + 1) / 3, 1e-12);
	mc_capacity_summarize(&c, 3, &m);
	ck_assert_uint_eq(m.pass.n + m.ratio.n, 0); /* one has no answer, so there is no mean */
	ck_assert_uint_eq(m.never, 1);
	ck_assert_double_eq(m.lowest_fail, 0.001);
	ck_assert_double_eq(m.highest_pass, 5);
	mc_capacity_fini(&c);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("bisect");
	TCase *t = tcase_create("bisect");

	tcase_add_test(t, steps);
	tcase_add_test(t, range);
	tcase_add_test(t, out_of_reach);
	tcase_add_test(t, not_monotone);
	tcase_add_test(t, noise_at_the_edge);
	tcase_add_test(t, chaos);
	tcase_add_test(t, summary);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
