#include "calib/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { PATTERN = 1 << 20, SEED = 20, COMPARED = 33 };

static int blocks_of(const struct mc_calib_model_want *w, int64_t tokens)
{
	return (int)((tokens + w->block_tokens - 1) / w->block_tokens);
}

static void llama_want(const struct mc_calib_model_want *w, struct mc_llama_want *out)
{
	const struct mc_calib_limits *l = &w->limits;

	*out = (struct mc_llama_want){.backend = w->backend,
				      .shape = w->shape,
				      .dtype = w->dtype,
				      .ranks = 1,
				      .device = {w->device},
				      .threads = w->threads,
				      .block_tokens = w->block_tokens,
				      .blocks = (int)l->batch * blocks_of(w, l->context),
				      .max_rows = (int)(l->tokens > l->batch ? l->tokens : l->batch),
				      .max_seqs = (int)l->batch,
				      .max_logits = (int)l->batch,
				      .max_tokens = (int)l->context};
}

int mc_calib_model_bytes(const struct mc_calib_model_want *want, double *bytes, struct mc_err *err)
{
	struct mc_llama_want lw;
	struct mc_llama_bytes b;
	int rc;

	llama_want(want, &lw);
	rc = mc_llama_measure(&lw, &b, err);
	*bytes = (double)b.weights + (double)b.kv + (double)b.workspace;
	return rc;
}

/* Numbers of about N(0, 1) in the KV pool: the sum of four uniform ones. */
static int fill_pool(struct mc_calib_model *m, struct mc_err *err)
{
	struct mc_kv_layout l;
	char *pool = mc_llama_pool(m->llama, 0, &l), *pattern;
	size_t e = mc_dtype_bytes(l.dtype), bytes = (size_t)m->want.limits.batch *
						    (size_t)blocks_of(&m->want, m->want.limits.context) *
						    mc_kv_block_bytes(&l);
	size_t n = bytes / e < PATTERN ? bytes / e : PATTERN;
	int rc;

	pattern = mc_xmalloc(n * e);
	for (size_t i = 0; i < n; i++) {
		uint64_t r = mc_hash_u64(i);
		double sum = 0;

		for (int j = 0; j < 4; j++)
			sum += (double)(r >> 16 * j & 0xffff) / 65536;
		mc_dtype_put(l.dtype, pattern, i, (float)((sum - 2) * 1.732));
	}
	for (size_t at = 0; at < bytes; at += n * e) {
		struct mc_copy c = {.to = pool + at,
				    .from = pattern,
				    .bytes = bytes - at < n * e ? bytes - at : n * e,
				    .rows = 1};

		m->want.backend->copy(mc_llama_stream(m->llama, 0), &c);
	}
	rc = mc_llama_sync(m->llama, err);
	free(pattern);
	return rc;
}

/* Sequences with blocks of their own; tokens at random. */
static void make_sequences(struct mc_calib_model *m)
{
	const struct mc_calib_limits *l = &m->want.limits;
	size_t blocks = (size_t)l->batch * (size_t)blocks_of(&m->want, l->context);
	size_t tokens = (size_t)(l->tokens > l->batch ? l->tokens : l->batch);

	m->seq = mc_xcalloc((size_t)l->batch, sizeof *m->seq);
	m->token = mc_xcalloc(tokens, sizeof *m->token);
	m->block = mc_xcalloc(blocks, sizeof *m->block);
	for (size_t i = 0; i < tokens; i++)
		m->token[i] = (int32_t)(mc_hash_pair(SEED, i) % (uint64_t)m->want.shape.vocab);
	for (size_t i = 0; i < blocks; i++) { /* in a random order (Fisher and Yates) */
		size_t j = (size_t)(mc_hash_pair(SEED + 1, i) % (i + 1));

		m->block[i] = m->block[j];
		m->block[j] = (int32_t)i;
	}
}

int mc_calib_model_open(struct mc_calib_model *m, const struct mc_calib_model_want *want, struct mc_err *err)
{
	size_t logits = (size_t)want->limits.batch * (size_t)want->shape.vocab;
	struct mc_llama_want lw;
	struct mc_weights *weights;
	int rc;

	*m = (struct mc_calib_model){.want = *want};
	llama_want(want, &lw);
	mc_weights_seeded(&weights, SEED);
	rc = mc_llama_open(&m->llama, &lw, weights, err);
	mc_weights_close(weights);
	if (rc)
		return rc;
	want->backend->device_info(mc_llama_device(m->llama, 0), &m->info);
	make_sequences(m);
	for (int i = 0; i < 2; i++)
		m->logits[i] = mc_xcalloc(logits, sizeof *m->logits[i]);
	rc = fill_pool(m, err);
	if (rc)
		mc_calib_model_close(m);
	return rc;
}

