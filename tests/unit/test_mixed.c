/* The cost of a pass that computes slices of prompts beside running requests. */
#include "fixture.h"
#include "unit.h"

#include "hw/profile.h"
#include "model/mixed.h"

/* Costs of every shipped profile, and a plain one. */
static int costs(struct mc_cost *c)
{
	static const char *const names[] = {"a800-x8", "a800-x8-analytic", "h100-x8-analytic"};
	const struct mc_shape *shape = mc_shape_find("llama3-70b");
	int n = 0;

	c[n++] = plain_cost();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct mc_profile p;
		struct mc_err err = {0};

		ck_assert_msg(mc_profile_load(&p, names[i], &err) == 0, "%s", err.text);
		ck_assert_int_eq(mc_cost_init(&c[n++], &p, shape, NULL, &err), 0);
		mc_profile_fini(&p);
	}
	return n;
}

START_TEST(parts_alone)
{
	struct mc_cost c[4];

	for (int i = 0, n = costs(c); i < n; i++)
		for (double x = 1; x < 1e5; x *= 3) {
			struct mc_slices none = {0}, all = {0};

			mc_slices_add(&all, &c[i], x, x / 3, true);
			ck_assert_double_eq(mc_cost_mixed_s(&c[i], &none, 7, x),
					    mc_cost_decode_s(&c[i], 7, x));
			ck_assert_double_eq_tol(mc_cost_mixed_s(&c[i], &all, 0, 0),
						mc_cost_prefill_compute_s(&c[i], x, x / 3),
						1e-9 * mc_cost_prefill_compute_s(&c[i], x, x / 3));
		}
}
END_TEST

/* Slices of a prompt add up, whatever the cuts: only the fixed cost is paid each time. */
START_TEST(slices_add_up)
{
	struct mc_cost c[4];
	uint64_t r = 1;

	for (int i = 0, n = costs(c); i < n; i++)
		for (int k = 0; k < 1000; k++) {
			double end = 2 + (double)draw(&r, 100000), cut = (double)draw(&r, (uint64_t)end),
			       from = (double)draw(&r, (uint64_t)cut + 1);
			struct mc_slices whole = {0}, parts = {0};

			mc_slices_add(&whole, &c[i], end, from, true);
			mc_slices_add(&parts, &c[i], cut, from, false);
			mc_slices_add(&parts, &c[i], end, cut, true);
			ck_assert_double_eq_tol(parts.s, whole.s, 1e-9 * whole.s);
			ck_assert_double_eq(parts.tokens, end - from);
		}
}
END_TEST

/* Never less than either alone, at most both one after the other; more of anything never takes less. */
START_TEST(bounded_and_monotone)
{
	struct mc_cost c[4];
	uint64_t r = 2;

	for (int i = 0, n = costs(c); i < n; i++)
		for (int k = 0; k < 2000; k++) {
			double tokens = 1 + (double)draw(&r, 4096), past = (double)draw(&r, 60000),
			       batch = 1 + (double)draw(&r, 256), context = batch * (double)draw(&r, 5000);
			struct mc_slices slice = {0}, more;
			double t, alone = mc_cost_decode_s(&c[i], batch, context), prefill;

			mc_slices_add(&slice, &c[i], past + tokens, past, false);
			more = (struct mc_slices){1.01 * slice.s, slice.tokens};
			prefill = c[i].pf_a + slice.s;
			t = mc_cost_mixed_s(&c[i], &slice, batch, context);

			ck_assert_double_ge(t, alone);
			ck_assert_double_ge(t, prefill);
			if (i != 1) /* whose prefill has a larger fixed cost than its decode iteration */
				ck_assert_double_le(t, (alone + prefill) * (1 + 1e-9) + c[i].de_gemm_floor);
			ck_assert_double_ge(mc_cost_mixed_s(&c[i], &slice, batch + 1, context + 100), t);
			ck_assert_double_ge(mc_cost_mixed_s(&c[i], &more, batch, context), t);
		}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("mixed");
	TCase *t = tcase_create("mixed");

	suite_add_tcase(s, t);
	tcase_add_test(t, parts_alone);
	tcase_add_test(t, slices_add_up);
	tcase_add_test(t, bounded_and_monotone);
	return s;
}

UNIT_MAIN
