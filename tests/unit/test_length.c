/* Predictors of output lengths: what all promise, and a case on which each differs from every other. */
#include "fixture.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "sched/length.h"

static const struct mc_length_params params = {.quantile = 0.9, .error = 0.5, .seed = 11};

static void *make(const struct mc_length_predictor *p, const struct mc_length_params *with)
{
	return p->create ? p->create(with) : NULL;
}

static void drop(const struct mc_length_predictor *p, void *state)
{
	if (p->destroy)
		p->destroy(state);
}

static struct mc_prompt prompt(uint64_t request, uint32_t tokens, uint32_t output)
{
	return (struct mc_prompt){
	    .request = request, .tokens = tokens, .max_tokens = 4000, .true_output = output};
}

/* At least one token, whatever was seen; the same for the same history; with nothing known, the limit. */
START_TEST(promises)
{
	for (const struct mc_length_predictor *const *p = mc_length_predictors; *p; p++) {
		void *a = make(*p, &params), *b = make(*p, &params);
		struct mc_prompt q = prompt(0, 100, 0);
		uint64_t r = 5;

		ck_assert_ptr_eq(mc_length_predictor_find((*p)->name), *p);
		ck_assert((*p)->uses_error || (*p)->predict(a, &q) == 4000);
		for (uint64_t i = 0; i < 2000; i++) {
			q = prompt(i, 1 + (uint32_t)draw(&r, UINT64_C(1) << draw(&r, 33)),
				   (uint32_t)draw(&r, 3000));
			ck_assert_uint_ge((*p)->predict(a, &q), 1);
			ck_assert_uint_eq((*p)->predict(a, &q), (*p)->predict(b, &q));
			if ((*p)->observe) {
				(*p)->observe(a, &q, q.true_output);
				(*p)->observe(b, &q, q.true_output);
			}
		}
		drop(*p, a);
		drop(*p, b);
	}
	ck_assert_ptr_null(mc_length_predictor_find("best"));
}
END_TEST

/* Outputs of no token say nothing of one that never leaves: 0 would be "not predicted". */
START_TEST(after_nothing)
{
	for (const struct mc_length_predictor *const *p = mc_length_predictors; *p; p++) {
		struct mc_prompt q = prompt(0, 100, 0);
		void *state = make(*p, &params);

		for (int i = 0; (*p)->observe && i < 5; i++)
			(*p)->observe(state, &q, 0);
		ck_assert_uint_ge((*p)->predict(state, &q), 1);
		drop(*p, state);
	}
}
END_TEST

/* After outputs of 10 (nine times) and 100 (once): mean 19, 0.9 quantile 100, the truth 40. */
START_TEST(each_differs)
{
	uint32_t said[16];
	size_t n = 0;

	for (const struct mc_length_predictor *const *p = mc_length_predictors; *p; p++, n++) {
		void *state = make(*p, &params);
		struct mc_prompt q = prompt(3, 100, 40);

		for (int i = 0; (*p)->observe && i < 10; i++)
			(*p)->observe(state, &q, i == 4 ? 100 : 10);
		said[n] = (*p)->predict(state, &q);
		for (size_t k = 0; k < n; k++)
			ck_assert_uint_ne(said[k], said[n]);
		if (!strcmp((*p)->name, "class-mean"))
			ck_assert_uint_eq(said[n], 19);
		if (!strcmp((*p)->name, "quantile"))
			ck_assert_uint_eq(said[n], 100);
		if (!strcmp((*p)->name, "oracle"))
			ck_assert_uint_eq(said[n], 40);
		q.tokens = 128; /* another class, of which nothing is known */
		if ((*p)->observe)
			ck_assert_uint_eq((*p)->predict(state, &q), 4000);
		drop(*p, state);
	}
	ck_assert_uint_ge(n, 4);
}
END_TEST

/* The quantile of the last 512, sorted anew. */
START_TEST(quantile_of_the_last)
{
	const struct mc_length_predictor *p = mc_length_predictor_find("quantile");
	static const double q[] = {0, 0.25, 0.5, 0.9, 1};
	static uint32_t seen[2000];
	uint64_t r = 9;

	for (size_t k = 0; k < 5; k++) {
		struct mc_length_params with = {.quantile = q[k]};
		void *state = make(p, &with);
		struct mc_prompt at = prompt(0, 100, 0);

		for (size_t n = 1; n <= 2000; n++) {
			size_t from = n > 512 ? n - 512 : 0, want = (size_t)(q[k] * (double)(n - from));
			size_t below = 0, upto = 0;
			uint32_t said;

			seen[n - 1] = 1 + (uint32_t)draw(&r, 40) * (uint32_t)draw(&r, 40);
			p->observe(state, &at, seen[n - 1]);
			said = p->predict(state, &at);
			for (size_t i = from; i < n; i++) {
				below += seen[i] < said;
				upto += seen[i] <= said;
			}
			want = want < n - from ? want : n - from - 1;
			ck_assert(below <= want && want < upto);
		}
		drop(p, state);
	}
}
END_TEST

/* The logarithm of predicted over true: mean 0, the given deviation (4,000 draws: within 5 standard errors);
 * no request's error depends on what was asked before. */
START_TEST(noise)
{
	const struct mc_length_predictor *p = mc_length_predictor_find("noisy-oracle");
	void *state = make(p, &params);
	double sum = 0, square = 0, n = 4000, mean, sd;
	struct mc_prompt q = prompt(7, 10, 100000);
	uint32_t seventh = p->predict(state, &q);

	for (uint64_t i = 0; i < 4000; i++) {
		double x;

		q = prompt(i, 10, 100000);
		x = log(p->predict(state, &q) / 1e5);
		sum += x;
		square += x * x;
	}
	mean = sum / n;
	sd = sqrt(square / n - mean * mean);
	ck_assert(fabs(mean) < 5 * 0.5 / sqrt(n) && fabs(sd - 0.5) < 5 * 0.5 / sqrt(2 * n));
	q = prompt(7, 10, 100000);
	ck_assert_uint_eq(p->predict(state, &q), seventh);
	drop(p, state);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("length");
	TCase *t = tcase_create("length");

	tcase_add_test(t, promises);
	tcase_add_test(t, after_nothing);
	tcase_add_test(t, each_differs);
	tcase_add_test(t, quantile_of_the_last);
	tcase_add_test(t, noise);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
