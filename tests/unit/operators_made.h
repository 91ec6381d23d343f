/* For tests of operators: sections of curves whose time is a factor times the work, everywhere. */
#ifndef MC_TESTS_OPERATORS_MADE_H
#define MC_TESTS_OPERATORS_MADE_H

#include <string.h>

#include "hw/optime.h"
#include "unit.h"

static const struct mc_op_limits made_limits = {300e12, 2e12, 200e9, 0, 0, 0, 0};

static inline json_t *made_section(void)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:[]}", "device", "made", "dtype", "bf16", "date",
			 "2025-01-01", "source", "test", "curves");
}

static inline json_t *made_axis(const char *dim, int64_t from, int64_t to)
{
	return json_pack("{s:s, s:[I, I]}", "dim", dim, "at", (json_int_t)from, (json_int_t)to);
}

/* What the axes of an operator are: from 1 (contexts: 0) to 4,096; bytes to 2^32. */
static inline unsigned made_axes(enum mc_op op)
{
	switch (op) {
	case MC_OP_ATTENTION_PREFILL:
		return 1u << MC_DIM_ROWS | 1u << MC_DIM_CONTEXT;
	case MC_OP_ATTENTION_DECODE:
		return 1u << MC_DIM_SEQS | 1u << MC_DIM_CONTEXT;
	case MC_OP_ALL_REDUCE:
		return 1u << MC_DIM_BYTES;
	case MC_OP_HOST_STEP:
		return 1u << MC_DIM_SEQS;
	default:
		return 1u << MC_DIM_ROWS;
	}
}

/* A curve for the fixed dimensions of p. factor is at least 1. */
static inline void made_curve(json_t *section, const struct mc_op_point *p, double factor)
{
	json_t *axes = json_array(), *fixed = json_object(), *seconds = json_array();
	struct mc_op_point knots[4] = {*p, *p, *p, *p};
	int n = 0;

	for (int d = 0; d < MC_DIMS; d++) {
		int64_t from = d == MC_DIM_CONTEXT && p->op == MC_OP_ATTENTION_PREFILL ? 0 : 1;
		int64_t to = d == MC_DIM_BYTES ? INT64_C(1) << 32 : 4096;

		if (!(mc_op_dims[p->op] >> d & 1))
			continue;
		if (!(made_axes(p->op) >> d & 1)) {
			json_object_set_new(fixed, mc_dim_names[d], json_integer(p->dim[d]));
			continue;
		}
		json_array_append_new(axes, made_axis(mc_dim_names[d], from, to));
		for (int i = 0; i < 4; i++) /* the last axis is the fastest, so the second of two is bit 0 */
			knots[i].dim[d] = (n ? i & 1 : i >> 1) ? to : from;
		n++;
	}
	for (int i = 0; i < (n == 2 ? 4 : 2); i++)
		json_array_append_new(
		    seconds, json_real(factor * mc_op_work_s(&knots[n == 2 ? i : 2 * i], &made_limits, 2)));
	json_array_append_new(json_object_get(section, "curves"),
			      json_pack("{s:s, s:o, s:o, s:o, s:s}", "op", mc_op_names[p->op], "fixed", fixed,
					"axes", axes, "seconds", seconds, "between", "work"));
}

/* Frees the section. */
static inline void made_operators(struct mc_operators *o, json_t *section)
{
	struct mc_err err = {0};
	char text[1024];

	ck_assert_msg(mc_operators_load(o, section, &made_limits, &err) == 0, "%s",
		      mc_err_format(&err, text, sizeof text));
	json_decref(section);
}

static inline struct mc_op_point gemm_point(int64_t rows, int64_t n, int64_t k)
{
	return (struct mc_op_point){MC_OP_GEMM, {[MC_DIM_ROWS] = rows, [MC_DIM_N] = n, [MC_DIM_K] = k}};
}

static inline struct mc_op_point norm_point(int64_t rows, int64_t n)
{
	return (struct mc_op_point){MC_OP_NORM, {[MC_DIM_ROWS] = rows, [MC_DIM_N] = n}};
}

static inline double made_work(const struct mc_op_point *p)
{
	return mc_op_work_s(p, &made_limits, 2);
}

#endif
