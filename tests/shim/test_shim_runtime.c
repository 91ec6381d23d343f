/* The shim's runtime: streams and events, devices that meet, limits of launches, faults to order, leaks. */
#include "tests/unit/unit.h"

#include <string.h>

#include "tests/shim/shim.h"
#include "tests/shim/shim_kernels.h"

enum { SEEDS = 40 };

static cudaStream_t stream(int device)
{
	cudaStream_t s;

	ck_assert_int_eq(cudaSetDevice(device), 0);
	ck_assert_int_eq(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), 0);
	return s;
}

static void *memory(int device, size_t bytes)
{
	void *p;

	ck_assert_int_eq(cudaSetDevice(device), 0);
	ck_assert_int_eq(cudaMalloc(&p, bytes), 0);
	memset(p, 0, bytes);
	return p;
}

/* One stream copies, another one adds: with the wait for an event, always in that order. */
static int wrong_order(int wait)
{
	cudaStream_t a = stream(0), b = stream(0);
	float *p = memory(0, sizeof *p), host = 5;
	cudaEvent_t e;
	int n = 0;

	ck_assert_int_eq(cudaEventCreate(&e), 0);
	for (int seed = 1; seed <= SEEDS; seed++) {
		shim_seed((uint64_t)seed);
		*p = 0;
		cudaMemcpyAsync(p, &host, sizeof host, cudaMemcpyDefault, a);
		cudaEventRecord(e, a);
		if (wait)
			cudaStreamWaitEvent(b, e, 0);
		kernel_add(b, p, 0);
		ck_assert_int_eq(cudaStreamSynchronize(b), 0);
		n += *p != 6;
		ck_assert_int_eq(cudaEventSynchronize(e), 0);
	}
	cudaEventDestroy(e);
	cudaFree(p);
	cudaStreamDestroy(a);
	cudaStreamDestroy(b);
	return n;
}

START_TEST(events)
{
	ck_assert_int_eq(wrong_order(1), 0);
	ck_assert_int_gt(wrong_order(0), SEEDS / 4);
	ck_assert_int_lt(wrong_order(0), SEEDS);
}
END_TEST

/* Nothing runs before somebody waits. */
START_TEST(lazy)
{
	cudaStream_t s = stream(0);
	float *p = memory(0, sizeof *p);
	cudaEvent_t e;
	int polls = 0;

	ck_assert_int_eq(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), 0);
	kernel_add(s, p, 0);
	cudaEventRecord(e, s);
	ck_assert_float_eq(*p, 0);
	while (cudaEventQuery(e) == cudaErrorNotReady)
		ck_assert_int_lt(polls++, 100);
	ck_assert_int_gt(polls, 0);
	ck_assert_float_eq(*p, 1);
	ck_assert_int_eq(cudaEventElapsedTime(&(float){0}, e, e), cudaErrorInvalidResourceHandle);
	kernel_add(s, p, 0);
	cudaFree(p); /* waits */
	ck_assert_int_eq(cudaStreamQuery(s), 0);
	cudaEventDestroy(e);
	cudaStreamDestroy(s);
}
END_TEST

START_TEST(devices_meet)
{
	cudaStream_t s[2] = {stream(0), stream(1)};
	float *value[2] = {memory(0, 4), memory(1, 4)};
	uint32_t *flag[2] = {memory(0, 8), memory(1, 8)};

	for (int seed = 1; seed <= SEEDS; seed++) {
		shim_seed((uint64_t)seed);
		for (int d = 0; d < 2; d++) {
			*value[d] = (float)(d + 2);
			memset(flag[d], 0, 8);
		}
		for (int d = 0; d < 2; d++) {
			cudaSetDevice(d);
			ck_assert_int_eq(kernel_meet(s[d], value, flag, d), 0);
		}
		for (int d = 0; d < 2; d++)
			ck_assert_int_eq(cudaStreamSynchronize(s[d]), 0);
		ck_assert_float_eq(*value[0], 5);
		ck_assert_float_eq(*value[1], 5);
	}
	/* One that waits for a peer that never comes. */
	memset(flag[0], 0, 8);
	cudaSetDevice(0);
	ck_assert_int_eq(kernel_meet(s[0], value, flag, 0), 0);
	ck_assert_int_eq(cudaStreamSynchronize(s[0]), cudaErrorLaunchFailure);
	ck_assert_msg(strstr(cudaGetErrorString(cudaErrorLaunchFailure), "never comes") != NULL, "%s",
		      cudaGetErrorString(cudaErrorLaunchFailure));
	/* The other device goes on. */
	cudaSetDevice(1);
	ck_assert_int_eq(cudaGetLastError(), cudaErrorLaunchFailure);
	ck_assert_int_eq(cudaGetLastError(), 0);
	ck_assert_int_eq(kernel_add(s[1], value[1], 0), 0);
	ck_assert_int_eq(cudaStreamSynchronize(s[1]), 0);
	ck_assert_float_eq(*value[1], 6);
	for (int d = 0; d < 2; d++) {
		cudaStreamDestroy(s[d]);
		cudaFree(value[d]);
		cudaFree(flag[d]);
	}
}
END_TEST

