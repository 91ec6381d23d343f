#include "profile_text.h"

#include <math.h>

#include "des/stream.h"
#include "fit/fit.h"
#include "model/cost.h"

#define HEAD                                                                                                 \
	"# model: llama3-70b\n# tensor_parallel: 8\n# date: 2025-01-01\n# source: a test\n"                  \
	"kind,total_tokens,cached_tokens,batch,iterations,seconds\n"

/* The committed profile is what `mooncake fit` makes of the committed samples, byte for byte. */
START_TEST(committed_profile_is_the_fit)
{
	char *samples = source_text("calib/samples/a800-x8-fast25-fig14.csv");
	char *hardware = source_text("calib/profiles/a800-x8-analytic.json");
	char *want = source_text("calib/profiles/a800-x8.json"), *text;
	json_t *root = json_loads(hardware, 0, NULL);
	struct mc_profile hw;
	struct mc_samples s;
	struct mc_fit f;

	ck_assert_int_eq(mc_profile_load(&hw, "a800-x8-analytic", NULL), 0);
	ck_assert_int_eq(mc_samples_parse(&s, samples, "s.csv", NULL), 0);
	ck_assert_int_eq(mc_fit_samples(&f, &s, &hw, NULL), 0);
	text = mc_fit_profile_text(&f, &s, root, "a800-x8", NULL);
	ck_assert_str_eq(text, want);
	free(text);
	/* Fitting again on top of the result replaces the entry and nothing else. */
	json_decref(root);
	root = json_loads(want, 0, NULL);
	text = mc_fit_profile_text(&f, &s, root, "a800-x8", NULL);
	ck_assert_str_eq(text, want);
	free(text);
	json_decref(root);
	mc_samples_fini(&s);
	mc_profile_fini(&hw);
	free(samples);
	free(hardware);
	free(want);
}
END_TEST

START_TEST(other_entries_stay)
{
	char *samples = source_text("calib/samples/a800-x8-fast25-fig14.csv"), *text;
	char *hardware =
	    doctored(source_text("calib/profiles/a800-x8.json"), "\"llama3-70b-tp8\": {", "\"other-tp4\": {");
	json_t *root;
	struct mc_profile p;
	struct mc_samples s;
	struct mc_fit f;

	hardware = doctored(hardware, "\"tensor_parallel\": 8", "\"tensor_parallel\": 4");
	root = json_loads(hardware, 0, NULL);
	ck_assert_int_eq(mc_profile_load_text(&p, hardware, "h.json", NULL), 0);
	ck_assert_int_eq(mc_samples_parse(&s, samples, "s.csv", NULL), 0);
	ck_assert_int_eq(mc_fit_samples(&f, &s, &p, NULL), 0);
	mc_profile_fini(&p);
	text = mc_fit_profile_text(&f, &s, root, "both", "2026-01-01");
	ck_assert_int_eq(mc_profile_load_text(&p, text, "both.json", NULL), 0);
	ck_assert_int_eq(p.n_measured, 2);
	ck_assert_str_eq(p.measured[0].key, "other-tp4");
	ck_assert_str_eq(p.measured[1].key, "llama3-70b-tp8");
	ck_assert_str_eq(p.date, "2026-01-01");
	ck_assert_ptr_eq(mc_cost_measured(&p, mc_shape_find("llama3-70b")), &p.measured[1]);
	mc_profile_fini(&p);
	mc_samples_fini(&s);
	json_decref(root);
	free(samples);
	free(hardware);
	free(text);
}
END_TEST

