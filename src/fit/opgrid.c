#include "fit/opgrid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "stat/sort.h"

#define FILLED_WEIGHT  0.05  /* of a cell that nobody measured, a measured one counting 1 */
#define SWEEPS         40    /* of the isotonic regression on several axes */
#define CONTRADICTION  0.405 /* log of 1.5 */
#define OUTLIER_PASSES 8

static bool rises(enum mc_dim d)
{
	return d != MC_DIM_DEPTH;
}

static size_t stride(const struct mc_opgrid *g, int a)
{
	size_t s = 1;

	for (int b = a + 1; b < g->basis.axes; b++)
		s *= g->n[b];
	return s;
}

struct mc_op_point mc_opgrid_point_of(const struct mc_opgrid *g, size_t cell)
{
	struct mc_op_point p = g->basis.fixed;

	for (int a = g->basis.axes - 1; a >= 0; a--) {
		p.dim[g->basis.dim[a]] = (int64_t)g->at[a][cell % g->n[a]];
		cell /= g->n[a];
	}
	return p;
}

static int compare_real(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void coordinates(struct mc_opgrid *g, int a, const struct mc_opgrid_point *p, size_t n)
{
	double *at = mc_xcalloc(n, sizeof *at);
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		at[i] = (double)p[i].point.dim[g->basis.dim[a]];
	qsort(at, n, sizeof *at, compare_real);
	for (size_t i = 0; i < n; i++)
		if (!k || at[i] != at[k - 1])
			at[k++] = at[i];
	g->at[a] = at;
	g->n[a] = k;
}

static size_t cell_of(const struct mc_opgrid *g, const struct mc_op_point *p)
{
	size_t cell = 0;

	for (int a = 0; a < g->basis.axes; a++) {
		double x = (double)p->dim[g->basis.dim[a]];
		const double *at = bsearch(&x, g->at[a], g->n[a], sizeof x, compare_real);

		cell = cell * g->n[a] + (size_t)(at - g->at[a]);
	}
	return cell;
}

/* Nearest cells along an axis that have a time; -1: none. */
static void neighbours(const struct mc_opgrid *g, size_t cell, int a, const bool *have, long side[2])
{
	long step = (long)stride(g, a), place = (long)(cell / (size_t)step % g->n[a]);

	side[0] = side[1] = -1;
	for (long i = 1; i <= place && side[0] < 0; i++)
		if (have[(long)cell - i * step])
			side[0] = (long)cell - i * step;
	for (long i = 1; place + i < (long)g->n[a] && side[1] < 0; i++)
		if (have[(long)cell + i * step])
			side[1] = (long)cell + i * step;
}

/* Time of a cell from its neighbours along an axis; NAN: none there. *inside: there is one on each side. */
static double along(const struct mc_opgrid *g, size_t cell, int a, const bool *have, bool *inside)
{
	size_t step = stride(g, a);
	const double *over = g->basis.over_work ? g->log_work : NULL;
	double x0, x1, x, y0, y1;
	long side[2];

	neighbours(g, cell, a, have, side);
	*inside = side[0] >= 0 && side[1] >= 0;
	if (!*inside && side[0] >= 0)
		return g->log_s[side[0]] + g->log_work[cell] - g->log_work[side[0]];
	if (!*inside)
		return side[1] >= 0 ? g->log_s[side[1]] : NAN;
	x0 = mc_curve_coordinate(g->basis.dim[a], g->at[a][(size_t)side[0] / step % g->n[a]]);
	x1 = mc_curve_coordinate(g->basis.dim[a], g->at[a][(size_t)side[1] / step % g->n[a]]);
	x = mc_curve_coordinate(g->basis.dim[a], g->at[a][cell / step % g->n[a]]);
	y0 = g->log_s[side[0]] - (over ? over[side[0]] : 0);
	y1 = g->log_s[side[1]] - (over ? over[side[1]] : 0);
	return y0 + (y1 - y0) * (x - x0) / (x1 - x0) + (over ? over[cell] : 0);
}

/* Mean over the axes, of those with a neighbour on each side where there are any. */
static double estimate(const struct mc_opgrid *g, size_t cell, const bool *have, bool *inside)
{
	double sum[2] = {0, 0};
	int count[2] = {0, 0};

	for (int a = 0; a < g->basis.axes; a++) {
		bool in;
		double y = along(g, cell, a, have, &in);

		if (isnan(y))
			continue;
		sum[in] += y;
		count[in]++;
	}
	*inside = count[1] > 0;
	if (!count[0] && !count[1])
		return NAN;
	return sum[*inside] / count[*inside];
}

/* Does the point contradict a neighbour beyond what kernels do? */
static bool contradicts(const struct mc_opgrid *g, size_t cell)
{
	for (int a = 0; a < g->basis.axes; a++) {
		long side[2];

		if (!rises(g->basis.dim[a]))
			continue;
		neighbours(g, cell, a, g->given, side);
		if ((side[0] >= 0 && g->log_s[cell] < g->log_s[side[0]] - CONTRADICTION) ||
		    (side[1] >= 0 && g->log_s[cell] > g->log_s[side[1]] + CONTRADICTION))
			return true;
	}
	return false;
}

struct doubt {
	size_t cell;
	double off;
};

static int compare_doubt(const void *va, const void *vb)
{
	const struct doubt *a = va, *b = vb;

	return a->off != b->off ? (a->off < b->off) - (a->off > b->off)
				: (a->cell > b->cell) - (a->cell < b->cell);
}

/* One pass: of points that contradict each other the one that is farthest off goes, its neighbours stay to be
 * looked at again. */
static size_t drop_outliers(struct mc_opgrid *g, struct doubt *d, bool *kept)
{
	size_t n = 0, dropped = 0;

	for (size_t i = 0; i < g->cells; i++) {
		bool inside;
		double y;

		kept[i] = false;
		if (!g->given[i] || !contradicts(g, i))
			continue;
		y = estimate(g, i, g->given, &inside);
		d[n++] = (struct doubt){i, fabs(y - g->log_s[i])};
	}
	if (n)
		qsort(d, n, sizeof *d, compare_doubt);
	for (size_t i = 0; i < n; i++) {
		if (kept[d[i].cell])
			continue;
		for (int a = 0; a < g->basis.axes; a++) {
			long side[2];

			neighbours(g, d[i].cell, a, g->given, side);
			for (int k = 0; k < 2; k++)
				if (side[k] >= 0)
					kept[side[k]] = true;
		}
		g->given[d[i].cell] = false;
		dropped++;
	}
	return dropped;
}

static void find_outliers(struct mc_opgrid *g, size_t points)
{
	struct doubt *d = mc_xcalloc(g->cells, sizeof *d);
	bool *kept = mc_xcalloc(g->cells, sizeof *kept);
	size_t dropped = 1;

	/* Fewer than four have no neighbours to be judged by. */
	for (int i = 0; points >= 4 && i < OUTLIER_PASSES && dropped; i++) {
		dropped = drop_outliers(g, d, kept);
		g->outliers += dropped;
	}
	free(d);
	free(kept);
}

static void fill(struct mc_opgrid *g)
{
	bool *have = mc_xcalloc(g->cells, sizeof *have);
	double *y = mc_xcalloc(g->cells, sizeof *y);
	bool *in = mc_xcalloc(g->cells, sizeof *in);
	size_t missing = 1;

	memcpy(have, g->given, g->cells * sizeof *have);
	while (missing) {
		bool any_inside = false;

		missing = 0;
		for (size_t i = 0; i < g->cells; i++) {
			if (have[i])
				continue;
			missing++;
			y[i] = estimate(g, i, have, &in[i]);
			any_inside |= in[i];
		}
		for (size_t i = 0; i < g->cells; i++) {
			if (have[i] || isnan(y[i]) || in[i] != any_inside)
				continue;
			g->log_s[i] = y[i];
			have[i] = true;
		}
	}
	free(have);
	free(y);
	free(in);
}

/* Pool adjacent violators of n values, step apart: weighted means of log seconds. block: room for n. */
struct block {
	double sum, weight;
	size_t n;
};

static void pool(double *v, const bool *given, size_t n, size_t step, struct block *block)
{
	size_t k = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		double w = given[i * step] ? 1 : FILLED_WEIGHT;
		struct block b = {w * v[i * step], w, 1};

		while (k && block[k - 1].sum * b.weight > b.sum * block[k - 1].weight) {
			k--;
			b = (struct block){b.sum + block[k].sum, b.weight + block[k].weight,
					   b.n + block[k].n};
		}
		block[k++] = b;
	}
	for (size_t i = 0; i < k; i++)
		for (size_t j = 0; j < block[i].n; j++, at++)
			if (block[i].n > 1)
				v[at * step] = block[i].sum / block[i].weight;
}

