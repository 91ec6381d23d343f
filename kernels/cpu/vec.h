/*
 * The inner loops of the CPU's operators, once for each set of vector instructions: vec_avx512.c, vec_avx2.c
 * and vec_base.c compile the same sources (vec_math.h, vec_matrix.h, vec_rows.h) for other instructions, and
 * a device takes the best that the machine has when it is opened. No function here starts threads, allocates
 * or checks: the operators' files do. All pointers and strides are in floats.
 */
#ifndef MC_KERNELS_CPU_VEC_H
#define MC_KERNELS_CPU_VEC_H

#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c[m][n] = a[m][k] b[n][k]^T, plus c before if accumulate. n a multiple of 4, k of 8. */
struct mc_cpu_nt {
	const float *a; /* made by pack */
	const float *b;
	const float
	    *soon; /* of the same shape and stride as b, wanted next: fetched meanwhile; needn't exist */
	float *c;
	int m, n, k;
	size_t b_stride, c_stride;
	bool accumulate;
};

/* c[m][n] = c[m][n] keep[m] + a[m][k] b[k][n]. n a multiple of 64. */
struct mc_cpu_nn {
	const float *a, *b, *keep;
	const float *soon; /* as above */
	float *c;
	int m, n, k;
	size_t a_stride, b_stride, c_stride;
};

/* One step of a running softmax over the rows of a tile of scores (arXiv 1805.02867). */
struct mc_cpu_softmax {
	float *score; /* [rows][stride]: scores in, exp(score - new maximum) out, 0 from valid[row] to n */
	const int *valid;        /* [rows]: how many scores of the row count; may be 0 or less */
	float *top, *sum, *keep; /* [rows]: the maximum and the sum of all so far, and what earlier sums are
				    to be multiplied with */
	int rows, n;
	size_t stride;
};

struct mc_cpu_vec {
	const char *name;
	int lanes;     /* floats in a vector */
	int tile_rows; /* rows that pack puts side by side */
	int own_rows;  /* with more rows than that a matrix product is faster by CBLAS */

	/* Rows as nt wants them, times scale: groups of tile_rows rows, vector after vector. `to` holds m
	 * rounded up to tile_rows times k rounded up to lanes. */
	void (*pack)(float *to, const struct mc_cpu_nn *from, float scale);
	void (*nt)(const struct mc_cpu_nt *t);
	void (*nn)(const struct mc_cpu_nn *t);
	void (*softmax)(const struct mc_cpu_softmax *t);

	/* Rows from .. to - 1 of the operators. */
	void (*norm)(const struct mc_norm *a, int from, int to);
	void (*rope)(const struct mc_rope *a, int from, int to);
	/* y = silu(gate) up, n a multiple of 8. */
	void (*swiglu)(const float *gate, const float *up, float *y, size_t n);
	/* The index of the largest of x[n] (the first of equals, NaN left out), -1 if none is above
	 * -infinity. */
	int (*argmax)(const float *x, int n);
	/* y[i] += x[i] */
	void (*add)(float *y, const float *x, size_t n);
	/* y[i] = exp(x[i]); for tests. */
	void (*exp)(const float *x, float *y, size_t n);
};

/* Those that this build has, the best one first, NULL at the end; and whether this machine can run one. */
extern const struct mc_cpu_vec *const mc_cpu_vecs[];
bool mc_cpu_vec_runs(const struct mc_cpu_vec *v);

/* The best one that runs here. */
const struct mc_cpu_vec *mc_cpu_vec_best(void);

#ifdef __cplusplus
}
#endif
#endif
