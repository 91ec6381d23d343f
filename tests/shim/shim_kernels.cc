#include "tests/shim/shim_kernels.h"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/ptx.cuh"

enum { N = KERNEL_THREADS };

template <bool BARRIERS> static __global__ void sum(const float *in, float *out)
{
	__shared__ float x[N];

	x[threadIdx.x] = in[threadIdx.x];
	if (BARRIERS)
		__syncthreads();
	for (unsigned d = N / 2; d; d /= 2) {
		if (threadIdx.x < d)
			x[threadIdx.x] += x[threadIdx.x + d];
		if (BARRIERS)
			__syncthreads();
	}
	if (threadIdx.x == 0)
		*out = x[0];
}

int kernel_sum(cudaStream_t s, const float *in, float *out, int barriers)
{
	auto kernel = barriers ? sum<true> : sum<false>;

	MC_LAUNCH(kernel, dim3(1), dim3(N), 0, s, in, out);
	return mc_cuda_launched();
}

static __global__ void async(const float *in, float *out, int wait)
{
	MC_DYNAMIC_SHARED(float, x);

	if (threadIdx.x < N / 4)
		mc_cp_async16(x + threadIdx.x * 4, in + threadIdx.x * 4, true);
	mc_cp_async_commit();
	if (wait)
		mc_cp_async_wait<0>();
	__syncthreads();
	out[threadIdx.x] = x[threadIdx.x];
}

int kernel_async(cudaStream_t s, const float *in, float *out, int wait)
{
	MC_LAUNCH(async, dim3(1), dim3(N), N * sizeof(float), s, in, out, wait);
	return mc_cuda_launched();
}

static __global__ void two_barriers(void)
{
	if (threadIdx.x < 64)
		__syncthreads();
	else
		__syncthreads();
}

int kernel_two_barriers(cudaStream_t s)
{
	MC_LAUNCH(two_barriers, dim3(1), dim3(N), 0, s);
	return mc_cuda_launched();
}

/* The other half waits for a lane that is at the barrier. */
static __global__ void half_barrier(void)
{
	if (threadIdx.x % 2)
		__syncthreads();
	__syncwarp();
}

int kernel_half_barrier(cudaStream_t s)
{
	MC_LAUNCH(half_barrier, dim3(2), dim3(N), 0, s);
	return mc_cuda_launched();
}

static __global__ void half_warp(int *lane)
{
	if (threadIdx.x < 16)
		__shfl_xor_sync(0xffffffffu, 1, 1);
	else
		__syncthreads();
	if (lane)
		*lane = 1;
}

int kernel_half_warp(cudaStream_t s)
{
	MC_LAUNCH(half_warp, dim3(1), dim3(N), 0, s, nullptr);
	return mc_cuda_launched();
}

static __global__ void two_operations(void)
{
	if (threadIdx.x < 16)
		__syncwarp();
	else
		__shfl_down_sync(0xffffffffu, 1, 1);
}

int kernel_two_operations(cudaStream_t s)
{
	MC_LAUNCH(two_operations, dim3(1), dim3(N), 0, s);
	return mc_cuda_launched();
}

static __global__ void early_end(int *out)
{
	__shared__ int left;

	if (threadIdx.x == 0)
		left = 0;
	__syncthreads();
	if (threadIdx.x % 3 == 1)
		return;
	left++;
	__syncthreads();
	if (threadIdx.x == 0)
		*out = left;
}

int kernel_early_end(cudaStream_t s, int *out)
{
	MC_LAUNCH(early_end, dim3(1), dim3(N), 0, s, out);
	return mc_cuda_launched();
}

static __global__ void poison(uint32_t *out)
{
	__shared__ uint32_t x[N];

	out[blockIdx.x * N + threadIdx.x] = x[threadIdx.x];
	x[threadIdx.x] = 7;
}

int kernel_poison(cudaStream_t s, uint32_t *out)
{
	MC_LAUNCH(poison, dim3(2), dim3(N), 0, s, out);
	return mc_cuda_launched();
}

static __global__ void overrun(int i)
{
	MC_DYNAMIC_SHARED(float, x);

	if (threadIdx.x == 3)
		x[i] = 1;
}

