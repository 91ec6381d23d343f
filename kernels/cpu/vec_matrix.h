/*
 * Products of small matrices, which the operators' products and attention are made of. Included by vec_*.c.
 *
 * nt: c[m][n] = a[m][k] b[n][k]^T, both along k. A tile of ROWS x 4 sums stays in registers, a vector each;
 * for every vector of k ROWS + 4 vectors are loaded and 4 ROWS multiplied: bound by the multipliers when
 * a's rows (packed: one stream) are in the second-level cache and 4 rows of b in the first. Each sum is
 * made in the same order whatever m, n and the place in the tile: a row's result doesn't depend on the rows
 * beside it. b isn't packed, since with few rows each number of it is used once or a few times.
 * nn: c[m][n] = c keep + a[m][k] b[k][n], along n: numbers of a are spread over vectors of b.
 */
#ifndef MC_KERNELS_CPU_VEC_MATRIX_H
#define MC_KERNELS_CPU_VEC_MATRIX_H

#include <limits.h>

#include "kernels/cpu/vec.h"
#include "kernels/cpu/vec_math.h"
#include "kernels/cpu/vec_rows.h"

/*
 * Rows and vectors of the tiles, by how many registers there are, and the border to CBLAS. On a Zen 5 (one
 * core, n = 2,816, k = 512) 64-byte vectors gave 180 to 190 GFLOP/s from 16 rows on, which is what its
 * multipliers gave alone, OpenBLAS 0.3.21 (32-byte vectors there) 66 at 16 rows and 90 at 128; 32-byte
 * vectors here 75.
 */
#if MC_VEC_BYTES == 64
enum { ROWS = 6, WIDE = 4, OWN_ROWS = INT_MAX };
#elif MC_VEC_BYTES == 32
enum { ROWS = 2, WIDE = 4, OWN_ROWS = 16 };
#else
enum { ROWS = 2, WIDE = 4, OWN_ROWS = 8 };
#endif

static void pack(float *to, const struct mc_cpu_nn *from, float scale)
{
	for (int i0 = 0; i0 < from->m; i0 += ROWS) {
		int rows = from->m - i0 < ROWS ? from->m - i0 : ROWS;

		for (int k = 0; k < from->k; k += LANES)
			for (int i = 0; i < rows; i++, to += LANES) {
				const float *p = from->a + (size_t)(i0 + i) * from->a_stride + k;

				vec_store(to, scale * (from->k - k < LANES ? vec_load_part(p, from->k - k)
									   : vec_load(p)));
			}
	}
}

/* Four columns of `rows` rows. With `fetch` four rows of t->soon are fetched meanwhile, in the order of
 * memory where they are contiguous: hardware goes on with that. */
MC_VEC_INLINE void nt_tile(const struct mc_cpu_nt *t, const float *a, int j0, int rows, bool fetch)
{
	bool contiguous = t->b_stride == (size_t)t->k;
	size_t soon_j = contiguous ? LANES : t->b_stride, soon_k = contiguous ? 4 * LANES : LANES;
	const float *b = t->b + (size_t)j0 * t->b_stride, *soon = t->soon + (size_t)j0 * t->b_stride;
	float *c = t->c + j0;
	vecf s[ROWS][4];
	int k = 0;

#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			s[i][j] = (vecf){0};
	for (; k + LANES <= t->k; k += LANES) {
		vecf w[4];
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++) {
			w[j] = vec_load(b + (size_t)j * t->b_stride + k);
			if (fetch)
				__builtin_prefetch(soon + (size_t)j * soon_j);
		}
		soon += soon_k;
#pragma GCC unroll 8
		for (int i = 0; i < rows; i++) {
			vecf x = vec_load(a + i * LANES);
#pragma GCC unroll 4
			for (int j = 0; j < 4; j++)
				s[i][j] += x * w[j];
		}
		a += rows * LANES;
	}
	if (k < t->k) {
		vecf w[4];
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			w[j] = vec_load_part(b + (size_t)j * t->b_stride + k, t->k - k);
#pragma GCC unroll 8
		for (int i = 0; i < rows; i++) {
			vecf x = vec_load(a + i * LANES);
#pragma GCC unroll 4
			for (int j = 0; j < 4; j++)
				s[i][j] += x * w[j];
		}
	}
#pragma GCC unroll 8
	for (int i = 0; i < rows; i++) {
		vec4_at *y = (vec4_at *)(c + (size_t)i * t->c_stride);
		vec4 sum = vec_sum4(s[i][0], s[i][1], s[i][2], s[i][3]);

		if (t->accumulate)
			sum += *y;
		*y = sum;
	}
}

/* All columns of a group of packed rows. */
MC_VEC_INLINE void nt_rows(const struct mc_cpu_nt *t, int i, int rows, bool fetch)
{
	size_t vectors = ((size_t)t->k + LANES - 1) / LANES;
	const float *a = t->a + (size_t)i * vectors * LANES;
	struct mc_cpu_nt part = *t;

	part.c += (size_t)i * t->c_stride;
	for (int j = 0; j < t->n; j += 4)
		nt_tile(&part, a, j, rows, fetch);
}

