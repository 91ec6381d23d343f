/* Small kernels, right and wrong, by which test_shim.c looks at the shim itself. */
#ifndef MC_SHIM_KERNELS_H
#define MC_SHIM_KERNELS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KERNEL_THREADS = 128 };

/* out[0] = sum of in[0 .. 127], by a tree in shared memory; with or without the barriers between its steps.
 */
int kernel_sum(cudaStream_t, const float *in, float *out, int barriers);
/* out[0 .. 127] = in, through shared memory by asynchronous copies; with or without the wait for them. */
int kernel_async(cudaStream_t, const float *in, float *out, int wait);
/* Threads of a block at two barriers; at one that half of them never reach; lanes that never come. */
int kernel_two_barriers(cudaStream_t);
int kernel_half_barrier(cudaStream_t);
int kernel_half_warp(cudaStream_t);
/* Different operations of one warp at a time. */
int kernel_two_operations(cudaStream_t);
/* Some threads end before a barrier, which is fine: out[0] = how many were left. */
int kernel_early_end(cudaStream_t, int *out);
/* out[t] = what static shared memory held when the block began; then it is changed. */
int kernel_poison(cudaStream_t, uint32_t *out);
/* Writes float i of 64 in dynamic shared memory. */
int kernel_overrun(cudaStream_t, int i);
/* out[i] += 1 */
int kernel_add(cudaStream_t, float *out, int i);
/* out[block] = how many blocks ran before it. */
int kernel_order(cudaStream_t, int *counter, int *out, int blocks);
/* out = each kind of shuffle, 4 x 32. */
int kernel_shuffles(cudaStream_t, int *out);
/* c[16][8] = a[16][16] b[16][8], bf16 in; b is read transposed. */
int kernel_product(cudaStream_t, const uint16_t *a, const uint16_t *b, float *c);
/* mine += peer's, after a meeting by flags: a rank of two. */
int kernel_meet(cudaStream_t, float *const value[2], uint32_t *const flag[2], int rank);
/* A launch of nothing, in a given shape. */
int kernel_shape(cudaStream_t, struct dim3 grid, struct dim3 block, size_t shared);
int kernel_shape_allow(int shared);

#ifdef __cplusplus
}
#endif
#endif