START_TEST(limits)
{
	static const struct {
		struct dim3 grid, block;
		size_t shared;
		int error;
	} c[] = {
	    {{1, 1, 1}, {1024, 1, 1}, 49152, 0},
	    {{1, 1, 1}, {1025, 1, 1}, 0, cudaErrorInvalidConfiguration},
	    {{1, 1, 1}, {32, 33, 1}, 0, cudaErrorInvalidConfiguration},
	    {{1, 1, 1}, {1, 1, 65}, 0, cudaErrorInvalidConfiguration},
	    {{0, 1, 1}, {32, 1, 1}, 0, cudaErrorInvalidConfiguration},
	    {{1, 1, 1}, {0, 1, 1}, 0, cudaErrorInvalidConfiguration},
	    {{1, 65536, 1}, {32, 1, 1}, 0, cudaErrorInvalidConfiguration},
	    {{1, 1, 65536}, {32, 1, 1}, 0, cudaErrorInvalidConfiguration},
	    {{1, 1, 1}, {32, 1, 1}, 49153, cudaErrorInvalidValue},
	};
	cudaStream_t s = stream(0), t = stream(1);

	cudaSetDevice(0);
	for (size_t i = 0; i < sizeof c / sizeof *c; i++)
		ck_assert_int_eq(kernel_shape(s, c[i].grid, c[i].block, c[i].shared), c[i].error);
	ck_assert_int_eq(kernel_shape_allow(SHIM_SHARED_OPTIN + 1), cudaErrorInvalidValue);
	cudaGetLastError();
	ck_assert_int_eq(kernel_shape_allow(SHIM_SHARED_OPTIN), 0);
	ck_assert_int_eq(kernel_shape(s, c[0].grid, c[0].block, SHIM_SHARED_OPTIN), 0);
	ck_assert_int_eq(kernel_shape(t, c[0].grid, c[0].block, 0), cudaErrorInvalidResourceHandle);
	cudaSetDevice(1); /* what one device allows, another one doesn't */
	ck_assert_int_eq(kernel_shape(t, c[0].grid, c[0].block, SHIM_SHARED_OPTIN), cudaErrorInvalidValue);
	ck_assert_int_eq(cudaStreamSynchronize(s), 0);
	cudaStreamDestroy(s);
	cudaStreamDestroy(t);
}
END_TEST

START_TEST(copies_stay_in_memory)
{
	cudaStream_t s = stream(0);
	char *p = memory(0, 100), host[300];

	ck_assert_int_eq(cudaMemcpyAsync(p, host, 100, cudaMemcpyDefault, s), 0);
	ck_assert_int_eq(cudaMemcpyAsync(p, host, 101, cudaMemcpyDefault, s), cudaErrorInvalidValue);
	ck_assert_int_eq(cudaMemcpyAsync(host, p + 50, 51, cudaMemcpyDefault, s), cudaErrorInvalidValue);
	ck_assert_int_eq(cudaMemcpyAsync(host, host + 9, 9, cudaMemcpyHostToDevice, s),
			 cudaErrorInvalidValue);
	ck_assert_int_eq(cudaMemcpy2DAsync(p, 40, host, 100, 20, 3, cudaMemcpyDefault, s), 0);
	ck_assert_int_eq(cudaMemcpy2DAsync(p, 41, host, 100, 20, 3, cudaMemcpyDefault, s),
			 cudaErrorInvalidValue);
	ck_assert_int_eq(cudaMemcpy2DAsync(p, 19, host, 100, 20, 3, cudaMemcpyDefault, s),
			 cudaErrorInvalidValue);
	ck_assert_int_eq(cudaMemsetAsync(p + 1, 0, 100, s), cudaErrorInvalidValue);
	ck_assert_int_eq(cudaFree(p + 1), cudaErrorInvalidValue);
	ck_assert_int_eq(cudaFreeHost(p), cudaErrorInvalidValue);
	ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidValue);
	ck_assert_int_eq(cudaGetLastError(), 0);
	ck_assert_int_eq(cudaFree(p), 0);
	ck_assert_int_eq(cudaStreamDestroy(s), 0);
	ck_assert_int_eq(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
}
END_TEST

START_TEST(faults)
{
	cudaStream_t s = stream(0);
	void *p = memory(0, 8);

	shim_fault_set(SHIM_ALLOC, 2, cudaErrorMemoryAllocation);
	cudaFree(memory(0, 8));
	ck_assert_int_eq(cudaMalloc(&(void *){NULL}, 8), cudaErrorMemoryAllocation);
	cudaFree(memory(0, 8));
	shim_fault_set(SHIM_LAUNCH, 1, cudaErrorLaunchOutOfResources);
	ck_assert_int_eq(kernel_add(s, p, 0), cudaErrorLaunchOutOfResources);
	ck_assert_int_eq(kernel_add(s, p, 0), 0);
	shim_fault_set(SHIM_COPY, 1, cudaErrorUnknown);
	ck_assert_int_eq(cudaMemsetAsync(p, 0, 8, s), cudaErrorUnknown);
	cudaFree(p);
	cudaStreamDestroy(s);
}
END_TEST

START_TEST(leaks)
{
	cudaEvent_t e;

	switch (_i) {
	case 0:
		memory(0, 8);
		break;
	case 1:
		stream(0);
		break;
	default:
		cudaEventCreate(&e);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("shim_runtime");
	TCase *t = tcase_create("runtime");

	tcase_add_test(t, events);
	tcase_add_test(t, lazy);
	tcase_add_test(t, devices_meet);
	tcase_add_test(t, limits);
	tcase_add_test(t, copies_stay_in_memory);
	tcase_add_test(t, faults);
	tcase_add_loop_exit_test(t, leaks, 1, 0, 3);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
