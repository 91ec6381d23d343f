/* How a kernel is started and gets dynamic shared memory; the CPU shim (tests/shim) has its own way for both.
 */
#ifndef MC_KERNELS_CUDA_LAUNCH_CUH
#define MC_KERNELS_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>

#ifndef MC_SHIM

/* kernel: a name, or a pointer to an instance of a template; shared: bytes of dynamic shared memory. */
#define MC_LAUNCH(kernel, grid, block, shared, stream, ...)                                                  \
	kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)

/* Declare `type name[]` in the block's dynamic shared memory (one declaration a kernel; aligned to 128
 * bytes). */
#define MC_DYNAMIC_SHARED(type, name)                                                                        \
	extern __shared__ __align__(128) unsigned char mc_dynamic_shared[];                                  \
	type *name = reinterpret_cast<type *>(mc_dynamic_shared)

#else
#include <shim_launch.h>
#endif

/* What a launch says of itself: bad configuration, no device. */
static inline int mc_cuda_launched(void)
{
	return (int)cudaGetLastError();
}

static inline int mc_ceil_div(int a, int b)
{
	return (a + b - 1) / b;
}

#endif