static void pool_axis(struct mc_opgrid *g, int a, struct block *block)
{
	size_t step = stride(g, a);

	for (size_t i = 0; i < g->cells; i++)
		if (i / step % g->n[a] == 0)
			pool(g->log_s + i, g->given + i, g->n[a], step, block);
}

/* What the sweeps left undone, and never below the hardware's bound, which rises itself. */
static void finish(struct mc_opgrid *g)
{
	for (size_t i = 0; i < g->cells; i++) {
		struct mc_op_point p = mc_opgrid_point_of(g, i);
		double floor_s = mc_op_floor_s(&p, &g->basis.limits, g->basis.element_bytes);

		for (int a = 0; a < g->basis.axes; a++) {
			size_t step = stride(g, a);

			if (rises(g->basis.dim[a]) && i / step % g->n[a])
				g->log_s[i] = fmax(g->log_s[i], g->log_s[i - step]);
		}
		if (floor_s > 0)
			g->log_s[i] = fmax(g->log_s[i], log(floor_s));
	}
}

static void make_rise(struct mc_opgrid *g)
{
	struct block *block = mc_xcalloc(g->cells, sizeof *block);
	double *correction = mc_xcalloc(g->cells * (size_t)g->basis.axes, sizeof *correction);
	int wide = 0;

	for (int a = 0; a < g->basis.axes; a++)
		wide += g->n[a] > 1;
	for (int sweep = 0; sweep < (wide > 1 ? SWEEPS : 1); sweep++)
		for (int a = 0; a < g->basis.axes; a++) {
			double *c = correction + (size_t)a * g->cells;

			if (!rises(g->basis.dim[a]) || g->n[a] < 2)
				continue;
			for (size_t i = 0; i < g->cells; i++)
				c[i] = g->log_s[i] += c[i];
			pool_axis(g, a, block);
			for (size_t i = 0; i < g->cells; i++)
				c[i] -= g->log_s[i];
		}
	finish(g);
	free(correction);
	free(block);
}

