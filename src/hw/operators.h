/*
 * The measured operators of a profile, its "operators" section: one device, one stack of software, and a
 * curve (hw/curve.h) for each operator and each set of fixed dimensions. `mooncake fit` writes it:
 *
 *     "operators": {"device": ..., "software": ..., "dtype": "bf16", "date": ..., "source": ...,
 *                   "curves": [...], "gaps": [...],
 *                   "held_out": [{"op": "gemm", "left_out": "shape", "error": {...}}, ...]}
 *
 * software may be "", the other texts not. gaps (hw/gaps.h) and held_out may be left out.
 */
#ifndef MC_HW_OPERATORS_H
#define MC_HW_OPERATORS_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "hw/curve.h"
#include "hw/gaps.h"

/* What was left out of a fit, to see how far its prediction is off, relative. */
enum mc_left_out {
	MC_LEFT_POINT,  /* a fifth of the points of a curve: the error of the curves' own */
	MC_LEFT_SECOND, /* every second coordinate of each axis: had the grid been coarser */
	MC_LEFT_SHAPE,  /* all of a curve: of shapes that nobody measured, from the other curves; gemm only */
	MC_LEFT_OUTS,
};
extern const char *const mc_left_outs[MC_LEFT_OUTS]; /* "point", "second", "shape" */

struct mc_operators {
	char *device, *software, *dtype, *date, *source;
	double element_bytes;       /* of dtype */
	struct mc_op_limits limits; /* of the hardware around it */
	struct mc_curve *curve;
	size_t n;
	struct mc_gaps *gaps;
	size_t n_gaps;
	struct mc_curve_error held_out[MC_OPS][MC_LEFT_OUTS]; /* points 0: not known */
};

/* From the section; errors (MC_USAGE) name the key inside, such as "curves[3].seconds". Two curves of one
 * operator with the same fixed dimensions are refused. *o needs _fini only on success. */
int mc_operators_load(struct mc_operators *o, const json_t *section, const struct mc_op_limits *l,
		      struct mc_err *err);
void mc_operators_fini(struct mc_operators *o);

/* What the curves of one operator say of themselves together. */
struct mc_operators_summary {
	size_t curves;
	int64_t points; /* held out; 0: none */
	/* Of all points where the profile says it (held_out) or there is one curve; else mean of the medians
	 * and of the p95 by points, and the worst of all. */
	double median, p95, worst;
	double low[MC_DIMS], high[MC_DIMS]; /* knots and fixed values; 0: no such dimension */
};

/* Of one operator; curves is 0 where there are none. */
void mc_operators_summary(const struct mc_operators *o, enum mc_op op, struct mc_operators_summary *out);

#endif
