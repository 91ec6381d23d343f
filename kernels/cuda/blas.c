#include "kernels/cuda/blas.cuh"

#include <stdlib.h>
#include <string.h>

#ifdef MC_SHIM

int mc_cuda_blas_load(struct mc_cuda_blas **out, struct mc_err *err)
{
	static const struct mc_cuda_blas shim = {NULL,
						 cublasCreate,
						 cublasDestroy,
						 cublasSetStream,
						 cublasSetWorkspace,
						 cublasSetMathMode,
						 cublasGetProperty,
						 cublasGetStatusString,
						 cublasGemmEx};

	*out = malloc(sizeof **out);
	if (!*out)
		return mc_err_set(err, MC_FAIL, "out of memory");
	memcpy(*out, &shim, sizeof shim);
	return MC_OK;
}

void mc_cuda_blas_unload(struct mc_cuda_blas *b)
{
	free(b);
}

#else

#include <dlfcn.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define LIBRARY    "libcublas.so." TEXT(CUBLAS_VER_MAJOR)
/* A macro of the header may stand for the name of the function's latest version. */
#define FIND(f, name)                                                                                        \
	{                                                                                                    \
		TEXT(name), offsetof(struct mc_cuda_blas, f)                                                 \
	}

static int find_all(struct mc_cuda_blas *b, struct mc_err *err)
{
	static const struct {
		const char *name;
		size_t at;
	} wanted[] = {FIND(create, cublasCreate),
		      FIND(destroy, cublasDestroy),
		      FIND(set_stream, cublasSetStream),
		      FIND(set_workspace, cublasSetWorkspace),
		      FIND(set_math_mode, cublasSetMathMode),
		      FIND(get_property, cublasGetProperty),
		      FIND(status_string, cublasGetStatusString),
		      FIND(gemm_ex, cublasGemmEx)};

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *f = dlsym(b->library, wanted[i].name);

		if (!f)
			return mc_err_set(err, MC_NOHW, "%s has no %s", LIBRARY, wanted[i].name);
		memcpy((char *)b + wanted[i].at, &f, sizeof f);
	}
	return MC_OK;
}

int mc_cuda_blas_load(struct mc_cuda_blas **out, struct mc_err *err)
{
	struct mc_cuda_blas *b = calloc(1, sizeof *b);
	int rc;

	*out = NULL;
	if (!b)
		return mc_err_set(err, MC_FAIL, "out of memory");
	b->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	rc = b->library ? find_all(b, err)
			: mc_err_set(err, MC_NOHW, "cuBLAS could not be loaded: %s", dlerror());
	if (rc) {
		mc_cuda_blas_unload(b);
		return rc;
	}
	*out = b;
	return MC_OK;
}

void mc_cuda_blas_unload(struct mc_cuda_blas *b)
{
	if (b && b->library)
		dlclose(b->library);
	free(b);
}

#endif
