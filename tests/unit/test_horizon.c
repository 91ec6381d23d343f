/* Who will decode when, against a list of requests that is looked through anew. */
#include "fixture.h"
#include "unit.h"

#include "sched/horizon.h"

#define OPEN    60
#define DECODES 3

struct request {
	struct mc_horizon_entry e;
	struct mc_prompt p;
	bool in;
};

static mc_time mean_stay(const mc_time *stay, int n)
{
	int from = n > MC_HORIZON_WINDOW ? n - MC_HORIZON_WINDOW : 0;
	mc_time sum = 0;

	for (int i = from; i < n; i++)
		sum += stay[i];
	return n ? sum / (n - from) : MC_TIME_MAX;
}

static struct mc_tally_sum naive(const struct request *q, uint32_t decode, mc_time starts, mc_time joins,
				 mc_time age)
{
	struct mc_tally_sum s = {0};
	int64_t gone = 0;

	for (int i = 0; i < OPEN; i++) {
		const struct mc_horizon_entry *e = &q[i].e;
		bool left = age >= 0 ? e->joins <= joins - age : e->joins + e->stays <= joins;

		if (!q[i].in || e->decode != decode)
			continue;
		s.n += e->joins <= joins && !left;
		s.context += e->joins <= joins && !left ? q[i].p.tokens : 0;
		s.kv += e->starts <= starts ? mc_prompt_kv(&q[i].p) : 0;
		gone += left ? mc_prompt_kv(&q[i].p) : 0;
	}
	s.kv = s.kv > gone ? s.kv - gone : 0;
	return s;
}

static void same(struct mc_tally_sum a, struct mc_tally_sum b)
{
	ck_assert_int_eq(a.n, b.n);
	ck_assert_int_eq(a.context, b.context);
	ck_assert_int_eq(a.kv, b.kv);
}

static void step(struct mc_horizon *h, struct request *q, uint64_t *r)
{
	mc_time starts = (mc_time)draw(r, 1000) * 1000000, joins = starts + (mc_time)draw(r, 500) * 1000000;

	if (!q->in) {
		q->p = (struct mc_prompt){.tokens = 1 + (uint32_t)draw(r, 900),
					  .max_tokens = 2 + (uint32_t)draw(r, 50)};
		q->e = (struct mc_horizon_entry){
		    .starts = starts, .joins = joins, .decode = (uint32_t)draw(r, DECODES)};
		mc_horizon_add(h, &q->e, &q->p, (uint32_t)draw(r, 60));
		q->in = true;
	} else if (draw(r, 2)) {
		mc_horizon_move(h, &q->e, starts, joins);
		ck_assert_int_eq(q->e.joins, joins);
	} else if (draw(r, 2)) {
		mc_horizon_rehome(h, &q->e, (uint32_t)draw(r, DECODES));
	} else {
		mc_horizon_remove(h, &q->e);
		mc_horizon_remove(h, &q->e); /* nothing the second time */
		q->in = false;
	}
}

START_TEST(random_history)
{
	struct mc_horizon *h = mc_horizon_new(DECODES);
	struct request q[OPEN] = {0};
	static mc_time stay[3000];
	uint64_t r = 3;

	ck_assert_int_eq(mc_horizon_stay(h), MC_TIME_MAX);
	for (int i = 0; i < 3000; i++) {
		uint32_t d = (uint32_t)draw(&r, DECODES);
		mc_time starts, joins;

		for (int k = 0; k < 5; k++)
			step(h, &q[draw(&r, OPEN)], &r);
		starts = (mc_time)draw(&r, 1200) * 1000000;
		joins = starts + (mc_time)draw(&r, 500) * 1000000;
		same(mc_horizon_by_age(h, d, starts, joins), naive(q, d, starts, joins, mean_stay(stay, i)));
		same(mc_horizon_by_length(h, d, starts, joins), naive(q, d, starts, joins, -1));
		stay[i] = (mc_time)draw(&r, 300) * 1000000;
		mc_horizon_note(h, stay[i], 1 + (int64_t)draw(&r, 30));
		ck_assert_int_eq(mc_horizon_stay(h), mean_stay(stay, i + 1));
	}
	mc_horizon_free(h);
}
END_TEST

/* A token takes the mean of all tokens of the window, not of their requests. */
START_TEST(pace)
{
	struct mc_horizon *h = mc_horizon_new(1);
	struct mc_prompt p = {.tokens = 100, .max_tokens = 11};
	struct mc_horizon_entry a = {.starts = 0, .joins = 1000}, b = a;

	mc_horizon_add(h, &a, &p, 50); /* before anything is known it never leaves */
	ck_assert_int_eq(mc_horizon_by_length(h, 0, 0, MC_TIME_MAX / 4).n, 1);
	ck_assert_int_eq(mc_horizon_by_age(h, 0, 0, MC_TIME_MAX / 4).n, 1);
	mc_horizon_note(h, 30 * 1000, 10);
	mc_horizon_note(h, 60 * 1000, 5); /* 6 us a token, mean stay 45 us */
	mc_horizon_add(h, &b, &p, 50);
	ck_assert_int_eq(b.stays, 300 * 1000);
	ck_assert_int_eq(mc_horizon_by_length(h, 0, 0, 300999).n, 2);
	ck_assert_int_eq(mc_horizon_by_length(h, 0, 0, 301000).n, 1);
	ck_assert_int_eq(mc_horizon_by_age(h, 0, 0, 45999).n, 2);
	ck_assert_int_eq(mc_horizon_by_age(h, 0, 0, 46000).n, 0);
	ck_assert_int_eq(mc_horizon_by_age(h, 0, -1, 45999).kv, 0); /* both take room later */
	ck_assert_int_eq(mc_horizon_by_age(h, 0, 0, 45999).kv, 220);
	mc_horizon_free(h);
}
END_TEST

/* A window of stays that add up to more than a time holds: four months each. */
START_TEST(long_stays)
{
	struct mc_horizon *h = mc_horizon_new(1);
	struct mc_horizon_entry e = {.decode = 0};
	struct mc_prompt p = {.tokens = 100};

	for (int i = 0; i < 3 * MC_HORIZON_WINDOW; i++)
		mc_horizon_note(h, INT64_C(10000000000000000), 1000);
	ck_assert_int_eq(mc_horizon_stay(h), INT64_C(10000000000000000));
	mc_horizon_add(h, &e, &p, 10);
	ck_assert_int_eq(e.stays, INT64_C(100000000000000));
	mc_horizon_free(h);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("horizon");
	TCase *t = tcase_create("horizon");

	tcase_add_test(t, random_history);
	tcase_add_test(t, pace);
	tcase_add_test(t, long_stays);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
