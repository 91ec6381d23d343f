/*
 * y[m][n] = x[m][k] w[n][k]^T, f32.   2 m n k operations; bytes: 4 n k at least, 4 m (k + n) more.
 *
 * Limit: with few rows the memory's bandwidth (each weight is read once, for all rows), with many the
 * multipliers. Blocks of 96 rows of x times at most 1,024 of k are packed for the tile of vec_matrix.h and
 * stay in the second-level cache with 64 rows of w, which pass by four at a time; w is read from memory once
 * for each 96 rows. Threads share the columns (the rows, if there are few columns). An element's sum is made
 * in an order that depends on k alone: neither batch nor threads change a bit of it. Where vectors are
 * short, products of many rows are CBLAS's, cut the same way, and that isn't so.
 */
#include <cblas.h>

#include "kernels/cpu/cpu.h"

enum { BLOCK_M = 96, BLOCK_N = 64, BLOCK_K = 1024, UNIT = 8, AHEAD = 8 };

struct job {
	const struct mc_gemm *a;
	struct mc_cpu_team *team;
	bool by_rows;
};

/* Rows m[0] .. m[1] - 1 of columns n[0] .. n[1] - 1. */
static void block(const struct job *j, float *scratch, const size_t m[2], const size_t n[2])
{
	const struct mc_gemm *a = j->a;
	int blocks = (a->k + BLOCK_K - 1) / BLOCK_K;
	int each = ((a->k + blocks - 1) / blocks + 15) / 16 * 16; /* equal ones, of whole vectors */

	for (int k = 0; k < a->k; k += each) {
		struct mc_cpu_nn x = {.a = (const float *)a->x + m[0] * (size_t)a->x_stride + k,
				      .m = (int)(m[1] - m[0]),
				      .k = a->k - k < each ? a->k - k : each,
				      .a_stride = (size_t)a->x_stride};
		struct mc_cpu_nt t = {.a = scratch,
				      .m = x.m,
				      .k = x.k,
				      .b_stride = (size_t)a->k,
				      .c_stride = (size_t)a->y_stride,
				      .accumulate = a->accumulate || k > 0};

		j->team->vec->pack(scratch, &x, 1);
		for (size_t i = n[0]; i < n[1]; i += BLOCK_N) {
			t.b = (const float *)a->w + i * (size_t)a->k + k;
			t.soon = t.b + AHEAD * (size_t)a->k;
			t.c = (float *)a->y + m[0] * (size_t)a->y_stride + i;
			t.n = n[1] - i < BLOCK_N ? (int)(n[1] - i) : BLOCK_N;
			j->team->vec->nt(&t);
		}
	}
}

static void by_cblas(const struct mc_gemm *a, const size_t m[2], const size_t n[2])
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(m[1] - m[0]), (int)(n[1] - n[0]), a->k, 1,
		    (const float *)a->x + m[0] * (size_t)a->x_stride, a->x_stride,
		    (const float *)a->w + n[0] * (size_t)a->k, a->k, a->accumulate ? 1 : 0,
		    (float *)a->y + m[0] * (size_t)a->y_stride + n[0], a->y_stride);
}

static void work(void *arg, int thread, int threads)
{
	const struct job *j = arg;
	float *scratch = mc_cpu_team_scratch(j->team, thread);
	size_t m[2] = {0, (size_t)j->a->m}, n[2] = {0, (size_t)j->a->n};

	mc_cpu_part(j->by_rows ? m[1] : n[1], UNIT, thread, threads, j->by_rows ? m : n);
	if (n[0] == n[1] || m[0] == m[1])
		return;
	if (j->a->m > j->team->vec->own_rows) {
		by_cblas(j->a, m, n);
		return;
	}
	for (size_t i = m[0]; i < m[1]; i += BLOCK_M) {
		size_t rows[2] = {i, m[1] - i < BLOCK_M ? m[1] : i + BLOCK_M};

		block(j, scratch, rows, n);
	}
}

void mc_cpu_gemm(struct mc_cpu_team *t, const void *arguments)
{
	const struct mc_gemm *a = arguments;
	int threads = mc_cpu_team_threads(t, (size_t)a->m * (size_t)a->n * (size_t)a->k, 1 << 16);
	struct job j = {a, t, a->n / UNIT < 4 * threads && a->m > a->n};

	mc_cpu_pool_run(t->pool, threads, work, &j);
}