bool mc_opgrid_init(struct mc_opgrid *g, const struct mc_opgrid_basis *b, struct mc_opgrid_point *p, size_t n)
{
	memset(g, 0, sizeof *g);
	g->basis = *b;
	g->cells = 1;
	for (int a = 0; a < b->axes; a++) {
		coordinates(g, a, p, n);
		g->cells *= g->n[a];
	}
	if (g->cells > MC_OPGRID_CELLS_MAX) {
		mc_opgrid_fini(g);
		return false;
	}
	g->log_s = mc_xcalloc(g->cells, sizeof *g->log_s);
	g->log_work = mc_xcalloc(g->cells, sizeof *g->log_work);
	g->given = mc_xcalloc(g->cells, sizeof *g->given);
	for (size_t i = 0; i < n; i++) {
		p[i].cell = cell_of(g, &p[i].point);
		g->log_s[p[i].cell] = p[i].log_s;
		g->given[p[i].cell] = true;
	}
	for (size_t i = 0; i < g->cells; i++) {
		struct mc_op_point at = mc_opgrid_point_of(g, i);
		double work_s = mc_op_work_s(&at, &b->limits, b->element_bytes);

		g->log_work[i] = work_s > 0 ? log(work_s) : 0;
	}
	find_outliers(g, n);
	fill(g);
	make_rise(g);
	return true;
}

void mc_opgrid_fini(struct mc_opgrid *g)
{
	for (int a = 0; a < MC_CURVE_AXES; a++)
		free(g->at[a]);
	free(g->log_s);
	free(g->log_work);
	free(g->given);
	memset(g, 0, sizeof *g);
}