void mc_calib_model_close(struct mc_calib_model *m)
{
	mc_llama_close(m->llama);
	free(m->seq);
	free(m->token);
	free(m->block);
	free(m->logits[0]);
	free(m->logits[1]);
	*m = (struct mc_calib_model){0};
}

double mc_calib_model_work(const struct mc_calib_model *m, const struct mc_calib_point *p)
{
	const struct mc_llama_shape *s = &m->want.shape;
	double rows = (double)(p->rows * p->seqs), pairs = rows * ((double)p->context + (double)p->rows / 2);

	return 2 * rows * (double)mc_llama_layer_parameters(s) * s->layers +
	       4 * pairs * s->heads * s->head_dim * s->layers +
	       2 * (double)p->seqs * s->vocab * (double)s->hidden;
}

void mc_calib_model_prepare(struct mc_calib_model *m, const struct mc_calib_point *p,
			    struct mc_llama_step *step)
{
	int each = blocks_of(&m->want, m->want.limits.context);

	for (int i = 0; i < (int)p->seqs; i++)
		m->seq[i] = (struct mc_llama_seq){.token = p->rows > 1 ? m->token : m->token + i,
						  .tokens = (int)p->rows,
						  .context = (int)p->context,
						  .block = m->block + i * each,
						  .blocks = each,
						  .logits = MC_LLAMA_LAST};
	*step = (struct mc_llama_step){.seq = m->seq, .seqs = (int)p->seqs};
}

static int wrong(const char *what, struct mc_err *err)
{
	return mc_err_set(err, MC_FAIL, "the results are wrong: %s", what);
}

int mc_calib_model_verify(struct mc_calib_model *m, const struct mc_llama_result *r, bool again,
			  struct mc_err *err)
{
	size_t vocab = (size_t)m->want.shape.vocab, n = (size_t)r->rows * vocab;
	float *got = m->logits[again];
	struct mc_copy c = {.to = got, .from = r->logits, .bytes = n * sizeof *got, .rows = 1};
	int rc;

	m->want.backend->copy(mc_llama_stream(m->llama, 0), &c);
	rc = mc_llama_sync(m->llama, err);
	if (rc)
		return rc;
	for (int i = 0; i < r->rows; i++) {
		const float *row = got + (size_t)i * vocab;
		size_t best = 0;

		for (size_t j = 0; j < vocab; j++) {
			if (!isfinite(row[j]))
				return wrong("a logit is not finite", err);
			best = row[j] > row[best] ? j : best;
		}
		if (r->token[i] != (int32_t)best)
			return wrong("a sampled token is not the one of the largest logit", err);
	}
	if (again && memcmp(m->logits[0], m->logits[1], n * sizeof *got))
		return wrong("the same step gave other logits than before", err);
	return 0;
}

/* Tokens `from` and up of the first sequence; their last one's logits to m->logits[which]. */
static int logits_of(struct mc_calib_model *m, int from, int n, bool which, struct mc_err *err)
{
	struct mc_calib_point p = {.rows = n, .context = from, .seqs = 1};
	struct mc_llama_step step;
	struct mc_llama_result r;
	struct mc_copy c = {
	    .to = m->logits[which], .bytes = (size_t)m->want.shape.vocab * sizeof(float), .rows = 1};
	int rc;

	mc_calib_model_prepare(m, &p, &step);
	step.seq[0].token = m->token + from;
	rc = mc_llama_step(m->llama, &step, &r, err);
	c.from = r.logits;
	if (!rc)
		m->want.backend->copy(mc_llama_stream(m->llama, 0), &c);
	return rc ? rc : mc_llama_sync(m->llama, err);
}

