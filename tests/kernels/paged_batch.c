#include "tests/kernels/paged_batch.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, LAYER = 1, SPARE_BLOCKS = 3, SPARE_ENTRIES = 2, FAR_BLOCK = 0x3fffffff, GAP = 16 };

static int tokens_of(const struct paged_batch *b, int seq)
{
	return (int)(b->token_start[seq + 1] - b->token_start[seq]);
}

static int max_of(int a, int b)
{
	return a > b ? a : b;
}

/* The ragged batch itself: rows, their sequences and positions. */
static void make_rows(struct paged_batch *b, const struct paged_want *w)
{
	size_t seqs = (size_t)w->seqs;

	b->token_start = calloc(seqs + 1, sizeof *b->token_start);
	b->row_start = calloc(seqs + 1, sizeof *b->row_start);
	b->context = calloc(seqs + 1, sizeof *b->context);
	for (size_t s = 0; s < seqs; s++) {
		int fresh = w->fresh ? w->fresh[s] : 1;

		b->context[s] = w->context ? w->context[s] : 0;
		b->row_start[s + 1] = b->row_start[s] + fresh;
		b->token_start[s + 1] = b->token_start[s] + (size_t)(b->context[s] + fresh);
		b->batch.max_rows = max_of(b->batch.max_rows, fresh);
		b->batch.max_tokens = max_of(b->batch.max_tokens, b->context[s] + fresh);
	}
	b->rows = b->row_start[seqs];
	b->row_seq = malloc(((size_t)b->rows + 1) * sizeof *b->row_seq);
	b->position = malloc(((size_t)b->rows + 1) * sizeof *b->position);
	for (int s = 0; s < w->seqs; s++)
		for (int i = b->row_start[s]; i < b->row_start[s + 1]; i++) {
			b->row_seq[i] = s;
			b->position[i] = b->context[s] + i - b->row_start[s];
		}
	b->batch.seqs = w->seqs;
	b->batch.rows = b->rows;
}

