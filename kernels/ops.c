#include "kernels/ops.h"

#include <assert.h>

/* A pointer, or a row's stride in elements, of 16-byte steps. */
static bool aligned(const void *p)
{
	return (uintptr_t)p % 16 == 0;
}

static bool stride_fits(int stride, int width, enum mc_dtype t)
{
	return stride >= width && (size_t)stride * mc_dtype_bytes(t) % 16 == 0;
}

void mc_gemm_check(const struct mc_gemm *a)
{
	assert(a->m >= 0 && a->n > 0 && a->k > 0 && a->n % 8 == 0 && a->k % 8 == 0);
	assert(a->out_dtype == a->dtype || a->out_dtype == MC_F32);
	assert(stride_fits(a->x_stride, a->k, a->dtype) && stride_fits(a->y_stride, a->n, a->out_dtype));
	assert(aligned(a->x) && aligned(a->w) && aligned(a->y));
}

void mc_norm_check(const struct mc_norm *a)
{
	assert(a->rows >= 0 && a->hidden > 0 && a->hidden % 8 == 0 && a->eps >= 0);
	assert(a->x || a->residual || !a->rows);
	assert(aligned(a->x) && aligned(a->residual) && aligned(a->weight) && aligned(a->y));
}

void mc_rope_check(const struct mc_rope *a)
{
	assert(a->rows >= 0 && a->heads > 0 && a->head_dim > 0 && a->head_dim % 16 == 0);
	assert(stride_fits(a->stride, a->heads * a->head_dim, a->dtype) && aligned(a->x) &&
	       aligned(a->cos_sin));
}

void mc_swiglu_check(const struct mc_swiglu *a)
{
	assert(a->rows >= 0 && a->ffn > 0 && a->ffn % 8 == 0 && aligned(a->gate_up) && aligned(a->y));
}

void mc_embed_check(const struct mc_embed *a)
{
	assert(a->rows >= 0 && a->width > 0 && a->table_rows > 0);
	assert(stride_fits(a->width, a->width, a->dtype) && aligned(a->table) && aligned(a->y));
}

void mc_sample_check(const struct mc_sample *a)
{
	assert(a->rows >= 0 && a->vocab > 0 && stride_fits(a->stride, a->vocab, MC_F32) &&
	       aligned(a->logits));
}

static void pages_check(const struct mc_pages *p, const struct mc_batch *b)
{
	const struct mc_kv_layout *l = &p->layout;

	assert(l->block_tokens >= 16 && l->block_tokens <= 512 && l->block_tokens % 16 == 0);
	assert(l->head_dim == 64 || l->head_dim == 128);
	assert(l->kv_heads > 0 && l->layers > 0 && p->layer >= 0 && p->layer < l->layers);
	assert(p->blocks > 0 && aligned(p->pool));
	assert(b->seqs >= 0 && b->seqs <= MC_BATCH_SEQS && b->max_rows < MC_BATCH_ROWS &&
	       b->max_tokens < MC_BATCH_TOKENS);
	assert(b->rows >= b->seqs && b->max_rows >= (b->seqs > 0) && b->max_tokens >= b->max_rows);
	assert(b->seqs == 0 || (int64_t)p->table_stride * l->block_tokens >= b->max_tokens);
}

void mc_kv_rows_check(const struct mc_kv_rows *a)
{
	const struct mc_kv_layout *l = &a->pages.layout;

	pages_check(&a->pages, &a->batch);
	assert(stride_fits(a->stride, l->kv_heads * l->head_dim, l->dtype) && aligned(a->k) && aligned(a->v));
}

void mc_attention_check(const struct mc_attention *a)
{
	const struct mc_kv_layout *l = &a->pages.layout;

	pages_check(&a->pages, &a->batch);
	assert(a->heads % l->kv_heads == 0 && a->heads / l->kv_heads >= 1 && a->heads / l->kv_heads <= 16);
	assert(stride_fits(a->q_stride, a->heads * l->head_dim, l->dtype) && aligned(a->q));
	assert(stride_fits(a->out_stride, a->heads * l->head_dim, l->dtype) && aligned(a->out));
}

void mc_copy_check(const struct mc_copy *a)
{
	assert(a->rows <= 1 || (a->to_pitch >= a->bytes && a->from_pitch >= a->bytes));
}
