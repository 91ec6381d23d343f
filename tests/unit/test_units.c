#include "unit.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"

typedef int int_parser(const char *, int64_t *, struct mc_err *);
typedef int real_parser(const char *, double *, struct mc_err *);

static void is_int(int_parser *parse, const char *s, int64_t want)
{
	struct mc_err e = {0};
	int64_t v = -77;

	ck_assert_msg(parse(s, &v, &e) == 0, "%s: %s", s, e.text);
	ck_assert_msg(v == want, "%s: %lld, not %lld", s, (long long)v, (long long)want);
}

static void is_real(real_parser *parse, const char *s, double want)
{
	struct mc_err e = {0};
	double v = -77;

	ck_assert_msg(parse(s, &v, &e) == 0, "%s: %s", s, e.text);
	ck_assert_msg(v == want, "%s: %.17g, not %.17g", s, v, want);
}

static void bad_int(int_parser *parse, const char *s)
{
	struct mc_err e = {0};
	int64_t v = -77;

	ck_assert_msg(parse(s, &v, &e) == MC_USAGE, "'%s' was read as %lld", s, (long long)v);
	ck_assert_int_eq(e.rc, MC_USAGE);
	ck_assert_msg(strstr(e.text, s) != NULL, "'%s' does not name '%s'", e.text, s);
	ck_assert(v == -77);
}

static void bad_real(real_parser *parse, const char *s)
{
	struct mc_err e = {0};
	double v = -77;

	ck_assert_msg(parse(s, &v, &e) == MC_USAGE, "'%s' was read as %g", s, v);
	ck_assert(v == -77);
}

START_TEST(integers_are_exact)
{
	is_int(mc_units_int, "0", 0);
	is_int(mc_units_int, "-0", 0);
	is_int(mc_units_int, "+7", 7);
	is_int(mc_units_int, "1e3", 1000);
	is_int(mc_units_int, "12.50e1", 125);
	is_int(mc_units_int, "9223372036854775807", INT64_MAX);
	is_int(mc_units_int, "-9223372036854775807", -INT64_MAX);
	is_int(mc_units_int, "9007199254740993", 9007199254740993);
	is_int(mc_units_int, "0.0000000000000000000000000000000000000001e40", 1);
	is_int(mc_units_int, "0e99999999999999999999", 0);
	is_int(mc_units_count, "3M", 3000000);
	is_int(mc_units_count, "3 M", 3000000);
	is_int(mc_units_count, "1.5K", 1500);
	is_int(mc_units_count, "64Ki", 65536);
	is_int(mc_units_count, "0.5Ki", 512);
	is_int(mc_units_count, "8191Pi", INT64_C(8191) << 50);
	is_int(mc_units_bytes, "80GB", 80000000000);
	is_int(mc_units_bytes, "64KiB", 65536);
	is_int(mc_units_bytes, "512", 512);
	is_int(mc_units_bytes, "9.223372036854775807e18B", INT64_MAX);
}
END_TEST

START_TEST(bad_integers)
{
	static const char *const any[] = {"",
					  " ",
					  "x",
					  "0x10",
					  "nan",
					  "inf",
					  "1 ",
					  " 1",
					  "1..2",
					  "1.",
					  "1e",
					  "--1",
					  "+-1",
					  "1,5",
					  "1_000",
					  "3k",
					  "3MM",
					  "3m",
					  "1.5",
					  "1e-1",
					  "1/2",
					  "0.1e",
					  "1e+",
					  "٣",
					  "1  K",
					  "1\tK",
					  "1e4000",
					  "9223372036854775808",
					  "18446744073709551616",
					  "99999999999999999999",
					  "123456789012345678901234567890"};

	for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
		bad_int(mc_units_int, any[i]);
		bad_int(mc_units_count, any[i]);
		bad_int(mc_units_bytes, any[i]);
	}
	bad_int(mc_units_int, "3K");
	bad_int(mc_units_count, "8192Pi");
	bad_int(mc_units_count, "1.0001K");
	bad_int(mc_units_count, "0.00000000000000000000000001K");
	bad_int(mc_units_bytes, "1.5B");
	bad_int(mc_units_bytes, "3gb");
	bad_int(mc_units_bytes, "3K");
}
END_TEST

