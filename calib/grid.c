#include "calib/grid.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"

/* The lowest of each axis, and where it begins to matter. */
enum { ROWS_LOW = 8, CONTEXT_LOW = 16 };
enum { ROWS_HALF = 16, SEQS_HALF = 1, CONTEXT_HALF = 64 };

struct axis {
	int64_t low, high;
	double half;
};

/* At the share x (0 .. 1) of the way along the axis. */
static int64_t along(const struct axis *a, double x)
{
	double low = log((double)a->low + a->half), high = log((double)a->high + a->half);

	return (int64_t)llround(exp(low + x * (high - low)) - a->half);
}

struct axes {
	struct axis first, context; /* new tokens, or sequences */
	bool decode;
};

static void axes_of(const struct mc_calib_limits *l, bool decode, struct axes *a)
{
	int64_t rows = ROWS_LOW < l->tokens ? ROWS_LOW : l->tokens;

	*a = (struct axes){.decode = decode};
	if (decode) {
		a->first = (struct axis){1, l->batch, SEQS_HALF};
		a->context = (struct axis){CONTEXT_LOW < l->context ? CONTEXT_LOW : l->context, l->context,
					   CONTEXT_HALF};
		return;
	}
	a->first = (struct axis){rows, l->tokens, ROWS_HALF};
	a->context = (struct axis){0, l->context - l->tokens, CONTEXT_HALF};
}

static struct mc_calib_point point_at(const struct axes *a, double x, double y, int level)
{
	int64_t first = along(&a->first, x), context = along(&a->context, y);

	if (a->decode) /* of which the new one is one */
		return (struct mc_calib_point){1, context - 1, first, level};
	return (struct mc_calib_point){first, context, 1, level};
}

static bool there(const struct mc_calib_grid *g, const struct mc_calib_point *p)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->at[i].rows == p->rows && g->at[i].context == p->context && g->at[i].seqs == p->seqs)
			return true;
	return false;
}

/* The points of a level that no earlier one had. */
static void level_of(struct mc_calib_grid *all, const struct axes *a, int level, struct mc_calib_grid *out)
{
	int n = 1 << level;

	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= n; j++) {
			struct mc_calib_point p = point_at(a, (double)i / n, (double)j / n, level);

			if (there(all, &p))
				continue;
			mc_vec_push(all, p);
			mc_vec_push(out, p);
		}
}

static uint64_t hash_of(const struct mc_calib_point *p)
{
	return mc_hash_pair(mc_hash_pair((uint64_t)p->rows, (uint64_t)p->context), (uint64_t)p->seqs);
}

static int by_hash(const void *a, const void *b)
{
	uint64_t x = hash_of(a), y = hash_of(b);

	return (x > y) - (x < y);
}

void mc_calib_grid(struct mc_calib_grid *g, const struct mc_calib_limits *l, int levels)
{
	struct mc_calib_grid seen = {0};
	struct axes a[2];

	*g = (struct mc_calib_grid){0};
	axes_of(l, false, &a[0]);
	axes_of(l, true, &a[1]);
	for (int level = 0; level <= levels; level++) {
		struct mc_calib_grid of[2] = {0};

		for (int k = 0; k < 2; k++) {
			level_of(&seen, &a[k], level, &of[k]);
			if (of[k].n)
				qsort(of[k].at, of[k].n, sizeof *of[k].at, by_hash);
		}
		for (size_t i = 0; i < of[0].n || i < of[1].n; i++)
			for (int k = 0; k < 2; k++)
				if (i < of[k].n)
					mc_vec_push(g, of[k].at[i]);
		mc_vec_fini(&of[0]);
		mc_vec_fini(&of[1]);
	}
	mc_vec_fini(&seen);
}

/* 0 .. 1, number i of a stream. */
static double uniform(uint64_t seed, uint64_t i)
{
	return (double)(mc_hash_pair(seed, i) >> 11) * 0x1p-53;
}

void mc_calib_grid_random(struct mc_calib_grid *g, const struct mc_calib_limits *l, uint64_t seed, size_t n)
{
	struct axes a[2];

	*g = (struct mc_calib_grid){0};
	axes_of(l, false, &a[0]);
	axes_of(l, true, &a[1]);
	for (size_t i = 0; i < n; i++) {
		double y = uniform(seed, 2 * i + 1);
		bool decode = i % 2;
		struct mc_calib_point p;

		if (!decode && y < 0.25)
			y = 0;
		p = point_at(&a[decode], uniform(seed, 2 * i), y, -1);
		mc_vec_push(g, p);
	}
}
