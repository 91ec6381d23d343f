/* A model's memory on its devices. */
#include "kernels/llama.h"

#include <assert.h>
#include <string.h>

#include "base/vec.h"
#include "kernels/llama_internal.h"

/* Where pieces of one allocation begin. */
enum { PIECE = 256 };

struct cutter {
	char *base; /* NULL: only count */
	size_t at;
};

static void *cut(struct cutter *c, size_t n, size_t size)
{
	void *p = c->base ? c->base + c->at : NULL;

	c->at += (n * size + PIECE - 1) / PIECE * PIECE;
	return p;
}

/* layer: [layers], or NULL to count. */
static size_t cut_weights(const struct mc_llama *m, char *base, struct mc_llama_layer *layer,
			  struct mc_llama_rank *r)
{
	const struct mc_llama_shape *s = &m->rank_shape;
	size_t size = mc_dtype_bytes(m->want.dtype), hidden = (size_t)s->hidden, ffn = (size_t)s->ffn;
	size_t q = (size_t)(s->heads * s->head_dim), kv = (size_t)(s->kv_heads * s->head_dim);
	struct cutter c = {base, 0};
	struct mc_llama_layer l;

	for (int i = 0; i < s->layers; i++) {
		l.attention_norm = cut(&c, hidden, size);
		l.qkv = cut(&c, (q + 2 * kv) * hidden, size);
		l.o = cut(&c, hidden * q, size);
		l.ffn_norm = cut(&c, hidden, size);
		l.gate_up = cut(&c, 2 * ffn * hidden, size);
		l.down = cut(&c, hidden * ffn, size);
		if (layer)
			layer[i] = l;
	}
	r->embed = cut(&c, (size_t)m->want.shape.vocab * hidden, size);
	r->norm = cut(&c, hidden, size);
	if (!s->tied)
		r->head = cut(&c, (size_t)s->vocab * hidden, size);
	return c.at;
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t cut_workspace(const struct mc_llama *m, int rank, char *base, struct mc_llama_rank *r)
{
	const struct mc_llama_want *w = &m->want;
	const struct mc_llama_shape *s = &m->rank_shape;
	size_t size = mc_dtype_bytes(w->dtype), rows = (size_t)w->max_rows, hidden = (size_t)s->hidden;
	size_t qkv_out = (size_t)((2 * s->heads + 2 * s->kv_heads) * s->head_dim);
	size_t logits = (size_t)w->max_logits;
	struct cutter c = {base, 0};

	r->cos_sin = cut(&c, (size_t)w->max_tokens * (size_t)s->head_dim, sizeof(float));
	r->residual = cut(&c, rows * hidden, size);
	r->x = cut(&c, rows * hidden, size);
	r->wide = cut(&c, rows * most(qkv_out, 3 * (size_t)s->ffn), size);
	r->scratch = cut(&c, r->scratch_bytes, 1);
	for (int i = 0; i < 2; i++)
		r->picked[i] = cut(&c, logits * hidden, size);
	if (w->ranks > 1)
		r->share = cut(&c, logits * (size_t)s->vocab, sizeof(float));
	if (rank == 0) {
		r->logits = cut(&c, logits * (size_t)w->shape.vocab, sizeof(float));
		r->token = cut(&c, logits, sizeof(int32_t));
	}
	r->meta = cut(&c, m->meta_bytes, 1);
	return c.at;
}

/* The scratch of any batch within the limits: how a backend splits the work depends on the number of
 * sequences, and need not grow with it. */
static size_t scratch_bytes(const struct mc_llama *m, struct mc_device *d)
{
	const struct mc_llama_want *w = &m->want;
	struct mc_attention a = {.heads = m->rank_shape.heads,
				 .pages = {.layout = m->layout, .blocks = w->blocks}};
	size_t bytes = 0;

	a.pages.table_stride = (w->max_tokens + w->block_tokens - 1) / w->block_tokens;
	for (int n = 1; n <= w->max_seqs; n++) {
		a.batch = (struct mc_batch){
		    .seqs = n, .rows = w->max_rows, .max_rows = w->max_rows, .max_tokens = w->max_tokens};
		bytes = most(bytes, m->be->attention_scratch(d, &a));
		a.batch.rows = n;
		a.batch.max_rows = 1;
		bytes = most(bytes, m->be->attention_scratch(d, &a));
	}
	return bytes;
}

static int check_limits(const struct mc_llama_want *w, struct mc_err *err)
{
	if (w->block_tokens < 16 || w->block_tokens > 512 || w->block_tokens % 16)
		return mc_err_set(err, MC_USAGE, "blocks of %d tokens; expected 16 to 512, a multiple of 16",
				  w->block_tokens);
	if (w->blocks < 1)
		return mc_err_set(err, MC_USAGE, "a KV pool of %d blocks; expected at least one", w->blocks);
	if (w->max_seqs < 1 || w->max_seqs > MC_BATCH_SEQS || w->max_rows < w->max_seqs ||
	    w->max_rows > 1 << 20 || w->max_logits < 1 || w->max_logits > w->max_rows)
		return mc_err_set(err, MC_USAGE,
				  "steps of %d sequences, %d tokens, %d logits; expected 1 or more, at most "
				  "as many as tokens, those up to %d and sequences up to %d",
				  w->max_seqs, w->max_rows, w->max_logits, 1 << 20, MC_BATCH_SEQS);
	if (w->max_tokens < 1 || w->max_tokens > w->shape.max_position)
		return mc_err_set(err, MC_USAGE, "sequences of %d tokens; expected 1 to the model's %d",
				  w->max_tokens, w->shape.max_position);
	return 0;
}

static int check_want(const struct mc_llama_want *w, struct mc_err *err)
{
	int devices, rc;

	if (mc_llama_shape_check(&w->shape, err) || mc_llama_ranks_check(&w->shape, w->ranks, err) ||
	    check_limits(w, err))
		return MC_USAGE;
	rc = w->backend->count(&devices, err);
	if (rc)
		return rc;
	if (!(w->backend->dtypes >> w->dtype & 1))
		return mc_err_set(err, MC_USAGE, "backend %s doesn't compute in %s; expected another format",
				  w->backend->name, mc_dtype_name(w->dtype));
	for (int i = 0; i < w->ranks; i++)
		if (w->device[i] < 0 || w->device[i] >= devices)
			return mc_err_set(err, devices ? MC_USAGE : MC_NOHW,
					  "device %d of %d; expected 0 to %d", w->device[i], devices,
					  devices - 1);
	return 0;
}

/* What follows from want. */
static void init(struct mc_llama *m, const struct mc_llama_want *want)
{
	*m = (struct mc_llama){.want = *want, .be = want->backend};
	mc_llama_rank_shape(&want->shape, want->ranks, &m->rank_shape);
	m->layout = (struct mc_kv_layout){.layers = want->shape.layers,
					  .kv_heads = m->rank_shape.kv_heads,
					  .block_tokens = want->block_tokens,
					  .head_dim = want->shape.head_dim,
					  .dtype = want->dtype};
	m->meta_bytes = mc_llama_meta_bytes(want);
}

static void measure(struct mc_llama *m, int rank, struct mc_llama_bytes *out)
{
	struct mc_llama_rank count = {.scratch_bytes = m->rank[rank].scratch_bytes};

	out->weights = cut_weights(m, NULL, NULL, &count);
	out->kv = (size_t)m->want.blocks * mc_kv_block_bytes(&m->layout);
	out->workspace = cut_workspace(m, rank, NULL, &count);
}

int mc_llama_measure(const struct mc_llama_want *want, struct mc_llama_bytes *out, struct mc_err *err)
{
	struct mc_device_want dw = {.threads = want->threads};
	struct mc_llama m;
	int rc = check_want(want, err);

	*out = (struct mc_llama_bytes){0};
	if (rc)
		return rc;
	init(&m, want);
	dw.index = want->device[0];
	rc = m.be->device_open(&m.rank[0].device, &dw, err);
	if (rc)
		return rc;
	m.rank[0].scratch_bytes = scratch_bytes(&m, m.rank[0].device);
	measure(&m, 0, out);
	m.be->device_close(m.rank[0].device);
	return 0;
}

static int open_memory(struct mc_llama *m, int rank, struct mc_err *err)
{
	struct mc_llama_rank *r = &m->rank[rank];
	struct mc_llama_bytes bytes;

	r->scratch_bytes = scratch_bytes(m, r->device);
	measure(m, rank, &bytes);
	r->weights = m->be->alloc(r->device, MC_DEVICE, bytes.weights, err);
	if (r->weights)
		r->pool = m->be->alloc(r->device, MC_DEVICE, bytes.kv, err);
	if (r->pool)
		r->workspace = m->be->alloc(r->device, MC_DEVICE, bytes.workspace, err);
	if (!r->workspace)
		return MC_FAIL;
	r->layer = mc_xcalloc((size_t)m->want.shape.layers, sizeof *r->layer);
	cut_weights(m, r->weights, r->layer, r);
	if (m->rank_shape.tied)
		r->head = (char *)r->embed + (size_t)rank * (size_t)m->rank_shape.vocab *
						 (size_t)m->rank_shape.hidden * mc_dtype_bytes(m->want.dtype);
	cut_workspace(m, rank, r->workspace, r);
	m->be->fill(r->stream, r->pool, 0, bytes.kv);
	m->be->fill(r->stream, r->workspace, 0, bytes.workspace);
	return 0;
}

static int open_rank(struct mc_llama *m, int rank, struct mc_err *err)
{
	struct mc_device_want dw = {.index = m->want.device[rank], .threads = m->want.threads};
	struct mc_llama_rank *r = &m->rank[rank];
	int rc = m->be->device_open(&r->device, &dw, err);

	if (!rc)
		rc = m->be->stream_open(&r->stream, r->device, MC_COMPUTE, err);
	for (int i = 0; i < MC_LLAMA_SLOTS && !rc; i++)
		rc = m->be->event_open(&r->uploaded[i], r->device, err);
	if (!rc)
		rc = m->be->event_open(&r->made, r->device, err);
	if (!rc)
		rc = m->be->event_open(&r->gathered, r->device, err);
	return rc ? rc : open_memory(m, rank, err);
}

/* The ranks' communicator, and the memory that rank 0 has for all. */
static int open_shared(struct mc_llama *m, struct mc_err *err)
{
	const struct mc_llama_want *w = &m->want;
	struct mc_device *device[MC_LLAMA_RANKS];
	size_t largest = (size_t)w->max_rows * (size_t)w->shape.hidden * mc_dtype_bytes(w->dtype);

	m->order = mc_xcalloc((size_t)w->max_seqs, sizeof *m->order);
	m->pinned =
	    m->be->alloc(m->rank[0].device, MC_PINNED,
			 MC_LLAMA_SLOTS * (m->meta_bytes + (size_t)w->max_logits * sizeof(int32_t)), err);
	if (!m->pinned)
		return MC_FAIL;
	for (int i = 0; i < w->ranks; i++)
		device[i] = m->rank[i].device;
	return w->ranks == 1 ? 0 : m->be->comm_open(&m->comm, device, w->ranks, largest, err);
}

int mc_llama_open(struct mc_llama **out, const struct mc_llama_want *want, const struct mc_weights *w,
		  struct mc_err *err)
{
	struct mc_llama *m;
	int rc = check_want(want, err);