START_TEST(times_round_once)
{
	is_int(mc_units_time, "30s", 30 * MC_NS_PER_S);
	is_int(mc_units_time, "30", 30 * MC_NS_PER_S);
	is_int(mc_units_time, "100ms", 100 * MC_NS_PER_MS);
	is_int(mc_units_time, "0.1", 100 * MC_NS_PER_MS);
	is_int(mc_units_time, "5us", 5000);
	is_int(mc_units_time, "7ns", 7);
	is_int(mc_units_time, "2min", 120 * MC_NS_PER_S);
	is_int(mc_units_time, "1.5h", 5400 * MC_NS_PER_S);
	is_int(mc_units_time, "0.4ns", 0);
	is_int(mc_units_time, "0.5ns", 1);
	is_int(mc_units_time, "-0.5ns", -1);
	is_int(mc_units_time, "0.1000000000000000055511151231257827", 100 * MC_NS_PER_MS);
	is_int(mc_units_time, "1e-300s", 0);
	is_int(mc_units_time, "inf", MC_TIME_MAX);
	is_int(mc_units_time, "9223372036.854775806", MC_TIME_MAX - 1);
	bad_int(mc_units_time, "1e300");
	bad_int(mc_units_time, "9223372036.854775808");
	bad_int(mc_units_time, "-inf");
	bad_int(mc_units_time, "3m");
	bad_int(mc_units_time, "3 sec");
	bad_int(mc_units_time, "");
}
END_TEST

START_TEST(rates)
{
	is_real(mc_units_rate, "800Gbps", 100e9);
	is_real(mc_units_rate, "100Mbps", 12.5e6);
	is_real(mc_units_rate, "87GB/s", 87e9);
	is_real(mc_units_rate, "0.1GB/s", 1e8);
	is_real(mc_units_rate, "1GiB/s", 1073741824);
	is_real(mc_units_rate, "8b/s", 1);
	is_real(mc_units_rate, "1e9", 1e9);
	is_real(mc_units_flops, "312TFLOPS", 312e12);
	is_real(mc_units_flops, "989.5 TFLOP/s", 989.5e12);
	is_real(mc_units_real, "0.25", 0.25);
	is_real(mc_units_real, "-1.5e-3", -1.5e-3);
	is_real(mc_units_real, "00000000000000000000000000001.25", 1.25);
	is_real(mc_units_real, "12345678901234567890123456789", 12345678901234567890123456789.0);
	is_real(mc_units_real, "0.1000000000000000055511151231257827", 0.1);
	is_real(mc_units_real, "1e-400", 0);
	bad_real(mc_units_real, "1e400");
	bad_real(mc_units_real, "nan");
	bad_real(mc_units_real, "inf");
	bad_real(mc_units_real, "0x1p3");
	bad_real(mc_units_real, "1,5");
	bad_real(mc_units_real, "");
	bad_real(mc_units_rate, "87GBs");
	bad_real(mc_units_rate, "800gbps");
	bad_real(mc_units_flops, "3T");
}
END_TEST

/* Every double printed with 17 digits reads back, as strtod does. */
START_TEST(reals_round_as_strtod)
{
	uint64_t x = 1;

	for (int i = 0; i < 200000; i++) {
		double d, v;
		char s[64];

		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		memcpy(&d, &x, sizeof d);
		if (!isfinite(d))
			continue;
		snprintf(s, sizeof s, i % 2 ? "%.17g" : "%.5f", i % 2 ? d : fmod(d, 1e12));
		/* No ck_assert: it writes to a pipe each time. */
		if (mc_units_real(s, &v, NULL) || v != strtod(s, NULL))
			ck_abort_msg("%s: %.17g", s, v);
	}
}
END_TEST

