/* Devices, errors, faults to order, and the look back at exit. */
#include "tests/shim/shim.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUNCTIONS = 256 };

struct limit {
	const void *function;
	int device;
	size_t bytes;
};

static struct {
	pthread_mutex_t lock;
	uint64_t random;
	int devices, driver;
	int current;
	cudaError_t last;
	bool failed[SHIM_MAX_DEVICES];
	bool peer[SHIM_MAX_DEVICES][SHIM_MAX_DEVICES];
	char words[640];
	struct {
		int left, error;
	} fault[SHIM_FAULTS];
	struct limit limit[FUNCTIONS];
	int limits;
	bool forgiven;
} shim;

static int number(const char *name, int otherwise)
{
	const char *s = getenv(name);

	return s && *s ? atoi(s) : otherwise;
}

static void faults_from_environment(void)
{
	static const char *const kinds[] = {"alloc", "launch", "copy", "stream", "event", "gemm"};
	const char *s = getenv("MC_SHIM_FAULT");
	char kind[16];
	int n, error;

	if (!s || sscanf(s, "%15[a-z]:%d:%d", kind, &n, &error) != 3)
		return;
	for (int i = 0; i < SHIM_FAULTS; i++)
		if (strcmp(kind, kinds[i]) == 0)
			shim_fault_set((enum shim_fault)i, n, error);
}

static void look_back(void)
{
	int left = shim_memory_left() + shim_streams_left() + shim_handles_left();

	if (left && !shim.forgiven) {
		fflush(NULL);
		_exit(1);
	}
}

/* The tests of tests/kernels run all backends; here only the one that this stands under. */
__attribute__((constructor)) static void start(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&shim.lock, &a);
	pthread_mutexattr_destroy(&a);
	shim.devices = number("MC_SHIM_DEVICES", 2);
	if (shim.devices > SHIM_MAX_DEVICES)
		shim.devices = SHIM_MAX_DEVICES;
	shim.driver = number("MC_SHIM_DRIVER", CUDART_VERSION);
	shim_seed((uint64_t)number("MC_SHIM_SEED", 1));
	faults_from_environment();
	setenv("MC_BACKEND", "cuda", 0);
	atexit(look_back);
}

void shim_forgive(void)
{
	shim.forgiven = true;
}

void shim_lock(void)
{
	pthread_mutex_lock(&shim.lock);
}

void shim_unlock(void)
{
	pthread_mutex_unlock(&shim.lock);
}

void shim_seed(uint64_t seed)
{
	shim.random = seed * UINT64_C(0x9e3779b97f4a7c15);
	shim.random = shim_random() ^ seed; /* or neighbours would be one sequence, shifted */
}

uint64_t shim_random(void)
{
	uint64_t z = shim.random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint32_t shim_below(uint32_t n)
{
	return (uint32_t)((shim_random() >> 32) * n >> 32);
}

void shim_fault_set(enum shim_fault f, int n, int error)
{
	shim.fault[f].left = n;
	shim.fault[f].error = error;
}

int shim_fault(enum shim_fault f)
{
	return shim.fault[f].left && --shim.fault[f].left == 0 ? shim.fault[f].error : 0;
}

int shim_device(void)
{
	return shim.current;
}

int shim_devices(void)
{
	return shim.devices;
}

void shim_device_fail(int device, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (!shim.failed[device])
		vsnprintf(shim.words, sizeof shim.words, format, ap);
	va_end(ap);
	shim.failed[device] = true;
	fprintf(stderr, "shim: %s\n", shim.words);
}

cudaError_t shim_device_error(int device)
{
	return shim.failed[device] ? cudaErrorLaunchFailure : cudaSuccess;
}

static cudaError_t present(void)
{
	if (shim.driver == 0 || (shim.driver < CUDART_VERSION && shim.driver / 1000 < CUDART_VERSION / 1000))
		return cudaErrorInsufficientDriver;
	return shim.devices < 1 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t shim_ready(void)
{
	cudaError_t rc = present();

	return rc ? rc : shim_device_error(shim.current);
}

cudaError_t shim_return(cudaError_t rc)
{
	if (rc && rc != cudaErrorNotReady)
		shim.last = rc;
	return rc;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t rc = shim.last;

	shim.last = shim_device_error(shim.current);
	return rc;
}

cudaError_t cudaPeekAtLastError(void)
{
	return shim.last;
}

static const struct {
	cudaError_t e;
	const char *name, *words;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
};

const char *cudaGetErrorString(cudaError_t e)
{
	if (e == cudaErrorLaunchFailure && shim.words[0])
		return shim.words;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].e == e)
			return errors[i].words;
	return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t e)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].e == e)
			return errors[i].name;
	return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int *v)
{
	*v = shim.driver;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *v)
{
	*v = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
	cudaError_t rc = present();

	*n = rc ? 0 : shim.devices;
	return shim_return(rc);
}