/* The rows of one group, fewer than ROWS: m is made a constant. */
MC_VEC_INLINE void nt_rest(const struct mc_cpu_nt *t, int i, int rows, bool fetch)
{
	switch (rows) {
	case 1:
		nt_rows(t, i, 1, fetch);
		break;
#if MC_VEC_BYTES == 64
	case 2:
		nt_rows(t, i, 2, fetch);
		break;
	case 3:
		nt_rows(t, i, 3, fetch);
		break;
	case 4:
		nt_rows(t, i, 4, fetch);
		break;
	case 5:
		nt_rows(t, i, 5, fetch);
		break;
#endif
	default:
		break;
	}
}

static void nt(const struct mc_cpu_nt *t)
{
	if (t->m < ROWS) {
		nt_rest(t, 0, t->m, true);
		return;
	}
	nt_rows(t, 0, ROWS, true);
	for (int i = ROWS; i < t->m; i += ROWS)
		if (t->m - i >= ROWS)
			nt_rows(t, i, ROWS, false);
		else
			nt_rest(t, i, t->m - i, false);
}

/* WIDE vectors of columns of `rows` rows. With `fetch` a row of t->soon is fetched for each of b's. */
MC_VEC_INLINE void nn_tile(const struct mc_cpu_nn *t, int i0, int j0, int rows, bool fetch)
{
	const float *a = t->a + (size_t)i0 * t->a_stride, *b = t->b + j0, *soon = t->soon;
	float *c = t->c + (size_t)i0 * t->c_stride + j0;
	vecf s[ROWS][WIDE];

#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < WIDE; j++)
			s[i][j] = vec_load(c + (size_t)i * t->c_stride + j * LANES) * t->keep[i0 + i];
	for (int k = 0; k < t->k; k++, b += t->b_stride) {
		vecf v[WIDE];
#pragma GCC unroll 4
		for (int j = 0; j < WIDE; j++)
			v[j] = vec_load(b + j * LANES);
		if (fetch) {
			for (int j = 0; j < t->n; j += 16)
				__builtin_prefetch(soon + j);
			soon += t->b_stride;
		}
#pragma GCC unroll 8
		for (int i = 0; i < rows; i++) {
			float x = a[(size_t)i * t->a_stride + k];
#pragma GCC unroll 4
			for (int j = 0; j < WIDE; j++)
				s[i][j] += x * v[j];
		}
	}
#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < WIDE; j++)
			vec_store(c + (size_t)i * t->c_stride + j * LANES, s[i][j]);
}

MC_VEC_INLINE void nn_rest(const struct mc_cpu_nn *t, int i, int j, int rows, bool fetch)
{
	switch (rows) {
	case 1:
		nn_tile(t, i, j, 1, fetch);
		break;
#if MC_VEC_BYTES == 64
	case 2:
		nn_tile(t, i, j, 2, fetch);
		break;
	case 3:
		nn_tile(t, i, j, 3, fetch);
		break;
	case 4:
		nn_tile(t, i, j, 4, fetch);
		break;
	case 5:
		nn_tile(t, i, j, 5, fetch);
		break;
#endif
	default:
		break;
	}
}

static void nn(const struct mc_cpu_nn *t)
{
	for (int j = 0; j < t->n; j += WIDE * LANES) {
		int i = 0;

		if (j == 0 && t->m < ROWS)
			nn_rest(t, 0, 0, t->m, true);
		else if (j == 0)
			nn_tile(t, 0, 0, ROWS, true);
		if (j == 0)
			i = ROWS;
		for (; i < t->m; i += ROWS)
			if (t->m - i >= ROWS)
				nn_tile(t, i, j, ROWS, false);
			else
				nn_rest(t, i, j, t->m - i, false);
	}
}

static int valid_of(const struct mc_cpu_softmax *t, int row)
{
	int valid = t->valid[row];

	return valid < 0 ? 0 : valid < t->n ? valid : t->n;
}

MC_VEC_INLINE float largest(const float *x, int n, float top)
{
	vecf m = vec_all(top);
	int j = 0;

	for (; j + LANES <= n; j += LANES)
		m = vec_max(vec_load(x + j), m);
	top = vec_top(m);
	for (; j < n; j++)
		top = x[j] > top ? x[j] : top;
	return top;
}

/* x becomes exp(x - top); their sum. */
MC_VEC_INLINE float weights(float *x, int n, float top)
{
	vecf sum = {0};
	int j = 0;

	for (; j + LANES <= n; j += LANES) {
		vecf e = vec_exp_low(vec_load(x + j) - top);

		vec_store(x + j, e);
		sum += e;
	}
	if (j < n) {
		vec_store_part(x + j, vec_exp_low(vec_load_part(x + j, n - j) - top), n - j);
		sum += vec_load_part(x + j, n - j);
	}
	return vec_sum(sum);
}

/* In passes over all rows, so that what depends on each other within a row waits less. */
static void softmax(const struct mc_cpu_softmax *t)
{
	for (int i = 0; i < t->rows; i++) {
		float top = largest(t->score + (size_t)i * t->stride, valid_of(t, i), t->top[i]);

		t->keep[i] = t->top[i] - top;
		t->top[i] = top;
	}
	exps(t->keep, t->keep, (size_t)t->rows);
	for (int i = 0; i < t->rows; i++) {
		float *x = t->score + (size_t)i * t->stride;
		int valid = valid_of(t, i);

		t->sum[i] = t->sum[i] * t->keep[i] + weights(x, valid, t->top[i]);
		for (int j = valid; j < t->n; j++)
			x[j] = 0;
	}
}

#endif
