#include "unit.h"

#include "base/err.h"

START_TEST(first_error_wins)
{
	struct mc_err e = {0};
	char buf[256];

	ck_assert_int_eq(mc_err_set(&e, MC_USAGE, "is %d; expected %d", 3, 4), MC_USAGE);
	mc_err_set(&e, MC_FAIL, "later");
	mc_err_at(&e, "a.json", 7, 2, "kv.evict");
	mc_err_at(&e, "b.json", 9, 1, "other");
	ck_assert_str_eq(mc_err_format(&e, buf, sizeof buf), "a.json:7:2: kv.evict: is 3; expected 4");
	ck_assert_int_eq(e.rc, MC_USAGE);
}
END_TEST

START_TEST(format_fits_any_buffer)
{
	struct mc_err e = {0};
	char buf[12];

	mc_err_set(&e, MC_USAGE, "a long text that does not fit");
	mc_err_at(&e, "file.json", 1, 0, NULL);
	ck_assert_str_eq(mc_err_format(&e, buf, sizeof buf), "file.json:1");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("err");
	TCase *t = tcase_create("err");

	tcase_add_test(t, first_error_wins);
	tcase_add_test(t, format_fits_any_buffer);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