static cudaError_t device_check(int device)
{
	cudaError_t rc = present();

	return rc ? rc : device < 0 || device >= shim.devices ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *out, enum cudaDeviceAttr which, int device)
{
	static const int known[][2] = {
	    {cudaDevAttrMaxThreadsPerBlock, SHIM_MAX_THREADS},
	    {cudaDevAttrMaxSharedMemoryPerBlock, SHIM_SHARED},
	    {cudaDevAttrWarpSize, SHIM_WARP},
	    {cudaDevAttrClockRate, 1000000},
	    {cudaDevAttrMultiProcessorCount, SHIM_UNITS},
	    {cudaDevAttrMemoryClockRate, 1000000},
	    {cudaDevAttrGlobalMemoryBusWidth, 5120},
	    {cudaDevAttrL2CacheSize, 1 << 20},
	    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
	    {cudaDevAttrUnifiedAddressing, 1},
	    {cudaDevAttrComputeCapabilityMajor, 8},
	    {cudaDevAttrComputeCapabilityMinor, 0},
	    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 167936},
	    {cudaDevAttrMaxSharedMemoryPerBlockOptin, SHIM_SHARED_OPTIN},
	};
	cudaError_t rc = device_check(device);

	for (size_t i = 0; !rc && i < sizeof known / sizeof *known; i++)
		if (known[i][0] == (int)which) {
			*out = known[i][1];
			return cudaSuccess;
		}
	return shim_return(rc ? rc : cudaErrorInvalidValue);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	cudaError_t rc = device_check(device);

	if (rc)
		return shim_return(rc);
	*p = (struct cudaDeviceProp){.name = "CPU shim",
				     .totalGlobalMem = (size_t)8 << 30,
				     .multiProcessorCount = SHIM_UNITS,
				     .major = 8,
				     .memoryBusWidth = 5120,
				     .l2CacheSize = 1 << 20,
				     .pciBusID = device + 1};
	return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int bytes, int device)
{
	cudaError_t rc = device_check(device);

	if (!rc)
		snprintf(out, (size_t)bytes, "0000:%02x:00.0", (unsigned)device + 1);
	return shim_return(rc);
}

cudaError_t cudaSetDevice(int device)
{
	cudaError_t rc = device_check(device);

	if (!rc)
		shim.current = device;
	return shim_return(rc);
}

cudaError_t cudaGetDevice(int *device)
{
	*device = shim.current;
	return shim_return(present());
}

cudaError_t cudaDeviceSynchronize(void)
{
	cudaError_t rc;

	shim_lock();
	rc = shim_ready();
	if (!rc)
		rc = shim_drain_device(shim.current);
	shim_unlock();
	return shim_return(rc);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	cudaError_t rc = device_check(device);

	if (!rc)
		rc = device_check(peer);
	*can = !rc && device != peer;
	return shim_return(rc);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	cudaError_t rc = device_check(peer);

	if (!rc && (flags || peer == shim.current))
		rc = flags ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
	if (!rc && shim.peer[shim.current][peer])
		rc = cudaErrorPeerAccessAlreadyEnabled;
	if (!rc)
		shim.peer[shim.current][peer] = true;
	return shim_return(rc);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute which, int value)
{
	cudaError_t rc = shim_ready();
	int i;

	if (rc || which == cudaFuncAttributePreferredSharedMemoryCarveout)
		return shim_return(rc);
	if (which != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > SHIM_SHARED_OPTIN)
		return shim_return(cudaErrorInvalidValue);
	for (i = 0; i < shim.limits; i++)
		if (shim.limit[i].function == kernel && shim.limit[i].device == shim.current)
			break;
	if (i == FUNCTIONS)
		return shim_return(cudaErrorUnknown);
	if (i == shim.limits)
		shim.limits++;
	shim.limit[i] = (struct limit){kernel, shim.current, (size_t)value};
	return cudaSuccess;
}

size_t shim_dynamic_limit(const void *function, int device)
{
	for (int i = 0; i < shim.limits; i++)
		if (shim.limit[i].function == function && shim.limit[i].device == device)
			return shim.limit[i].bytes;
	return SHIM_SHARED;
}
