/*
 * Matrix products by cuBLAS: y[m][n] (+)= x[m][k] w[n][k]^T, 16-bit in, sums in f32, 16-bit or f32 out.
 *
 * cuBLAS takes columns first, where a row-major [r][c] is a c x r matrix; so y^T = w x^T is asked for: w
 * transposed (k x n as stored), x as it is. Accumulation is beta = 1: y before is added in f32, one rounding.
 * Operations: 2 m n k. Bytes at least: 2 (m k + n k) + m n times the size of y's (twice with accumulation).
 * Limit: matrix units where m is some hundred or more (prefill); memory, for w, in decode: 2 n k bytes for 2
 * m n k operations is m operations a byte, and A100's balance is about 200.
 *
 * The workspace is as large as NVIDIA advises (4 MiB, 32 MiB from compute capability 9.0), the handle is the
 * stream's own, and sums of partial products may not be kept in 16 bits: so a product has the same bytes each
 * time, whatever runs beside it ("Results reproducibility" in cuBLAS's manual).
 */
#include <assert.h>

#include <cuda_runtime_api.h>

#include "kernels/cuda/blas.cuh"
#include "kernels/cuda/host.h"

static int blas_error(const struct mc_stream *s, cublasStatus_t status, struct mc_err *err)
{
	if (status == CUBLAS_STATUS_SUCCESS)
		return 0;
	cudaGetLastError();
	return mc_err_set(err, MC_FAIL, "cuBLAS: %s", s->dev->blas->status_string(status));
}

/* The stream comes first: setting it resets the workspace. */
static cublasStatus_t blas_set(struct mc_stream *s, size_t workspace)
{
	const struct mc_cuda_blas *b = s->dev->blas;
	cublasStatus_t status = b->set_stream(s->blas, s->cu);

	if (status == CUBLAS_STATUS_SUCCESS)
		status = b->set_workspace(s->blas, s->workspace, workspace);
	if (status == CUBLAS_STATUS_SUCCESS)
		status = b->set_math_mode(
		    s->blas,
		    (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
	return status;
}

int mc_cuda_blas_open(struct mc_stream *s, struct mc_err *err)
{
	size_t workspace = (size_t)(s->dev->major >= 9 ? 32 : 4) << 20;
	int rc;

	if (s->blas)
		return 0;
	s->workspace = mc_cuda_alloc(s->dev, MC_DEVICE, workspace, err);
	if (!s->workspace)
		return MC_FAIL;
	rc = blas_error(s, s->dev->blas->create(&s->blas), err);
	if (!rc)
		rc = blas_error(s, blas_set(s, workspace), err);
	if (rc)
		mc_cuda_blas_close(s);
	return rc;
}

void mc_cuda_blas_close(struct mc_stream *s)
{
	if (s->blas)
		s->dev->blas->destroy(s->blas);
	if (s->workspace)
		mc_cuda_release(s->dev, MC_DEVICE, s->workspace);
	s->blas = NULL;
	s->workspace = NULL;
}

static cudaDataType type_of(enum mc_dtype t)
{
	return t == MC_F32 ? CUDA_R_32F : t == MC_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

void mc_cuda_gemm(struct mc_stream *s, const struct mc_gemm *a)
{
	const float one = 1, beta = a->accumulate ? 1 : 0;
	cublasStatus_t status;

	mc_gemm_check(a);
	assert(a->dtype != MC_F32);
	if (a->m == 0)
		return;
	mc_cuda_use(s->dev);
	if (mc_cuda_blas_open(s, &s->err))
		return;
	status = s->dev->blas->gemm_ex(s->blas, CUBLAS_OP_T, CUBLAS_OP_N, a->n, a->m, a->k, &one, a->w,
				       type_of(a->dtype), a->k, a->x, type_of(a->dtype), a->x_stride, &beta,
				       a->y, type_of(a->out_dtype), a->y_stride, CUBLAS_COMPUTE_32F,
				       CUBLAS_GEMM_DEFAULT);
	if (status != CUBLAS_STATUS_SUCCESS)
		mc_cuda_queue_failed(s, "gemm", s->dev->blas->status_string(status));
	else
		mc_cuda_queued(s, "gemm", 0);
}
