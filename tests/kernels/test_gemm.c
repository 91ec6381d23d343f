/* Matrix products of every backend against double precision. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/rig.h"

struct shape {
	int m, n, k;
	int x_pad, y_pad; /* elements from the end of a row to the next, multiples of 8 */
	bool accumulate, f32_out;
};

static float *blank_rows(const struct shape *c, float *y0, int stride)
{
	size_t n = (size_t)c->m * (size_t)stride;
	float *y = malloc(n * sizeof *y + 1);

	/* What isn't to be read is no number. */
	for (size_t i = 0; i < n; i++)
		y[i] = c->accumulate && i % (size_t)stride < (size_t)c->n ? y0[i] : NAN;
	return y;
}

/*
 * Products of 16-bit numbers are exact in f32. k + 1 additions, in any order, each off by at most one unit in
 * the last place (matrix units cut instead of rounding): 2^-23 (k + 1) times the sum of the sizes; f32
 * products round, too. Then one rounding to the format of y.
 */
static void check_row(const struct shape *c, enum mc_dtype out, const float *x, const float *w,
		      const float *y0, const float *y)
{
	for (int j = 0; j < c->n; j++) {
		const float *wj = w + (size_t)j * (size_t)c->k;
		double sum = c->accumulate ? y0[j] : 0, size = fabs(sum), bound;

		for (int i = 0; i < c->k; i++) {
			double p = (double)x[i] * wj[i];

			sum += p;
			size += fabs(p);
		}
		bound = 0x1p-23 * (c->k + 2) * size;
		rig_close_to(y[j], sum, bound + mc_dtype_epsilon(out) / 2 * (fabs(sum) + bound), "gemm",
			     (size_t)j);
	}
}

/* Twice: the same bytes. Columns beyond n are not written. */
static void run(struct rig *r, struct rig_random *g, const struct shape *c)
{
	enum mc_dtype out = c->f32_out ? MC_F32 : r->dtype;
	int xs = c->k + c->x_pad, ys = c->n + c->y_pad;
	size_t nx = (size_t)c->m * (size_t)xs, ny = (size_t)c->m * (size_t)ys,
	       nw = (size_t)c->n * (size_t)c->k, bytes = ny * mc_dtype_bytes(out);
	float *x = rig_normals(g, r->dtype, nx, 1), *w = rig_normals(g, r->dtype, nw, 1),
	      *y0 = rig_normals(g, out, ny, 4), *before = blank_rows(c, y0, ys);
	struct mc_gemm a = {.x = rig_put(r, r->dtype, x, nx),
			    .w = rig_put(r, r->dtype, w, nw),
			    .m = c->m,
			    .n = c->n,
			    .k = c->k,
			    .x_stride = xs,
			    .y_stride = ys,
			    .dtype = r->dtype,
			    .out_dtype = out,
			    .accumulate = c->accumulate};
	void *first = malloc(bytes + 1), *second = malloc(bytes + 1);

	a.y = rig_put(r, out, before, ny);
	r->be->gemm(r->s, &a);
	rig_get_bytes(r, a.y, first, bytes);
	a.y = rig_put(r, out, before, ny);
	r->be->gemm(r->s, &a);
	rig_get_bytes(r, a.y, second, bytes);
	ck_assert_msg(!memcmp(first, second, bytes), "a product has other bytes the second time");
	for (int i = 0; i < c->m; i++) {
		size_t at = (size_t)i * (size_t)ys;

		for (int j = 0; j < ys; j++)
			y0[at + (size_t)j] = mc_dtype_get(out, first, at + (size_t)j);
		for (int j = c->n; j < ys; j++)
			if (!isnan(y0[at + (size_t)j]))
				ck_abort_msg("row %d written beyond its end", i);
		check_row(c, out, x + (size_t)i * (size_t)xs, w, before + at, y0 + at);
	}
	free(x);
	free(w);
	free(y0);
	free(before);
	free(first);
	free(second);
}

/* A sixteenth of LLaMA2-70B's matrices, whole and cut for eight ranks: n, k. */
static const int llama[][2] = {
    {640, 512},  /* q, k, v */
    {80, 512},   /* of a rank */
    {512, 64},   /* attention's output, of a rank */
    {448, 512},  /* gate and up, of a rank */
    {512, 224},  /* down, of a rank */
    {2000, 128}, /* logits */
};

START_TEST(model_shapes)
{
	static const int rows[] = {0, 1, 3, 17};
	struct rig_random g = {5};

	for (size_t i = 0; i < sizeof llama / sizeof *llama; i++) {
		struct rig r;

		rig_open(&r, _i);
		for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
			struct shape c = {.m = rows[j],
					  .n = llama[i][0],
					  .k = llama[i][1],
					  .accumulate = i == 2 || i == 4,
					  .f32_out = i == 5};

			run(&r, &g, &c);
		}
		rig_close(&r);
	}
}
END_TEST

START_TEST(many_rows)
{
	static const struct shape c[] = {{200, 448, 128, 0, 0, false, false},
					 {200, 64, 224, 32, 64, true, false},
					 {129, 256, 72, 0, 8, false, true}};
	struct rig_random g = {6};
	struct rig r;

	rig_open(&r, _i);
	for (size_t i = 0; i < sizeof c / sizeof *c; i++)
		run(&r, &g, &c[i]);
	rig_close(&r);
}
END_TEST

START_TEST(random_shapes)
{
	struct rig_random g = {7};

	for (int i = 0; i < 40; i++) {
		struct shape c = {.m = (int)rig_below(&g, 40),
				  .n = 8 + 8 * (int)rig_below(&g, 24),
				  .k = 8 + 8 * (int)rig_below(&g, 40),
				  .x_pad = 8 * (int)rig_below(&g, 4),
				  .y_pad = 8 * (int)rig_below(&g, 4),
				  .accumulate = rig_below(&g, 2),
				  .f32_out = rig_below(&g, 2)};
		struct rig r;

		rig_open(&r, _i);
		run(&r, &g, &c);
		rig_close(&r);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("gemm");
	TCase *t = tcase_create("gemm");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, model_shapes, 0, rig_count());
	tcase_add_loop_test(t, many_rows, 0, rig_count());
	tcase_add_loop_test(t, random_shapes, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
