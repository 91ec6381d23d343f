/* What a step queues. */
#include <assert.h>
#include <math.h>

#include "kernels/llama_internal.h"

static char *meta(const struct mc_llama *m, int rank, size_t at)
{
	return m->rank[rank].meta + at;
}

/* Elements after a pointer. */
static void *after(const struct mc_llama *m, void *p, size_t n)
{
	return (char *)p + n * mc_dtype_bytes(m->want.dtype);
}

/* Elements of a row of q, k and v. */
static int qkv_width(const struct mc_llama *m)
{
	return (m->rank_shape.heads + 2 * m->rank_shape.kv_heads) * m->rank_shape.head_dim;
}

static void told(const struct mc_llama *m, int rank, enum mc_llama_op op, const void *arguments)
{
	struct mc_llama_call call = {op, rank, m->layer, arguments, m->rank[rank].stream};

	if (m->hooks->queued)
		m->hooks->queued(m->hooks->arg, &call);
}

static void multiply(struct mc_llama *m, int rank, const struct mc_gemm *shape)
{
	struct mc_gemm g = *shape;

	g.x_stride = g.x_stride ? g.x_stride : g.k;
	g.y_stride = g.y_stride ? g.y_stride : g.n;
	g.dtype = m->want.dtype;
	m->be->gemm(m->rank[rank].stream, &g);
	told(m, rank, MC_LLAMA_OP_GEMM, &g);
}

/* x = norm of the residual, after x (if add) is added to that. */
static void norm(struct mc_llama *m, int rank, int rows, const void *weight, bool add)
{
	struct mc_llama_rank *r = &m->rank[rank];
	struct mc_norm n = {.x = add ? r->x : NULL,
			    .residual = r->residual,
			    .weight = weight,
			    .y = r->x,
			    .rows = rows,
			    .hidden = m->want.shape.hidden,
			    .eps = (float)m->want.shape.norm_eps,
			    .dtype = m->want.dtype};

	m->be->norm(r->stream, &n);
	told(m, rank, MC_LLAMA_OP_NORM, &n);
}

static void batch_of(const struct mc_llama *m, int rank, const struct mc_llama_batch *part,
		     struct mc_batch *out)
{
	*out = (struct mc_batch){.seqs = part->seqs,
				 .rows = part->rows,
				 .max_rows = part->max_rows,
				 .max_tokens = part->max_tokens,
				 .row_start = (const int32_t *)meta(m, rank, part->row_start),
				 .context = (const int32_t *)meta(m, rank, part->context),
				 .row_seq = (const int32_t *)meta(m, rank, part->row_seq),
				 .position = (const int32_t *)meta(m, rank, part->position)};
}

static void pages_of(const struct mc_llama *m, int rank, const struct mc_llama_plan *p,
		     const struct mc_llama_batch *part, struct mc_pages *out)
{
	*out = (struct mc_pages){.pool = m->rank[rank].pool,
				 .layout = m->layout,
				 .blocks = m->want.blocks,
				 .table = (const int32_t *)meta(m, rank, part->table),
				 .table_stride = p->table_stride};
}

/* Arguments but for layer, rows of q and of the output. */
static void attention_of(const struct mc_llama *m, int rank, const struct mc_llama_plan *p,
			 const struct mc_llama_batch *part, struct mc_attention *out)
{
	*out = (struct mc_attention){.heads = m->rank_shape.heads,
				     .q_stride = qkv_width(m),
				     .out_stride = m->rank_shape.heads * m->rank_shape.head_dim,
				     .scale = 1 / sqrtf((float)m->rank_shape.head_dim),
				     .scratch = m->rank[rank].scratch};
	pages_of(m, rank, p, part, &out->pages);
	batch_of(m, rank, part, &out->batch);
}

/* Decodes, then chunks, each from their row of q on. */
static void attend(struct mc_llama *m, int rank, const struct mc_llama_plan *p, int layer)
{
	struct mc_llama_rank *r = &m->rank[rank];
	void *out = after(m, r->wide, (size_t)p->all.rows * (size_t)qkv_width(m));
	struct mc_attention a;

	for (int prefill = 0; prefill < 2; prefill++) {
		size_t first = prefill ? (size_t)p->decode.rows : 0;
		const struct mc_llama_batch *part = prefill ? &p->prefill : &p->decode;

		if (!part->seqs)
			continue;
		attention_of(m, rank, p, part, &a);
		a.pages.layer = layer;
		a.q = after(m, r->wide, first * (size_t)a.q_stride);
		a.out = after(m, out, first * (size_t)a.out_stride);
		assert(m->be->attention_scratch(r->device, &a) <= r->scratch_bytes);
		if (prefill)
			m->be->attention_prefill(r->stream, &a);
		else
			m->be->attention_decode(r->stream, &a);
		told(m, rank, prefill ? MC_LLAMA_OP_ATTENTION_PREFILL : MC_LLAMA_OP_ATTENTION_DECODE, &a);
	}
}

