/*
 * RMSNorm of every backend against double precision.
 *
 * Bounds, in units of u = 2^-24 (half a step of f32) relative to the number wanted: a sum of n squares made
 * in f32 is off by at most n u and, as roundings go either way, by about sqrt(n) u; half of that after the
 * root; 16 u for root, division and the products; then the rounding to the format. A coarse format hides a
 * number that was left out of a long row's sum: so each row has one that is most of the sum, at a random
 * place.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/rig.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum form { PLAIN, IN_PLACE, RESIDUAL, RESIDUAL_IN_PLACE, RESIDUAL_ONLY, FORMS };

/* Below the normal numbers of f16 the step is 2^-24. */
static double tiny(enum mc_dtype t)
{
	return t == MC_F16 ? 0x1p-25 : 1e-38;
}

static float *rows_of(struct rig_random *g, enum mc_dtype t, int rows, int hidden)
{
	float *x = rig_normals(g, t, (size_t)rows * (size_t)hidden, 1);

	for (int i = 0; i < rows; i++) {
		int at = i == 0 ? hidden - 1 : i == 1 ? 0 : (int)rig_below(g, (uint32_t)hidden);

		x[(size_t)i * (size_t)hidden + (size_t)at] = rig_rounded(t, sqrtf((float)hidden) * 2);
		if (i % 3 == 2) /* rows of other sizes beside: none leaks into its neighbour */
			for (int j = 0; j < hidden; j++)
				x[(size_t)i * (size_t)hidden + (size_t)j] =
				    rig_rounded(t, x[(size_t)i * (size_t)hidden + (size_t)j] *
						       (i % 2 ? 0x1p4f : 0x1p-4f));
	}
	return x;
}

/* One row: y is the norm of s (what the residual holds now, or x). */
static void check_row(const float *y, const float *s, const float *weight, const struct mc_norm *a)
{
	double sum = 0, bound;

	for (int j = 0; j < a->hidden; j++)
		sum += (double)s[j] * s[j];
	sum = 1 / sqrt(sum / a->hidden + (double)a->eps);
	bound = mc_dtype_epsilon(a->dtype) / 2 + (16 + sqrt(a->hidden) / 2) * 0x1p-24;
	for (int j = 0; j < a->hidden; j++)
		rig_close_to(y[j], s[j] * sum * weight[j],
			     fabs(s[j] * sum * weight[j]) * bound + tiny(a->dtype), "norm", (size_t)j);
}

static void check(struct rig *r, const struct mc_norm *a, const float *x, const float *before, const float *w)
{
	size_t n = (size_t)a->rows * (size_t)a->hidden;
	float *y = malloc(n * sizeof *y + 1), *after = malloc(n * sizeof *after + 1);

	rig_get(r, a->dtype, a->y, y, n);
	if (a->residual) {
		rig_get(r, a->dtype, a->residual, after, n);
		for (size_t i = 0; i < n; i++) {
			double want = (double)before[i] + (a->x ? (double)x[i] : 0);

			/* f32's rounding first, then the format's */
			rig_close_to(after[i], want,
				     fabs(want) * (mc_dtype_epsilon(a->dtype) / 2 + 0x1p-24) + tiny(a->dtype),
				     "residual", i);
		}
	}
	for (int i = 0; i < a->rows; i++) {
		size_t at = (size_t)i * (size_t)a->hidden;

		check_row(y + at, (a->residual ? after : x) + at, w, a);
	}
	free(y);
	free(after);
}

static void run(struct rig *r, struct rig_random *g, struct mc_norm a, enum form form)
{
	size_t n = (size_t)a.rows * (size_t)a.hidden;
	float *x = rows_of(g, r->dtype, a.rows, a.hidden), *before = rows_of(g, r->dtype, a.rows, a.hidden);
	float *w = rig_normals(g, r->dtype, (size_t)a.hidden, 2), *kept = malloc(n * sizeof *kept + 1);
	void *y = form == IN_PLACE || form == RESIDUAL_IN_PLACE ? rig_put(r, r->dtype, x, n) : NULL;

	a.dtype = r->dtype;
	a.weight = rig_put(r, r->dtype, w, (size_t)a.hidden);
	a.x = form == RESIDUAL_ONLY ? NULL : y ? y : rig_put(r, r->dtype, x, n);
	a.residual = form >= RESIDUAL ? rig_put(r, r->dtype, before, n) : NULL;
	a.y = y ? y : rig_blank(r, n * mc_dtype_bytes(r->dtype));
	r->be->norm(r->s, &a);
	check(r, &a, x, before, w);
	if (a.x && !y) { /* what is only read stays */
		rig_get(r, r->dtype, a.x, kept, n);
		ck_assert_mem_eq(kept, x, n * sizeof *x);
	}
	free(x);
	free(before);
	free(w);
	free(kept);
}

/* Widths on both sides of every limit of the kernels' ways to cut a row. */
START_TEST(widths)
{
	static const int hidden[] = {8,    16,   64,   248,   256,   264,   504,  512,
				     520,  1000, 1024, 1032,  2048,  2056,  4088, 4096,
				     5120, 8192, 8200, 11008, 16384, 16392, 40000};
	struct rig_random g = {51};

	for (size_t i = 0; i < COUNT(hidden); i++) {
		struct rig r;

		rig_open(&r, _i);
		for (int form = 0; form < FORMS; form++)
			run(&r, &g,
			    (struct mc_norm){
				.rows = hidden[i] > 4096 ? 2 : 5, .hidden = hidden[i], .eps = 1e-5f},
			    (enum form)form);
		rig_close(&r);
	}
}
END_TEST

/* Rows from none to more than fill the last block of narrow ones. */
START_TEST(rows)
{
	struct rig_random g = {52};
	struct rig r;

	rig_open(&r, _i);
	for (int n = 0; n <= 9; n++)
		for (int form = 0; form < FORMS; form++) {
			run(&r, &g, (struct mc_norm){.rows = n, .hidden = 64, .eps = 1e-6f}, (enum form)form);
			run(&r, &g, (struct mc_norm){.rows = n, .hidden = 1040, .eps = 1e-6f},
			    (enum form)form);
		}
	run(&r, &g, (struct mc_norm){.rows = 301, .hidden = 72, .eps = 1e-6f}, RESIDUAL);
	rig_close(&r);
}
END_TEST

/* eps counts where a row is small, and keeps a row of zeros zero. */
START_TEST(epsilon)
{
	static const int hiddens[] = {256, 4096, 16400};
	struct rig_random g = {53};
	struct rig r;

	rig_open(&r, _i);
	for (size_t c = 0; c < COUNT(hiddens); c++) {
		int hidden = hiddens[c];
		size_t n = (size_t)(2 * hidden);
		float *x = rig_normals(&g, r.dtype, n, 0x1p-8f), *w = rig_normals(&g, r.dtype, n / 2, 1);
		struct mc_norm a = {.rows = 2, .hidden = hidden, .eps = 0x1p-16f, .dtype = r.dtype};

		memset(x, 0, (size_t)hidden * sizeof *x);
		a.x = rig_put(&r, r.dtype, x, n);
		a.weight = rig_put(&r, r.dtype, w, n / 2);
		a.y = rig_blank(&r, n * mc_dtype_bytes(r.dtype));
		r.be->norm(r.s, &a);
		check(&r, &a, x, NULL, w);
		free(x);
		free(w);
	}
	rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("norm");
	TCase *t = tcase_create("norm");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, widths, 0, rig_count());
	tcase_add_loop_test(t, rows, 0, rig_count());
	tcase_add_loop_test(t, epsilon, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
