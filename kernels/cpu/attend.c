/*
 * For 64 tokens at a time: scores by nt (K's rows are dotted as they lie in the pages), a running softmax
 * (arXiv 1805.02867, 2205.14135), and V by nn, which also rescales the sums so far. Scores of a tile are all
 * that is ever stored of them. Tokens beyond the last row's position aren't used, those beyond one row's have
 * weight 0.
 *
 * Operations: 4 head_dim for each pair of query and token. Bytes: 8 head_dim a token, once for each tile.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/attend.h"

enum { HEAD_DIM = 128, ROWS = MC_CPU_TILE_ROWS, TOKENS = MC_CPU_TILE_TOKENS };

struct tile {
	float *query, *score, *out;
	float *top, *sum, *keep, *one;
	int *valid;
	int rows; /* packed */
	int group;
	size_t head_dim;
};

static void lay_out(struct tile *x, const struct mc_cpu_tile *t)
{
	float *p = t->scratch;

	_Static_assert(ROWS * (2 * HEAD_DIM + TOKENS + 5) <= MC_CPU_SCRATCH, "the scratch holds a tile");
	x->head_dim = (size_t)t->a->pages.layout.head_dim;
	x->group = t->a->heads / t->a->pages.layout.kv_heads;
	x->rows = t->rows * x->group;
	assert(x->rows <= ROWS && t->from % TOKENS == 0);
	x->query = p;
	x->out = x->query + ROWS * HEAD_DIM;
	x->score = x->out + ROWS * HEAD_DIM;
	x->top = x->score + ROWS * TOKENS;
	x->sum = x->top + ROWS;
	x->keep = x->sum + ROWS;
	x->one = x->keep + ROWS;
	x->valid = (int *)(x->one + ROWS);
}

/* The scaled queries, packed; nothing summed. */
static void begin(struct tile *x, const struct mc_cpu_tile *t)
{
	const struct mc_attention *a = t->a;
	size_t group = (size_t)x->group, row = (size_t)a->batch.row_start[t->seq] + (size_t)t->first;
	struct mc_cpu_nn from = {.a = x->out, .m = x->rows, .k = (int)x->head_dim, .a_stride = x->head_dim};

	for (int i = 0; i < t->rows; i++)
		memcpy(x->out + (size_t)i * group * x->head_dim,
		       (const float *)a->q + (row + (size_t)i) * (size_t)a->q_stride +
			   (size_t)t->head * group * x->head_dim,
		       group * x->head_dim * sizeof *x->out);
	t->vec->pack(x->query, &from, a->scale);
	memset(x->out, 0, (size_t)x->rows * x->head_dim * sizeof *x->out);
	for (int i = 0; i < x->rows; i++) {
		x->top[i] = -INFINITY;
		x->sum[i] = 0;
		x->one[i] = 1;
	}
}

/* Where K of a token lies (V: as much further as of the layout's part 1), and how many tokens follow there.
 */
static const float *tokens_at(const struct mc_cpu_tile *t, int part, int token, int *follow)
{
	const struct mc_pages *p = &t->a->pages;
	const struct mc_kv_layout *l = &p->layout;
	int block = p->table[(size_t)t->seq * (size_t)p->table_stride + (size_t)(token / l->block_tokens)];

	*follow = l->block_tokens - token % l->block_tokens;
	return (const float *)((const unsigned char *)p->pool + mc_kv_layer_offset(l, block, p->layer) +
			       mc_kv_tile_offset(l, part, t->head)) +
	       (size_t)(token % l->block_tokens) * (size_t)l->head_dim;
}

static void scores(const struct tile *x, const struct mc_cpu_tile *t, int token, int n)
{
	for (int i = 0, run; i < n; i += run) {
		struct mc_cpu_nt k = {.a = x->query,
				      .b = tokens_at(t, 0, token + i, &run),
				      .c = x->score + i,
				      .m = x->rows,
				      .k = (int)x->head_dim,
				      .b_stride = x->head_dim,
				      .c_stride = TOKENS};

		if (run > n - i)
			run = n - i;
		k.n = (run + 3) / 4 * 4; /* a block holds a multiple of 16 */
		t->vec->nt(&k);
	}
}

static void values(const struct tile *x, const struct mc_cpu_tile *t, int token, int n)
{
	for (int i = 0, run; i < n; i += run) {
		struct mc_cpu_nn v = {.a = x->score + i,
				      .b = tokens_at(t, 1, token + i, &run),
				      .keep = i ? x->one : x->keep,
				      .c = x->out,
				      .m = x->rows,
				      .n = (int)x->head_dim,
				      .a_stride = TOKENS,
				      .b_stride = x->head_dim,
				      .c_stride = x->head_dim};

		if (run > n - i)
			run = n - i;
		v.k = run;
		t->vec->nn(&v);
	}
}

void mc_cpu_attend(const struct mc_cpu_tile *t, struct mc_cpu_attended *result)
{
	int position = t->a->batch.context[t->seq] + t->first; /* of the first row */
	struct tile x;

	lay_out(&x, t);
	begin(&x, t);
	for (int token = t->from; token < t->to; token += TOKENS) {
		int n = t->to - token < TOKENS ? t->to - token : TOKENS;
		struct mc_cpu_softmax s = {.score = x.score,
					   .valid = x.valid,
					   .top = x.top,
					   .sum = x.sum,
					   .keep = x.keep,
					   .rows = x.rows,
					   .n = n,
					   .stride = TOKENS};

		for (int i = 0; i < x.rows; i++)
			x.valid[i] = position + i / x.group + 1 - token;
		scores(&x, t, token, n);
		t->vec->softmax(&s);
		values(&x, t, token, n);
	}
	*result = (struct mc_cpu_attended){x.out, x.top, x.sum};
}