static void store_kv(struct mc_llama *m, int rank, const struct mc_llama_plan *p, int layer)
{
	const struct mc_llama_shape *s = &m->rank_shape;
	struct mc_llama_rank *r = &m->rank[rank];
	struct mc_kv_rows a = {.stride = qkv_width(m)};

	pages_of(m, rank, p, &p->all, &a.pages);
	batch_of(m, rank, &p->all, &a.batch);
	a.pages.layer = layer;
	a.k = after(m, r->wide, (size_t)(s->heads * s->head_dim));
	a.v = after(m, a.k, (size_t)(s->kv_heads * s->head_dim));
	m->be->kv_scatter(r->stream, &a);
	told(m, rank, MC_LLAMA_OP_KV_SCATTER, &a);
}

/* Up to the sum that attention adds, this rank's part of it, in x. */
static void first_half(struct mc_llama *m, int rank, const struct mc_llama_plan *p, int layer)
{
	const struct mc_llama_shape *s = &m->rank_shape;
	struct mc_llama_rank *r = &m->rank[rank];
	const struct mc_llama_layer *w = &r->layer[layer];
	int rows = p->all.rows, q = s->heads * s->head_dim;
	struct mc_rope rope = {.x = r->wide,
			       .position = (const int32_t *)meta(m, rank, p->all.position),
			       .cos_sin = r->cos_sin,
			       .rows = rows,
			       .heads = s->heads + s->kv_heads,
			       .head_dim = s->head_dim,
			       .stride = qkv_width(m),
			       .dtype = m->want.dtype};
	struct mc_gemm qkv = {
	    .x = r->x, .w = w->qkv, .y = r->wide, .m = rows, .n = qkv_width(m), .k = s->hidden};
	struct mc_gemm o = {.x = after(m, r->wide, (size_t)rows * (size_t)qkv_width(m)),
			    .w = w->o,
			    .y = r->x,
			    .m = rows,
			    .n = s->hidden,
			    .k = q};

	qkv.out_dtype = o.out_dtype = m->want.dtype;
	norm(m, rank, rows, w->attention_norm, layer > 0);
	multiply(m, rank, &qkv);
	m->be->rope(r->stream, &rope);
	told(m, rank, MC_LLAMA_OP_ROPE, &rope);
	if (p->hooks->need)
		p->hooks->need(p->hooks->arg, rank, layer, r->stream);
	store_kv(m, rank, p, layer);
	if (p->hooks->ready)
		p->hooks->ready(p->hooks->arg, rank, layer, r->stream);
	attend(m, rank, p, layer);
	multiply(m, rank, &o);
}

/* The same for the network. */
static void second_half(struct mc_llama *m, int rank, const struct mc_llama_plan *p, int layer)
{
	const struct mc_llama_shape *s = &m->rank_shape;
	struct mc_llama_rank *r = &m->rank[rank];
	const struct mc_llama_layer *w = &r->layer[layer];
	int rows = p->all.rows;
	void *act = after(m, r->wide, (size_t)rows * 2 * (size_t)s->ffn);
	struct mc_gemm up = {
	    .x = r->x, .w = w->gate_up, .y = r->wide, .m = rows, .n = 2 * s->ffn, .k = s->hidden};
	struct mc_gemm down = {.x = act, .w = w->down, .y = r->x, .m = rows, .n = s->hidden, .k = s->ffn};
	struct mc_swiglu swiglu = {
	    .gate_up = r->wide, .y = act, .rows = rows, .ffn = s->ffn, .dtype = m->want.dtype};

	up.out_dtype = down.out_dtype = m->want.dtype;
	norm(m, rank, rows, w->ffn_norm, true);
	multiply(m, rank, &up);
	m->be->swiglu(r->stream, &swiglu);
	told(m, rank, MC_LLAMA_OP_SWIGLU, &swiglu);
	multiply(m, rank, &down);
}

/* x of all ranks becomes the sum of them. */
static void reduce(struct mc_llama *m, int rows)
{
	struct mc_stream *stream[MC_LLAMA_RANKS];
	void *buffer[MC_LLAMA_RANKS];
	struct mc_all_reduce a = {.stream = stream,
				  .buffer = buffer,
				  .count = (size_t)rows * (size_t)m->want.shape.hidden,
				  .dtype = m->want.dtype};

	if (m->want.ranks == 1)
		return;
	for (int i = 0; i < m->want.ranks; i++) {
		stream[i] = m->rank[i].stream;
		buffer[i] = m->rank[i].x;
	}
	m->be->all_reduce(m->comm, &a);
	told(m, 0, MC_LLAMA_OP_ALL_REDUCE, &a);
}

