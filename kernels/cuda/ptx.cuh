/*
 * The instructions that C++ has no words for, sm_80 and up: asynchronous copies to shared memory, matrix
 * fragments, flags between devices. All helpers that say "warp" are called by all 32 lanes together. The CPU
 * shim has a body for each (tests/shim/shim_ptx.h). Source: PTX ISA, "cp.async", "ldmatrix", "mma.m16n8k16",
 * "Memory consistency model".
 */
#ifndef MC_KERNELS_CUDA_PTX_CUH
#define MC_KERNELS_CUDA_PTX_CUH

#include "kernels/cuda/number.cuh"

#ifdef MC_SHIM
#include <shim_ptx.h>
#else

/* Start copying 16 bytes from global to shared memory; if !valid, write zeros instead and don't read `from`.
 */
static __device__ inline void mc_cp_async16(void *to_shared, const void *from, bool valid)
{
	uint32_t to = (uint32_t)__cvta_generic_to_shared(to_shared);
	int bytes = valid ? 16 : 0;

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes)
		     : "memory");
}

/* What this thread started since the last commit is one group. */
static __device__ inline void mc_cp_async_commit(void)
{
	asm volatile("cp.async.commit_group;\n" ::: "memory");
}

/* Wait until at most N of this thread's latest groups are under way. Other threads' copies need a barrier
 * after it. */
template <int N> static __device__ inline void mc_cp_async_wait(void)
{
	asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
}

/*
 * Warp: load four 8x8 matrices of 16-bit numbers; lane l gives the address of row l % 8 of matrix l / 8 (16
 * bytes, aligned). r[i] of lane l: elements (row l / 4, columns 2 (l % 4) and + 1) of matrix i. _trans: of
 * each matrix transposed.
 */
static __device__ inline void mc_ldmatrix_x4(uint32_t r[4], const void *row)
{
	uint32_t at = (uint32_t)__cvta_generic_to_shared(row);

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(at)
		     : "memory");
}

static __device__ inline void mc_ldmatrix_x4_trans(uint32_t r[4], const void *row)
{
	uint32_t at = (uint32_t)__cvta_generic_to_shared(row);

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(at)
		     : "memory");
}

/*
 * Warp: c[16][8] += a[16][16] b[16][8], a and b of 16-bit numbers T, c in f32. With g = lane / 4, t = lane %
 * 4: a[0]: (row g, columns 2t, 2t+1)   a[1]: (g + 8, 2t..)   a[2]: (g, 2t + 8..)   a[3]: (g + 8, 2t + 8..)
 *   b0: (rows 2t, 2t+1; column g)     b1: (rows 2t + 8, + 9; column g)
 *   c[0], c[1]: (row g, columns 2t, 2t+1)   c[2], c[3]: (row g + 8, the same)
 */
template <class T>
static __device__ inline void mc_mma_16x8x16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1);

template <>
__device__ inline void mc_mma_16x8x16<mc_bf16>(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	asm volatile(
	    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
	    "{%8, %9}, {%0, %1, %2, %3};\n"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void mc_mma_16x8x16<mc_f16>(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
		     "{%8, %9}, {%0, %1, %2, %3};\n"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* 2^x, within 2 units in the last place; 0 for -infinity. */
static __device__ inline float mc_exp2(float x)
{
	float y;

	asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
	return y;
}

/* A flag that another device may set or read: all that was written before the store is seen after the load
 * that sees it. */
static __device__ inline void mc_flag_store(uint32_t *flag, uint32_t value)
{
	asm volatile("st.release.sys.global.u32 [%0], %1;\n" ::"l"(flag), "r"(value) : "memory");
}

static __device__ inline uint32_t mc_flag_load(const uint32_t *flag)
{
	uint32_t value;

	asm volatile("ld.acquire.sys.global.u32 %0, [%1];\n" : "=r"(value) : "l"(flag) : "memory");
	return value;
}

/* Between two looks at a flag. */
static __device__ inline void mc_spin(void)
{
	__nanosleep(20);
}

/* End the kernel with an error, which the stream's sync tells. */
static __device__ inline void mc_trap(void)
{
	asm volatile("trap;\n");
}

#endif

/* x, of which the compiler knows nothing: what is computed from it in a loop is not kept in registers from
 * outside of it. */
static __device__ inline int mc_opaque(int x)
{
	asm volatile("" : "+r"(x));
	return x;
}

/* Sum or maximum over the warp, in all its lanes, in one order. */
static __device__ inline float mc_warp_sum(float x)
{
#pragma unroll
	for (int d = 16; d; d /= 2)
		x += __shfl_xor_sync(0xffffffffu, x, d);
	return x;
}

static __device__ inline float mc_warp_max(float x)
{
#pragma unroll
	for (int d = 16; d; d /= 2)
		x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
	return x;
}

#endif
