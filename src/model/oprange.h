/*
 * Where the measured operators of a model end: the knots within which a pass of an engine lies on measured
 * points, by the operators that matter and the dimensions that passes differ in.
 */
#ifndef MC_MODEL_OPRANGE_H
#define MC_MODEL_OPRANGE_H

#include "hw/operator.h"

struct mc_compose; /* model/compose.h */

/* Matrix products of all layers and all-reduce by rows, attention by both of its dimensions. */
#define MC_OP_RANGES 6

struct mc_op_range {
	enum mc_op op;
	enum mc_dim dim;
	double low, high; /* both inside */
	double per_row;   /* of dim, where it grows with the rows of a pass; else 0 */
};

/* Returns how many. An operator that has no curve near enough, or none that any pass lies on, is left out. */
int mc_op_ranges(const struct mc_compose *c, struct mc_op_range out[MC_OP_RANGES]);

#endif
