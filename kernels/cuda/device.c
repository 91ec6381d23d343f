/* CUDA devices: what there is, what is known of it, its memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "kernels/cuda/blas.cuh"
#include "kernels/cuda/host.h"

int mc_cuda_count(int *n, struct mc_err *err)
{
	int rc;

	*n = 0;
	rc = mc_cuda_error(cudaGetDeviceCount(n), err, "devices");
	if (rc)
		*n = 0;
	return rc;
}

static int attribute(int device, enum cudaDeviceAttr which)
{
	int value = 0;

	return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

int mc_cuda_device_open(struct mc_device **out, const struct mc_device_want *want, struct mc_err *err)
{
	struct mc_device d = {.index = want->index};
	int n, rc;

	*out = NULL;
	rc = mc_cuda_count(&n, err);
	if (rc)
		return rc;
	if (want->index < 0 || want->index >= n)
		return mc_err_set(err, MC_NOHW, "no device %d; expected 0 to %d", want->index, n - 1);
	d.major = attribute(d.index, cudaDevAttrComputeCapabilityMajor);
	d.minor = attribute(d.index, cudaDevAttrComputeCapabilityMinor);
	d.units = attribute(d.index, cudaDevAttrMultiProcessorCount);
	if (d.major < 8)
		return mc_err_set(err, MC_NOHW,
				  "device %d has compute capability %d.%d; expected 8.0 or higher", d.index,
				  d.major, d.minor);
	rc = mc_cuda_error(cudaSetDevice(d.index), err, "opening the device");
	if (!rc)
		rc = mc_cuda_blas_load(&d.blas, err);
	if (rc)
		return rc;
	*out = malloc(sizeof **out);
	if (!*out) {
		mc_cuda_blas_unload(d.blas);
		return mc_err_set(err, MC_FAIL, "out of memory");
	}
	**out = d;
	return 0;
}

void mc_cuda_device_close(struct mc_device *d)
{
	if (d)
		mc_cuda_blas_unload(d->blas);
	free(d);
}

/* Dense bf16 operations of a multiprocessor in one clock (white papers of A100 and H100). */
static double flops_per_clock(const struct mc_device *d)
{
	if (d->major == 8 && d->minor == 0)
		return 2048;
	return d->major == 9 ? 4096 : 0;
}

static void software(const struct mc_cuda_blas *b, char *to, size_t bytes)
{
	int driver = 0, runtime = 0, blas[3] = {0};

	cudaDriverGetVersion(&driver);
	cudaRuntimeGetVersion(&runtime);
	b->get_property(MAJOR_VERSION, &blas[0]);
	b->get_property(MINOR_VERSION, &blas[1]);
	b->get_property(PATCH_LEVEL, &blas[2]);
	snprintf(to, bytes, "driver for CUDA %d.%d, runtime %d.%d, cuBLAS %d.%d.%d", driver / 1000,
		 driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, blas[0], blas[1], blas[2]);
}

void mc_cuda_device_info(struct mc_device *d, struct mc_device_info *out)
{
	struct cudaDeviceProp p;

	memset(out, 0, sizeof *out);
	memset(&p, 0, sizeof p);
	if (cudaGetDeviceProperties(&p, d->index) == cudaSuccess) {
		snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, p.name);
		out->memory_bytes = p.totalGlobalMem;
	}
	software(d->blas, out->software, sizeof out->software);
	out->units = d->units;
	/* Clocks are in kHz, the bus in bits; memory moves on both edges. */
	out->matrix_flops = flops_per_clock(d) * d->units * 1e3 * attribute(d->index, cudaDevAttrClockRate);
	out->bandwidth = 2e3 * attribute(d->index, cudaDevAttrMemoryClockRate) *
			 attribute(d->index, cudaDevAttrGlobalMemoryBusWidth) / 8;
	cudaGetLastError();
}

int mc_cuda_peer_enable(struct mc_device *d, struct mc_device *peer, struct mc_err *err)
{
	int can = 0, rc, code;

	if (d->index == peer->index)
		return 0;
	rc = mc_cuda_error(cudaDeviceCanAccessPeer(&can, d->index, peer->index), err, "peer access");
	if (rc)
		return rc;
	if (!can)
		return mc_err_set(err, MC_NOHW, "device %d cannot reach the memory of device %d", d->index,
				  peer->index);
	mc_cuda_use(d);
	code = cudaDeviceEnablePeerAccess(peer->index, 0);
	if (code == cudaErrorPeerAccessAlreadyEnabled) {
		cudaGetLastError();
		code = 0;
	}
	return mc_cuda_error(code, err, "peer access");
}

void *mc_cuda_alloc(struct mc_device *d, enum mc_place place, size_t bytes, struct mc_err *err)
{
	void *p = NULL;
	int code;

	mc_cuda_use(d);
	bytes += bytes == 0;
	if (place == MC_DEVICE)
		code = cudaMalloc(&p, bytes);
	else /* portable: pinned for every device */
		code = cudaHostAlloc(&p, bytes, cudaHostAllocPortable);
	if (code) {
		char what[96];

		snprintf(what, sizeof what, "%zu bytes of %s memory", bytes,
			 place == MC_DEVICE ? "device" : "pinned");
		mc_cuda_error(code, err, what);
		return NULL;
	}
	assert((uintptr_t)p % 256 == 0);
	return p;
}

void mc_cuda_release(struct mc_device *d, enum mc_place place, void *p)
{
	mc_cuda_use(d);
	if (place == MC_DEVICE)
		cudaFree(p);
	else
		cudaFreeHost(p);
	cudaGetLastError();
}
