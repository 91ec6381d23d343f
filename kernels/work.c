#include "kernels/work.h"

#include <math.h>

struct mc_work mc_work_gemm(const struct mc_gemm *a)
{
	double m = a->m, n = a->n, k = a->k, e = (double)mc_dtype_bytes(a->dtype);
	double out = m * n * (double)mc_dtype_bytes(a->out_dtype);

	if (a->m == 0)
		return (struct mc_work){0, 0};
	return (struct mc_work){2 * m * n * k, (m * k + n * k) * e + (a->accumulate ? 2 : 1) * out};
}

/* Each element: square and add, two products; the sum with a residual. Each row: mean, eps, root, inverse. */
struct mc_work mc_work_norm(const struct mc_norm *a)
{
	double n = (double)a->rows * a->hidden, e = (double)mc_dtype_bytes(a->dtype);
	bool sum = a->x && a->residual;
	double moved = 1 + (a->x ? 1 : 0) + (sum ? 2 : a->residual ? 1 : 0);

	if (a->rows == 0)
		return (struct mc_work){0, 0};
	return (struct mc_work){n * (sum ? 5 : 4) + 4.0 * a->rows, (n * moved + a->hidden) * e};
}

/* Each pair: four products, two sums. */
struct mc_work mc_work_rope(const struct mc_rope *a)
{
	double n = (double)a->rows * a->heads * a->head_dim, e = (double)mc_dtype_bytes(a->dtype);

	return (struct mc_work){3 * n, 2 * n * e + (double)a->rows * (4 + 4.0 * a->head_dim)};
}

/* Each element: sign, exponential, sum, division, product. */
struct mc_work mc_work_swiglu(const struct mc_swiglu *a)
{
	double n = (double)a->rows * a->ffn;

	return (struct mc_work){5 * n, 3 * n * (double)mc_dtype_bytes(a->dtype)};
}

struct mc_work mc_work_embed(const struct mc_embed *a)
{
	double read = fmin(a->rows, a->table_rows),
	       width = (double)a->width * (double)mc_dtype_bytes(a->dtype);

	return (struct mc_work){0, (read + a->rows) * width + 4.0 * a->rows};
}

/* Each logit: a comparison. If it is drawn, at most: its distance from the largest, division, bound, two
 * logarithms, sign, subtraction, comparison of the scores. */
struct mc_work mc_work_sample(const struct mc_sample *a, int drawn)
{
	return (struct mc_work){(double)a->vocab * (a->rows + 8.0 * drawn),
				(double)a->rows * (4.0 * a->vocab + 4 + 8 + 4)};
}

/* Blocks that hold tokens from .. to - 1. */
static double blocks(const struct mc_kv_layout *l, int64_t from, int64_t to)
{
	return to > from ? (double)((to - 1) / l->block_tokens - from / l->block_tokens + 1) : 0;
}

struct mc_work mc_work_kv_rows(const struct mc_kv_rows *a, const struct mc_lengths *l)
{
	const struct mc_kv_layout *kv = &a->pages.layout;
	double row = 2.0 * kv->kv_heads * kv->head_dim * (double)mc_dtype_bytes(kv->dtype);
	/* A row's sequence and position, and the numbers of the blocks. */
	double indices = 8.0 * a->batch.rows;

	for (int s = 0; s < a->batch.seqs; s++) {
		int64_t from = l->context[s], to = from + l->row_start[s + 1] - l->row_start[s];

		indices += 4 * blocks(kv, from, to);
	}
	return (struct mc_work){0, 2 * a->batch.rows * row + indices};
}

struct mc_work mc_work_attention(const struct mc_attention *a, const struct mc_lengths *l)
{
	const struct mc_kv_layout *kv = &a->pages.layout;
	double e = (double)mc_dtype_bytes(kv->dtype), pairs = 0, tokens = 0, rows = 0, indices = 0;

	for (int s = 0; s < a->batch.seqs; s++) {
		double c = l->context[s], n = l->row_start[s + 1] - l->row_start[s];

		pairs += n * c + n * (n + 1) / 2;
		tokens += c + n;
		rows += n;
		/* Its start and context, and its blocks. */
		indices += 8 + 4 * blocks(kv, 0, (int64_t)(c + n));
	}
	return (struct mc_work){4 * pairs * a->heads * kv->head_dim,
				(2 * rows * a->heads + 2 * tokens * kv->kv_heads) * kv->head_dim * e +
				    indices};
}

struct mc_work mc_work_copy(const struct mc_copy *a)
{
	return (struct mc_work){0, 2.0 * (double)a->bytes * (double)a->rows};
}

struct mc_work mc_work_all_reduce(const struct mc_all_reduce *a, int ranks)
{
	double n = (double)a->count;

	return (struct mc_work){(ranks - 1) * n, 2.0 * ranks * n * (double)mc_dtype_bytes(a->dtype)};
}

double mc_work_all_reduce_link(const struct mc_all_reduce *a, int ranks)
{
	return 2.0 * (ranks - 1) / ranks * (double)a->count * (double)mc_dtype_bytes(a->dtype);
}

struct mc_work mc_work_sum(struct mc_work a, struct mc_work b)
{
	return (struct mc_work){a.flops + b.flops, a.bytes + b.bytes};
}

static double needs(double what, double per_second)
{
	return per_second > 0 ? what / per_second : 0;
}

double mc_work_floor(const struct mc_work *w, const struct mc_limits *l)
{
	return fmax(needs(w->flops, l->flops), needs(w->bytes, l->bandwidth));
}

bool mc_work_memory_bound(const struct mc_work *w, const struct mc_limits *l)
{
	return needs(w->bytes, l->bandwidth) >= needs(w->flops, l->flops);
}