START_TEST(exact_data_gives_back_its_coefficients)
{
	static const double a = 0.03, b = 2e-4, c = 5e-10, d = 3e-6, base = 0.02, per = 4e-8;
	static const int lengths[] = {2000, 9000, 50000, 100000};
	char text[4096] = HEAD;
	struct mc_profile hw;
	struct mc_samples s;
	struct mc_fit f;

	for (int i = 0; i < 8; i++) {
		double n = lengths[i / 2], p = i % 2 ? floor(n * 0.75) : 0;

		snprintf(text + strlen(text), sizeof text - strlen(text), "prefill,%.0f,%.0f,1,1,%.17g\n", n,
			 p, a + b * (n - p) + c * (n * n - p * p) + d * p);
		/* Ten iterations: contexts n .. n + 9. */
		snprintf(text + strlen(text), sizeof text - strlen(text), "decode,%.0f,%.0f,1,10,%.17g\r\n",
			 n, p, 10 * base + per * (10 * n + 45));
	}
	ck_assert_int_eq(mc_profile_load(&hw, "a800-x8-analytic", NULL), 0);
	ck_assert_int_eq(mc_samples_parse(&s, text, "s.csv", NULL), 0);
	ck_assert_int_eq((int)s.n, 16);
	ck_assert_int_eq(mc_fit_samples(&f, &s, &hw, NULL), 0);
	/* Seven digits are kept. */
	ck_assert(fabs(f.prefill[0] / a - 1) < 1e-6 && fabs(f.prefill[1] / b - 1) < 1e-6);
	ck_assert(fabs(f.prefill[2] / c - 1) < 1e-6 && fabs(f.prefill[3] / d - 1) < 1e-6);
	ck_assert(fabs(f.decode[0] / base - 1) < 1e-6 && fabs(f.decode[1] / per - 1) < 1e-6);
	ck_assert(f.prefill_error_ratio < 1e-6 && f.decode_error_ratio < 1e-6);
	ck_assert(f.fitted.prompt_max == 100000 && f.fitted.context_max == 100009 && f.fitted.batch_max == 1);
	ck_assert(f.trusted.prompt_max == 800000 && f.trusted.batch_max == 500);
	mc_samples_fini(&s);
	mc_profile_fini(&hw);
}
END_TEST

/*
 * The optimum of a convex problem is where the gradient is zero for each positive coefficient and not
 * negative for each that is zero. Targets are noisy enough that many problems have a negative unconstrained
 * solution.
 */
START_TEST(non_negative_optimum)
{
	enum { ROWS = 8 };
	gsl_rng *r;
	int clamped = 0;

	r = mc_stream_new(5, "test", 0);
	for (int k = 0; k < 500; k++) {
		size_t terms = 1 + (size_t)(k % 4);
		double x[ROWS * 4], y[ROWS], coef[4], scale = 0;

		for (size_t i = 0; i < ROWS * terms; i++)
			x[i] = gsl_rng_uniform(r);
		for (size_t i = 0; i < ROWS; i++)
			y[i] = 0.1 + gsl_rng_uniform(r);
		ck_assert(mc_fit_relative(x, y, ROWS, terms, coef));
		for (size_t i = 0; i < ROWS; i++)
			scale += 1 / (y[i] * y[i]);
		for (size_t j = 0; j < terms; j++) {
			double gradient = 0;

			for (size_t i = 0; i < ROWS; i++) {
				double residual = -y[i];

				for (size_t l = 0; l < terms; l++)
					residual += coef[l] * x[i * terms + l];
				gradient += residual * x[i * terms + j] / (y[i] * y[i]);
			}
			ck_assert(coef[j] >= 0);
			ck_assert(coef[j] > 0 ? fabs(gradient) < 1e-10 * scale : gradient > -1e-10 * scale);
			clamped += coef[j] == 0;
		}
	}
	ck_assert_int_gt(clamped, 100);
	gsl_rng_free(r);
}
END_TEST

