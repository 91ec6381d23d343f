/*
 * SwiGLU: y[r][i] = silu(gate[r][i]) up[r][i].   gate_up [rows][2][ffn], y [rows][ffn], 16-bit; computed in
 * f32. Operations: about 5 an element (exp and division counted as one each). Bytes: 6 an element (two reads,
 * one write of 2 bytes): bound by memory everywhere. Source: arXiv 2002.05202.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/number.cuh"

enum { THREADS = 256 };

/* One thread for eight neighbours. */
template <class T> static __global__ void swiglu(const T *gate_up, T *y, int rows, int ffn)
{
	int per_row = ffn / 8;
	int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i >= (int64_t)rows * per_row)
		return;
	const T *gate = gate_up + (i / per_row * 2) * ffn + i % per_row * 8;
	mc_eight<T> g = mc_load8(gate), u = mc_load8(gate + ffn);
#pragma unroll
	for (int j = 0; j < 8; j++)
		g.v[j] = g.v[j] / (1 + __expf(-g.v[j])) * u.v[j];
	mc_store8(y + i * 8, g);
}

template <class T> static int launch(cudaStream_t s, const struct mc_swiglu *a)
{
	int64_t n = (int64_t)a->rows * (a->ffn / 8);
	auto kernel = swiglu<T>;

	if (n == 0)
		return 0;
	MC_LAUNCH(kernel, dim3((unsigned)((n + THREADS - 1) / THREADS)), dim3(THREADS), 0, s,
		  (const T *)a->gate_up, (T *)a->y, a->rows, a->ffn);
	return mc_cuda_launched();
}

int mc_cuda_swiglu(struct CUstream_st *s, const struct mc_swiglu *a)
{
	return a->dtype == MC_BF16 ? launch<mc_bf16>(s, a) : launch<mc_f16>(s, a);
}
