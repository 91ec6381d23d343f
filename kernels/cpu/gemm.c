/*
 * y[m][n] = x[m][k] w[n][k]^T, f32.   2 m n k operations; bytes: 4 n k at least, 4 m (k + n) more.
 *
 * Limit: with few rows the memory's bandwidth (each weight is read once, for all rows), with many the
 * multipliers. Blocks of 96 rows of x times 1,024 of k are packed for the tile of vec_matrix.h and stay in
 * the second-level cache, while rows of w pass by, four at a time; w is read once for each 96 rows. Threads
 * share the columns (the rows, if there are few columns). An element's sum is made in an order that depends
 * on k alone: neither batch nor threads change a bit of it.
 */
#include "kernels/cpu/cpu.h"

enum { BLOCK_M = 96, BLOCK_K = 1024, UNIT = 8 };

struct job {
	const struct mc_gemm *a;
	struct mc_cpu_team *team;
	bool by_rows;
};

/* Rows m[0] .. m[1] - 1 of columns n[0] .. n[1] - 1. */
static void block(const struct job *j, float *scratch, const size_t m[2], const size_t n[2])
{
	const struct mc_gemm *a = j->a;

	for (int k = 0; k < a->k; k += BLOCK_K) {
		struct mc_cpu_nn x = {.a = (const float *)a->x + m[0] * (size_t)a->x_stride + k,
				      .m = (int)(m[1] - m[0]),
				      .k = a->k - k < BLOCK_K ? a->k - k : BLOCK_K,
				      .a_stride = (size_t)a->x_stride};
		struct mc_cpu_nt t = {.a = scratch,
				      .b = (const float *)a->w + n[0] * (size_t)a->k + k,
				      .c = (float *)a->y + m[0] * (size_t)a->y_stride + n[0],
				      .m = x.m,
				      .n = (int)(n[1] - n[0]),
				      .k = x.k,
				      .b_stride = (size_t)a->k,
				      .c_stride = (size_t)a->y_stride,
				      .accumulate = a->accumulate || k > 0};

		j->team->vec->pack(scratch, &x, 1);
		j->team->vec->nt(&t);
	}
}

static void work(void *arg, int thread, int threads)
{
	const struct job *j = arg;
	float *scratch = mc_cpu_team_scratch(j->team, thread);
	size_t m[2] = {0, (size_t)j->a->m}, n[2] = {0, (size_t)j->a->n};

	mc_cpu_part(j->by_rows ? m[1] : n[1], UNIT, thread, threads, j->by_rows ? m : n);
	if (n[0] == n[1])
		return;
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
