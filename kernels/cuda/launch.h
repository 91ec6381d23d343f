/*
 * The kernels of kernels/cuda/NAME.cu, as the host code of the backend starts them: queued on a stream,
 * arguments checked before. Each returns a cudaError_t (0: queued).
 */
#ifndef MC_KERNELS_CUDA_LAUNCH_H
#define MC_KERNELS_CUDA_LAUNCH_H

#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

int mc_cuda_norm(struct CUstream_st *s, const struct mc_norm *a);
int mc_cuda_rope(struct CUstream_st *s, const struct mc_rope *a);
int mc_cuda_swiglu(struct CUstream_st *s, const struct mc_swiglu *a);
int mc_cuda_embed(struct CUstream_st *s, const struct mc_embed *a);
int mc_cuda_sample(struct CUstream_st *s, const struct mc_sample *a);
int mc_cuda_kv_scatter(struct CUstream_st *s, const struct mc_kv_rows *a);
int mc_cuda_kv_gather(struct CUstream_st *s, const struct mc_kv_rows *a);
int mc_cuda_attention_prefill(struct CUstream_st *s, const struct mc_attention *a);

/* The context is cut into `splits` parts per sequence; scratch holds mc_cuda_attention_decode_scratch bytes.
 * units: multiprocessors. */
size_t mc_cuda_attention_decode_scratch(const struct mc_attention *a, int units);
int mc_cuda_attention_decode(struct CUstream_st *s, const struct mc_attention *a, int units);

#ifdef __cplusplus
}
#endif
#endif