START_TEST(no_locale_gets_in)
{
	char buf[MC_UNITS_TEXT];

	/* Where none of these is installed the test says nothing new. */
	if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
		setlocale(LC_ALL, "");
	is_real(mc_units_real, "1234.5", 1234.5);
	bad_real(mc_units_real, "1234,5");
	ck_assert_str_eq(mc_units_format_time(1250000, buf), "1.25 ms");
	setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(texts_for_people)
{
	char b[MC_UNITS_TEXT];

	ck_assert_str_eq(mc_units_format_time(0, b), "0 s");
	ck_assert_str_eq(mc_units_format_time(7, b), "7.00 ns");
	ck_assert_str_eq(mc_units_format_time(999499, b), "999 us");
	ck_assert_str_eq(mc_units_format_time(999999, b), "1.00 ms");
	ck_assert_str_eq(mc_units_format_time(-1250000, b), "-1.25 ms");
	ck_assert_str_eq(mc_units_format_time(9996 * MC_NS_PER_MS, b), "10.0 s");
	ck_assert_str_eq(mc_units_format_time(120 * MC_NS_PER_S, b), "120 s");
	ck_assert_str_eq(mc_units_format_time(600 * MC_NS_PER_S, b), "10.0 min");
	ck_assert_str_eq(mc_units_format_time(3 * 3600 * MC_NS_PER_S, b), "3.00 h");
	ck_assert_str_eq(mc_units_format_time(MC_TIME_MAX, b), "never");
	ck_assert_str_eq(mc_units_format_count(512, b), "512");
	ck_assert_str_eq(mc_units_format_count(-3, b), "-3");
	ck_assert_str_eq(mc_units_format_count(1234567, b), "1.23 M");
	ck_assert_str_eq(mc_units_format_count(0.25, b), "0.250");
	ck_assert_str_eq(mc_units_format_bytes(80e9, b), "80.0 GB");
	ck_assert_str_eq(mc_units_format_bytes(999.9, b), "1.00 KB");
	ck_assert_str_eq(mc_units_format_rate(100e9, b), "100 GB/s");
	ck_assert_str_eq(mc_units_format_flops(312e12, b), "312 TFLOPS");
	ck_assert_str_eq(mc_units_format_bytes(0, b), "0 B");
	mc_units_format_flops(1e300, b);
	ck_assert_str_eq(mc_units_format_flops(INFINITY, b), "inf");
	mc_units_format_time(-MC_TIME_MAX, b);
}
END_TEST

START_TEST(suggestions)
{
	static const char *const list[] = {"kv.evict", "slo.ttft", "slo.tbt", "conductor.policy", NULL};

	ck_assert_int_eq(mc_suggest_distance("", "abc"), 3);
	ck_assert_int_eq(mc_suggest_distance("kitten", "sitting"), 3);
	ck_assert_int_eq(mc_suggest_distance("polciy", "policy"), 1);
	ck_assert_str_eq(mc_suggest("kv.evcit", list), "kv.evict");
	ck_assert_str_eq(mc_suggest("ttft", list), "slo.ttft");
	ck_assert_str_eq(mc_suggest("conductor.polici", list), "conductor.policy");
	ck_assert_ptr_null(mc_suggest("seed", list));
	ck_assert_ptr_null(mc_suggest("", list));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("units");
	TCase *t = tcase_create("units");

	tcase_add_test(t, integers_are_exact);
	tcase_add_test(t, bad_integers);
	tcase_add_test(t, times_round_once);
	tcase_add_test(t, rates);
	tcase_add_test(t, reals_round_as_strtod);
	tcase_add_test(t, no_locale_gets_in);
	tcase_add_test(t, texts_for_people);
	tcase_add_test(t, suggestions);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