	*out = NULL;
	if (rc)
		return rc;
	m = mc_xmalloc(sizeof *m);
	init(m, want);
	for (int i = 0; i < want->ranks && !rc; i++)
		rc = open_rank(m, i, err);
	if (!rc)
		rc = open_shared(m, err);
	for (int i = 0; i < want->ranks && !rc; i++)
		rc = mc_llama_load(m, i, w, err);
	if (rc) {
		mc_llama_close(m);
		return rc;
	}
	*out = m;
	return 0;
}

static void close_rank(const struct mc_backend *be, struct mc_llama_rank *r)
{
	if (!r->device)
		return;
	be->release(r->device, MC_DEVICE, r->weights);
	be->release(r->device, MC_DEVICE, r->pool);
	be->release(r->device, MC_DEVICE, r->workspace);
	for (int i = 0; i < MC_LLAMA_SLOTS; i++)
		be->event_close(r->uploaded[i]);
	be->event_close(r->made);
	be->event_close(r->gathered);
	be->stream_close(r->stream);
	be->device_close(r->device);
	free(r->layer);
}

void mc_llama_close(struct mc_llama *m)
{
	if (!m)
		return;
	for (int i = 0; i < m->want.ranks; i++)
		if (m->rank[i].stream)
			m->be->stream_sync(m->rank[i].stream, NULL);
	m->be->comm_close(m->comm);
	if (m->rank[0].device)
		m->be->release(m->rank[0].device, MC_PINNED, m->pinned);
	for (int i = m->want.ranks - 1; i >= 0; i--)
		close_rank(m->be, &m->rank[i]);
	free(m->order);
	free(m);
}

int mc_llama_sync(struct mc_llama *m, struct mc_err *err)
{
	int rc = 0;

	for (int i = 0; i < m->want.ranks; i++) {
		int this = m->be->stream_sync(m->rank[i].stream, err);

		rc = rc ? rc : this;
	}
	return rc;
}

struct mc_device *mc_llama_device(const struct mc_llama *m, int rank)
{
	assert(rank >= 0 && rank < m->want.ranks);
	return m->rank[rank].device;
}

struct mc_stream *mc_llama_stream(const struct mc_llama *m, int rank)
{
	assert(rank >= 0 && rank < m->want.ranks);
	return m->rank[rank].stream;
}

void *mc_llama_pool(const struct mc_llama *m, int rank, struct mc_kv_layout *layout)
{
	assert(rank >= 0 && rank < m->want.ranks);
	*layout = m->layout;
	return m->rank[rank].pool;
}