int kernel_overrun(cudaStream_t s, int i)
{
	MC_LAUNCH(overrun, dim3(1), dim3(N), 64 * sizeof(float), s, i);
	return mc_cuda_launched();
}

static __global__ void add(float *out, int i)
{
	if (threadIdx.x == 0)
		out[i] += 1;
}

int kernel_add(cudaStream_t s, float *out, int i)
{
	MC_LAUNCH(add, dim3(1), dim3(32), 0, s, out, i);
	return mc_cuda_launched();
}

static __global__ void order(int *counter, int *out)
{
	if (threadIdx.x == 0)
		out[blockIdx.x] = atomicAdd(counter, 1);
}

int kernel_order(cudaStream_t s, int *counter, int *out, int blocks)
{
	MC_LAUNCH(order, dim3((unsigned)blocks), dim3(32), 0, s, counter, out);
	return mc_cuda_launched();
}

static __global__ void shuffles(int *out)
{
	int i = (int)threadIdx.x, x = 100 + i;

	out[i] = __shfl_xor_sync(0xffffffffu, x, 5);
	out[32 + i] = __shfl_down_sync(0xffffffffu, x, 3);
	out[64 + i] = __shfl_up_sync(0xffffffffu, x, 2, 8);
	/* Halves of a warp on their own. */
	out[96 + i] = i < 16 ? __shfl_sync(0xffffu, x, 7) : __shfl_sync(0xffff0000u, x, 20);
}

int kernel_shuffles(cudaStream_t s, int *out)
{
	MC_LAUNCH(shuffles, dim3(1), dim3(32), 0, s, out);
	return mc_cuda_launched();
}

static __global__ void product(const uint16_t *a, const uint16_t *b, float *c)
{
	__shared__ __align__(16) uint16_t sa[16][16], sb[16][8];
	uint32_t fa[4], fb[4];
	float fc[4] = {0, 0, 0, 0};
	int lane = (int)threadIdx.x;

	for (int i = lane; i < 256; i += 32)
		sa[i / 16][i % 16] = a[i];
	for (int i = lane; i < 128; i += 32)
		sb[i / 8][i % 8] = b[i];
	__syncwarp();
	mc_ldmatrix_x4(fa, &sa[lane % 16][lane / 16 * 8]);
	mc_ldmatrix_x4_trans(fb, &sb[lane % 16][0]);
	mc_mma_16x8x16<mc_bf16>(fc, fa, fb[0], fb[1]);
	for (int i = 0; i < 4; i++)
		c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = fc[i];
}

int kernel_product(cudaStream_t s, const uint16_t *a, const uint16_t *b, float *c)
{
	MC_LAUNCH(product, dim3(1), dim3(32), 0, s, a, b, c);
	return mc_cuda_launched();
}

struct meeting {
	float *value[2];
	uint32_t *flag[2];
	int rank;
};

static __global__ void meet(meeting m)
{
	__shared__ float peers;

	if (threadIdx.x == 0) {
		mc_flag_store(m.flag[!m.rank], 1);
		while (!mc_flag_load(m.flag[m.rank]))
			mc_spin();
		peers = *m.value[!m.rank];
		mc_flag_store(m.flag[!m.rank] + 1, 1);
		while (!mc_flag_load(m.flag[m.rank] + 1))
			mc_spin();
	}
	__syncthreads();
	if (threadIdx.x == 31)
		*m.value[m.rank] += peers;
}

int kernel_meet(cudaStream_t s, float *const value[2], uint32_t *const flag[2], int rank)
{
	meeting m = {{value[0], value[1]}, {flag[0], flag[1]}, rank};

	MC_LAUNCH(meet, dim3(1), dim3(64), 0, s, m);
	return mc_cuda_launched();
}

static __global__ void nothing(void)
{
}

int kernel_shape(cudaStream_t s, struct dim3 grid, struct dim3 block, size_t shared)
{
	MC_LAUNCH(nothing, grid, block, shared, s);
	return mc_cuda_launched();
}

int kernel_shape_allow(int shared)
{
	return (int)cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
}
