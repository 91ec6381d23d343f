/*
 * Measured points of one operator, completed to a grid that rises: every combination of the coordinates that
 * occur gets a time. A combination that nobody measured lies on the line, in logarithms, between measured
 * ones around it; with measured ones only below, it grows with the work from there (hw/curve.h); with ones
 * only above, it takes as long as those. Then weighted isotonic regression of log seconds: pool adjacent
 * violators along each axis in turn, with the corrections of Boyle and Dykstra (1986), so that several axes
 * end at the nearest rising grid. More depth makes requests faster, so that axis may fall.
 */
#ifndef MC_FIT_OPGRID_H
#define MC_FIT_OPGRID_H

#include <stdbool.h>
#include <stddef.h>

#include "hw/curve.h"

#define MC_OPGRID_CELLS_MAX 200000

/* A measured point; of repeats the median. */
struct mc_opgrid_point {
	struct mc_op_point point;
	double log_s;
	size_t cell; /* of the grid, once there is one */
};

/* What the points of a grid have in common. */
struct mc_opgrid_basis {
	struct mc_op_point fixed; /* 0 where there is an axis */
	int axes;
	enum mc_dim dim[MC_CURVE_AXES];
	struct mc_op_limits limits;
	double element_bytes;
	bool over_work; /* lines between points are those of time over work */
};

struct mc_opgrid {
	struct mc_opgrid_basis basis;
	size_t n[MC_CURVE_AXES], cells;
	double *at[MC_CURVE_AXES]; /* increasing */
	double *log_s, *log_work;  /* of each cell, the last axis fastest */
	bool *given;               /* measured, and no outlier */
	size_t outliers;
};

/* Of n > 0 points, all different. Sets their cells. False: more than MC_OPGRID_CELLS_MAX cells, and *g is
 * empty. A point that takes at least 1.5 times as long as one with more, or less than one with less by that
 * much, and is farther from its neighbours than they are without it, is an outlier and counts for nothing. */
bool mc_opgrid_init(struct mc_opgrid *g, const struct mc_opgrid_basis *b, struct mc_opgrid_point *p,
		    size_t n);
void mc_opgrid_fini(struct mc_opgrid *g);
/* The point of a cell. */
struct mc_op_point mc_opgrid_point_of(const struct mc_opgrid *g, size_t cell);

#endif
