/* The shim itself: does it run right kernels right, and does it show what is wrong with the others? */
#include "tests/unit/unit.h"

#include <string.h>

#include "tests/shim/shim.h"
#include "tests/shim/shim_kernels.h"

enum { N = KERNEL_THREADS, SEEDS = 20 };

static cudaStream_t stream(void)
{
	cudaStream_t s;

	ck_assert_int_eq(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), 0);
	return s;
}

static void *memory(size_t bytes)
{
	void *p;

	ck_assert_int_eq(cudaMalloc(&p, bytes), 0);
	return p;
}

/* 1, 2, 3, ... */
static float *counting(void)
{
	float *p = memory(N * sizeof *p);

	for (int i = 0; i < N; i++)
		p[i] = (float)(i + 1);
	return p;
}

/* In how many of SEEDS orders is the result wrong? */
static int wrong(int (*kernel)(cudaStream_t, const float *, float *, int), int careful)
{
	cudaStream_t s = stream();
	float *in = counting(), *out = memory(N * sizeof *out);
	int n = 0;

	for (int seed = 1; seed <= SEEDS; seed++) {
		shim_seed((uint64_t)seed);
		memset(out, 0xff, N * sizeof *out);
		ck_assert_int_eq(kernel(s, in, out, careful), 0);
		ck_assert_int_eq(cudaStreamSynchronize(s), 0);
		n += kernel == kernel_sum ? out[0] != N * (N + 1) / 2 : memcmp(in, out, N * sizeof *in) != 0;
	}
	cudaFree(in);
	cudaFree(out);
	cudaStreamDestroy(s);
	return n;
}

START_TEST(barriers)
{
	ck_assert_int_eq(wrong(kernel_sum, 1), 0);
	ck_assert_int_gt(wrong(kernel_sum, 0), SEEDS / 2);
}
END_TEST

START_TEST(asynchronous_copies)
{
	ck_assert_int_eq(wrong(kernel_async, 1), 0);
	ck_assert_int_eq(wrong(kernel_async, 0), SEEDS);
}
END_TEST

static void expect_failure(cudaStream_t s, const char *word)
{
	cudaError_t e = cudaStreamSynchronize(s);

	ck_assert_int_eq(e, cudaErrorLaunchFailure);
	ck_assert_msg(strstr(cudaGetErrorString(e), word) != NULL, "expected '%s' in: %s", word,
		      cudaGetErrorString(e));
	ck_assert_int_eq(cudaMalloc(&(void *){NULL}, 1), cudaErrorLaunchFailure);
	ck_assert_int_eq(cudaGetLastError(), cudaErrorLaunchFailure);
	cudaStreamDestroy(s);
}

static const struct {
	int (*kernel)(cudaStream_t);
	const char *word;
} broken[] = {
    {kernel_two_barriers, "while another thread waits at that of line"},
    {kernel_half_barrier, "for lanes that don't come"},
    {kernel_half_warp, "for lanes that don't come"},
    {kernel_two_operations, "wait at another operation"},
};

START_TEST(broken_kernels)
{
	cudaStream_t s = stream();

	shim_seed((uint64_t)_i % SEEDS);
	ck_assert_int_eq(broken[_i / SEEDS].kernel(s), 0);
	expect_failure(s, broken[_i / SEEDS].word);
}
END_TEST

START_TEST(ends_before_a_barrier)
{
	cudaStream_t s = stream();
	int *out = memory(sizeof *out);

	for (int seed = 1; seed <= SEEDS; seed++) {
		shim_seed((uint64_t)seed);
		ck_assert_int_eq(kernel_early_end(s, out), 0);
		ck_assert_int_eq(cudaStreamSynchronize(s), 0);
		ck_assert_int_eq(*out, N - 43);
	}
	cudaFree(out);
	cudaStreamDestroy(s);
}
END_TEST

START_TEST(shared_memory_is_poisoned)
{
	cudaStream_t s = stream();
	uint32_t *out = memory(2 * N * sizeof *out);

	memset(out, 0, 2 * N * sizeof *out);
	ck_assert_int_eq(kernel_poison(s, out), 0);
	ck_assert_int_eq(cudaStreamSynchronize(s), 0);
	for (int i = 0; i < 2 * N; i++)
		ck_assert_uint_eq(out[i], 0xffffffff);
	cudaFree(out);
	cudaStreamDestroy(s);
}
END_TEST

