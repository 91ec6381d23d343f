/*
 * Operators over paged KV: scatter, gather, attention of prefill and of decode. The blocks of a batch are a
 * random permutation of the pool's; copies of the operands are layers of the pool, as in a model.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/bench.h"

/* A batch of equal sequences, on the host and on the device. */
struct set {
	int seqs, new_tokens, context;
	int heads, kv_heads, head_dim; /* of a rank */
	int blocks;                    /* of a sequence */
	enum mc_dtype dtype;
	int32_t *row_start, *contexts;
	struct mc_batch batch;
	struct mc_pages pages;
	struct mc_lengths lengths;
};

static void set_fini(struct set *s)
{
	free(s->row_start);
	free(s->contexts);
}

static bool set_init(struct mc_bench *b, struct set *s, int seqs, int new_tokens, int context)
{
	const struct mc_llama_shape *m = &b->rank;
	int bt = (int)b->o->block_tokens;

	*s = (struct set){.seqs = seqs,
			  .new_tokens = new_tokens,
			  .context = context,
			  .heads = m->heads,
			  .kv_heads = m->kv_heads,
			  .head_dim = m->head_dim,
			  .blocks = (context + new_tokens + bt - 1) / bt,
			  .dtype = b->o->dtype};
	s->row_start = calloc((size_t)seqs + 1, sizeof *s->row_start);
	s->contexts = calloc((size_t)seqs, sizeof *s->contexts);
	if (!s->row_start || !s->contexts) {
		b->failed = true;
		mc_err_set(&b->err, MC_FAIL, "no memory");
		set_fini(s);
		return false;
	}
	for (int i = 0; i < seqs; i++) {
		s->row_start[i + 1] = (i + 1) * new_tokens;
		s->contexts[i] = context;
	}
	s->lengths = (struct mc_lengths){s->row_start, s->contexts};
	s->batch = (struct mc_batch){.seqs = seqs,
				     .rows = seqs * new_tokens,
				     .max_rows = new_tokens,
				     .max_tokens = context + new_tokens};
	s->pages.layout = (struct mc_kv_layout){.layers = 1,
						.kv_heads = s->kv_heads,
						.block_tokens = bt,
						.head_dim = s->head_dim,
						.dtype = s->dtype};
	s->pages.blocks = seqs * s->blocks;
	s->pages.table_stride = s->blocks;
	return true;
}

/* Bytes of a layer's pages; and of the indices, which are there once. */
static size_t layer_bytes(const struct set *s)
{
	return mc_bench_room_of((size_t)s->pages.blocks * mc_kv_layer_bytes(&s->pages.layout));
}

static size_t index_bytes(const struct set *s)
{
	return 2 * mc_bench_room_of(4 * (size_t)s->batch.rows) +
	       mc_bench_room_of(4 * (size_t)s->pages.blocks) + 2 * mc_bench_room_of(4 * (size_t)s->seqs + 4);
}

/* The pool's blocks in a random order (Fisher and Yates). */
static void shuffled(int32_t *table, int n)
{
	uint64_t state = 3;

	for (int i = 0; i < n; i++) {
		int j = (int)(mc_bench_random(&state) % (uint32_t)(i + 1));

		table[i] = table[j];
		table[j] = i;
	}
}

/* On the device, with so many layers. */
static void set_place(struct mc_bench *b, struct set *s, int layers)
{
	size_t rows = (size_t)s->batch.rows, blocks = (size_t)s->pages.blocks;
	int32_t *room = malloc((2 * rows + blocks) * sizeof *room), *seq = room, *position = room + rows,
		*table = position + rows;

	if (!room) {
		b->failed = true;
		mc_err_set(&b->err, MC_FAIL, "no memory");
		return;
	}
	for (int i = 0; i < s->batch.rows; i++) {
		seq[i] = i / s->new_tokens;
		position[i] = s->context + i % s->new_tokens;
	}
	shuffled(table, s->pages.blocks);
	s->batch.row_seq = mc_bench_bytes(b, seq, 4 * rows);
	s->batch.position = mc_bench_bytes(b, position, 4 * rows);
	s->batch.row_start = mc_bench_bytes(b, s->row_start, 4 * ((size_t)s->seqs + 1));
	s->batch.context = mc_bench_bytes(b, s->contexts, 4 * (size_t)s->seqs);
	s->pages.table = mc_bench_bytes(b, table, 4 * blocks);
	s->pages.layout.layers = layers;
	s->pages.pool = mc_bench_numbers(
	    b, blocks * mc_kv_block_bytes(&s->pages.layout) / mc_dtype_bytes(s->dtype), s->dtype);
	free(room);
}

