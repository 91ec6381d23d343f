/* Matrix products of a layer and of the logits, on a CPU each beside a plain CBLAS call. */
#include <stdio.h>

#include "kernels/bench.h"

static void once(struct mc_bench *b, const void *arg)
{
	b->be->gemm(b->s, arg);
}

static void plain(struct mc_bench *b, const void *arg)
{
	mc_bench_plain_gemm(b, arg);
}

/* y[m][n] = x[m][k] w[n][k]^T */
static void one(struct mc_bench *b, const char *what, int m, int n, int k)
{
	enum mc_dtype t = b->o->dtype;
	size_t e = mc_dtype_bytes(t), x = (size_t)m * (size_t)k, w = (size_t)n * (size_t)k,
	       y = (size_t)m * (size_t)n;
	struct mc_gemm a = {.m = m, .n = n, .k = k, .x_stride = k, .y_stride = n, .dtype = t, .out_dtype = t};
	struct mc_bench_case c = {.op = "gemm",
				  .work = mc_work_gemm(&a),
				  .bytes = mc_bench_room_of(x * e) + mc_bench_room_of(w * e) +
					   mc_bench_room_of(y * e),
				  .arg_size = sizeof a,
				  .once = once,
				  .plain = b->be && b->host ? plain : NULL};
	struct mc_bench_result r;

	snprintf(c.shape, sizeof c.shape, "%s m=%d n=%d k=%d", what, m, n, k);
	if (!mc_bench_begin(b, &c))
		return;
	for (int i = 0; i < c.copies; i++) {
		a.x = mc_bench_numbers(b, x, t);
		a.w = mc_bench_numbers(b, w, t);
		a.y = mc_bench_room(b, y * e);
		((struct mc_gemm *)c.args)[i] = a;
	}
	c.out = ((struct mc_gemm *)c.args)[0].y;
	c.out_n = y;
	c.out_dtype = t;
	mc_bench_end(b, &c, &r);
	if (r.samples > 0 && r.plain > 0)
		mc_bench_bar(&b->gemm_bar, r.of_plain, c.shape);
}

static void rows(struct mc_bench *b, int m)
{
	const struct mc_llama_shape *s = &b->rank;
	bool decode = false;

	one(b, "qkv", m, (s->heads + 2 * s->kv_heads) * s->head_dim, s->hidden);
	one(b, "o", m, s->hidden, s->heads * s->head_dim);
	one(b, "gate_up", m, 2 * s->ffn, s->hidden);
	one(b, "down", m, s->hidden, s->ffn);
	/* Of a prefill only the last token's logits are wanted. */
	for (int i = 0; i < b->o->batch.n; i++)
		decode |= b->o->batch.at[i] == m;
	if (decode)
		one(b, "logits", m, s->vocab, s->hidden);
}

void mc_bench_gemm(struct mc_bench *b)
{
	mc_bench_each_rows(b, rows);
}
