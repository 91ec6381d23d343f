/*
 * Weights to their places, through a piece of pinned memory: never more of a model on the host than that.
 * q, k and v of a rank stand below each other, and gate and up.
 */
#include <assert.h>

#include "base/vec.h"
#include "kernels/llama_internal.h"

#define STAGE_BYTES ((size_t)16 << 20)

struct loader {
	struct mc_llama *m;
	struct mc_llama_rank *r;
	const struct mc_weights *w;
	char *stage; /* pinned, STAGE_BYTES */
	struct mc_err *err;
};

/* part->to is a place on the device: fill it, rows after rows, through the stage. */
static int load_part(const struct loader *l, const struct mc_weights_part *part)
{
	size_t row = (size_t)part->cols * mc_dtype_bytes(part->dtype);
	int step = row < STAGE_BYTES ? (int)(STAGE_BYTES / row) : 1;

	assert(row <= STAGE_BYTES);
	for (int from = 0; from < part->rows; from += step) {
		struct mc_weights_part p = *part;
		struct mc_copy c = {.to = (char *)part->to + (size_t)from * row, .from = l->stage, .rows = 1};
		int rc;

		p.row += from;
		p.rows = part->rows - from < step ? part->rows - from : step;
		p.to = l->stage;
		mc_weights_get(l->w, &p);
		c.bytes = (size_t)p.rows * row;
		l->m->be->copy(l->r->stream, &c);
		rc = l->m->be->stream_sync(l->r->stream, l->err);
		if (rc)
			return rc;
	}
	return 0;
}

/* A matrix or vector, or some rows of it, to `to`, after `skip` rows there. */
static int load_rows(const struct loader *l, const struct mc_llama_tensor *t, int row, int rows, void *to)
{
	struct mc_weights_part p = {t, row, rows, 0, t->cols, l->m->want.dtype, to};

	return load_part(l, &p);
}

/* All rows, the columns of this rank. */
static int load_cols(const struct loader *l, const struct mc_llama_tensor *t, int col, int cols, void *to)
{
	struct mc_weights_part p = {t, 0, t->rows, col, cols, l->m->want.dtype, to};

	return load_part(l, &p);
}

static int load_layer(const struct loader *l, int rank, int layer)
{
	const struct mc_llama_shape *s = &l->m->rank_shape;
	const struct mc_llama_layer *to = &l->r->layer[layer];
	size_t row = (size_t)s->hidden * mc_dtype_bytes(l->m->want.dtype);
	int q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim, rc = 0;
	/* Ranks hold the same KV head where there are fewer heads than ranks. */
	int kv_first = rank * l->m->want.shape.kv_heads / l->m->want.ranks * s->head_dim;
	struct mc_llama_tensor t[MC_LLAMA_LAYER_PARTS];

	for (int i = 0; i < MC_LLAMA_LAYER_PARTS; i++)
		mc_llama_tensor_of(&l->m->want.shape, (enum mc_llama_part)i, layer, &t[i]);
	rc = load_rows(l, &t[MC_LLAMA_ATTENTION_NORM], 0, 1, to->attention_norm);
	if (!rc)
		rc = load_rows(l, &t[MC_LLAMA_Q], rank * q, q, to->qkv);
	if (!rc)
		rc = load_rows(l, &t[MC_LLAMA_K], kv_first, kv, (char *)to->qkv + (size_t)q * row);
	if (!rc)
		rc = load_rows(l, &t[MC_LLAMA_V], kv_first, kv, (char *)to->qkv + (size_t)(q + kv) * row);
	if (!rc)
		rc = load_cols(l, &t[MC_LLAMA_O], rank * q, q, to->o);
	if (!rc)
		rc = load_rows(l, &t[MC_LLAMA_FFN_NORM], 0, 1, to->ffn_norm);
	if (!rc)
		rc = load_rows(l, &t[MC_LLAMA_GATE], rank * s->ffn, s->ffn, to->gate_up);
	if (!rc)
		rc = load_rows(l, &t[MC_LLAMA_UP], rank * s->ffn, s->ffn,
			       (char *)to->gate_up + (size_t)s->ffn * row);
	if (!rc)
		rc = load_cols(l, &t[MC_LLAMA_DOWN], rank * s->ffn, s->ffn, to->down);
	return rc;
}

static int load_outer(const struct loader *l, int rank)
{
	const struct mc_llama_shape *s = &l->m->want.shape;
	struct mc_llama_tensor t;
	int vocab = l->m->rank_shape.vocab, rc;

	mc_llama_tensor_of(s, MC_LLAMA_EMBED, -1, &t);
	rc = load_rows(l, &t, 0, s->vocab, l->r->embed);
	mc_llama_tensor_of(s, MC_LLAMA_NORM, -1, &t);
	if (!rc)
		rc = load_rows(l, &t, 0, 1, l->r->norm);
	if (rc || s->tied)
		return rc;
	mc_llama_tensor_of(s, MC_LLAMA_HEAD, -1, &t);
	return load_rows(l, &t, rank * vocab, vocab, l->r->head);
}

static int load_cos_sin(const struct loader *l)
{
	size_t n = (size_t)l->m->want.max_tokens * (size_t)l->m->want.shape.head_dim;
	float *table = mc_xmalloc_large(n, sizeof *table);
	struct mc_copy c = {.to = l->r->cos_sin, .from = table, .bytes = n * sizeof *table, .rows = 1};
	int rc;

	mc_llama_cos_sin(&l->m->want.shape, l->m->want.max_tokens, table);
	l->m->be->copy(l->r->stream, &c);
	rc = l->m->be->stream_sync(l->r->stream, l->err);
	free(table);
	return rc;
}

int mc_llama_load(struct mc_llama *m, int rank, const struct mc_weights *w, struct mc_err *err)
{
	struct loader l = {.m = m, .r = &m->rank[rank], .w = w, .err = err};
	int rc;

	l.stage = m->be->alloc(l.r->device, MC_PINNED, STAGE_BYTES, err);
	if (!l.stage)
		return MC_FAIL;
	rc = load_outer(&l, rank);
	for (int i = 0; i < m->want.shape.layers && !rc; i++)
		rc = load_layer(&l, rank, i);
	if (!rc)
		rc = load_cos_sin(&l);
	m->be->release(l.r->device, MC_PINNED, l.stage);
	return rc;
}