int mc_calib_model_compare(struct mc_calib_model *m, struct mc_err *err)
{
	int n = m->want.limits.tokens < COMPARED ? (int)m->want.limits.tokens : COMPARED;
	int layers = m->want.shape.layers;
	double most = 0, apart = 0, bound;
	int rc = logits_of(m, 0, n, false, err);

	if (!rc)
		rc = logits_of(m, 0, n - 1, true, err);
	if (!rc)
		rc = logits_of(m, n - 1, 1, true, err);
	for (int i = 0; i < m->want.shape.vocab && !rc; i++) {
		double x = (double)m->logits[0][i], y = (double)m->logits[1][i];

		most = fmax(most, fabs(x));
		apart = isfinite(x) && isfinite(y) ? fmax(apart, fabs(x - y)) : INFINITY;
	}
	/* Each layer rounds its sums anew; they are about as large as the largest logit. */
	bound = 8 * mc_dtype_epsilon(m->want.dtype) * (layers + 1) * most;
	if (!rc && !(apart <= bound))
		rc =
		    mc_err_set(err, MC_FAIL,
			       "the results are wrong: %d tokens at once and one by one give logits that are "
			       "%.2g apart, more than rounding (%.2g)",
			       n, apart, bound);
	return rc;
}

bool mc_calib_model_point(const struct mc_calib_model *m, const struct mc_llama_call *call,
			  struct mc_op_point *out)
{
	const struct mc_llama_shape *s = &m->want.shape;
	int64_t *d = out->dim;

	*out = (struct mc_op_point){0};
	switch (call->op) {
	case MC_LLAMA_OP_GEMM: {
		const struct mc_gemm *a = call->arguments;

		out->op = MC_OP_GEMM;
		d[MC_DIM_ROWS] = a->m, d[MC_DIM_N] = a->n, d[MC_DIM_K] = a->k;
		return true;
	}
	case MC_LLAMA_OP_NORM:
		out->op = MC_OP_NORM;
		d[MC_DIM_ROWS] = ((const struct mc_norm *)call->arguments)->rows, d[MC_DIM_N] = s->hidden;
		return true;
	case MC_LLAMA_OP_SWIGLU:
		out->op = MC_OP_SWIGLU;
		d[MC_DIM_ROWS] = ((const struct mc_swiglu *)call->arguments)->rows, d[MC_DIM_N] = s->ffn;
		return true;
	case MC_LLAMA_OP_EMBED:
		out->op = MC_OP_EMBED;
		d[MC_DIM_ROWS] = ((const struct mc_embed *)call->arguments)->rows, d[MC_DIM_N] = s->hidden;
		return true;
	case MC_LLAMA_OP_SAMPLE:
		out->op = MC_OP_SAMPLE;
		d[MC_DIM_ROWS] = ((const struct mc_sample *)call->arguments)->rows, d[MC_DIM_N] = s->vocab;
		return true;
	case MC_LLAMA_OP_ROPE:
		out->op = MC_OP_ROPE;
		d[MC_DIM_ROWS] = ((const struct mc_rope *)call->arguments)->rows;
		d[MC_DIM_HEADS] = s->heads;
		break;
	case MC_LLAMA_OP_KV_SCATTER:
		out->op = MC_OP_KV_SCATTER;
		d[MC_DIM_ROWS] = ((const struct mc_kv_rows *)call->arguments)->batch.rows;
		break;
	case MC_LLAMA_OP_ATTENTION_PREFILL:
	case MC_LLAMA_OP_ATTENTION_DECODE: {
		const struct mc_batch *b = &((const struct mc_attention *)call->arguments)->batch;
		bool decode = call->op == MC_LLAMA_OP_ATTENTION_DECODE;

		out->op = decode ? MC_OP_ATTENTION_DECODE : MC_OP_ATTENTION_PREFILL;
		d[MC_DIM_SEQS] = b->seqs;
		d[MC_DIM_ROWS] = decode ? 0 : b->max_rows;
		d[MC_DIM_CONTEXT] = decode ? b->max_tokens : b->max_tokens - b->max_rows;
		d[MC_DIM_HEADS] = s->heads;
		break;
	}
	default:
		return false;
	}
	d[MC_DIM_KV_HEADS] = s->kv_heads;
	d[MC_DIM_HEAD_DIM] = s->head_dim;
	return true;
}

void mc_calib_model_sample(struct mc_calib_samples *out, const struct mc_op_point *p,
			   const struct mc_calib_summary *s, const char *flag)
{
	struct mc_opsample one = {
	    .point = *p, .seconds = s->median, .spread_ratio = s->n > 1 ? s->spread : -1, .repeats = s->n};

	snprintf(one.flag, sizeof one.flag, "%s", flag);
	if (s->n && s->median > 0)
		mc_vec_push(out, one);
}
