/*
 * Vectors of floats, by the compilers' vector extensions: as wide as MC_VEC_BYTES, which the file that is
 * compiled sets (16 where it doesn't). Everything here is inlined, so that it takes the target of that file.
 */
#ifndef MC_KERNELS_CPU_VEC_MATH_H
#define MC_KERNELS_CPU_VEC_MATH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef MC_VEC_BYTES
#define MC_VEC_BYTES 16
#endif

#define MC_VEC_INLINE static inline __attribute__((always_inline))

enum { LANES = MC_VEC_BYTES / 4 };

typedef float vecf __attribute__((vector_size(MC_VEC_BYTES), may_alias));
typedef float vecf_at __attribute__((vector_size(MC_VEC_BYTES), aligned(4), may_alias)); /* in memory */
typedef int32_t veci __attribute__((vector_size(MC_VEC_BYTES), may_alias));
typedef float vec4 __attribute__((vector_size(16), may_alias));
typedef float vec4_at __attribute__((vector_size(16), aligned(4), may_alias));

MC_VEC_INLINE vecf vec_load(const float *p)
{
	return *(const vecf_at *)p;
}

MC_VEC_INLINE void vec_store(float *p, vecf v)
{
	*(vecf_at *)p = v;
}

MC_VEC_INLINE vecf vec_all(float x)
{
	return x - (vecf){0};
}

/* The first n numbers at p, zeros after them. */
MC_VEC_INLINE vecf vec_load_part(const float *p, int n)
{
	float part[LANES] = {0};

	for (int i = 0; i < n; i++)
		part[i] = p[i];
	return vec_load(part);
}

MC_VEC_INLINE void vec_store_part(float *p, vecf v, int n)
{
	float part[LANES];

	vec_store(part, v);
	for (int i = 0; i < n; i++)
		p[i] = part[i];
}

/* mask ? a : b, lane by lane; a lane of the mask is all ones or all zeros, as comparisons give it. */
MC_VEC_INLINE vecf vec_select(veci mask, vecf a, vecf b)
{
	return (vecf)(((veci)a & mask) | ((veci)b & ~mask));
}

/* a > b ? a : b, and so b if one is NaN. */
MC_VEC_INLINE vecf vec_max(vecf a, vecf b)
{
#if MC_VEC_BYTES == 64
	return (vecf)_mm512_max_ps((__m512)a, (__m512)b);
#elif MC_VEC_BYTES == 32
	return (vecf)_mm256_max_ps((__m256)a, (__m256)b);
#else
	return vec_select(a > b, a, b);
#endif
}

/* Halves are folded, always in the same order. */
#if MC_VEC_BYTES == 64
#define MC_VEC_FOLD(v, OP)                                                                                   \
	do {                                                                                                 \
		v = OP(v,                                                                                    \
		       __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)); \
		v = OP(v,                                                                                    \
		       __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)); \
		v = OP(v,                                                                                    \
		       __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)); \
		v = OP(v,                                                                                    \
		       __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)); \
	} while (0)
#elif MC_VEC_BYTES == 32
#define MC_VEC_FOLD(v, OP)                                                                                   \
	do {                                                                                                 \
		v = OP(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));                            \
		v = OP(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));                            \
		v = OP(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6));                            \
	} while (0)
#else
#define MC_VEC_FOLD(v, OP)                                                                                   \
	do {                                                                                                 \
		v = OP(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));                                        \
		v = OP(v, __builtin_shufflevector(v, v, 1, 0, 3, 2));                                        \
	} while (0)
#endif

MC_VEC_INLINE vecf vec_plus(vecf a, vecf b)
{
	return a + b;
}

MC_VEC_INLINE float vec_sum(vecf v)
{
	MC_VEC_FOLD(v, vec_plus);
	return v[0];
}

MC_VEC_INLINE float vec_top(vecf v)
{
	MC_VEC_FOLD(v, vec_max);
	return v[0];
}

/*
 * Sums of four vectors, as four neighbours: two rounds of interleaving within 16 bytes, then the 16-byte
 * parts are folded.
 */
MC_VEC_INLINE vec4 vec_sum4(vecf a, vecf b, vecf c, vecf d)
{
#if MC_VEC_BYTES == 64
	vecf ab = __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
		  __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	vecf cd = __builtin_shufflevector(c, d, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
		  __builtin_shufflevector(c, d, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	vecf r = __builtin_shufflevector(ab, cd, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
		 __builtin_shufflevector(ab, cd, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	return (__builtin_shufflevector(r, r, 0, 1, 2, 3) + __builtin_shufflevector(r, r, 8, 9, 10, 11)) +
	       (__builtin_shufflevector(r, r, 4, 5, 6, 7) + __builtin_shufflevector(r, r, 12, 13, 14, 15));
#elif MC_VEC_BYTES == 32
	vecf ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
		  __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
	vecf cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13) +
		  __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
	vecf r = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
		 __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
	return __builtin_shufflevector(r, r, 0, 1, 2, 3) + __builtin_shufflevector(r, r, 4, 5, 6, 7);
#else
	vecf ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
	vecf cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);

	return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#endif
}

/*
 * e^x for x that is at most 88.72: x = n ln 2 + r with |r| <= ln 2 / 2, Taylor's series of e^r up to r^7 (off
 * by 6e-9 of it at most), and 2^n added to the exponent. Error at most 1.5 units in the last place where the
 * result is a normal number, 0 below 2^-126, NaN for NaN.
 */
MC_VEC_INLINE vecf vec_exp_low(vecf x)
{
	const vecf low = vec_all(-87.33654f), magic = vec_all(0x1.8p23f);
	vecf c = vec_max(low, x), shifted = c * 1.44269504f + magic, n = shifted - magic;
	vecf r = c - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f, p = r * (1.0f / 5040) + 1.0f / 720;

	p = p * r + 1.0f / 120;
	p = p * r + 1.0f / 24;
	p = p * r + 1.0f / 6;
	p = p * r + 0.5f;
	p = p * r * r + r + 1.0f;
	/* n may be 128: p is below 1 then. */
	p = (vecf)((veci)p + ((veci)shifted << 23));
	return vec_select(x < low, (vecf){0}, p);
}

/* The same for all x: infinity where it is above the largest float. */
MC_VEC_INLINE vecf vec_exp(vecf x)
{
	const vecf high = vec_all(88.72283f);

	return vec_select(x > high, vec_all(INFINITY), vec_exp_low(-vec_max(-high, -x)));
}

#endif
