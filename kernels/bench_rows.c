/* Operators that take each row by itself: norm, rotary embedding, SwiGLU, embeddings, sampling. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/bench.h"

static void norm_once(struct mc_bench *b, const void *arg)
{
	b->be->norm(b->s, arg);
}

/* As between two halves of a layer: the sum with the residual, and its norm. */
static void norm(struct mc_bench *b, int rows)
{
	enum mc_dtype t = b->o->dtype;
	int hidden = b->o->model->hidden;
	size_t e = mc_dtype_bytes(t), n = (size_t)rows * (size_t)hidden;
	static char there; /* not NULL, as in the call */
	struct mc_norm a = {
	    .x = &there, .residual = &there, .rows = rows, .hidden = hidden, .eps = 1e-5f, .dtype = t};
	struct mc_bench_case c = {.op = "norm",
				  .work = mc_work_norm(&a),
				  .bytes = 3 * mc_bench_room_of(n * e) + mc_bench_room_of((size_t)hidden * e),
				  .arg_size = sizeof a,
				  .once = norm_once,
				  .out_n = n,
				  .out_dtype = t};
	struct mc_bench_result r;

	snprintf(c.shape, sizeof c.shape, "%d x %d, with residual", rows, hidden);
	if (!mc_bench_begin(b, &c))
		return;
	for (int i = 0; i < c.copies; i++) {
		a.x = mc_bench_numbers(b, n, t);
		a.residual = mc_bench_numbers(b, n, t);
		a.weight = mc_bench_numbers(b, (size_t)hidden, t);
		a.y = mc_bench_room(b, n * e);
		((struct mc_norm *)c.args)[i] = a;
	}
	c.out = ((struct mc_norm *)c.args)[0].y;
	mc_bench_end(b, &c, &r);
}

void mc_bench_norm(struct mc_bench *b)
{
	mc_bench_each_rows(b, norm);
}

static void rope_once(struct mc_bench *b, const void *arg)
{
	b->be->rope(b->s, arg);
}

/* Room for the host's tables, freed by the caller; NULL with b->failed. */
static void *host_room(struct mc_bench *b, size_t bytes)
{
	void *p = malloc(bytes);

	if (!p) {
		b->failed = true;
		mc_err_set(&b->err, MC_FAIL, "no memory");
	}
	return p;
}

/* Positions and angles of one sequence. */
static void rope_tables(struct mc_bench *b, struct mc_rope *a)
{
	size_t rows = (size_t)a->rows, turns = rows * (size_t)a->head_dim * sizeof(float);
	int32_t *position = host_room(b, rows * sizeof *position);
	float *cos_sin = host_room(b, turns);

	if (position && cos_sin) {
		for (int i = 0; i < a->rows; i++)
			position[i] = i;
		mc_llama_cos_sin(b->o->model, a->rows, cos_sin);
		a->position = mc_bench_bytes(b, position, rows * sizeof *position);
		a->cos_sin = mc_bench_bytes(b, cos_sin, turns);
	}
	free(position);
	free(cos_sin);
}

static void rope(struct mc_bench *b, int rows)
{
	const struct mc_llama_shape *s = &b->rank;
	int heads = s->heads + s->kv_heads, stride = (heads + s->kv_heads) * s->head_dim;
	enum mc_dtype t = b->o->dtype;
	size_t e = mc_dtype_bytes(t), n = (size_t)rows * (size_t)stride;
	struct mc_rope a = {
	    .rows = rows, .heads = heads, .head_dim = s->head_dim, .stride = stride, .dtype = t};
	struct mc_bench_case c = {.op = "rope",
				  .work = mc_work_rope(&a),
				  .bytes = mc_bench_room_of(n * e),
				  .shared = mc_bench_room_of(4 * (size_t)rows) +
					    mc_bench_room_of(4 * (size_t)rows * (size_t)s->head_dim),
				  .arg_size = sizeof a,
				  .once = rope_once,
				  .out_n = n,
				  .out_dtype = t};
	struct mc_bench_result r;

	snprintf(c.shape, sizeof c.shape, "%d x %d heads of %d", rows, heads, s->head_dim);
	if (!mc_bench_begin(b, &c))
		return;
	rope_tables(b, &a);
	for (int i = 0; i < c.copies; i++) {
		a.x = mc_bench_numbers(b, n, t);
		((struct mc_rope *)c.args)[i] = a;
	}
	c.out = ((struct mc_rope *)c.args)[0].x;
	mc_bench_end(b, &c, &r);
}

void mc_bench_rope(struct mc_bench *b)
{
	mc_bench_each_rows(b, rope);
}

static void swiglu_once(struct mc_bench *b, const void *arg)
{
	b->be->swiglu(b->s, arg);
}

