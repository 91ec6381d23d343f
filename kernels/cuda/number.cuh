/* 16-bit numbers in kernels: one at a time, in pairs, and eight in the 16 bytes that a thread loads at once.
 */
#ifndef MC_KERNELS_CUDA_NUMBER_CUH
#define MC_KERNELS_CUDA_NUMBER_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

typedef __nv_bfloat16 mc_bf16;
typedef __half mc_f16;

static __device__ inline float mc_to_float(mc_bf16 x)
{
	return __bfloat162float(x);
}

static __device__ inline float mc_to_float(mc_f16 x)
{
	return __half2float(x);
}

template <class T> static __device__ inline T mc_from_float(float x);

template <> __device__ inline mc_bf16 mc_from_float<mc_bf16>(float x)
{
	return __float2bfloat16_rn(x);
}

template <> __device__ inline mc_f16 mc_from_float<mc_f16>(float x)
{
	return __float2half_rn(x);
}

/* Two numbers in 32 bits, lo in the lower half: the operand of a matrix instruction. */
template <class T> static __device__ inline uint32_t mc_pack2(float lo, float hi)
{
	T pair[2] = {mc_from_float<T>(lo), mc_from_float<T>(hi)};
	uint32_t u;

	memcpy(&u, pair, sizeof u);
	return u;
}

/* Eight numbers, loaded and stored in one access; p is aligned to 16 bytes. */
template <class T> struct mc_eight {
	float v[8];
};

template <class T> static __device__ inline mc_eight<T> mc_load8(const T *p)
{
	uint4 u = *reinterpret_cast<const uint4 *>(p);
	T h[8];
	mc_eight<T> r;

	memcpy(h, &u, sizeof u);
#pragma unroll
	for (int i = 0; i < 8; i++)
		r.v[i] = mc_to_float(h[i]);
	return r;
}

template <class T> static __device__ inline void mc_store8(T *p, const mc_eight<T> &r)
{
	T h[8];
	uint4 u;

#pragma unroll
	for (int i = 0; i < 8; i++)
		h[i] = mc_from_float<T>(r.v[i]);
	memcpy(&u, h, sizeof u);
	*reinterpret_cast<uint4 *>(p) = u;
}

#endif
