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

/* The tokens that few rows see are cut into splits, so that they fill the device; scratch holds
 * mc_cuda_attention_prefill_scratch bytes then. units: multiprocessors. */
size_t mc_cuda_attention_prefill_scratch(const struct mc_attention *a, int units);
int mc_cuda_attention_prefill(struct CUstream_st *s, const struct mc_attention *a, int units);

/* The context is cut into `splits` parts per sequence; scratch holds mc_cuda_attention_decode_scratch bytes.
 */
size_t mc_cuda_attention_decode_scratch(const struct mc_attention *a, int units);
int mc_cuda_attention_decode(struct CUstream_st *s, const struct mc_attention *a, int units);

/* Ranks of an all-reduce, and blocks of its kernel, at most. */
enum { MC_REDUCE_RANKS = 8, MC_REDUCE_BLOCKS = 36 };

/* One rank's part of an all-reduce; its arrays are indexed by rank, and point to memory that all can reach.
 */
struct mc_cuda_reduce {
	void *buffer[MC_REDUCE_RANKS];
	uint32_t *flag[MC_REDUCE_RANKS]; /* [MC_REDUCE_BLOCKS][MC_REDUCE_RANKS], zeros at first */
	void *slots[MC_REDUCE_RANKS];    /* one shot: [ranks][slot_chunks] of 16 bytes */
	int64_t chunks;                  /* of 16 bytes in a buffer */
	int64_t slot_chunks;             /* 0: two shots */
	int rank, ranks;
	int blocks;     /* of the kernel, at most; the same in all ranks */
	uint32_t epoch; /* number of its first meeting; two shots have another one after it */
	enum mc_dtype dtype;
};

int mc_cuda_all_reduce(struct CUstream_st *s, const struct mc_cuda_reduce *a);

#ifdef __cplusplus
}
#endif
#endif
