/* MC_LAUNCH and MC_DYNAMIC_SHARED (kernels/cuda/launch.cuh) on the CPU. */
#ifndef MC_SHIM_LAUNCH_H
#define MC_SHIM_LAUNCH_H

#include <cuda_runtime.h>

#define MC_LAUNCH(kernel, grid, block, shared, stream, ...)                                                  \
	shim_launch_of(SHIM_SITE(#kernel), shim_shape{grid, block, (size_t)(shared)}, stream, kernel,        \
		       ##__VA_ARGS__)

#define MC_DYNAMIC_SHARED(type, name) type *name = reinterpret_cast<type *>(shim_now->block->dynamic)

/* As the kernel's parameters: bytes that can be copied. */
template <class F> static inline void shim_call(void *f)
{
	(*static_cast<F *>(f))();
}

template <class... P, class... A>
static inline void shim_launch_of(const shim_site *site, const shim_shape &shape, cudaStream_t stream,
				  void (*kernel)(P...), A... args)
{
	auto all = [=]() { kernel(args...); };
	shim_kernel k = {reinterpret_cast<const void *>(kernel), shim_call<decltype(all)>, &all, sizeof all,
			 site};

	static_assert(__is_trivially_copyable(decltype(all)), "arguments of kernels are copied as bytes");
	shim_launch(&k, &shape, stream);
}

#endif
