/*
 * Samples of operators (hw/opsamples.h) to curves (hw/curve.h), one for each operator and each set of fixed
 * dimensions: a rising grid (fit/opgrid.h), thinned to the knots that the points need, and its error on
 * points that it did not see.
 *
 * Held-out points: a curve's points, in an order that their hash gives, are dealt to five parts (or as many
 * as there are points); each part is predicted by a curve fitted to the others, knots, outliers and all. Only
 * points within those others' range count: the range is what a profile is trusted in. A part's outliers
 * count: nobody knows beforehand that a point is one. Time or time over work between knots: what has the
 * lower sum of median and 95th percentile there, time where the other would fall between knots.
 *
 * Whole layers and iterations have no curves: they are held against the sum of the others (fit/opgap.h); nor
 * have transfers between nodes (fit/netfit.h).
 */
#ifndef MC_FIT_OPFIT_H
#define MC_FIT_OPFIT_H

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"
#include "fit/opgap.h"
#include "fit/opgrid.h"
#include "hw/operators.h"
#include "hw/opsamples.h"

#define MC_OPFIT_FOLDS 5
/* Knots are added until 95 % of the points are within that of the grid, or there are so many. */
#define MC_OPFIT_CLOSE      0.01
#define MC_OPFIT_KNOTS_LINE 24
#define MC_OPFIT_KNOTS_GRID 200

struct mc_opfit_curve {
	struct mc_curve curve; /* with its error; source is NULL */
	size_t points, outliers;
	size_t filled; /* knots that nobody measured */
};

/* What all curves of an operator do on held-out points. */
struct mc_opfit_total {
	size_t curves, points, flagged, unphysical, outliers, knots;
	/* of left_out[MC_LEFT_POINT] without worst_at: where it is */
	struct mc_op_point worst;
	struct mc_curve_error left_out[MC_LEFT_OUTS];
};

struct mc_opfit {
	MC_VEC(struct mc_opfit_curve)
	struct mc_opfit_total total[MC_OPS]; /* layers and steps: none, they are in gaps */
	struct mc_opgaps gaps;
	/* of the samples, borrowed: those of the first file, dtype the same in all */
	const char *device, *software, *dtype;
	const char *date; /* the latest */
	char *source;     /* all that differ, joined */
};

/* Of n > 0 files. Flagged samples and those faster than the limits are left out, and counted. Errors
 * (MC_USAGE): files of different dtype, no sample left, a grid too large. s must outlive *f, which needs
 * _fini only on success. */
int mc_opfit_samples(struct mc_opfit *f, const struct mc_opsamples *s, size_t n, const struct mc_op_limits *l,
		     struct mc_err *err);
void mc_opfit_fini(struct mc_opfit *f);

/* The axes that curves of the operator have; returns how many. */
int mc_opfit_axes(enum mc_op op, enum mc_dim dim[MC_CURVE_AXES]);
/* One curve of n points, all different, its error not known yet; points get their cells. False: the grid is
 * too large. */
bool mc_opfit_line(struct mc_opfit_curve *c, const struct mc_opgrid_basis *b, struct mc_opgrid_point *p,
		   size_t n);
/* "rows 96, context 0": the dimensions of the axes. */
void mc_opfit_where(char out[64], const struct mc_curve *c, const struct mc_op_point *p);

/* Sets left_out[MC_LEFT_SECOND] and [MC_LEFT_SHAPE] of f->total. o: f's curves; p: the points of all of them,
 * in their order. */
void mc_opfit_leave_out(struct mc_opfit *f, const struct mc_operators *o, const struct mc_opgrid_point *p);
/* Points, median, p95, worst and where, for a profile; the caller's. */
json_t *mc_opfit_error(const struct mc_curve_error *e);
/* The "operators" section of a profile; the caller's. */
json_t *mc_opfit_section(const struct mc_opfit *f);
/* The profile: `hardware` (the object of a profile file, borrowed) with the section in place of any there.
 * The caller's to free; the same input gives the same bytes. */
char *mc_opfit_profile_text(const struct mc_opfit *f, const json_t *hardware, const char *name,
			    const char *date);

#endif
