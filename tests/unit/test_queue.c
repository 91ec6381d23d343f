/* Which prompt is next at a prefill instance: against all subsets, and by hand. */
#include "fixture.h"
#include "unit.h"

#include <string.h>

#include "engine/prefill.h"
#include "engine/queue.h"

#define JOBS 7

static struct mc_prefill_job make(mc_time takes, mc_time deadline)
{
	return (struct mc_prefill_job){.expected = takes, .takes = takes, .deadline = deadline};
}

/* The most of them that can be in time, all being there at `from`: subsets in order of their deadlines. */
static int most_in_time(const struct mc_prefill_job *job, int n, mc_time from)
{
	int most = 0;

	for (int set = 0; set < 1 << n; set++) {
		mc_time t = from, last = -1;
		int count = 0;
		unsigned done = 0;

		for (bool met = true; met && done != (unsigned)set; count++) {
			int next = -1;

			for (int k = 0; k < n; k++)
				if ((set >> k & 1) && !(done >> k & 1) &&
				    (next < 0 || job[k].deadline < job[next].deadline))
					next = k;
			last = job[next].deadline;
			t += job[next].takes;
			met = t <= last;
			count -= !met;
			done |= 1U << next;
		}
		most = done == (unsigned)set && count > most ? count : most;
	}
	return most;
}

/* n jobs at once, in order of their deadlines or in any: how many are in time, and how many could be. */
static int in_time(uint64_t *rnd, bool ordered, int *most)
{
	struct mc_prefill_queue q = {.order = MC_PREFILL_DEADLINE};
	struct mc_prefill_job job[JOBS], *next;
	int n = 1 + (int)draw(rnd, JOBS), served = 0, met = 0;
	mc_time from = (mc_time)draw(rnd, 40), t = from, deadline = from;

	for (int k = 0; k < n; k++) {
		deadline = ordered ? deadline + (mc_time)draw(rnd, 20) : from + (mc_time)draw(rnd, 100);
		job[k] = make(1 + (mc_time)draw(rnd, 20), deadline);
		mc_prefill_queue_push(&q, &job[k], from);
		ck_assert_uint_eq(q.n, (uint32_t)k + 1);
	}
	while ((next = mc_prefill_queue_pop(&q, t))) {
		t += next->takes;
		met += t <= next->deadline;
		served++;
	}
	ck_assert_int_eq(served, n);
	ck_assert_int_eq(q.ready.expected, 0);
	ck_assert_int_eq(q.late.expected, 0);
	*most = most_in_time(job, n, from);
	return met;
}

/* As many are in time as can be where they come in order of their deadlines, as those of one objective do. In
 * any order what was given up stays so, which costs little. */
START_TEST(fewest_late)
{
	uint64_t rnd = 5;
	int most, sum = 0, possible = 0;

	for (int round = 0; round < 600; round++) {
		int met = in_time(&rnd, true, &most);

		ck_assert_int_eq(met, most);
		met = in_time(&rnd, false, &most);
		ck_assert_int_le(met, most);
		sum += met;
		possible += most;
	}
	ck_assert_int_lt(sum, possible);
	ck_assert_int_gt(100 * sum, 97 * possible);
}
END_TEST

static void pops(struct mc_prefill_queue *q, mc_time now, struct mc_prefill_job *want)
{
	ck_assert_ptr_eq(mc_prefill_queue_pop(q, now), want);
}

START_TEST(fifo_minds_nothing)
{
	struct mc_prefill_queue q = {.order = MC_PREFILL_FIFO};
	struct mc_prefill_job a = make(50, 10), b = make(1, 1), c = make(7, MC_TIME_MAX);

	mc_prefill_queue_push(&q, &a, 0);
	mc_prefill_queue_push(&q, &b, 0);
	mc_prefill_queue_push(&q, &c, 0);
	ck_assert_int_eq(q.ready.expected, 58);
	pops(&q, 100, &a);
	pops(&q, 100, &b);
	mc_prefill_queue_push(&q, &a, 0);
	pops(&q, 100, &c);
	pops(&q, 100, &a);
	pops(&q, 100, NULL);
	ck_assert_int_eq(q.ready.expected, 0);
}
END_TEST