static void swiglu(struct mc_bench *b, int rows)
{
	enum mc_dtype t = b->o->dtype;
	int ffn = b->rank.ffn;
	size_t e = mc_dtype_bytes(t), n = (size_t)rows * (size_t)ffn;
	struct mc_swiglu a = {.rows = rows, .ffn = ffn, .dtype = t};
	struct mc_bench_case c = {.op = "swiglu",
				  .work = mc_work_swiglu(&a),
				  .bytes = mc_bench_room_of(2 * n * e) + mc_bench_room_of(n * e),
				  .arg_size = sizeof a,
				  .once = swiglu_once,
				  .out_n = n,
				  .out_dtype = t};
	struct mc_bench_result r;

	snprintf(c.shape, sizeof c.shape, "%d x %d", rows, ffn);
	if (!mc_bench_begin(b, &c))
		return;
	for (int i = 0; i < c.copies; i++) {
		a.gate_up = mc_bench_numbers(b, 2 * n, t);
		a.y = mc_bench_room(b, n * e);
		((struct mc_swiglu *)c.args)[i] = a;
	}
	c.out = ((struct mc_swiglu *)c.args)[0].y;
	mc_bench_end(b, &c, &r);
}

void mc_bench_swiglu(struct mc_bench *b)
{
	mc_bench_each_rows(b, swiglu);
}

static void embed_once(struct mc_bench *b, const void *arg)
{
	b->be->embed(b->s, arg);
}

/* Tokens drawn from the whole vocabulary, another lot in each copy; the table is there once. */
static void embed(struct mc_bench *b, int rows)
{
	enum mc_dtype t = b->o->dtype;
	int width = b->o->model->hidden, vocab = b->o->model->vocab;
	size_t e = mc_dtype_bytes(t), n = (size_t)rows * (size_t)width,
	       table = (size_t)vocab * (size_t)width * e;
	struct mc_embed a = {.rows = rows, .width = width, .table_rows = vocab, .dtype = t};
	struct mc_bench_case c = {.op = "embed",
				  .work = mc_work_embed(&a),
				  .bytes = mc_bench_room_of(4 * (size_t)rows) + mc_bench_room_of(n * e),
				  .shared = mc_bench_room_of(table),
				  .arg_size = sizeof a,
				  .once = embed_once,
				  .out_n = n,
				  .out_dtype = t};
	struct mc_bench_result r;
	uint64_t state = 2;

	snprintf(c.shape, sizeof c.shape, "%d x %d of %d", rows, width, vocab);
	if (!mc_bench_begin(b, &c))
		return;
	c.cached |= mc_bench_cached(b, (double)table);
	a.table = mc_bench_numbers(b, (size_t)vocab * (size_t)width, t);
	for (int i = 0; i < c.copies; i++) {
		int32_t *id = host_room(b, 4 * (size_t)rows);

		for (int j = 0; id && j < rows; j++)
			id[j] = (int32_t)(mc_bench_random(&state) % (uint32_t)vocab);
		a.id = id ? mc_bench_bytes(b, id, 4 * (size_t)rows) : NULL;
		a.y = mc_bench_room(b, n * e);
		((struct mc_embed *)c.args)[i] = a;
		free(id);
	}
	c.out = ((struct mc_embed *)c.args)[0].y;
	mc_bench_end(b, &c, &r);
}

void mc_bench_embed(struct mc_bench *b)
{
	mc_bench_each_rows(b, embed);
}

static void sample_once(struct mc_bench *b, const void *arg)
{
	b->be->sample(b->s, arg);
}

/* temperature 0: the largest logit. */
static void sample(struct mc_bench *b, int rows, float temperature)
{
	int vocab = b->o->model->vocab;
	size_t n = (size_t)rows * (size_t)vocab;
	struct mc_sample a = {.rows = rows, .vocab = vocab, .stride = vocab};
	struct mc_bench_case c = {.op = "sample",
				  .work = mc_work_sample(&a, temperature > 0 ? rows : 0),
				  .bytes = mc_bench_room_of(4 * n) + 3 * mc_bench_room_of(8 * (size_t)rows),
				  .arg_size = sizeof a,
				  .once = sample_once,
				  .out_n = (size_t)rows,
				  .out_tokens = vocab};
	struct mc_bench_result r;
	float *temperatures;
	uint64_t *seeds;

	snprintf(c.shape, sizeof c.shape, "%d x %d, temperature %g", rows, vocab, (double)temperature);
	if (!mc_bench_begin(b, &c))
		return;
	temperatures = host_room(b, 4 * (size_t)rows);
	seeds = host_room(b, 8 * (size_t)rows);
	for (int i = 0; temperatures && seeds && i < rows; i++) {
		temperatures[i] = temperature;
		seeds[i] = (uint64_t)i + 1;
	}
	for (int i = 0; temperatures && seeds && i < c.copies; i++) {
		a.logits = mc_bench_numbers(b, n, MC_F32);
		a.temperature = mc_bench_bytes(b, temperatures, 4 * (size_t)rows);
		a.seed = mc_bench_bytes(b, seeds, 8 * (size_t)rows);
		a.token = mc_bench_room(b, 4 * (size_t)rows);
		((struct mc_sample *)c.args)[i] = a;
	}
	free(temperatures);
	free(seeds);
	c.out = ((struct mc_sample *)c.args)[0].token;
	mc_bench_end(b, &c, &r);
}

void mc_bench_sample(struct mc_bench *b)
{
	for (int i = 0; i < b->o->batch.n; i++) {
		sample(b, b->o->batch.at[i], 0);
		sample(b, b->o->batch.at[i], 0.8f);
	}
}
