/* cuBLAS's matrix product, plainly: columns first, sums in f32 in the order of k, one rounding. */
#include "tests/shim/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>

#include "kernels/dtype.h"

struct cublasContext {
	struct cublasContext *next;
	cudaStream_t stream;
	int device;
};

static struct cublasContext *handles;

cublasStatus_t cublasCreate(cublasHandle_t *out)
{
	*out = NULL;
	if (shim_ready())
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*out = calloc(1, sizeof **out);
	(*out)->device = shim_device();
	(*out)->next = handles;
	handles = *out;
	return CUBLAS_STATUS_SUCCESS;
}

static bool valid(cublasHandle_t h)
{
	for (struct cublasContext *c = handles; c; c = c->next)
		if (c == h)
			return true;
	return false;
}

cublasStatus_t cublasDestroy(cublasHandle_t h)
{
	struct cublasContext **p = &handles;

	if (!valid(h))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	while (*p != h)
		p = &(*p)->next;
	*p = h->next;
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}

int shim_handles_left(void)
{
	int n = 0;

	for (struct cublasContext *c = handles; c; c = c->next, n++)
		fprintf(stderr, "shim: a handle of cuBLAS was never destroyed\n");
	return n;
}

cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t s)
{
	if (!valid(h))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!shim_stream_valid(s) || s->device != h->device)
		return CUBLAS_STATUS_INVALID_VALUE;
	h->stream = s;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
	(void)mode;
	return valid(h) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t h, void *p, size_t bytes)
{
	if (!valid(h))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	return (uintptr_t)p % 256 == 0 && (!bytes || shim_memory_has(p, bytes)) ? CUBLAS_STATUS_SUCCESS
										: CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasGetVersion(cublasHandle_t h, int *v)
{
	*v = 130000;
	return valid(h) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasGetProperty(libraryPropertyType which, int *v)
{
	*v = which == MAJOR_VERSION ? 13 : 0;
	return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t s)
{
	switch (s) {
	case CUBLAS_STATUS_SUCCESS:
		return "success";
	case CUBLAS_STATUS_NOT_INITIALIZED:
		return "the library was not initialized";
	case CUBLAS_STATUS_INVALID_VALUE:
		return "an unsupported value or parameter was passed to the function";
	case CUBLAS_STATUS_NOT_SUPPORTED:
		return "the functionality requested is not supported";
	default:
		return "the GPU program failed to execute";
	}
}

struct matrix {
	const void *at;
	size_t rows, columns, stride; /* of one column to the next; as stored */
	enum mc_dtype dtype;
	bool trans;
};

struct product {
	struct matrix a, b, c;
	int m, n, k;
	float alpha, beta;
};

static bool dtype_of(cudaDataType t, enum mc_dtype *out)
{
	*out = t == CUDA_R_32F ? MC_F32 : t == CUDA_R_16BF ? MC_BF16 : MC_F16;
	return t == CUDA_R_32F || t == CUDA_R_16BF || t == CUDA_R_16F;
}

/* Row i of op(x) (of k numbers), or column i, in f32. */
static void vector(const struct matrix *x, size_t i, bool row, float *out)
{
	bool along = row == x->trans; /* numbers follow each other in memory */
	size_t n = along ? x->rows : x->columns;

	for (size_t j = 0; j < n; j++)
		out[j] = mc_dtype_get(x->dtype, x->at, along ? i * x->stride + j : j * x->stride + i);
}

static void multiply(void *args)
{
	const struct product *p = args;
	size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
	float *a = malloc((m + 1) * (k + 1) * sizeof *a), *b = malloc((k + 1) * sizeof *b);

	for (size_t i = 0; i < m; i++)
		vector(&p->a, i, true, a + i * k);
	for (size_t j = 0; j < n; j++) {
		vector(&p->b, j, false, b);
		for (size_t i = 0; i < m; i++) {
			size_t at = j * p->c.stride + i;
			void *c = (void *)(uintptr_t)p->c.at;
			float part[8] = {0}, sum = 0;

			for (size_t l = 0; l < k; l++)
				part[l % 8] += a[i * k + l] * b[l];
			for (int l = 0; l < 8; l++)
				sum += part[l];
			sum *= p->alpha;
			if (p->beta != 0)
				sum += p->beta * mc_dtype_get(p->c.dtype, c, at);
			mc_dtype_put(p->c.dtype, c, at, sum);
		}
	}
	free(a);
	free(b);
}

/* Leading dimension, alignment, and all of it in memory. */
static bool matrix_fine(const struct matrix *x)
{
	size_t size = mc_dtype_bytes(x->dtype);

	if (x->stride < x->rows || (uintptr_t)x->at % size)
		return false;
	return !x->rows || !x->columns ||
	       shim_memory_has(x->at, ((x->columns - 1) * x->stride + x->rows) * size);
}

static struct matrix stored(cublasOperation_t op, int rows, int columns)
{
	bool trans = op != CUBLAS_OP_N;
	int r = trans ? columns : rows, c = trans ? rows : columns;

	return (struct matrix){.trans = trans, .rows = (size_t)r, .columns = (size_t)c};
}

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
			    const void *alpha, const void *a, cudaDataType at, int lda, const void *b,
			    cudaDataType bt, int ldb, const void *beta, void *c, cudaDataType ct, int ldc,
			    cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
	struct product p = {.m = m, .n = n, .k = k};
	int fault = shim_fault(SHIM_GEMM);
	bool known;

	(void)algo;
	if (!valid(h) || !h->stream)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (fault)
		return (cublasStatus_t)fault;
	if (m < 0 || n < 0 || k < 0 || lda < 1 || ldb < 1 || ldc < 1)
		return CUBLAS_STATUS_INVALID_VALUE;
	p.a = stored(ta, m, k);
	p.b = stored(tb, k, n);
	p.c = stored(CUBLAS_OP_N, m, n);
	known = dtype_of(at, &p.a.dtype);
	known &= dtype_of(bt, &p.b.dtype);
	known &= dtype_of(ct, &p.c.dtype);
	if (!known || at != bt || (ct != at && ct != CUDA_R_32F) || compute != CUBLAS_COMPUTE_32F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	p.a.at = a;
	p.b.at = b;
	p.c.at = c;
	p.a.stride = (size_t)lda;
	p.b.stride = (size_t)ldb;
	p.c.stride = (size_t)ldc;
	p.alpha = *(const float *)alpha;
	p.beta = *(const float *)beta;
	if (!matrix_fine(&p.a) || !matrix_fine(&p.b) || !matrix_fine(&p.c))
		return CUBLAS_STATUS_INVALID_VALUE;
	return shim_queue_call(h->stream, multiply, &p, sizeof p) ? CUBLAS_STATUS_EXECUTION_FAILED
								  : CUBLAS_STATUS_SUCCESS;
}
