/*
 * The time of any operator, measured or not, from the curves of a profile: how it was got is told, so that it
 * can be judged. In this order:
 *
 * - curve: a curve of its fixed dimensions; one that has the point between its knots before others.
 * - interpolated: a matrix product of n and k that nobody measured. Time over work (hw/curve.h) at the same
 *   rows, of the 2 to 4 nearest curves whose n and k are both within a factor of 4; its logarithm is
 *   averaged, weighted by the inverse square of the distance in (log n, log k). It need not be monotone.
 *   Each shape of a published table of an A100 (AIConfigurator, vLLM; 224 of n and k from 1,024) left out in
 *   turn: median error 3 to 4 %, p95 12 to 17 %, worst 37 %; no better or worse for few rows.
 * - scaled: from the nearest curve. A matrix product with one neighbour: by work. Attention of the same
 *   head_dim and as many heads to a KV head, their number within a factor of 8: by work. Prefill attention of
 *   several sequences: that many times one. Operators that only move bytes (norm, rope, swiglu, embed,
 *   kv_scatter, sample), bytes of a row within a factor of 16: at as many rows as move the same bytes.
 * - counted: operators that only move bytes, without such a curve: bytes over the memory bandwidth.
 *
 * Anything else is not known: collectives over another number of ranks, attention of other heads.
 */
#ifndef MC_HW_OPTIME_H
#define MC_HW_OPTIME_H

#include "hw/operators.h"

/* From the best to the worst. */
enum mc_op_how { MC_HOW_CURVE, MC_HOW_INTERPOLATED, MC_HOW_SCALED, MC_HOW_COUNTED, MC_HOWS };
extern const char *const mc_op_hows[MC_HOWS];

struct mc_op_time {
	double seconds;
	enum mc_op_how how;
	bool covered; /* between the knots of every curve that was used; counted: true */
};

/* MC_USAGE: not known; the message names the operator and its dimensions. Never below the point's floor. */
int mc_op_time(const struct mc_operators *o, const struct mc_op_point *p, struct mc_op_time *out,
	       struct mc_err *err);
/* "rows 16, n 8192, k 1024": the dimensions that the operator has; cut where there is no room. Returns text.
 */
char *mc_op_dims_text(const struct mc_op_point *p, char *text, size_t n);
/* "gemm of rows 16, n 8192, k 1024". Returns text. */
char *mc_op_point_text(const struct mc_op_point *p, char *text, size_t n);

#endif
