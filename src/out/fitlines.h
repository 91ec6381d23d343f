/* Which lines of an operator's curves are drawn: along one of their axes, a few of all the combinations of
 * curves and of knots of the other axes. */
#ifndef MC_OUT_FITLINES_H
#define MC_OUT_FITLINES_H

#include "hw/operators.h"
#include "out/chart.h"

struct mc_fitlines {
	enum mc_op op;
	enum mc_dim x; /* the axis */
	size_t n;      /* lines that were chosen, spread evenly over all */
	struct {
		const struct mc_curve *curve; /* of the operators */
		struct mc_op_point at;        /* its x is 0 */
	} line[MC_CHART_SERIES];
};

/* Times of the points of a line, rising in x. The caller's to free. */
struct mc_fitline {
	struct mc_op_point *point;
	double *x, *s;
	size_t n;
};

/* False: there is no curve of the operator, or no axis that all have. */
bool mc_fitlines_choose(struct mc_fitlines *l, const struct mc_operators *o, enum mc_op op);
/* At the knots; between: at places between them, too. */
void mc_fitline_init(struct mc_fitline *f, const struct mc_fitlines *l, size_t line, bool between);
void mc_fitline_fini(struct mc_fitline *f);
/* Is the point one of the line? */
bool mc_fitlines_has(const struct mc_fitlines *l, size_t line, const struct mc_op_point *p);
/* The dimensions in which lines differ, of one; and those that all have, with ", " before each. Return text.
 */
char *mc_fitlines_label(const struct mc_fitlines *l, size_t line, char text[128]);
char *mc_fitlines_common(const struct mc_fitlines *l, char text[128]);
/* What the axis is to a chart. */
void mc_fitlines_axis(const struct mc_fitlines *l, struct mc_chart_axis *a);

#endif
