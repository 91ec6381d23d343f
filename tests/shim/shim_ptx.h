/* The instructions of kernels/cuda/ptx.cuh on the CPU. */
#ifndef MC_SHIM_PTX_H
#define MC_SHIM_PTX_H

#include <cuda_runtime.h>

static inline void mc_cp_async16(void *to_shared, const void *from, bool valid)
{
	shim_async_copy(to_shared, from, valid);
}

static inline void mc_cp_async_commit(void)
{
	shim_async_commit();
}

template <int N> static inline void mc_cp_async_wait(void)
{
	shim_async_wait(N);
}

static inline void mc_ldmatrix_x4(uint32_t r[4], const void *row)
{
	struct shim_matrix m = {row, r};

	shim_check_shared(row, 16, "ldmatrix");
	shim_warp_do(0xffffffffu, shim_work_ldmatrix, &m, SHIM_SITE("ldmatrix"));
}

static inline void mc_ldmatrix_x4_trans(uint32_t r[4], const void *row)
{
	struct shim_matrix m = {row, r};

	shim_check_shared(row, 16, "ldmatrix");
	shim_warp_do(0xffffffffu, shim_work_ldmatrix_trans, &m, SHIM_SITE("ldmatrix.trans"));
}

template <class T>
static inline void mc_mma_16x8x16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1);

template <> inline void mc_mma_16x8x16<mc_bf16>(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	struct shim_mma m = {c, a, {b0, b1}};

	shim_warp_do(0xffffffffu, shim_work_mma_bf16, &m, SHIM_SITE("mma"));
}

template <> inline void mc_mma_16x8x16<mc_f16>(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	struct shim_mma m = {c, a, {b0, b1}};

	shim_warp_do(0xffffffffu, shim_work_mma_f16, &m, SHIM_SITE("mma"));
}

static inline float mc_exp2(float x)
{
	return exp2f(x);
}

static inline void mc_flag_store(uint32_t *flag, uint32_t value)
{
	*flag = value;
	shim_progress();
}

static inline uint32_t mc_flag_load(const uint32_t *flag)
{
	return *const_cast<const volatile uint32_t *>(flag);
}

static inline void mc_spin(void)
{
	shim_spin();
}

static inline void mc_trap(void)
{
	shim_trap();
}

#endif
