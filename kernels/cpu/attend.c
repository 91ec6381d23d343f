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

/*
 * Many rows take 64 tokens at a time, which stay in the first-level cache. Few rows leave it to memory how
 * fast they go: they take 256, so that K and V are read in long runs, and each piece of 16 to 32 tokens
 * fetches the one that is wanted AHEAD pieces later.
 */
enum { HEAD_DIM = 128, ROWS = MC_CPU_TILE_ROWS, TOKENS = 64, FEW = 16, FEW_TOKENS = 256, AHEAD = 1 };

struct tile {
	float *query, *score, *out;
	float *top, *sum, *keep, *one;
	int *valid;
	int rows; /* packed */
	int group;
	int tokens, piece; /* of a step; that lie together */
	size_t head_dim;
};

static void lay_out(struct tile *x, const struct mc_cpu_tile *t)
{
	float *p = t->scratch;

	_Static_assert(ROWS * (2 * HEAD_DIM + TOKENS + 5) <= MC_CPU_SCRATCH &&
			   FEW * FEW_TOKENS <= ROWS * TOKENS,
		       "the scratch holds a tile");
	x->head_dim = (size_t)t->a->pages.layout.head_dim;
	x->group = t->a->heads / t->a->pages.layout.kv_heads;
	x->rows = t->rows * x->group;
	assert(x->rows <= ROWS);
	x->tokens = x->rows <= FEW ? FEW_TOKENS : TOKENS;
	x->piece = x->rows > FEW ? TOKENS : t->a->pages.layout.block_tokens % 32 ? 16 : 32;
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

/* Where the piece lies that is wanted AHEAD pieces after piece `i` of n tokens (of K, if part is 0): V comes
 * after K, and the next step's K after V. Where nothing is wanted, what is there already. */
static const float *wanted(const struct tile *x, const struct mc_cpu_tile *t, int part, const int at[3])
{
	int token = at[0], i = at[1] + AHEAD * x->piece, n = at[2], follow;

	if (x->rows > FEW)
		return tokens_at(t, part, token + at[1], &follow);

	if (i < n)
		return tokens_at(t, part, token + i, &follow);
	i -= (n + x->piece - 1) / x->piece * x->piece;
	if (part == 0 && i < n)
		return tokens_at(t, 1, token + i, &follow);
	if (part == 1 && token + n + i < t->to)
		return tokens_at(t, 0, token + n + i, &follow);
	return tokens_at(t, part, token + at[1], &follow);
}

/* Tokens that lie together from i on, at most a piece. */
static int cut(const struct tile *x, int follow, int left)
{
	int run = follow < x->piece ? follow : x->piece;

	return run < left ? run : left;
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
				      .c_stride = (size_t)x->tokens};

		k.soon = wanted(x, t, 0, (const int[]){token, i, n});
		run = cut(x, run, n - i);
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
				      .a_stride = (size_t)x->tokens,
				      .b_stride = x->head_dim,
				      .c_stride = x->head_dim};

		v.soon = wanted(x, t, 1, (const int[]){token, i, n});
		run = cut(x, run, n - i);
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
	for (int token = t->from; token < t->to; token += x.tokens) {
		int n = t->to - token < x.tokens ? t->to - token : x.tokens;
		struct mc_cpu_softmax s = {.score = x.score,
					   .valid = x.valid,
					   .top = x.top,
					   .sum = x.sum,
					   .keep = x.keep,
					   .rows = x.rows,
					   .n = n,
					   .stride = (size_t)x.tokens};

		for (int i = 0; i < x.rows; i++)
			x.valid[i] = position + i / x.group + 1 - token;
		scores(&x, t, token, n);
		t->vec->softmax(&s);
		values(&x, t, token, n);
	}
	*result = (struct mc_cpu_attended){x.out, x.top, x.sum};
}