START_TEST(overrun)
{
	cudaStream_t s = stream();

	ck_assert_int_eq(kernel_overrun(s, 63), 0);
	ck_assert_int_eq(cudaStreamSynchronize(s), 0);
	ck_assert_int_eq(kernel_overrun(s, 64), 0);
	expect_failure(s, "dynamic shared memory");
}
END_TEST

START_TEST(shuffles)
{
	cudaStream_t s = stream();
	int *out = memory(128 * sizeof *out);

	ck_assert_int_eq(kernel_shuffles(s, out), 0);
	ck_assert_int_eq(cudaStreamSynchronize(s), 0);
	for (int i = 0; i < 32; i++) {
		ck_assert_int_eq(out[i], 100 + (i ^ 5));
		ck_assert_int_eq(out[32 + i], i + 3 < 32 ? 103 + i : 100 + i);
		ck_assert_int_eq(out[64 + i], i % 8 >= 2 ? 98 + i : 100 + i);
		ck_assert_int_eq(out[96 + i], i < 16 ? 107 : 120);
	}
	cudaFree(out);
	cudaStreamDestroy(s);
}
END_TEST

/* Small whole numbers are exact in bf16. */
START_TEST(matrix_instructions)
{
	cudaStream_t s = stream();
	uint16_t *a = memory(512), *b = memory(256);
	float *c = memory(512), x[256], y[128];

	for (int i = 0; i < 256; i++) {
		uint32_t u;

		x[i] = (float)(i * 7 % 31 - 15);
		memcpy(&u, &x[i], sizeof u);
		a[i] = (uint16_t)(u >> 16);
		if (i < 128) {
			y[i] = (float)(i * 5 % 23 - 11);
			memcpy(&u, &y[i], sizeof u);
			b[i] = (uint16_t)(u >> 16);
		}
	}
	ck_assert_int_eq(kernel_product(s, a, b, c), 0);
	ck_assert_int_eq(cudaStreamSynchronize(s), 0);
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 8; j++) {
			float sum = 0;

			for (int k = 0; k < 16; k++)
				sum += x[i * 16 + k] * y[k * 8 + j];
			ck_assert_float_eq(c[i * 8 + j], sum);
		}
	cudaFree(a);
	cudaFree(b);
	cudaFree(c);
	cudaStreamDestroy(s);
}
END_TEST

START_TEST(orders)
{
	cudaStream_t s = stream();
	int *out = memory(20 * sizeof *out), others = 0, forward = 0;

	for (int seed = 1; seed <= SEEDS; seed++) {
		unsigned seen = 0;
		int in_order = 1;

		shim_seed((uint64_t)seed);
		out[16] = 0;
		ck_assert_int_eq(kernel_order(s, out + 16, out, 16), 0);
		ck_assert_int_eq(cudaStreamSynchronize(s), 0);
		for (int i = 0; i < 16; i++) {
			seen |= 1u << out[i];
			in_order &= out[i] == i;
		}
		ck_assert_uint_eq(seen, 0xffff);
		forward += in_order;
		others += !in_order;
	}
	ck_assert_int_gt(others, SEEDS / 3);
	ck_assert_int_gt(forward, 0);
	cudaFree(out);
	cudaStreamDestroy(s);
}
END_TEST

#ifdef __SANITIZE_ADDRESS__
START_TEST(wild_index)
{
	cudaStream_t s = stream();
	float *p = memory(4 * N);

	kernel_add(s, p, N);
	cudaStreamSynchronize(s);
}
END_TEST
#endif

static Suite *suite(void)
{
	Suite *s = suite_create("shim");
	TCase *t = tcase_create("kernels");

	tcase_add_test(t, barriers);
	tcase_add_test(t, asynchronous_copies);
	tcase_add_loop_test(t, broken_kernels, 0, SEEDS * (int)(sizeof broken / sizeof *broken));
	tcase_add_test(t, ends_before_a_barrier);
	tcase_add_test(t, shared_memory_is_poisoned);
#ifdef __SANITIZE_ADDRESS__
	tcase_add_exit_test(t, overrun, 1);
	tcase_add_exit_test(t, wild_index, 1);
#else
	tcase_add_test(t, overrun);
#endif
	tcase_add_test(t, shuffles);
	tcase_add_test(t, matrix_instructions);
	tcase_add_test(t, orders);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
