/*
 * Rotary embedding of every backend against double precision, whole arrays compared, so that what is beside
 * the heads must stay.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/rig.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Of a table of so many positions the last ones are there (touching all takes seconds), all of a short one.
 */
enum { POSITIONS = 131072, WINDOW = 32, MOST_ROWS = 9 };

struct shape {
	int rows, heads, head_dim, gap; /* gap: from a row's last head to the next row */
};

/* Number j of a head. Three roundings to f32 of what is summed, and that to the format; half a step of f16's
 * smallest numbers. */
static void check_number(float got, const float *x, const float *turn, int j, const struct mc_rope *a)
{
	int half = a->head_dim / 2, pair = j % half;
	double c = turn[pair], s = turn[half + pair], p = x[pair], q = x[half + pair];
	double one = j < half ? p * c : q * c, two = j < half ? -q * s : p * s;

	rig_close_to(got, one + two,
		     fabs(one + two) * mc_dtype_epsilon(a->dtype) / 2 + (fabs(one) + fabs(two)) * 0x1p-22 +
			 (a->dtype == MC_F16 ? 0x1p-25 : 1e-38),
		     "rope", (size_t)j);
}

static void check(const float *got, const float *x, const float *turn, const int32_t *position,
		  const struct mc_rope *a)
{
	int d = a->head_dim;

	for (int i = 0; i < a->rows; i++)
		for (int j = 0; j < a->stride; j++) {
			size_t at = (size_t)i * (size_t)a->stride + (size_t)j;
			size_t head = at - (size_t)(j % d);

			if (j < a->heads * d)
				check_number(got[at], x + head, turn + (size_t)position[i] * (size_t)d, j % d,
					     a);
			else if (memcmp(got + at, x + at, sizeof *x))
				ck_abort_msg("row %d: number %d beside the heads was changed", i, j);
		}
}

/* first: of the positions that are there. Cosines and sines are any numbers (no circle), so that each counts
 * for itself. */
static void run(struct rig *r, struct rig_random *g, const struct shape *s, int32_t first)
{
	int stride = s->heads * s->head_dim + s->gap;
	size_t n = (size_t)s->rows * (size_t)stride, turns = WINDOW * (size_t)s->head_dim;
	int32_t position[MOST_ROWS], place[MOST_ROWS];
	float *x = rig_normals(g, r->dtype, n, 1), *got = malloc(n * sizeof *got + 1);
	float *turn = rig_normals(g, MC_F32, turns, 1);
	struct mc_rope a = {
	    .rows = s->rows, .heads = s->heads, .head_dim = s->head_dim, .stride = stride, .dtype = r->dtype};
	uintptr_t table;

	for (int i = 0; i < s->rows; i++) { /* both ends among them, and some twice */
		place[i] = i == 0   ? WINDOW - 1
			   : i == 1 ? 0
			   : i == 4 ? place[2]
				    : (int32_t)rig_below(g, WINDOW);
		position[i] = first + place[i];
	}
	a.x = rig_put(r, r->dtype, x, n);
	a.position = rig_put_bytes(r, position, (size_t)s->rows * sizeof *position);
	table = (uintptr_t)rig_put(r, MC_F32, turn, turns);
	a.cos_sin = (const float *)(table - (size_t)first * (size_t)s->head_dim * sizeof(float));
	r->be->rope(r->s, &a);
	rig_get(r, r->dtype, a.x, got, n);
	check(got, x, turn, place, &a);
	free(x);
	free(got);
	free(turn);
}

START_TEST(shapes)
{
	/* Heads from one to more than a block of threads has room for, in turns that come out even or not. */
	static const struct shape shape[] = {{0, 4, 64, 0},    {1, 1, 16, 0},     {1, 1, 64, 0},
					     {5, 10, 128, 0},  {3, 16, 128, 8},   {7, 17, 128, 0},
					     {2, 40, 128, 64}, {3, 33, 64, 2048}, {9, 72, 128, 256},
					     {3, 5, 80, 16},   {2, 2, 256, 0},    {2, 3, 112, 8}};
	struct rig_random g = {61};

	for (size_t i = 0; i < COUNT(shape); i++) {
		struct rig r;

		rig_open(&r, _i);
		run(&r, &g, &shape[i], 0);
		run(&r, &g, &shape[i], POSITIONS - WINDOW);
		rig_close(&r);
	}
}
END_TEST

/* A turn by a position and back by its negative gives what was there. */
START_TEST(turns_back)
{
	enum { ROWS = 3, HEADS = 2, DIM = 64, N = ROWS * HEADS * DIM };
	struct rig_random g = {62};
	float turn[2][DIM], *x, got[N];
	int32_t position[ROWS] = {0, 0, 0};
	struct rig r;

	rig_open(&r, _i);
	x = rig_normals(&g, r.dtype, N, 1);
	for (int j = 0; j < DIM / 2; j++) {
		double angle = 77777 * pow(10000, -2.0 * j / DIM);

		turn[0][j] = turn[1][j] = (float)cos(angle);
		turn[0][DIM / 2 + j] = (float)sin(angle);
		turn[1][DIM / 2 + j] = -turn[0][DIM / 2 + j];
	}
	struct mc_rope a = {.x = rig_put(&r, r.dtype, x, N),
			    .position = rig_put_bytes(&r, position, sizeof position),
			    .rows = ROWS,
			    .heads = HEADS,
			    .head_dim = DIM,
			    .stride = HEADS * DIM,
			    .dtype = r.dtype};

	for (int way = 0; way < 2; way++) {
		a.cos_sin = rig_put(&r, MC_F32, turn[way], DIM);
		r.be->rope(r.s, &a);
	}
	rig_get(&r, r.dtype, a.x, got, N);
	for (size_t i = 0; i < N; i++) {
		size_t pair = i % DIM < DIM / 2 ? i + DIM / 2 : i - DIM / 2;

		/* both numbers are rounded twice, each time by half a step of at most their length */
		rig_close_to(got[i], x[i], hypot(x[i], x[pair]) * (1.5 * mc_dtype_epsilon(r.dtype) + 0x1p-22),
			     "turned back", i);
	}
	free(x);
	rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rope");
	TCase *t = tcase_create("rope");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, shapes, 0, rig_count());
	tcase_add_loop_test(t, turns_back, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
