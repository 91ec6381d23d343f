/*
 * Functions that are looked up in a run, tabulated over knots; what is between is linear, so that constants,
 * straight lines and, on two axes, products of straight lines are met exactly. Two kinds of axes:
 *
 * - steps, of whole numbers from 1 on: any set of them, for functions that bend or jump at known places. They
 *   are found by a table, as far as it goes, then by bisection.
 * - octaves: 2^e (1 + j / 2^bits), j < 2^bits. A knot is found from the bits of a double, without logarithms.
 *   Of x^a between them the error is at most a (a - 1) / 8 / 4^bits.
 */
#ifndef MC_MODEL_GRID_H
#define MC_MODEL_GRID_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

#define MC_STEPS_WHOLE 8192

struct mc_steps {
	size_t n;        /* knots, at least 2 */
	double *at;      /* increasing whole numbers, the first one 1 */
	double *inverse; /* 1 / what is between a knot and the next; of the last one 0 */
	uint32_t *below; /* [x], x <= MC_STEPS_WHOLE and the last knot: the knot at or below x */
};

struct mc_marks {
	MC_VEC(int64_t)
};

/* From 1 to top, at least 2: 2^bits knots to an octave, and those of the marks that lie there, in any order.
 */
void mc_steps_init(struct mc_steps *s, int64_t top, int bits, const struct mc_marks *marks);
void mc_steps_fini(struct mc_steps *s);
size_t mc_steps_bisect(const struct mc_steps *s, double x);

static inline double mc_steps_top(const struct mc_steps *s)
{
	return s->at[s->n - 1];
}

/* x whole, from 1 to the last knot: the knot at or below it, and how far it is to the next, 0 .. 1. */
static inline size_t mc_steps_find(const struct mc_steps *s, double x, double *share)
{
	size_t i = x <= MC_STEPS_WHOLE ? s->below[(size_t)x] : mc_steps_bisect(s, x);

	*share = (x - s->at[i]) * s->inverse[i];
	return i;
}

struct mc_octaves {
	int bits;
	size_t n;   /* knots; the last one is at top */
	double top; /* a power of 2 */
};

/* Up to the power of 2 that is at least top, itself at least 2. */
struct mc_octaves mc_octaves_to(double top, int bits);
double mc_octaves_at(const struct mc_octaves *o, size_t i);

/* 1 <= x <= top; as above. */
static inline size_t mc_octaves_find(const struct mc_octaves *o, double x, double *share)
{
	int shift = 52 - o->bits;
	uint64_t u;

	memcpy(&u, &x, sizeof u);
	u -= (uint64_t)1023 << 52;
	*share = (double)(u & (((uint64_t)1 << shift) - 1)) / (double)((uint64_t)1 << shift);
	return (size_t)(u >> shift);
}

struct mc_line {
	struct mc_steps x;
	double *y; /* n + 1, the last one twice */
};

struct mc_plane {
	struct mc_steps x;
	struct mc_octaves y;
	double *z; /* (x.n + 1) rows of y.n + 1 */
};

/* What is tabulated, at whole numbers; between them it is taken to be linear. */
typedef double (*mc_grid_fn)(void *arg, int64_t x, int64_t y);

/* They take *x over. The line's y is 0. */
void mc_line_init(struct mc_line *l, const struct mc_steps *x, mc_grid_fn f, void *arg);
void mc_line_fini(struct mc_line *l);
void mc_plane_init(struct mc_plane *p, const struct mc_steps *x, struct mc_octaves y, mc_grid_fn f,
		   void *arg);
void mc_plane_fini(struct mc_plane *p);

/* x whole, between the knots. */
static inline double mc_line_value(const struct mc_line *l, double x)
{
	double share;
	const double *y = l->y + mc_steps_find(&l->x, x, &share);

	return y[0] + share * (y[1] - y[0]);
}

/* x whole; both between the knots. */
static inline double mc_plane_value(const struct mc_plane *p, double x, double y)
{
	double sx, sy;
	size_t width = p->y.n + 1, i = mc_steps_find(&p->x, x, &sx), j = mc_octaves_find(&p->y, y, &sy);
	const double *low = p->z + i * width + j, *high = low + width;
	double a = low[0] + sy * (low[1] - low[0]), b = high[0] + sy * (high[1] - high[0]);

	return a + sx * (b - a);
}

#endif
