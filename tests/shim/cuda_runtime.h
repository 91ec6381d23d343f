/* What a .cu file finds without including anything: qualifiers, its own place in the grid, warp operations,
 * small functions. C++; the rest of the runtime is in cuda_runtime_api.h. */
#ifndef MC_SHIM_CUDA_RUNTIME_H
#define MC_SHIM_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "tests/shim/shim.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
/* Lasts as long as the block, and is found as the program's thread-local storage (shim_block.c). */
#define __shared__ thread_local

#define threadIdx (shim_now->idx)
#define blockIdx  (shim_now->block->idx)
#define blockDim  (shim_now->block->dim)
#define gridDim   (shim_now->block->grid)
#define warpSize  32

/* Where an operation stands in the source. */
#define SHIM_SITE(what)                                                                                      \
	([]() -> const struct shim_site * {                                                                  \
		static const struct shim_site here = {what, __FILE__, __LINE__};                             \
		return &here;                                                                                \
	}())

#define __syncthreads()              shim_barrier(SHIM_SITE("__syncthreads"))
#define SHIM_FIRST_OR_ALL(mask, ...) mask
#define __syncwarp(...)                                                                                      \
	shim_warp_do(SHIM_FIRST_OR_ALL(__VA_ARGS__ __VA_OPT__(, ) 0xffffffffu), shim_work_sync, NULL,        \
		     SHIM_SITE("__syncwarp"))

template <class T>
static inline T shim_shuffle_of(unsigned mask, T value, struct shim_shuffle s, const struct shim_site *site)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 32 or 64 bits");
	T got;

	s.value = 0;
	memcpy(&s.value, &value, sizeof value);
	shim_warp_do(mask, shim_work_shuffle, &s, site);
	memcpy(&got, &s.got, sizeof got);
	return got;
}

#define SHIM_WIDTH(w, ...) (w)
#define SHIM_SHUFFLE(name, order, mask, value, arg, ...)                                                     \
	shim_shuffle_of(mask, value,                                                                         \
			shim_shuffle{0, 0, (int)(arg), SHIM_WIDTH(__VA_ARGS__ __VA_OPT__(, ) 32), order},    \
			SHIM_SITE(name))
#define __shfl_xor_sync(...)  SHIM_SHUFFLE("__shfl_xor_sync", SHIM_XOR, __VA_ARGS__)
#define __shfl_down_sync(...) SHIM_SHUFFLE("__shfl_down_sync", SHIM_DOWN, __VA_ARGS__)
#define __shfl_up_sync(...)   SHIM_SHUFFLE("__shfl_up_sync", SHIM_UP, __VA_ARGS__)
#define __shfl_sync(...)      SHIM_SHUFFLE("__shfl_sync", SHIM_FROM, __VA_ARGS__)

static inline unsigned shim_ballot_of(unsigned mask, bool bit, const struct shim_site *site)
{
	struct shim_ballot b = {bit, 0};

	shim_warp_do(mask, shim_work_ballot, &b, site);
	return b.got;
}

#define __ballot_sync(mask, bit) shim_ballot_of(mask, bit, SHIM_SITE("__ballot_sync"))
#define __any_sync(mask, bit)    (shim_ballot_of(mask, bit, SHIM_SITE("__any_sync")) != 0)
#define __all_sync(mask, bit)    (shim_ballot_of(mask, !(bit), SHIM_SITE("__all_sync")) == 0)

/* Fibers switch only where they say so: a fence has nothing to order. */
#define __threadfence()        ((void)0)
#define __threadfence_block()  ((void)0)
#define __threadfence_system() ((void)0)

template <class T> static inline T __ldg(const T *p)
{
	return *p;
}

/* Atomic for the same reason. */
template <class T> static inline T atomicAdd(T *p, T x)
{
	T old = *p;

	*p = old + x;
	return old;
}

template <class T> static inline T atomicMax(T *p, T x)
{
	T old = *p;

	*p = x > old ? x : old;
	return old;
}

/* glibc's math.h has names of its own for some of these. */
#define __expf(x)        expf(x)
#define __logf(x)        logf(x)
#define __fdividef(a, b) ((float)(a) / (float)(b))
#define __frcp_rn(x)     (1.0f / (float)(x))
#define rsqrtf(x)        (1.0f / sqrtf(x))

#define SHIM_MIN_MAX(T)                                                                                      \
	static inline T min(T a, T b)                                                                        \
	{                                                                                                    \
		return b < a ? b : a;                                                                        \
	}                                                                                                    \
	static inline T max(T a, T b)                                                                        \
	{                                                                                                    \
		return a < b ? b : a;                                                                        \
	}
SHIM_MIN_MAX(int)
SHIM_MIN_MAX(unsigned)
SHIM_MIN_MAX(long)
SHIM_MIN_MAX(unsigned long)
SHIM_MIN_MAX(float)

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
	return uint4{x, y, z, w};
}

static inline uint2 make_uint2(unsigned x, unsigned y)
{
	return uint2{x, y};
}

static inline float2 make_float2(float x, float y)
{
	return float2{x, y};
}

static inline float4 make_float4(float x, float y, float z, float w)
{
	return float4{x, y, z, w};
}

static inline float __int_as_float(int i)
{
	float x;

	memcpy(&x, &i, sizeof x);
	return x;
}

static inline int __float_as_int(float x)
{
	int i;

	memcpy(&i, &x, sizeof i);
	return i;
}

template <class R, class... P>
static inline cudaError_t cudaFuncSetAttribute(R (*kernel)(P...), cudaFuncAttribute which, int value)
{
	return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), which, value);
}

#endif
