/* Element-wise operators of every backend against double precision. */
#include "tests/unit/unit.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "tests/kernels/rig.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

START_TEST(swiglu)
{
	static const int shapes[][2] = {{1, 8}, {3, 24}, {7, 704}, {33, 1408}, {0, 64}};
	struct rig_random g = {17};
	struct rig r;

	rig_open(&r, _i);
	for (size_t c = 0; c < COUNT(shapes); c++) {
		int rows = shapes[c][0], ffn = shapes[c][1];
		size_t n = (size_t)rows * (size_t)ffn;
		float *x = rig_normals(&g, r.dtype, 2 * n, 3), *y = malloc(n * sizeof *y + 1);
		struct mc_swiglu a = {.gate_up = rig_put(&r, r.dtype, x, 2 * n),
				      .y = rig_blank(&r, n * mc_dtype_bytes(r.dtype)),
				      .rows = rows,
				      .ffn = ffn,
				      .dtype = r.dtype};

		r.be->swiglu(r.s, &a);
		rig_get(&r, r.dtype, a.y, y, n);
		for (size_t i = 0; i < n; i++) {
			size_t row = i / (size_t)ffn, col = i % (size_t)ffn;
			double gate = x[row * 2 * (size_t)ffn + col],
			       up = x[(row * 2 + 1) * (size_t)ffn + col];
			double want = gate / (1 + exp(-gate)) * up;

			/* Below f16's normal numbers half a step is 2^-25. */
			rig_close_to(y[i], want,
				     fabs(want) * (mc_dtype_epsilon(r.dtype) / 2 + 0x1p-20) +
					 (r.dtype == MC_F16 ? 0x1p-25 : 1e-30),
				     "swiglu", i);
		}
		free(x);
		free(y);
	}
	rig_close(&r);
}
END_TEST

/* Gates far from zero, where exp overflows or vanishes: 0 or the gate itself, never NaN. Numbers that every
 * format holds. */
START_TEST(swiglu_far)
{
	static const float gate[8] = {-60000, -1000, -100, -88, 89, 100, 1000, 60000};
	float x[16], y[8];
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < 8; i++) {
		x[i] = rig_rounded(r.dtype, gate[i]);
		x[8 + i] = 1;
	}
	struct mc_swiglu a = {.gate_up = rig_put(&r, r.dtype, x, 16),
			      .y = rig_blank(&r, 8 * mc_dtype_bytes(r.dtype)),
			      .rows = 1,
			      .ffn = 8,
			      .dtype = r.dtype};

	r.be->swiglu(r.s, &a);
	rig_get(&r, r.dtype, a.y, y, 8);
	for (size_t i = 0; i < 8; i++)
		rig_close_to(y[i], x[i] > 0 ? x[i] : 0, x[i] > 0 ? x[i] * mc_dtype_epsilon(r.dtype) : 1e-30,
			     "swiglu", i);
	rig_close(&r);
}
END_TEST

static int32_t pick_id(struct rig_random *g, int row, int table_rows)
{
	const int32_t odd[] = {table_rows - 1, -1, 0, table_rows, INT_MIN, INT_MAX, -table_rows};

	return row < (int)COUNT(odd) ? odd[row] : (int32_t)rig_below(g, (uint32_t)table_rows);
}

static void run_embed(struct rig *r, struct rig_random *g, int rows, int width, int table_rows)
{
	size_t w = (size_t)width, n = (size_t)rows * w;
	float *table = rig_normals(g, r->dtype, (size_t)table_rows * w, 1), *y = malloc(n * sizeof *y + 1);
	int32_t *id = malloc((size_t)rows * sizeof *id + 1);

	for (int i = 0; i < rows; i++)
		id[i] = pick_id(g, i, table_rows);
	struct mc_embed a = {.table = rig_put(r, r->dtype, table, (size_t)table_rows * w),
			     .id = rig_put_bytes(r, id, (size_t)rows * sizeof *id),
			     .y = rig_blank(r, n * mc_dtype_bytes(r->dtype)),
			     .rows = rows,
			     .width = width,
			     .table_rows = table_rows,
			     .dtype = r->dtype};

	r->be->embed(r->s, &a);
	rig_get(r, r->dtype, a.y, y, n);
	for (size_t i = 0; i < n; i++) {
		int32_t row = id[i / w];
		float want = row >= 0 && row < table_rows ? table[(size_t)row * w + i % w] : 0;

		if (memcmp(&y[i], &want, sizeof want))
			ck_abort_msg("row %zu, column %zu (id %d): %g, not %g", i / w, i % w, row,
				     (double)y[i], (double)want);
	}
	free(table);
	free(y);
	free(id);
}

/* Exact: widths around what a thread and a block move, ids outside of the table. */
START_TEST(embed)
{
	static const int width[] = {8, 64, 1016, 1024, 1032, 4096, 8192, 8200, 16384, 16392};
	struct rig_random g = {18};

	for (size_t i = 0; i < COUNT(width); i++) {
		struct rig r;

		rig_open(&r, _i);
		for (int rows = 0; rows <= 11; rows += rows < 2 ? 1 : 9)
			run_embed(&r, &g, rows, width[i], width[i] > 4096 ? 3 : 1 + (int)i * 5);
		rig_close(&r);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("elementwise");
	TCase *t = tcase_create("elementwise");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, swiglu, 0, rig_count());
	tcase_add_loop_test(t, swiglu_far, 0, rig_count());
	tcase_add_loop_test(t, embed, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