/* Blocks of all sequences, shuffled among a few of nobody. */
static void make_table(struct paged_batch *b, struct rig_random *g)
{
	int size = b->want.block_tokens, used = 0, n = 0;
	int32_t *order;

	for (int s = 0; s < b->want.seqs; s++)
		used += (tokens_of(b, s) + size - 1) / size;
	b->pages.blocks = used + SPARE_BLOCKS;
	b->pages.table_stride = (b->batch.max_tokens + size - 1) / size + SPARE_ENTRIES;
	order = malloc((size_t)b->pages.blocks * sizeof *order);
	for (int i = 0; i < b->pages.blocks; i++) {
		int j = (int)rig_below(g, (uint32_t)i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	b->table = malloc((size_t)b->want.seqs * (size_t)b->pages.table_stride * sizeof *b->table + 1);
	for (int s = 0; s < b->want.seqs; s++)
		for (int i = 0; i < b->pages.table_stride; i++)
			b->table[s * b->pages.table_stride + i] =
			    i < (tokens_of(b, s) + size - 1) / size ? order[n++] : FAR_BLOCK;
	free(order);
}

size_t paged_batch_at(const struct paged_batch *b, int part, int seq, int token, int head)
{
	const struct mc_kv_layout *l = &b->pages.layout;
	int block = b->table[seq * b->pages.table_stride + token / l->block_tokens];

	return (mc_kv_layer_offset(l, block, b->pages.layer) + mc_kv_tile_offset(l, part, head)) /
		   mc_dtype_bytes(l->dtype) +
	       (size_t)(token % l->block_tokens) * (size_t)l->head_dim;
}

static void make_pool(struct paged_batch *b)
{
	int heads = b->want.kv_heads;
	size_t width = (size_t)b->want.head_dim;

	b->pool_count = (size_t)b->pages.blocks * mc_kv_block_bytes(&b->pages.layout) /
			mc_dtype_bytes(b->pages.layout.dtype);
	b->pool = malloc(b->pool_count * sizeof *b->pool);
	for (size_t i = 0; i < b->pool_count; i++)
		b->pool[i] = NAN;
	for (int s = 0; s < b->want.seqs; s++)
		for (int t = 0; t < (b->want.fresh_absent ? b->context[s] : tokens_of(b, s)); t++)
			for (int h = 0; h < heads; h++) {
				size_t from =
				    ((b->token_start[s] + (size_t)t) * (size_t)heads + (size_t)h) * width;

				memcpy(b->pool + paged_batch_at(b, 0, s, t, h), b->k + from,
				       width * sizeof *b->pool);
				memcpy(b->pool + paged_batch_at(b, 1, s, t, h), b->v + from,
				       width * sizeof *b->pool);
			}
}

static const int32_t *put(struct rig *r, const int32_t *x, size_t n)
{
	return rig_put_bytes(r, x, n * sizeof *x);
}

void paged_batch_init(struct paged_batch *b, struct rig *r, struct rig_random *g, const struct paged_want *w)
{
	size_t kv;

	memset(b, 0, sizeof *b);
	b->want = *w;
	b->want.context = b->want.fresh = NULL;
	b->heads = w->kv_heads * w->group;
	b->pages.layout = (struct mc_kv_layout){.layers = LAYERS,
						.kv_heads = w->kv_heads,
						.block_tokens = w->block_tokens,
						.head_dim = w->head_dim,
						.dtype = r->dtype};
	b->pages.layer = LAYER;
	make_rows(b, w);
	make_table(b, g);
	kv = b->token_start[w->seqs] * (size_t)(w->kv_heads * w->head_dim);
	b->q = rig_normals(g, r->dtype, (size_t)b->rows * (size_t)(b->heads * w->head_dim), w->q_scale);
	b->k = rig_normals(g, r->dtype, kv, 1);
	b->v = rig_normals(g, r->dtype, kv, 1);
	make_pool(b);

	b->pages.pool = rig_put(r, r->dtype, b->pool, b->pool_count);
	b->pages.table = put(r, b->table, (size_t)w->seqs * (size_t)b->pages.table_stride);
	b->batch.row_start = put(r, b->row_start, (size_t)w->seqs + 1);
	b->batch.context = put(r, b->context, (size_t)w->seqs);
	b->batch.row_seq = put(r, b->row_seq, (size_t)b->rows);
	b->batch.position = put(r, b->position, (size_t)b->rows);
}

void paged_batch_fini(struct paged_batch *b)
{
	free(b->token_start);
	free(b->row_start);
	free(b->context);
	free(b->row_seq);
	free(b->position);
	free(b->q);
	free(b->k);
	free(b->v);
	free(b->pool);
	free(b->table);
}

void *paged_put_rows(struct rig *r, const float *x, size_t rows, size_t width, size_t stride)
{
	float *wide = malloc(rows * stride * sizeof *wide + 1);
	void *p;

	for (size_t i = 0; i < rows * stride; i++)
		wide[i] = x && i % stride < width ? x[i / stride * width + i % stride] : NAN;
	p = rig_put(r, r->dtype, wide, rows * stride);
	free(wide);
	return p;
}

void paged_get_rows(struct rig *r, const void *p, float *x, size_t rows, size_t width, size_t stride)
{
	float *wide = malloc(rows * stride * sizeof *wide + 1);

	rig_get(r, r->dtype, p, wide, rows * stride);
	for (size_t i = 0; i < rows * stride; i++) {
		if (i % stride < width)
			x[i / stride * width + i % stride] = wide[i];
		else
			ck_assert_msg(isnan(wide[i]), "written between rows: row %zu, column %zu", i / stride,
				      i % stride);
	}
	free(wide);
}

void paged_attention(struct paged_batch *b, struct rig *r, paged_operator *op, float scale, float *out)
{
	size_t rows = (size_t)b->rows, width = (size_t)(b->heads * b->want.head_dim), bytes;
	struct mc_attention a = {.pages = b->pages,
				 .batch = b->batch,
				 .heads = b->heads,
				 .q_stride = (int)width + GAP,
				 .out_stride = (int)width + 2 * GAP,
				 .scale = scale};
	void *y = paged_put_rows(r, NULL, rows, width, width + 2 * GAP);

	a.q = paged_put_rows(r, b->q, rows, width, width + GAP);
	a.out = y;
	bytes = r->be->attention_scratch(r->dev, &a);
	a.scratch = bytes ? rig_blank(r, bytes) : NULL;
	op(r->s, &a);
	paged_get_rows(r, y, out, rows, width, width + 2 * GAP);
}