static const struct {
	const char *text, *key;
	long line;
} bad_cases[] = {
    {"", "model", 0},
    {"kind,total_tokens,cached_tokens,batch,iterations,seconds\n", "model", 0},
    {"# model: llama9\n", "model", 1},
    {"# model: {\"layers\": 3\n", "model", 1},
    {"# model: {\"layers\": 3}\n", "hidden", 1},
    {"# model: llama3-70b\n# model: llama3-70b\n", "model", 2},
    {"# model: llama3-70b\n# tensor_parallel: eight\n", "tensor_parallel", 2},
    {"# model: llama3-70b\n# tensor_parallel: 0\n", "tensor_parallel", 2},
    {"# model: llama3-70b\n# tensor_parallel: 8\n# date: 2025\n", "source", 0},
    {"# date: 2025\n# date: 2025\n", "date", 2},
    {"prefill,8192,0,1,1,1.002\n", "", 1},
    {HEAD "prefill,8192,0,1,1\n", "", 6},
    {HEAD "prefill,8192,0,1,1,1,1\n", "", 6},
    {HEAD "\n# comment\nprefil,8192,0,1,1,1\n", "kind", 8},
    {HEAD "prefill,x,0,1,1,1\n", "total_tokens", 6},
    {HEAD "prefill,,0,1,1,1\n", "total_tokens", 6},
    {HEAD "prefill,0,0,1,1,1\n", "total_tokens", 6},
    {HEAD "prefill,99999999999999999999,0,1,1,1\n", "total_tokens", 6},
    {HEAD "prefill,8,8,1,1,1\n", "cached_tokens", 6},
    {HEAD "prefill,8,-1,1,1,1\n", "cached_tokens", 6},
    {HEAD "prefill,8,0,2,1,1\n", "batch", 6},
    {HEAD "decode,8,0,0,1,1\n", "batch", 6},
    {HEAD "decode,8,0,2,1,1\n", "batch", 6},
    {HEAD "prefill,8,0,1,2,1\n", "iterations", 6},
    {HEAD "decode,8,0,1,0,1\n", "iterations", 6},
    {HEAD "decode,8,0,1,1,0\n", "seconds", 6},
    {HEAD "decode,8,0,1,1,-1\n", "seconds", 6},
    {HEAD "decode,8,0,1,1,nan\n", "seconds", 6},
    {HEAD "decode,8,0,1,1,1 s\n", "seconds", 6},
    {HEAD "decode,8,0,1,1,1e9\n", "seconds", 6},
};

START_TEST(bad_samples_name_line_and_column)
{
	struct mc_samples s;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_samples_parse(&s, bad_cases[_i].text, "s.csv", &err), MC_USAGE);
	ck_assert_str_eq(err.file, "s.csv");
	ck_assert_str_eq(err.key, bad_cases[_i].key);
	ck_assert_int_eq(err.line, bad_cases[_i].line);
}
END_TEST

#define PREFILLS                                                                                             \
	"prefill,1000,0,1,1,1\nprefill,2000,0,1,1,2.1\nprefill,4000,0,1,1,4.5\nprefill,4000,3000,1,1,1.7\n"

static const struct {
	const char *rows, *word;
} thin[] = {
    {"", "prefill"},
    {PREFILLS, "decode"},
    {PREFILLS "decode,100,0,1,1,1\n", "decode"},
    {PREFILLS "decode,100,0,1,1,1\ndecode,100,0,1,1,1.1\n", "decode"},
    /* Nothing cached. */
    {"prefill,1,0,1,1,1\nprefill,2,0,1,1,2\nprefill,3,0,1,1,3\nprefill,4,0,1,1,4\n", "prefill"},
    /* One length. */
    {"prefill,9,0,1,1,1\nprefill,9,0,1,1,2\nprefill,9,3,1,1,3\nprefill,9,3,1,1,4\n", "prefill"},
    /* More context than the node holds. */
    {PREFILLS "decode,100,0,1,1,1\ndecode,100000000,0,1,1,1.1\n", "room"},
};

START_TEST(samples_that_determine_nothing)
{
	char text[2048];
	struct mc_profile hw;
	struct mc_samples s;
	struct mc_fit f;
	struct mc_err err = {0};

	snprintf(text, sizeof text, "%s%s", HEAD, thin[_i].rows);
	ck_assert_int_eq(mc_profile_load(&hw, "a800-x8-analytic", NULL), 0);
	ck_assert_int_eq(mc_samples_parse(&s, text, "s.csv", NULL), 0);
	ck_assert_int_eq(mc_fit_samples(&f, &s, &hw, &err), MC_USAGE);
	ck_assert_msg(strstr(err.text, thin[_i].word) != NULL, "%s", err.text);
	mc_samples_fini(&s);
	mc_profile_fini(&hw);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fit");
	TCase *t = tcase_create("fit");

	tcase_add_test(t, committed_profile_is_the_fit);
	tcase_add_test(t, other_entries_stay);
	tcase_add_test(t, exact_data_gives_back_its_coefficients);
	tcase_add_test(t, non_negative_optimum);
	tcase_add_loop_test(t, bad_samples_name_line_and_column, 0,
			    (int)(sizeof bad_cases / sizeof *bad_cases));
	tcase_add_loop_test(t, samples_that_determine_nothing, 0, (int)(sizeof thin / sizeof *thin));
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