/* A long prompt is in time until short ones come of which it would make one late. */
START_TEST(the_longest_is_given_up)
{
	struct mc_prefill_queue q = {.order = MC_PREFILL_DEADLINE};
	struct mc_prefill_job a = make(60, 100), b = make(30, 110), c = make(30, 115),
			      never = make(1, MC_TIME_MAX);

	mc_prefill_queue_push(&q, &never, 0);
	mc_prefill_queue_push(&q, &a, 0);
	mc_prefill_queue_push(&q, &b, 0);
	ck_assert_int_eq(q.ready.expected, 90);
	ck_assert_int_eq(q.late.expected, 1);
	mc_prefill_queue_push(&q, &c, 0); /* 120 > 115 */
	ck_assert_int_eq(q.ready.expected, 60);
	ck_assert_int_eq(q.late.expected, 61);
	pops(&q, 81, &c); /* later than it was to be: b would end at 111 */
	pops(&q, 111, &a);
	pops(&q, 171, &b);
	pops(&q, 201, &never);
	pops(&q, 202, NULL);
}
END_TEST

/* Late ones get their share and no more, while others wait; and all, once none does. */
START_TEST(share_of_the_late)
{
	struct mc_prefill_queue q = {.order = MC_PREFILL_DEADLINE, .late_share = 0.25};
	struct mc_prefill_job late[3] = {make(10, 1), make(10, 2), make(10, 3)}, job[100];
	mc_time now = 0, spent = 0;
	int served = 0;

	for (int k = 0; k < 3; k++)
		mc_prefill_queue_push(&q, &late[k], now);
	for (int k = 0; k < 100; k++) {
		job[k] = make(4, 10000 + k);
		mc_prefill_queue_push(&q, &job[k], now);
	}
	for (int k = 0; k < 103; k++) {
		struct mc_prefill_job *next = mc_prefill_queue_pop(&q, now);

		now += next->takes;
		if (next >= late && next < late + 3) {
			ck_assert_ptr_eq(next, &late[served++]);
			ck_assert_int_eq(now - spent, 4 * 10 * served + 10 * served - spent); /* every 40 */
		}
	}
	ck_assert_int_eq(served, 3);
	q.late_share = 0;
	mc_prefill_queue_push(&q, &late[0], 1000);
	mc_prefill_queue_push(&q, &late[1], 1000);
	mc_prefill_queue_push(&q, &job[99], 1000);
	pops(&q, 1000, &job[99]);
	pops(&q, 1000, &late[0]);
	pops(&q, 1000, &late[1]);
}
END_TEST

/* All are late: in order of deadlines, then of coming, those without one last; while more come and some go.
 */
START_TEST(order_of_the_late)
{
	struct mc_prefill_queue q = {.order = MC_PREFILL_DEADLINE};
	struct mc_prefill_job job[300], *next;
	int pushed = 0;
	uint64_t rnd = 8;

	while (pushed < 300 || q.n) {
		int want = -1;

		if (pushed < 300 && draw(&rnd, 3)) {
			bool never = !draw(&rnd, 4);

			job[pushed] = make(1, never ? MC_TIME_MAX : (mc_time)draw(&rnd, 50));
			mc_prefill_queue_push(&q, &job[pushed++], 1000);
			continue;
		}
		for (int k = 0; k < pushed; k++)
			if (job[k].takes && (want < 0 || job[k].deadline < job[want].deadline))
				want = k;
		next = mc_prefill_queue_pop(&q, 1000);
		ck_assert_ptr_eq(next, want < 0 ? NULL : &job[want]);
		if (next)
			next->takes = 0;
	}
}
END_TEST

START_TEST(cleared)
{
	struct mc_prefill_queue q = {.order = MC_PREFILL_DEADLINE, .late_share = 0.5};
	struct mc_prefill_job a = make(9, 1), b = make(3, 100), c = make(3, 50), *all;

	ck_assert_ptr_null(mc_prefill_queue_clear(&q));
	mc_prefill_queue_push(&q, &a, 0);
	all = mc_prefill_queue_clear(&q);
	ck_assert_ptr_eq(all, &a);
	ck_assert_ptr_null(a.next);
	mc_prefill_queue_push(&q, &a, 0);
	mc_prefill_queue_push(&q, &b, 0);
	mc_prefill_queue_push(&q, &c, 0);
	all = mc_prefill_queue_clear(&q);
	ck_assert_ptr_eq(all, &c);
	ck_assert_ptr_eq(c.next, &b);
	ck_assert_ptr_eq(b.next, &a);
	ck_assert_ptr_null(a.next);
	ck_assert_uint_eq(q.n, 0);
	ck_assert_int_eq(q.order, MC_PREFILL_DEADLINE);
	pops(&q, 0, NULL);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("queue");
	TCase *t = tcase_create("queue");

	tcase_add_test(t, fewest_late);
	tcase_add_test(t, fifo_minds_nothing);
	tcase_add_test(t, the_longest_is_given_up);
	tcase_add_test(t, share_of_the_late);
	tcase_add_test(t, order_of_the_late);
	tcase_add_test(t, cleared);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
