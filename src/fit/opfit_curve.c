/* A curve of a grid: as few knots as its points need. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/opfit.h"
#include "stat/sort.h"

int mc_opfit_axes(enum mc_op op, enum mc_dim dim[MC_CURVE_AXES])
{
	static const enum mc_dim free_dims[] = {MC_DIM_SEQS, MC_DIM_ROWS, MC_DIM_CONTEXT, MC_DIM_BYTES,
						MC_DIM_DEPTH};
	int n = 0;

	for (size_t i = 0; i < sizeof free_dims / sizeof *free_dims; i++)
		if (mc_op_dims[op] >> free_dims[i] & 1)
			dim[n++] = free_dims[i];
	return n;
}

void mc_opfit_where(char out[64], const struct mc_curve *c, const struct mc_op_point *p)
{
	size_t at = 0;

	*out = '\0';
	for (int a = 0; a < c->axes && at < 64; a++)
		at += (size_t)snprintf(out + at, 64 - at, "%s%s %lld", a ? ", " : "", mc_dim_names[c->dim[a]],
				       (long long)p->dim[c->dim[a]]);
}

/* The knots under way: coordinates of the grid, in order. */
struct knots {
	const struct mc_opgrid *g;
	size_t n[MC_CURVE_AXES];
	size_t *at[MC_CURVE_AXES];
};

static void knots_init(struct knots *k, const struct mc_opgrid *g)
{
	memset(k, 0, sizeof *k);
	k->g = g;
	for (int a = 0; a < g->basis.axes; a++) {
		k->at[a] = mc_xcalloc(g->n[a] + 1, sizeof *k->at[a]);
		k->at[a][k->n[a]++] = 0;
		if (g->n[a] > 1)
			k->at[a][k->n[a]++] = g->n[a] - 1;
	}
}

static void knots_fini(struct knots *k)
{
	for (int a = 0; a < MC_CURVE_AXES; a++)
		free(k->at[a]);
}

static bool knots_has(const struct knots *k, int a, size_t x)
{
	for (size_t i = 0; i < k->n[a]; i++)
		if (k->at[a][i] == x)
			return true;
	return false;
}

static void knots_add(struct knots *k, int a, size_t x)
{
	size_t i = k->n[a]++;

	for (; i && k->at[a][i - 1] > x; i--)
		k->at[a][i] = k->at[a][i - 1];
	k->at[a][i] = x;
}

static void knots_remove(struct knots *k, int a, size_t x)
{
	size_t i = 0;

	while (k->at[a][i] != x)
		i++;
	for (k->n[a]--; i < k->n[a]; i++)
		k->at[a][i] = k->at[a][i + 1];
}

static size_t knots_count(const struct knots *k)
{
	size_t n = 1;

	for (int a = 0; a < k->g->basis.axes; a++)
		n *= k->n[a];
	return n;
}

/* Cell of knot i. */
static size_t knots_cell(const struct knots *k, size_t i)
{
	size_t cell = 0, step = 1;

	for (int a = k->g->basis.axes - 1; a >= 0; a--) {
		cell += k->at[a][i % k->n[a]] * step;
		i /= k->n[a];
		step *= k->g->n[a];
	}
	return cell;
}

/* *c needs _fini. */
static void make_curve(struct mc_curve *c, const struct knots *k)
{
	const struct mc_opgrid *g = k->g;
	size_t n = knots_count(k);

	memset(c, 0, sizeof *c);
	c->fixed = g->basis.fixed;
	c->axes = g->basis.axes;
	c->over_work = g->basis.over_work;
	c->limits = g->basis.limits;
	c->element_bytes = g->basis.element_bytes;
	for (int a = 0; a < c->axes; a++) {
		c->dim[a] = g->basis.dim[a];
		c->n[a] = k->n[a];
		c->at[a] = mc_xcalloc(k->n[a], sizeof *c->at[a]);
		for (size_t i = 0; i < k->n[a]; i++)
			c->at[a][i] = g->at[a][k->at[a][i]];
	}
	c->log_s = mc_xcalloc(n, sizeof *c->log_s);
	for (size_t i = 0; i < n; i++) {
		size_t cell = knots_cell(k, i);

		c->log_s[i] = g->log_s[cell] - (c->over_work ? g->log_work[cell] : 0);
	}
}

/* Distances of the curve from the grid at its measured cells, NULL: not wanted; returns the sum of their
 * squares. */
static double distances(const struct knots *k, double *off)
{
	struct mc_curve c;
	double sum = 0;

	make_curve(&c, k);
	for (size_t i = 0; i < k->g->cells; i++) {
		struct mc_op_point p;
		double d;

		if (off)
			off[i] = 0;
		if (!k->g->given[i])
			continue;
		p = mc_opgrid_point_of(k->g, i);
		d = fabs(log(mc_curve_s(&c, &p)) - k->g->log_s[i]);
		sum += d * d;
		if (off)
			off[i] = d;
	}
	mc_curve_fini(&c);
	return sum;
}

/* Are 95 % of the measured cells near enough, and the others not far off? */
static bool close_enough(const struct mc_opgrid *g, const double *off)
{
	size_t given = 0, far = 0;

	for (size_t i = 0; i < g->cells; i++) {
		given += g->given[i];
		far += g->given[i] && off[i] > MC_OPFIT_CLOSE;
		if (off[i] > 4 * MC_OPFIT_CLOSE)
			return false;
	}
	return 20 * far <= given;
}

/* The worst cell gets a knot, on the axis that helps most. False: nothing to add. */
static bool add_knot(struct knots *k, const double *off)
{
	const struct mc_opgrid *g = k->g;
	double best = INFINITY;
	size_t worst = 0, place[MC_CURVE_AXES];
	int axis = -1;

	for (size_t i = 1; i < g->cells; i++)
		if (off[i] > off[worst])
			worst = i;
	for (int a = g->basis.axes - 1; a >= 0; a--) {
		place[a] = worst % g->n[a];
		worst /= g->n[a];
	}
	for (int a = 0; a < g->basis.axes; a++) {
		double sum;

		if (knots_has(k, a, place[a]))
			continue;
		knots_add(k, a, place[a]);
		sum = distances(k, NULL);
		knots_remove(k, a, place[a]);
		if (sum < best) {
			best = sum;
			axis = a;
		}
	}
	if (axis >= 0)
		knots_add(k, axis, place[axis]);
	return axis >= 0;
}

bool mc_opfit_line(struct mc_opfit_curve *c, const struct mc_opgrid_basis *b, struct mc_opgrid_point *p,
		   size_t n)
{
	struct mc_opgrid g;
	struct knots k;
	double *off;

	memset(c, 0, sizeof *c);
	if (!mc_opgrid_init(&g, b, p, n))
		return false;
	off = mc_xcalloc(g.cells, sizeof *off);
	knots_init(&k, &g);
	for (;;) {
		distances(&k, off);
		if (close_enough(&g, off) ||
		    knots_count(&k) >= (size_t)(b->axes > 1 ? MC_OPFIT_KNOTS_GRID : MC_OPFIT_KNOTS_LINE) ||
		    !add_knot(&k, off))
			break;
	}
	make_curve(&c->curve, &k);
	for (size_t i = 0; i < knots_count(&k); i++)
		c->filled += !g.given[knots_cell(&k, i)];
	c->points = n;
	c->outliers = g.outliers;
	knots_fini(&k);
	free(off);
	mc_opgrid_fini(&g);
	return true;
}
