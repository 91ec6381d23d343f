/* CUDA's errors in the project's words. */
#include <cuda_runtime_api.h>

#include "kernels/cuda/host.h"

static int driver_error(struct mc_err *err, const char *what)
{
	int driver = 0, runtime = 0;

	if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
		return mc_err_set(err, MC_NOHW, "%s: no NVIDIA driver here; expected a GPU and its driver",
				  what);
	cudaRuntimeGetVersion(&runtime);
	return mc_err_set(err, MC_NOHW,
			  "%s: the driver is too old: it knows CUDA up to %d.%d; expected %d.%d or newer",
			  what, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

int mc_cuda_error(int code, struct mc_err *err, const char *what)
{
	if (code == 0)
		return 0;
	/* Or the next launch would be told of it again. */
	cudaGetLastError();
	switch (code) {
	case cudaErrorStubLibrary:
		return mc_err_set(
		    err, MC_NOHW,
		    "%s: the CUDA driver found is only a stub to link with; expected the real libcuda.so",
		    what);
	case cudaErrorInsufficientDriver:
		return driver_error(err, what);
	case cudaErrorNoDevice:
		return mc_err_set(err, MC_NOHW, "%s: there is no CUDA device", what);
	default:
		return mc_err_set(err, MC_FAIL, "%s: %s (CUDA error %d)", what,
				  cudaGetErrorString((cudaError_t)code), code);
	}
}

void mc_cuda_use(const struct mc_device *d)
{
	cudaSetDevice(d->index);
}

void mc_cuda_queued(struct mc_stream *s, const char *op, int code)
{
	s->last = op;
	mc_cuda_error(code, &s->err, op);
}

void mc_cuda_queue_failed(struct mc_stream *s, const char *op, const char *why)
{
	s->last = op;
	mc_err_set(&s->err, MC_FAIL, "%s: %s", op, why);
}
