/*
 * Rotary embedding in place: x [rows][heads][head_dim] with a stride, 16-bit; cos_sin [positions][head_dim],
 * f32; pairs (i, i + head_dim / 2). Computed in f32. Source: arXiv 2104.09864.
 *
 * Operations: 3 an element (6 a pair). Bytes: 4 an element (read and written), and 4 head_dim a row of
 * cos_sin, which all heads of the row share. Bound by memory everywhere.
 *
 * A block a row; a thread has 8 pairs of a head, and the same 8 of every so-manieth head after it, so that it
 * loads their cosines and sines once and each pair is read and written once, 16 bytes at a time. Threads are
 * dealt so that the last turn of heads is nearly as full as the others. Speed on a GPU: not measured.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/number.cuh"

enum { THREADS = 128 }; /* at most, if a head needs no more */

static __device__ inline void load8_f32(float v[8], const float *p)
{
	float4 lo = reinterpret_cast<const float4 *>(p)[0], hi = reinterpret_cast<const float4 *>(p)[1];

	memcpy(v, &lo, sizeof lo);
	memcpy(v + 4, &hi, sizeof hi);
}

/* per_head: threads of a head, head_dim / 16. */
template <class T> static __global__ void rope(struct mc_rope a, int per_head)
{
	int i = threadIdx.x % per_head * 8, half = a.head_dim / 2;
	const float *turn = a.cos_sin + (int64_t)a.position[blockIdx.x] * a.head_dim + i;
	T *row = (T *)a.x + (int64_t)blockIdx.x * a.stride + i;
	float c[8], s[8];

	load8_f32(c, turn);
	load8_f32(s, turn + half);
	for (int h = threadIdx.x / per_head; h < a.heads; h += blockDim.x / per_head) {
		T *x = row + h * a.head_dim;
		mc_eight<T> lo = mc_load8(x), hi = mc_load8(x + half);
#pragma unroll
		for (int j = 0; j < 8; j++) {
			float p = lo.v[j], q = hi.v[j];

			lo.v[j] = p * c[j] - q * s[j];
			hi.v[j] = q * c[j] + p * s[j];
		}
		mc_store8(x, lo);
		mc_store8(x + half, hi);
	}
}

template <class T> static int launch(cudaStream_t s, const struct mc_rope *a)
{
	int per_head = a->head_dim / 16, room = per_head < THREADS ? THREADS / per_head : 1;
	int turns = mc_ceil_div(a->heads, room), heads = mc_ceil_div(a->heads, turns);
	auto kernel = rope<T>;

	if (a->rows == 0)
		return 0;
	MC_LAUNCH(kernel, dim3(a->rows), dim3(heads * per_head), 0, s, *a, per_head);
	return mc_cuda_launched();
}

int mc_cuda_rope(struct CUstream_st *s, const struct mc_rope *a)
{
	return a->dtype == MC_BF16 ? launch<mc_bf16>(s, a) : launch<mc_f16>(s, a);
}
