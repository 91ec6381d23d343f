#include "tests/kernels/llama_rig.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/rig.h"

static void fine(int rc, const struct mc_err *err)
{
	if (rc)
		ck_abort_msg("%s", err->text);
}

static void pair(int i, const struct mc_backend **be, enum mc_dtype *t)
{
	struct rig r;

	rig_open(&r, i);
	*be = r.be;
	*t = r.dtype;
	rig_close(&r);
}

bool llama_has_ranks(int i, int ranks)
{
	const struct mc_backend *be;
	enum mc_dtype t;
	int n = 0;

	pair(i, &be, &t);
	be->count(&n, NULL);
	return n >= ranks || !strcmp(be->name, "cpu");
}

void llama_want(int i, const struct mc_llama_shape *s, int ranks, struct mc_llama_want *out)
{
	int n = 0;

	*out = (struct mc_llama_want){.shape = *s,
				      .ranks = ranks,
				      .threads = 1,
				      .block_tokens = LLAMA_BLOCK,
				      .blocks = LLAMA_BLOCKS,
				      .max_rows = LLAMA_ROWS,
				      .max_seqs = LLAMA_SEQS,
				      .max_logits = LLAMA_ROWS,
				      .max_tokens = LLAMA_TOKENS};
	pair(i, &out->backend, &out->dtype);
	out->backend->count(&n, NULL);
	for (int r = 0; r < ranks; r++)
		out->device[r] = r % n;
}

void llama_open(struct llama_rig *l, int i, const struct mc_llama_shape *s, int ranks, uint64_t seed)
{
	struct mc_llama_want want;
	struct mc_kv_layout layout;
	struct mc_weights *w;
	struct mc_err err = {0};

	llama_want(i, s, ranks, &want);
	mc_weights_seeded(&w, seed);
	*l = (struct llama_rig){.be = want.backend, .dtype = want.dtype, .shape = *s};
	fine(mc_llama_open(&l->m, &want, w, &err), &err);
	mc_weights_close(w);
	for (int r = 0; r < ranks; r++) {
		void *pool = mc_llama_pool(l->m, r, &layout);

		l->be->fill(mc_llama_stream(l->m, r), pool, 0xff, LLAMA_BLOCKS * mc_kv_block_bytes(&layout));
	}
}

void llama_close(struct llama_rig *l)
{
	struct mc_err err = {0};

	fine(mc_llama_sync(l->m, &err), &err);
	mc_llama_close(l->m);
}

float *llama_step(struct llama_rig *l, struct mc_llama_step *step, int32_t *token)
{
	size_t vocab = (size_t)l->shape.vocab, n;
	struct mc_llama_result result;
	struct mc_err err = {0};
	struct mc_copy c = {.rows = 1};
	float *x;

	fine(mc_llama_step(l->m, step, &result, &err), &err);
	fine(mc_llama_sync(l->m, &err), &err);
	n = (size_t)result.rows * vocab;
	if (token && n)
		memcpy(token, result.token, (size_t)result.rows * sizeof *token);
	if (!n)
		return NULL;
	x = malloc(n * sizeof *x);
	c.to = x;
	c.from = result.logits;
	c.bytes = n * sizeof *x;
	l->be->copy(mc_llama_stream(l->m, 0), &c);
	fine(mc_llama_sync(l->m, &err), &err);
	return x;
}

float *llama_one(struct llama_rig *l, const struct mc_llama_seq *seq)
{
	struct mc_llama_seq q = *seq;
	struct mc_llama_step step = {.seq = &q, .seqs = 1};

	return llama_step(l, &step, NULL);
}

const struct mc_llama_shape *llama_tiny(void)
{
	return mc_llama_shape_find("tiny", NULL);
}

struct mc_llama_seq llama_seq(const int32_t *token, int context, int n, const int32_t *block)
{
	return (struct mc_llama_seq){.token = token + context,
				     .tokens = n,
				     .context = context,
				     .block = block,
				     .blocks = (context + n + LLAMA_BLOCK - 1) / LLAMA_BLOCK,
				     .logits = MC_LLAMA_ALL};
}

void llama_prompt(const struct mc_llama_shape *s, uint64_t seed, int32_t *token, int n)
{
	struct rig_random g = {seed};

	for (int i = 0; i < n; i++)
		token[i] = (int32_t)rig_below(&g, (uint32_t)s->vocab);
}

double *llama_naive(const struct llama_rig *l, uint64_t seed, const int32_t *token, int n)
{
	double *logits = malloc((size_t)n * (size_t)l->shape.vocab * sizeof *logits);
	struct naive_llama *m;
	struct mc_weights *w;

	mc_weights_seeded(&w, seed);
	m = naive_llama_new(&l->shape, w, l->dtype);
	naive_llama_forward(m, token, n, logits);
	naive_llama_free(m);
	mc_weights_close(w);
	return logits;
}

double llama_rms(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sqrt(sum / (double)n);
}

double llama_bound(const struct llama_rig *l, double rms)
{
	double places = 2 * 11.0 * l->shape.layers + 2, u = mc_dtype_epsilon(l->dtype) / 2;

	if (l->dtype == MC_F32)
		places *= 16;
	return 5 * sqrt(places / 3) * u * rms;
}
