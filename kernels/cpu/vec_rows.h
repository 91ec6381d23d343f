/*
 * Loops over the elements of rows: RMSNorm, rotary embedding, SwiGLU, the largest of a row. Included by
 * vec_*.c.
 */
#ifndef MC_KERNELS_CPU_VEC_ROWS_H
#define MC_KERNELS_CPU_VEC_ROWS_H

#include "kernels/cpu/vec.h"
#include "kernels/cpu/vec_math.h"

typedef double vecd __attribute__((vector_size(MC_VEC_BYTES)));
typedef float vech __attribute__((vector_size(MC_VEC_BYTES / 2))); /* as many floats as vecd has doubles */
typedef float vech_at __attribute__((vector_size(MC_VEC_BYTES / 2), aligned(4), may_alias));

/* Sum of squares, in double. */
MC_VEC_INLINE double squares(const float *x, int n)
{
	vecd s[2] = {{0}, {0}};
	double sum = 0;

	for (int i = 0; i < n; i += 8) /* 8 is 1, 2 or 4 halves */
		for (int j = 0; j < 8; j += LANES / 2) {
			vecd d = __builtin_convertvector(*(const vech_at *)(x + i + j), vecd);

			s[(j / (LANES / 2)) & 1] += d * d;
		}
	s[0] += s[1];
	for (int i = 0; i < LANES / 2; i++)
		sum += s[0][i];
	return sum;
}

static void add(float *y, const float *x, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		vec_store(y + i, vec_load(y + i) + vec_load(x + i));
	for (; i < n; i++)
		y[i] += x[i];
}

static void norm(const struct mc_norm *a, int from, int to)
{
	size_t n = (size_t)a->hidden;

	for (int r = from; r < to; r++) {
		const float *x = a->x ? (const float *)a->x + (size_t)r * n : NULL, *w = a->weight;
		float *y = (float *)a->y + (size_t)r * n, by;
		size_t i = 0;

		if (a->residual) {
			float *sum = (float *)a->residual + (size_t)r * n;

			if (x)
				add(sum, x, n);
			x = sum;
		}
		by = (float)(1 / sqrt(squares(x, a->hidden) / a->hidden + (double)a->eps));
		for (; i + LANES <= n; i += LANES)
			vec_store(y + i, vec_load(x + i) * by * vec_load(w + i));
		for (; i < n; i++)
			y[i] = x[i] * by * w[i];
	}
}

static void rope(const struct mc_rope *a, int from, int to)
{
	int half = a->head_dim / 2;

	for (int r = from; r < to; r++) {
		const float *c = a->cos_sin + (size_t)a->position[r] * (size_t)a->head_dim, *s = c + half;
		float *x = (float *)a->x + (size_t)r * (size_t)a->stride;

		for (int h = 0; h < a->heads; h++, x += a->head_dim) {
			int i = 0;

			for (; i + LANES <= half; i += LANES) {
				vecf p = vec_load(x + i), q = vec_load(x + half + i), cos = vec_load(c + i),
				     sin = vec_load(s + i);

				vec_store(x + i, p * cos - q * sin);
				vec_store(x + half + i, q * cos + p * sin);
			}
			for (; i < half; i++) {
				float p = x[i], q = x[half + i];

				x[i] = p * c[i] - q * s[i];
				x[half + i] = q * c[i] + p * s[i];
			}
		}
	}
}

static void swiglu(const float *gate, const float *up, float *y, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		vecf g = vec_load(gate + i);

		vec_store(y + i, g / (1 + vec_exp(-g)) * vec_load(up + i));
	}
	if (i < n) {
		vecf g = vec_load_part(gate + i, (int)(n - i));

		vec_store_part(y + i, g / (1 + vec_exp(-g)) * vec_load_part(up + i, (int)(n - i)),
			       (int)(n - i));
	}
}

static void exps(const float *x, float *y, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		vec_store(y + i, vec_exp(vec_load(x + i)));
	if (i < n)
		vec_store_part(y + i, vec_exp(vec_load_part(x + i, (int)(n - i))), (int)(n - i));
}

/* First the largest, then where it is. */
static int argmax(const float *x, int n)
{
	vecf m = vec_all(-INFINITY);
	float top;
	int i = 0;

	for (; i + LANES <= n; i += LANES)
		m = vec_max(vec_load(x + i), m);
	top = vec_top(m);
	for (; i < n; i++)
		top = x[i] > top ? x[i] : top;
	if (!(top > -INFINITY))
		return -1;
	for (i = 0; x[i] != top; i++)
		;
	return i;
}

#endif