static void scatter_once(struct mc_bench *b, const void *arg)
{
	b->be->kv_scatter(b->s, arg);
}

static void gather_once(struct mc_bench *b, const void *arg)
{
	b->be->kv_gather(b->s, arg);
}

/* K and V of new tokens, as they come from the product: parts of wider rows. */
static void rows_case(struct mc_bench *b, struct set *s, bool gather)
{
	int stride = (s->heads + 2 * s->kv_heads) * s->head_dim;
	size_t n = (size_t)s->batch.rows * (size_t)stride, e = mc_dtype_bytes(s->dtype);
	struct mc_kv_rows a = {.pages = s->pages, .batch = s->batch, .stride = stride};
	struct mc_bench_case c = {.op = gather ? "kv_gather" : "kv_scatter",
				  .work = mc_work_kv_rows(&a, &s->lengths),
				  .bytes = layer_bytes(s) + mc_bench_room_of(n * e),
				  .shared = index_bytes(s),
				  .arg_size = sizeof a,
				  .once = gather ? gather_once : scatter_once,
				  .out_n = n,
				  .out_dtype = s->dtype};
	struct mc_bench_result r;

	snprintf(c.shape, sizeof c.shape, "%d x %d tokens, %d KV heads", s->seqs, s->new_tokens, s->kv_heads);
	if (!mc_bench_begin(b, &c))
		return;
	set_place(b, s, c.copies);
	for (int i = 0; i < c.copies; i++) {
		char *x = mc_bench_numbers(b, n, s->dtype);

		a.pages = s->pages;
		a.pages.layer = i;
		a.batch = s->batch;
		a.k = x + (size_t)(s->heads * s->head_dim) * e;
		a.v = x + (size_t)((s->heads + s->kv_heads) * s->head_dim) * e;
		((struct mc_kv_rows *)c.args)[i] = a;
		c.out = i == 0 ? x : c.out;
	}
	mc_bench_end(b, &c, &r);
}

/* Tokens of decoding sequences at the end of their first KB of context, and of one prefill. */
static void rows_cases(struct mc_bench *b, bool gather)
{
	struct set s;

	for (int i = 0; i < b->o->batch.n; i++)
		if (set_init(b, &s, b->o->batch.at[i], 1, 1023)) {
			rows_case(b, &s, gather);
			set_fini(&s);
		}
	for (int i = 0; i < b->o->tokens.n; i++)
		if (set_init(b, &s, 1, b->o->tokens.at[i], 0)) {
			rows_case(b, &s, gather);
			set_fini(&s);
		}
}

void mc_bench_kv_scatter(struct mc_bench *b)
{
	rows_cases(b, false);
}

void mc_bench_kv_gather(struct mc_bench *b)
{
	rows_cases(b, true);
}

static void prefill_once(struct mc_bench *b, const void *arg)
{
	b->be->attention_prefill(b->s, arg);
}

static void decode_once(struct mc_bench *b, const void *arg)
{
	b->be->attention_decode(b->s, arg);
}

