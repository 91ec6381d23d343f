/* Errors of curves with more left out than a fifth of the points: how far a coarser grid would be off, and
 * how far a matrix product is whose n and k nobody measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/opfit.h"
#include "hw/optime.h"
#include "stat/sort.h"
#include "stat/summary.h"

struct offs {
	MC_VEC(double)
	struct mc_op_point worst;
	double worst_off;
};

static void add_off(struct offs *all, const struct mc_opgrid_point *p, double s)
{
	double off = fabs(s / exp(p->log_s) - 1);

	if (!all->n || off > all->worst_off) {
		all->worst_off = off;
		all->worst = p->point;
	}
	mc_vec_push(all, off);
}

/* Empties the list. */
static void error_of(struct mc_curve_error *e, struct offs *all)
{
	memset(e, 0, sizeof *e);
	if (all->n) {
		mc_op_dims_text(&all->worst, e->worst_at, sizeof e->worst_at);
		mc_sort_f64(all->at, all->n);
		e->points = (int64_t)all->n;
		e->median = all->at[mc_stat_rank(all->n, 50)];
		e->p95 = all->at[mc_stat_rank(all->n, 95)];
		e->worst = all->worst_off;
	}
	mc_vec_fini(all);
}

/* The different coordinates on an axis, increasing; returns how many. at: room for n. */
static size_t coordinates(const struct mc_opgrid_point *p, size_t n, enum mc_dim d, double *at)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		at[i] = (double)p[i].point.dim[d];
	mc_sort_f64(at, n);
	for (size_t i = 0; i < n; i++)
		if (!k || at[i] != at[k - 1])
			at[k++] = at[i];
	return k;
}

/* Is the coordinate the first, third, ... or the last one? */
static bool stays(const double *at, size_t n, double x)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (at[mid] < x)
			low = mid + 1;
		else
			high = mid;
	}
	return low % 2 == 0 || low == n - 1;
}

/* Every second coordinate of each axis left out, the ends kept. */
static void every_second(const struct mc_curve *c, const struct mc_opgrid_point *p, size_t n,
			 struct offs *all)
{
	struct mc_opgrid_basis b = {.fixed = c->fixed,
				    .axes = c->axes,
				    .limits = c->limits,
				    .element_bytes = c->element_bytes,
				    .over_work = c->over_work};
	struct mc_opgrid_point *rest = mc_xcalloc(n, sizeof *rest);
	bool *kept = mc_xcalloc(n, sizeof *kept);
	double *at = mc_xcalloc(n, sizeof *at);
	struct mc_opfit_curve coarse;
	size_t left = 0;

	memset(kept, 1, n * sizeof *kept);
	for (int a = 0; a < c->axes; a++) {
		size_t k = coordinates(p, n, c->dim[a], at);

		b.dim[a] = c->dim[a];
		for (size_t i = 0; i < n; i++)
			kept[i] &= stays(at, k, (double)p[i].point.dim[c->dim[a]]);
	}
	for (size_t i = 0; i < n; i++)
		if (kept[i])
			rest[left++] = p[i];
	if (left && left < n && mc_opfit_line(&coarse, &b, rest, left)) {
		for (size_t i = 0; i < n; i++)
			if (!kept[i] && mc_curve_covers(&coarse.curve, &p[i].point))
				add_off(all, &p[i], mc_curve_s(&coarse.curve, &p[i].point));
		mc_curve_fini(&coarse.curve);
	}
	free(rest);
	free(kept);
	free(at);
}

/* The points of curve i as all the others give them. */
static void without_curve(const struct mc_operators *o, size_t i, const struct mc_opgrid_point *p, size_t n,
			  struct offs *all)
{
	struct mc_operators others = *o;

	others.curve = mc_xcalloc(o->n, sizeof *others.curve);
	others.n = o->n - 1;
	for (size_t j = 0, k = 0; j < o->n; j++)
		if (j != i)
			others.curve[k++] = o->curve[j];
	for (size_t j = 0; j < n; j++) {
		struct mc_op_time t;

		if (!mc_op_time(&others, &p[j].point, &t, NULL) && t.covered)
			add_off(all, &p[j], t.seconds);
	}
	free(others.curve);
}

void mc_opfit_leave_out(struct mc_opfit *f, const struct mc_operators *o, const struct mc_opgrid_point *p)
{
	struct offs second = {0}, shape = {0};

	for (size_t i = 0; i < f->n; i++) {
		const struct mc_curve *c = &f->at[i].curve;
		struct mc_curve_error *error = f->total[c->fixed.op].left_out;

		every_second(c, p, f->at[i].points, &second);
		if (c->fixed.op == MC_OP_GEMM)
			without_curve(o, i, p, f->at[i].points, &shape);
		p += f->at[i].points;
		if (i + 1 == f->n || f->at[i + 1].curve.fixed.op != c->fixed.op) {
			error_of(&error[MC_LEFT_SECOND], &second);
			error_of(&error[MC_LEFT_SHAPE], &shape);
		}
	}
}
