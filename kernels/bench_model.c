/*
 * Whole steps of the model, weights from a seed: a prefill of one prompt, decode steps of a batch.
 *
 * Floor: operations of the matrix products and of attention; bytes of the weights and of the KV that the step
 * reads or writes. (Activations may stay in caches.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "kernels/bench.h"
#include "kernels/llama.h"

/* The model, and the step that is timed now. */
struct whole {
	struct mc_llama *m;
	struct mc_llama_want want;
	struct mc_llama_step step;
	struct mc_llama_result result;
	struct mc_llama_seq *seq;
	int32_t *token, *block;
};

static void fail(struct mc_bench *b)
{
	b->failed = true;
	mc_err_set(&b->err, MC_FAIL, "no memory");
}

static int blocks_of(const struct mc_bench *b, int tokens)
{
	return (tokens + (int)b->o->block_tokens - 1) / (int)b->o->block_tokens;
}

static int most(const struct mc_bench_list *l)
{
	int n = 0;

	for (int i = 0; i < l->n; i++)
		n = l->at[i] > n ? l->at[i] : n;
	return n;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* A model with room for the largest case. */
static void want_make(struct mc_bench *b, struct mc_llama_want *w)
{
	int longest = b->o->model->max_position, batch = most(&b->o->batch),
	    prompt = least(longest, most(&b->o->model_tokens)),
	    context = least(longest, most(&b->o->model_context)), blocks = batch * blocks_of(b, context),
	    alone = blocks_of(b, prompt);

	*w = (struct mc_llama_want){.backend = b->be,
				    .shape = *b->o->model,
				    .dtype = b->o->dtype,
				    .ranks = (int)b->o->ranks,
				    .threads = (int)b->o->threads,
				    .block_tokens = (int)b->o->block_tokens,
				    .blocks = blocks > alone ? blocks : alone,
				    .max_rows = prompt > batch ? prompt : batch,
				    .max_seqs = batch,
				    .max_logits = batch,
				    .max_tokens = prompt > context ? prompt : context};
	for (int i = 0; i < w->ranks; i++)
		w->device[i] = (int)b->o->device + i;
}

/* Random keys and values, as if of tokens before. */
static void fill_pool(struct mc_bench *b, struct whole *w)
{
	for (int r = 0; r < w->want.ranks; r++) {
		struct mc_kv_layout l;
		char *pool = mc_llama_pool(w->m, r, &l);

		mc_bench_fill(b, mc_llama_stream(w->m, r), pool,
			      (size_t)w->want.blocks * mc_kv_block_bytes(&l));
	}
	b->failed |= mc_llama_sync(w->m, &b->err) != 0;
}

/* Why it is left out, or NULL. */
static const char *whole_open(struct mc_bench *b, struct whole *w)
{
	static char why[160];
	char has[MC_UNITS_TEXT], may[MC_UNITS_TEXT];
	struct mc_llama_bytes bytes = {0};
	struct mc_weights *weights;
	double all;

	want_make(b, &w->want);
	if (mc_llama_measure(&w->want, &bytes, &b->err)) {
		b->failed = true;
		return "it cannot be opened";
	}
	all = (double)(bytes.weights + bytes.kv + bytes.workspace);
	if (all > (double)b->o->memory) {
		snprintf(why, sizeof why, "needs %s, more than %s (--memory)",
			 mc_units_format_bytes(all, has), mc_units_format_bytes((double)b->o->memory, may));
		return why;
	}
	mc_weights_seeded(&weights, 1);
	b->failed |= mc_llama_open(&w->m, &w->want, weights, &b->err) != 0;
	mc_weights_close(weights);
	if (!b->failed)
		fill_pool(b, w);
	return NULL;
}

static void once(struct mc_bench *b, const void *arg)
{
	struct whole *w = *(struct whole *const *)arg;

	b->failed |= mc_llama_step(w->m, &w->step, &w->result, &b->err) != 0;
}

static void wait(struct mc_bench *b, const void *arg)
{
	struct whole *w = *(struct whole *const *)arg;

	b->failed |= mc_llama_sync(w->m, &b->err) != 0;
}

/* Sequences with `tokens` new ones each, after `context`; each wants the logits of its last. */
static struct mc_work work(const struct mc_bench *b, int seqs, int tokens, int context)
{
	const struct mc_llama_shape *s = &b->rank;
	double e = (double)mc_dtype_bytes(b->o->dtype), rows = (double)seqs * tokens,
	       layers = (double)mc_llama_layer_parameters(s) * s->layers, head = (double)s->vocab * s->hidden,
	       pairs = (double)seqs * ((double)tokens * context + tokens * (tokens + 1.0) / 2),
	       kv = (double)seqs * (context + tokens) * (double)mc_llama_kv_token_bytes(s, b->o->dtype);

	return (struct mc_work){2 * (rows * layers + seqs * head) +
				    4 * pairs * s->heads * s->head_dim * s->layers,
				(layers + head) * e + kv};
}

/* The step's host side: tokens at random, blocks one after the other. */
static void step_make(struct mc_bench *b, struct whole *w, int seqs, int tokens, int context)
{
	int blocks = blocks_of(b, context + tokens);
	uint64_t state = 4;

	w->seq = calloc((size_t)seqs, sizeof *w->seq);
	w->token = malloc((size_t)tokens * sizeof *w->token);
	w->block = malloc((size_t)seqs * (size_t)blocks * sizeof *w->block);
	if (!w->seq || !w->token || !w->block) {
		fail(b);
		return;
	}
	for (int i = 0; i < tokens; i++)
		w->token[i] = (int32_t)(mc_bench_random(&state) % (uint32_t)b->o->model->vocab);
	for (int i = 0; i < seqs * blocks; i++)
		w->block[i] = i;
	for (int i = 0; i < seqs; i++)
		w->seq[i] = (struct mc_llama_seq){.token = w->token,
						  .tokens = tokens,
						  .context = context,
						  .block = w->block + i * blocks,
						  .blocks = blocks,
						  .logits = MC_LLAMA_LAST};
	w->step = (struct mc_llama_step){.seq = w->seq, .seqs = seqs};
}

static void one(struct mc_bench *b, struct whole *w, int seqs, int tokens, int context)
{
	struct mc_bench_case c = {
	    .op = "model", .arg_size = sizeof w, .once = once, .wait = wait, .by_wall = true};
	struct mc_bench_result r;

	c.work = work(b, seqs, tokens, context);
	c.bytes = (size_t)b->o->cache; /* one step reads more than the caches hold, or should not */
	if (tokens > 1)
		snprintf(c.shape, sizeof c.shape, "prefill of %d", tokens);
	else
		snprintf(c.shape, sizeof c.shape, "decode, batch %d, context %d", seqs, context + 1);
	if (context + tokens > b->o->model->max_position) {
		mc_bench_skip(b, &c, "beyond the model's positions");
		return;
	}
	if (!mc_bench_begin(b, &c))
		return;
	*(struct whole **)c.args = w;
	step_make(b, w, seqs, tokens, context);
	if (!b->failed) {
		once(b, c.args);
		wait(b, c.args);
	}
	c.copies = 1;
	c.cached = mc_bench_cached(b, c.work.bytes);
	c.out = w->result.logits;
	c.out_n = (size_t)seqs * (size_t)b->o->model->vocab;
	c.out_dtype = MC_F32;
	mc_bench_end(b, &c, &r);
	if (r.samples > 0 && tokens == 512 && b->info.units == 1 && !strcmp(b->o->model->name, "small-24.6m"))
		mc_bench_bar(&b->prefill_bar, r.seconds, c.shape);
	free(w->seq);
	free(w->token);
	free(w->block);
}

void mc_bench_model(struct mc_bench *b)
{
	struct whole w = {0};
	const char *why = NULL;

	if (!b->planning && !b->failed && !mc_bench_stopped())
		why = whole_open(b, &w);
	if (why) {
		struct mc_bench_case c = {.op = "model", .shape = "all steps"};

		mc_bench_skip(b, &c, why);
	}
	if (!why && (w.m || b->planning)) {
		for (int i = 0; i < b->o->model_tokens.n; i++)
			one(b, &w, 1, b->o->model_tokens.at[i], 0);
		for (int i = 0; i < b->o->batch.n; i++)
			for (int j = 0; j < b->o->model_context.n; j++)
				one(b, &w, b->o->batch.at[i], 1, b->o->model_context.at[j] - 1);
	}
	mc_llama_close(w.m);
}
