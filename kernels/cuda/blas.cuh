/*
 * cuBLAS, loaded when a device is opened rather than when a program starts: the library takes most of a
 * second to load, which
 * `--help` and machines without a GPU need not wait for, and programs start where it isn't installed. For
 * gemm.c and device.c.
 */
#ifndef MC_KERNELS_CUDA_BLAS_CUH
#define MC_KERNELS_CUDA_BLAS_CUH

#include <cublas_v2.h>

#include "base/err.h"

struct mc_cuda_blas {
	void *library; /* dlopen's; NULL on the shim, which links its own */
	cublasStatus_t (*create)(cublasHandle_t *handle);
	cublasStatus_t (*destroy)(cublasHandle_t handle);
	cublasStatus_t (*set_stream)(cublasHandle_t handle, cudaStream_t stream);
	cublasStatus_t (*set_workspace)(cublasHandle_t handle, void *workspace, size_t bytes);
	cublasStatus_t (*set_math_mode)(cublasHandle_t handle, cublasMath_t mode);
	cublasStatus_t (*get_property)(libraryPropertyType which, int *value);
	const char *(*status_string)(cublasStatus_t status);
	cublasStatus_t (*gemm_ex)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
				  int m, int n, int k, const void *alpha, const void *a, cudaDataType a_type,
				  int lda, const void *b, cudaDataType b_type, int ldb, const void *beta,
				  void *c, cudaDataType c_type, int ldc, cublasComputeType_t compute,
				  cublasGemmAlgo_t algorithm);
};

/* A new one in *out, the caller's to close. MC_NOHW: it isn't installed, or lacks a function. */
int mc_cuda_blas_load(struct mc_cuda_blas **out, struct mc_err *err);
/* NULL is fine. */
void mc_cuda_blas_unload(struct mc_cuda_blas *b);

#endif