/* As many bytes as the keys and values of the context, from the same memory. */
static void plain_read(struct mc_bench *b, const void *arg)
{
	const struct mc_attention *a = arg;
	const struct mc_kv_layout *l = &a->pages.layout;
	size_t layer = (size_t)a->pages.blocks * mc_kv_layer_bytes(l),
	       token = mc_kv_layer_bytes(l) / (size_t)l->block_tokens;

	mc_bench_plain_read(b, (const char *)a->pages.pool + (size_t)a->pages.layer * layer,
			    (size_t)a->batch.seqs * (size_t)a->batch.max_tokens * token);
}

static struct mc_bench_result attention_case(struct mc_bench *b, struct set *s, struct mc_bench_case *c)
{
	int stride = (s->heads + 2 * s->kv_heads) * s->head_dim, out_stride = s->heads * s->head_dim;
	size_t rows = (size_t)s->batch.rows, q = rows * (size_t)stride, out = rows * (size_t)out_stride,
	       e = mc_dtype_bytes(s->dtype), scratch;
	struct mc_attention a = {.pages = s->pages,
				 .batch = s->batch,
				 .heads = s->heads,
				 .q_stride = stride,
				 .out_stride = out_stride,
				 .scale = s->head_dim == 64 ? 0.125f : 0.08838835f};
	struct mc_bench_result r = {0};

	scratch = b->be->attention_scratch(b->dev, &a);
	c->work = mc_work_attention(&a, &s->lengths);
	c->bytes = layer_bytes(s) + mc_bench_room_of(q * e) + mc_bench_room_of(out * e);
	c->shared = index_bytes(s) + mc_bench_room_of(scratch);
	c->arg_size = sizeof a;
	c->out_n = out;
	c->out_dtype = s->dtype;
	if (!mc_bench_begin(b, c))
		return r;
	set_place(b, s, c->copies);
	a.scratch = scratch ? mc_bench_room(b, scratch) : NULL;
	for (int i = 0; i < c->copies; i++) {
		a.pages = s->pages;
		a.pages.layer = i;
		a.batch = s->batch;
		a.q = mc_bench_numbers(b, q, s->dtype);
		a.out = mc_bench_room(b, out * e);
		((struct mc_attention *)c->args)[i] = a;
	}
	c->out = ((struct mc_attention *)c->args)[0].out;
	mc_bench_end(b, c, &r);
	return r;
}

void mc_bench_attention_prefill(struct mc_bench *b)
{
	for (int p = 0; p < b->o->prefix.n; p++)
		for (int i = 0; i < b->o->tokens.n; i++) {
			int tokens = b->o->tokens.at[i], prefix = b->o->prefix.at[p];
			struct mc_bench_case c = {.op = "attention_prefill", .once = prefill_once};
			struct set s;

			if (!set_init(b, &s, 1, tokens, prefix))
				return;
			snprintf(c.shape, sizeof c.shape, "%d tokens after %d, %d/%d heads", tokens, prefix,
				 s.heads, s.kv_heads);
			attention_case(b, &s, &c);
			set_fini(&s);
		}
}

/* A context of n: n - 1 tokens there already, and the new one. */
void mc_bench_attention_decode(struct mc_bench *b)
{
	for (int i = 0; i < b->o->batch.n; i++)
		for (int j = 0; j < b->o->context.n; j++) {
			int batch = b->o->batch.at[i], context = b->o->context.at[j];
			struct mc_bench_case c = {.op = "attention_decode", .once = decode_once};
			bool beside = b->host && b->info.units == 1;
			struct mc_bench_result r;
			struct set s;

			if (!set_init(b, &s, batch, 1, context - 1))
				return;
			snprintf(c.shape, sizeof c.shape, "batch %d, context %d, %d/%d heads", batch, context,
				 s.heads, s.kv_heads);
			c.plain = beside ? plain_read : NULL;
			r = attention_case(b, &s, &c);
			set_fini(&s);
			if (r.samples > 0)
				mc_bench_bar(&b->decode_bar,
					     beside ? r.of_plain
						    : c.work.bytes / r.seconds /
							  (b->host ? b->read_bandwidth : b->limits.bandwidth),
					     c.shape);
		}
}
