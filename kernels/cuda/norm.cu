/*
 * RMSNorm: y = x / sqrt(mean(x^2) + eps) * weight for each row, after residual += x if there is one.
 * x, residual, y [rows][hidden], weight [hidden], 16-bit; computed in f32. Source: arXiv 1910.07467.
 *
 * Operations: about 4 an element. Bytes: 4 an element (x in, y out), 8 with a residual (in and out, too); the
 * weight stays in the L2 cache. Bound by memory everywhere.
 *
 * Up to 16,384 wide, each element is read once and held in registers while the row's sum is made: a warp for
 * a row of up to 1,024, a block of up to 512 threads for a wider one. A thread has 1, 2 or 4 pieces of 16
 * bytes under way for each array, and the weight before the barrier; it needs at most 32, 40 or 60 registers
 * (ptxas, sm_80, sm_90), so that 2,048, 1,536 or 1,024 threads are at work on a multiprocessor: 32 KiB and
 * more in flight, where 10 KiB cover the latency at full bandwidth (sm_80: 2 TB/s, 500 ns, 108 of them).
 * Wider rows are read twice, mostly from the caches the second time. Speed on a GPU: not measured.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.cuh"

enum { WARP = 32, WARPS = 4, MOST = 512 }; /* rows of a block with a warp each; threads of a row */

/* Sum over the `group` threads of a row, the same in each: a warp, or the whole block. */
static __device__ inline float row_sum(float x, int group)
{
	__shared__ float part[MOST / WARP];
	int lane = threadIdx.x % WARP;

	x = mc_warp_sum(x);
	if (group == WARP)
		return x;
	if (lane == 0)
		part[threadIdx.x / WARP] = x;
	__syncthreads();
	return mc_warp_sum(lane < group / WARP ? part[lane] : 0);
}

/* Eight numbers of x, as they are in memory (half as many registers as floats), plus eight of the residual if
 * `add`; their squares go to the sum. */
template <class T>
static __device__ inline uint4 settle8(const uint4 &x, const uint4 &r, bool add, float *sum)
{
	mc_eight<T> v = mc_load8((const T *)&x);
	uint4 held = x;

	if (add) {
		mc_eight<T> w = mc_load8((const T *)&r);
#pragma unroll
		for (int j = 0; j < 8; j++)
			v.v[j] += w.v[j];
		mc_store8((T *)&held, v);
		v = mc_load8((const T *)&held);
	}
#pragma unroll
	for (int j = 0; j < 8; j++)
		*sum += v.v[j] * v.v[j];
	return held;
}

template <class T>
static __device__ inline void give8(T *y, const uint4 &held, const uint4 &weight, float scale)
{
	mc_eight<T> v = mc_load8((const T *)&held), w = mc_load8((const T *)&weight);
#pragma unroll
	for (int j = 0; j < 8; j++)
		v.v[j] = v.v[j] * scale * w.v[j];
	mc_store8(y, v);
}

/* `group` threads a row, each with N pieces of eight, `group` pieces apart. All are asked for before one is
 * used. */
template <class T, int N> static __global__ void norm_held(struct mc_norm a, int group)
{
	int row = blockIdx.x * (blockDim.x / group) + threadIdx.x / group, lane = threadIdx.x % group;
	int pieces = a.hidden / 8;
	int64_t start = (int64_t)row * pieces;
	const uint4 *x = (const uint4 *)a.x + start, *weight = (const uint4 *)a.weight;
	uint4 *residual = a.residual ? (uint4 *)a.residual + start : NULL, v[N], r[N];
	float sum = 0;

	if (row >= a.rows)
		return;
#pragma unroll
	for (int i = 0; i < N; i++)
		if (lane + i * group < pieces) {
			v[i] = x[lane + i * group];
			if (residual)
				r[i] = residual[lane + i * group];
		}
#pragma unroll
	for (int i = 0; i < N; i++)
		if (lane + i * group < pieces) {
			v[i] = settle8<T>(v[i], r[i], residual, &sum);
			if (residual)
				residual[lane + i * group] = v[i];
			r[i] = weight[lane + i * group];
		}
	float scale = rsqrtf(row_sum(sum, group) / a.hidden + a.eps);
#pragma unroll
	for (int i = 0; i < N; i++)
		if (lane + i * group < pieces)
			give8<T>((T *)a.y + (start + lane + i * group) * 8, v[i], r[i], scale);
}

/* A block a row of any width, read twice: x, or the residual with x in it. */
template <class T> static __global__ void norm_twice(struct mc_norm a)
{
	int pieces = a.hidden / 8;
	int64_t start = (int64_t)blockIdx.x * pieces;
	const uint4 *x = (const uint4 *)a.x + start, *weight = (const uint4 *)a.weight;
	uint4 *residual = a.residual ? (uint4 *)a.residual + start : NULL;
	float sum = 0;

	for (int at = threadIdx.x; at < pieces; at += blockDim.x) {
		uint4 v = settle8<T>(x[at], residual ? residual[at] : x[at], residual, &sum);

		if (residual)
			residual[at] = v;
	}
	float scale = rsqrtf(row_sum(sum, blockDim.x) / a.hidden + a.eps);
	for (int at = threadIdx.x; at < pieces; at += blockDim.x)
		give8<T>((T *)a.y + (start + at) * 8, residual ? residual[at] : x[at], weight[at], scale);
}

/* x is there. */
template <class T> static int launch(cudaStream_t s, const struct mc_norm &a)
{
	int pieces = a.hidden / 8, n = mc_ceil_div(pieces, MOST);
	auto twice = norm_twice<T>;

	if (n > 4) {
		MC_LAUNCH(twice, dim3(a.rows), dim3(MOST), 0, s, a);
		return mc_cuda_launched();
	}
	bool narrow = pieces <= 4 * WARP;
	if (narrow)
		n = mc_ceil_div(pieces, WARP);
	else if (pieces > 256 && n == 1)
		n = 2; /* a barrier of half as many warps */
	n = n == 3 ? 4 : n;
	auto held = n == 1 ? norm_held<T, 1> : n == 2 ? norm_held<T, 2> : norm_held<T, 4>;
	int group = narrow ? WARP : mc_ceil_div(pieces, n * WARP) * WARP;
	int rows = narrow ? WARPS : 1; /* of a block */

	MC_LAUNCH(held, dim3(mc_ceil_div(a.rows, rows)), dim3(rows * group), 0, s, a, group);
	return mc_cuda_launched();
}

int mc_cuda_norm(struct CUstream_st *s, const struct mc_norm *a)
{
	struct mc_norm b = *a;

	if (b.rows == 0)
		return 0;
	if (!b.x) { /* nothing to add: the norm of the residual */
		b.x = b.residual;
		b.residual = NULL;
	}
	return b.dtype == MC_BF16 ? launch<mc_bf16>(s, b) : launch<mc_f16>(s, b);
}
