/*
 * A curve: the fitted time of an operator over some of its dimensions (the axes), the others being fixed.
 * Profiles hold them under "operators"."curves" (man mooncake-profile(5)), `mooncake fit` makes them:
 *
 *     {"op": "gemm", "fixed": {"n": 8192, "k": 1024}, "axes": [{"dim": "rows", "at": [1, 16, 128, 1024,
 * 8192]}], "seconds": [2.1e-5, 2.1e-5, 4.2e-5, 9.8e-5, 7.1e-4], "between": "seconds", "error": {"points":
 * 210, "median": 0.012, "p95": 0.06, "worst": 0.11, "worst_at": "rows 96"}, "source": "..."}
 *
 * seconds is row-major over the axes, the last one fastest. Between knots the logarithm of the time is linear
 * in the logarithm of each dimension (context: of 1 + it), multilinear on several axes; "between": "work"
 * does so with time over work (below) and multiplies by the work at the point: for operators whose time is no
 * power of their dimensions between knots. Beyond the first and the last knot of an axis the time is that of
 * the edge, times the ratio of work there: extrapolation by operation counts; below the first knot the time
 * is the first knot's (a launch costs what it costs). Work: operations over flops plus bytes over
 * memory_bytes_per_s, of device memory or of whatever carries the bytes; the limits that aren't known count
 * as 1e15 operations/s and 1e12 bytes/s. Operators whose work is not counted (layer, step, host_step, one
 * rank's all-reduce) keep the time of the edge and can't be interpolated over work.
 */
#ifndef MC_HW_CURVE_H
#define MC_HW_CURVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "hw/operator.h"

#define MC_CURVE_AXES 3

/* Errors on points that the fit did not see, relative: |predicted / measured - 1|. */
struct mc_curve_error {
	int64_t points; /* 0: not known */
	double median, p95, worst;
	char worst_at[64];
};

struct mc_curve {
	struct mc_op_point fixed; /* the operator and its fixed dimensions; those of axes are 0 */
	int axes;                 /* 1 .. MC_CURVE_AXES */
	enum mc_dim dim[MC_CURVE_AXES];
	size_t n[MC_CURVE_AXES];   /* knots, at least 1 */
	double *at[MC_CURVE_AXES]; /* increasing */
	double *log_s;             /* logarithms of seconds, or of seconds over work; product of n */
	bool over_work;
	struct mc_curve_error error;
	char *source;
	/* What work is measured with; copied at loading. */
	struct mc_op_limits limits;
	double element_bytes;
};

/* From an object of a profile; NULL: nothing is known. Errors (MC_USAGE) name the key "error". */
int mc_curve_error_load(struct mc_curve_error *e, const json_t *object, struct mc_err *err);
/* From one object of a profile; errors (MC_USAGE) name the key inside. A curve with a time below the floor of
 * its point is refused. *c needs _fini only on success. */
int mc_curve_load(struct mc_curve *c, const json_t *object, const struct mc_op_limits *l,
		  double element_bytes, struct mc_err *err);
void mc_curve_fini(struct mc_curve *c);
/* Does it hold for the point: the same operator and the same fixed dimensions? */
bool mc_curve_matches(const struct mc_curve *c, const struct mc_op_point *p);
/* Seconds of a point that matches; never below its floor. */
double mc_curve_s(const struct mc_curve *c, const struct mc_op_point *p);
/* Is it between the knots on every axis? */
bool mc_curve_covers(const struct mc_curve *c, const struct mc_op_point *p);
/* How many knots it has on all axes together; the point of one of them, the last axis fastest. */
size_t mc_curve_knots(const struct mc_curve *c);
struct mc_op_point mc_curve_knot(const struct mc_curve *c, size_t i);
/* What lines are linear in: the logarithm of a dimension, of 1 + it for context. */
double mc_curve_coordinate(enum mc_dim d, double x);
/* The work of a point, in seconds, as above. */
double mc_op_work_s(const struct mc_op_point *p, const struct mc_op_limits *l, double element_bytes);

#endif