static void begin(struct mc_llama *m, int rank, const struct mc_llama_plan *p)
{
	struct mc_llama_rank *r = &m->rank[rank];
	struct mc_copy c = {
	    .to = r->meta, .from = m->pinned + (size_t)p->slot * m->meta_bytes, .bytes = p->bytes, .rows = 1};
	struct mc_embed e = {.table = r->embed,
			     .id = (const int32_t *)meta(m, rank, p->token),
			     .y = r->residual,
			     .rows = p->all.rows,
			     .width = m->want.shape.hidden,
			     .table_rows = m->want.shape.vocab,
			     .dtype = m->want.dtype};

	m->be->copy(r->stream, &c);
	m->be->event_record(r->uploaded[p->slot], r->stream);
	told(m, rank, MC_LLAMA_OP_COPY, &c);
	if (p->from)
		return;
	m->be->embed(r->stream, &e);
	told(m, rank, MC_LLAMA_OP_EMBED, &e);
}

/* This rank's share of the logits of the picked rows: only those are normalised. */
static void share_of_logits(struct mc_llama *m, int rank, const struct mc_llama_plan *p)
{
	struct mc_llama_rank *r = &m->rank[rank];
	const struct mc_llama_shape *s = &m->rank_shape;
	struct mc_norm n = {.x = r->picked[0],
			    .residual = r->picked[1],
			    .weight = r->norm,
			    .y = r->picked[0],
			    .rows = p->picks,
			    .hidden = s->hidden,
			    .eps = (float)s->norm_eps,
			    .dtype = m->want.dtype};
	struct mc_gemm g = {.x = r->picked[0],
			    .w = r->head,
			    .y = m->want.ranks > 1 ? r->share : r->logits,
			    .m = p->picks,
			    .n = s->vocab,
			    .k = s->hidden,
			    .out_dtype = MC_F32};

	for (int i = 0; i < 2; i++) {
		struct mc_embed pick = {.table = i ? r->residual : r->x,
					.id = (const int32_t *)meta(m, rank, p->pick),
					.y = r->picked[i],
					.rows = p->picks,
					.width = s->hidden,
					.table_rows = p->all.rows,
					.dtype = m->want.dtype};

		m->be->embed(r->stream, &pick);
		told(m, rank, MC_LLAMA_OP_PICK, &pick);
	}
	m->be->norm(r->stream, &n);
	told(m, rank, MC_LLAMA_OP_NORM, &n);
	if (m->want.ranks > 1) /* until the shares of the step before were fetched */
		m->be->event_wait(m->rank[0].gathered, r->stream);
	multiply(m, rank, &g);
	if (m->want.ranks > 1)
		m->be->event_record(r->made, r->stream);
}

/* All shares, side by side, to rank 0. */
static void gather_logits(struct mc_llama *m, const struct mc_llama_plan *p)
{
	size_t width = (size_t)m->rank_shape.vocab * sizeof(float);

	for (int i = 0; i < m->want.ranks; i++) {
		struct mc_copy c = {.to = (char *)m->rank[0].logits + (size_t)i * width,
				    .from = m->rank[i].share,
				    .bytes = width,
				    .rows = (size_t)p->picks,
				    .to_pitch = width * (size_t)m->want.ranks,
				    .from_pitch = width};

		m->be->event_wait(m->rank[i].made, m->rank[0].stream);
		m->be->copy(m->rank[0].stream, &c);
		told(m, 0, MC_LLAMA_OP_COPY, &c);
	}
	m->be->event_record(m->rank[0].gathered, m->rank[0].stream);
}

static void sample(struct mc_llama *m, const struct mc_llama_plan *p)
{
	struct mc_llama_rank *r = &m->rank[0];
	struct mc_sample a = {.logits = r->logits,
			      .temperature = (const float *)meta(m, 0, p->temperature),
			      .seed = (const uint64_t *)meta(m, 0, p->seed),
			      .token = r->token,
			      .rows = p->picks,
			      .vocab = m->want.shape.vocab,
			      .stride = m->want.shape.vocab};
	int32_t *host = (int32_t *)(m->pinned + MC_LLAMA_SLOTS * m->meta_bytes);
	struct mc_copy c = {.to = host + (size_t)p->slot * (size_t)m->want.max_logits,
			    .from = r->token,
			    .bytes = (size_t)p->picks * sizeof *host,
			    .rows = 1};

	m->be->sample(r->stream, &a);
	told(m, 0, MC_LLAMA_OP_SAMPLE, &a);
	m->be->copy(r->stream, &c);
	told(m, 0, MC_LLAMA_OP_COPY, &c);
}

void mc_llama_run(struct mc_llama *m, const struct mc_llama_plan *p)
{
	int ranks = m->want.ranks;

	m->hooks = p->hooks;
	m->layer = -1;
	for (int i = 0; i < ranks; i++)
		begin(m, i, p);
	for (int layer = p->from; layer < p->to; layer++) {
		m->layer = layer;
		for (int i = 0; i < ranks; i++)
			first_half(m, i, p, layer);
		reduce(m, p->all.rows);
		for (int i = 0; i < ranks; i++)
			second_half(m, i, p, layer);
		reduce(m, p->all.rows);
	}
	m->layer = -1;
	if (!p->picks)
		return;
	for (int i = 0; i < ranks; i++)
		share_of_logits(m, i, p);
	if (ranks > 1)
		gather_logits(m, p);
	sample(m, p);
}
