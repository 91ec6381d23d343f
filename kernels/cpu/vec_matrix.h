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

#include <string.h>

#include "kernels/cpu/vec.h"
#include "kernels/cpu/vec_math.h"

/* Rows and vectors of the tiles, by how many registers there are. */
#if MC_VEC_BYTES == 64
enum { ROWS = 6, WIDE = 4 };
#else
enum { ROWS = 2, WIDE = 4 };
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

/* Four columns of `rows` rows. */
MC_VEC_INLINE void nt_tile(const struct mc_cpu_nt *t, const float *a, const float *b, float *c, int rows)
{
	vecf s[ROWS][4];
	int k = 0;

#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			s[i][j] = (vecf){0};
	for (; k + LANES <= t->k; k += LANES) {
		vecf w0 = vec_load(b + k), w1 = vec_load(b + t->b_stride + k),
		     w2 = vec_load(b + 2 * t->b_stride + k), w3 = vec_load(b + 3 * t->b_stride + k);
#pragma GCC unroll 8
		for (int i = 0; i < rows; i++) {
			vecf x = vec_load(a + i * LANES);

			s[i][0] += x * w0;
			s[i][1] += x * w1;
			s[i][2] += x * w2;
			s[i][3] += x * w3;
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

static void nt(const struct mc_cpu_nt *t)
{
	size_t vectors = ((size_t)t->k + LANES - 1) / LANES;

	for (int j = 0; j < t->n; j += 4) {
		const float *b = t->b + (size_t)j * t->b_stride, *a = t->a;
		float *c = t->c + j;
		int i = 0;

		for (; i + ROWS <= t->m; i += ROWS) {
			nt_tile(t, a, b, c, ROWS);
			a += ROWS * vectors * LANES;
			c += ROWS * t->c_stride;
		}
		switch (t->m - i) {
		case 1:
			nt_tile(t, a, b, c, 1);
			break;
#if MC_VEC_BYTES == 64
		case 2:
			nt_tile(t, a, b, c, 2);
			break;
		case 3:
			nt_tile(t, a, b, c, 3);
			break;
		case 4:
			nt_tile(t, a, b, c, 4);
			break;
		case 5:
			nt_tile(t, a, b, c, 5);
			break;
#endif
		default:
			break;
		}
	}
}

/* WIDE vectors of columns of `rows` rows. */
MC_VEC_INLINE void nn_tile(const struct mc_cpu_nn *t, int i0, int j0, int rows)
{
	const float *a = t->a + (size_t)i0 * t->a_stride, *b = t->b + j0;
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

static void nn(const struct mc_cpu_nn *t)
{
	for (int j = 0; j < t->n; j += WIDE * LANES) {
		int i = 0;

		for (; i + ROWS <= t->m; i += ROWS)
			nn_tile(t, i, j, ROWS);
		switch (t->m - i) {
		case 1:
			nn_tile(t, i, j, 1);
			break;
#if MC_VEC_BYTES == 64
		case 2:
			nn_tile(t, i, j, 2);
			break;
		case 3:
			nn_tile(t, i, j, 3);
			break;
		case 4:
			nn_tile(t, i, j, 4);
			break;
		case 5:
			nn_tile(t, i, j, 5);
			break;
#endif
		default:
			break;
		}
	}
}

static void softmax(const struct mc_cpu_softmax *t)
{
	for (int i = 0; i < t->rows; i++) {
		float *x = t->score + (size_t)i * t->stride;
		int valid = t->valid[i] < 0 ? 0 : t->valid[i] < t->n ? t->valid[i] : t->n, j;
		float top = t->top[i];
		vecf m = vec_all(top), sum = {0};

		for (j = 0; j + LANES <= valid; j += LANES)
			m = vec_max(m, vec_load(x + j));
		top = vec_top(m);
		for (; j < valid; j++)
			top = x[j] > top ? x[j] : top;
		for (j = 0; j + LANES <= valid; j += LANES) {
			vecf e = vec_exp(vec_load(x + j) - top);

			vec_store(x + j, e);
			sum += e;
		}
		if (j < valid) {
			float part[LANES];

			vec_store(part, vec_exp(vec_load_part(x + j, valid - j) - top));
			for (int r = valid - j; r < LANES; r++)
				part[r] = 0;
			sum += vec_load(part);
			memcpy(x + j, part, (size_t)(valid - j) * sizeof *x);
		}
		for (j = valid; j < t->n; j++)
			x[j] = 0;
		t->keep[i] = valid > 0 ? expf(t->top[i] - top) : 1;
		t->sum[i] = t->sum[i] * t->keep[i] + vec_sum(sum);
		t->top[i] = top;
	}
}

#endif
