/* Element-wise operators of every backend against double precision. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/rig.h"

START_TEST(swiglu)
{
	static const int shapes[][2] = {{1, 8}, {3, 24}, {7, 704}, {33, 1408}, {0, 64}};
	struct rig_random g = {17};
	struct rig r;

	rig_open(&r, _i);
	for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
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

			rig_close_to(y[i], want,
				     fabs(want) * (mc_dtype_epsilon(r.dtype) / 2 + 0x1p-20) + 1e-30, "swiglu",
				     i);
		}
		free(x);
		free(y);
	}
	rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("elementwise");
	TCase *t = tcase_create("elementwise");

	tcase_add_loop_test(t, swiglu, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
