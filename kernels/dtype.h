/* Number formats of activations, weights and KV. The CPU backend computes in f32, CUDA in bf16 and f16. */
#ifndef MC_KERNELS_DTYPE_H
#define MC_KERNELS_DTYPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define MC_HD __host__ __device__
#else
#define MC_HD
#endif

enum mc_dtype {
	MC_F32,
	MC_BF16, /* 8 bits of exponent, 8 of significand (7 stored) */
	MC_F16,  /* 5 bits of exponent, 11 of significand (10 stored); largest 65,504 */
};

/* Bytes of one number. */
static inline MC_HD size_t mc_dtype_bytes(enum mc_dtype t)
{
	return t == MC_F32 ? 4 : 2;
}

/* Distance from 1 to the next number: a rounding is off by at most half of it, relatively. */
static inline double mc_dtype_epsilon(enum mc_dtype t)
{
	return t == MC_F32 ? 0x1p-23 : t == MC_BF16 ? 0x1p-7 : 0x1p-10;
}

static inline const char *mc_dtype_name(enum mc_dtype t)
{
	return t == MC_F32 ? "f32" : t == MC_BF16 ? "bf16" : "f16";
}

/* Rounded to nearest, ties to even; a NaN stays one. */
static inline uint16_t mc_bf16_of(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof u);
	if ((u & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline float mc_bf16_value(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float x;

	memcpy(&x, &u, sizeof x);
	return x;
}

/* Rounded to nearest, ties to even; too large becomes infinity; a NaN stays one. */
static inline uint16_t mc_f16_of(float x)
{
	uint32_t u, sign, rest, shift;

	memcpy(&u, &x, sizeof u);
	sign = u >> 16 & 0x8000;
	u &= 0x7fffffff;
	if (u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (u >= 0x477ff000) /* rounds to 65,536 or more */
		return (uint16_t)(sign | 0x7c00);
	if (u >= 0x38800000) { /* normal: from 2^-14 */
		u -= 0x38000000;
		return (uint16_t)(sign | (u + 0xfff + (u >> 13 & 1)) >> 13);
	}
	if (u < 0x33000000) /* below half of the smallest subnormal */
		return (uint16_t)sign;
	shift = 126 - (u >> 23); /* subnormal: units of 2^-24 */
	u = (u & 0x7fffff) | 0x800000;
	rest = u & ((1u << shift) - 1);
	u >>= shift;
	u += rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (u & 1));
	return (uint16_t)(sign | u);
}

static inline float mc_f16_value(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, u;
	float x;

	if (e == 0) {
		x = (float)m * 0x1p-24f;
		return sign ? -x : x;
	}
	u = sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13;
	memcpy(&x, &u, sizeof x);
	return x;
}

/* Number i of an array of that format, as float; and stored there, rounded. */
static inline float mc_dtype_get(enum mc_dtype t, const void *a, size_t i)
{
	if (t == MC_F32)
		return ((const float *)a)[i];
	return t == MC_BF16 ? mc_bf16_value(((const uint16_t *)a)[i])
			    : mc_f16_value(((const uint16_t *)a)[i]);
}

static inline void mc_dtype_put(enum mc_dtype t, void *a, size_t i, float x)
{
	if (t == MC_F32)
		((float *)a)[i] = x;
	else
		((uint16_t *)a)[i] = t == MC_BF16 ? mc_bf16_of(x) : mc_f16_of(x);
}

#endif
