/* Tensor parallelism, hooks, KV moved from one model to another, limits. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/llama_rig.h"
#include "tests/kernels/rig.h"

enum { SEED = 12 };

/* Prefill, then a mixed batch. Returns logits of [39 + 2] rows. */
static float *some_steps(struct llama_rig *l)
{
	static const int32_t block[2][4] = {{9, 3, 4, 8}, {0, 11, 7, 1}};
	int32_t token[2][40];
	struct mc_llama_seq q[2];
	struct mc_llama_step step = {.seq = q, .seqs = 2};
	float *a, *b;

	llama_prompt(llama_tiny(), 1, token[0], 40);
	llama_prompt(llama_tiny(), 2, token[1], 40);
	q[0] = llama_seq(token[0], 0, 20, block[0]);
	q[1] = llama_seq(token[1], 0, 19, block[1]);
	a = llama_step(l, &step, NULL);
	q[0] = llama_seq(token[0], 20, 1, block[0]);
	q[1] = llama_seq(token[1], 19, 6, block[1]);
	q[1].logits = MC_LLAMA_LAST;
	b = llama_step(l, &step, NULL);
	a = realloc(a, 41 * 256 * sizeof *a);
	memcpy(a + 39 * 256, b, (size_t)2 * 256 * sizeof *a);
	free(b);
	return a;
}

/* Ranks add up their parts in another order, and round each: within the bound of one. */
START_TEST(ranks_equal_one)
{
	struct mc_llama_shape tied = *llama_tiny();
	double x[41 * 256], bound;
	struct llama_rig l;
	float *one, *many;

	tied.tied = true;
	for (int variant = 0; variant < 2; variant++) {
		const struct mc_llama_shape *s = variant ? &tied : llama_tiny();

		llama_open(&l, _i, s, 1, SEED);
		one = some_steps(&l);
		llama_close(&l);
		for (int i = 0; i < 41 * 256; i++)
			x[i] = one[i];
		/* 4 KV heads' worth of queries, 2 KV heads: with 4 ranks each is on two of them. */
		for (int ranks = 2; ranks <= 4 && llama_has_ranks(_i, ranks); ranks *= 2) {
			llama_open(&l, _i, s, ranks, SEED);
			many = some_steps(&l);
			bound = l.dtype == MC_F32 ? 1e-5 * llama_rms(x, 41 * 256)
						  : llama_bound(&l, llama_rms(x, 41 * 256));
			for (size_t i = 0; i < 41 * 256; i++)
				rig_close_to(many[i], x[i], bound, "logits", i);
			free(many);
			llama_close(&l);
		}
		free(one);
	}
}
END_TEST

struct heard {
	struct llama_rig *l;
	int n, call[16]; /* layer, + 100 for ready */
	int rank;
	struct mc_stream *s;
	unsigned char *keep; /* where ready copies the layer's part of block 5 */
};

static void need(void *arg, int rank, int layer, struct mc_stream *s)
{
	struct heard *h = arg;

	(void)s;
	if (rank == h->rank)
		h->call[h->n++] = layer;
}

static void ready(void *arg, int rank, int layer, struct mc_stream *s)
{
	struct heard *h = arg;
	struct mc_kv_layout layout;
	char *pool = mc_llama_pool(h->l->m, rank, &layout);
	struct mc_copy c = {.to = h->keep + (size_t)layer * mc_kv_layer_bytes(&layout),
			    .from = pool + mc_kv_layer_offset(&layout, 5, layer),
			    .bytes = mc_kv_layer_bytes(&layout),
			    .rows = 1};

	if (rank != h->rank)
		return;
	ck_assert_ptr_eq(s, mc_llama_stream(h->l->m, rank));
	h->call[h->n++] = layer + 100;
	h->l->be->copy(s, &c);
}

static void get_block(struct llama_rig *l, int rank, int block, void *to)
{
	struct mc_kv_layout layout;
	char *pool = mc_llama_pool(l->m, rank, &layout);
	struct mc_copy c = {.to = to,
			    .from = pool + (size_t)block * mc_kv_block_bytes(&layout),
			    .bytes = mc_kv_block_bytes(&layout),
			    .rows = 1};

	l->be->copy(mc_llama_stream(l->m, rank), &c);
	ck_assert_int_eq(mc_llama_sync(l->m, NULL), 0);
}

/* Layer by layer, and what is copied where `ready` says so is what the block holds in the end. */
START_TEST(hooks_in_order)
{
	struct llama_rig l;
	int32_t token[20] = {0}, block[] = {5, 6};
	struct mc_llama_seq q = llama_seq(token, 0, 20, block);
	struct mc_llama_step step = {.seq = &q, .seqs = 1, .hooks = {.need = need, .ready = ready}};
	struct mc_kv_layout layout;
	struct heard h = {.l = &l};
	unsigned char *whole;
	size_t bytes;

	llama_open(&l, _i, llama_tiny(), llama_has_ranks(_i, 2) ? 2 : 1, SEED);
	h.rank = llama_has_ranks(_i, 2);
	mc_llama_pool(l.m, h.rank, &layout);
	bytes = mc_kv_block_bytes(&layout);
	h.keep = malloc(bytes);
	whole = malloc(bytes);
	step.hooks.arg = &h;
	llama_prompt(llama_tiny(), 3, token, 20);
	free(llama_step(&l, &step, NULL));
	ck_assert_int_eq(h.n, 4);
	ck_assert(h.call[0] == 0 && h.call[1] == 100 && h.call[2] == 1 && h.call[3] == 101);
	get_block(&l, h.rank, 5, whole);
	ck_assert(!memcmp(whole, h.keep, bytes));
	free(whole);
	free(h.keep);
	llama_close(&l);
}
END_TEST

/* A layer's part of the block comes when the layer needs it, not before. */
struct late {
	struct llama_rig *l;
	const unsigned char *block[2];
	const int32_t *to;
};

static void bring(void *arg, int rank, int layer, struct mc_stream *s)
{
	struct late *a = arg;
	struct mc_kv_layout layout;
	char *pool = mc_llama_pool(a->l->m, rank, &layout);
	size_t bytes = mc_kv_layer_bytes(&layout);

	for (int b = 0; b < 2; b++) {
		struct mc_copy c = {.to = pool + mc_kv_layer_offset(&layout, a->to[b], layer),
				    .from = a->block[b] + (size_t)layer * bytes,
				    .bytes = bytes,
				    .rows = 1};

		a->l->be->copy(s, &c);
	}
}

/* Prefill on one model, its blocks to another (half of the last one is not filled yet), decode there: not a
 * bit differs from going on in place. */
START_TEST(moved_kv_goes_on)
{
	static const int32_t here[] = {2, 9}, there[] = {30, 4};
	struct llama_rig from, to;
	int32_t token[28];
	struct mc_llama_seq q;
	struct mc_llama_step step = {.seq = &q, .seqs = 1};
	struct mc_kv_layout layout;
	unsigned char *block[2];
	struct late late = {&to, {0}, there};
	float *stayed, *moved;

	llama_open(&from, _i, llama_tiny(), 1, SEED);
	llama_open(&to, _i, llama_tiny(), 1, SEED);
	llama_prompt(llama_tiny(), 4, token, 28);
	q = llama_seq(token, 0, 26, here);
	free(llama_step(&from, &step, NULL));
	mc_llama_pool(from.m, 0, &layout);
	for (int b = 0; b < 2; b++) {
		block[b] = malloc(mc_kv_block_bytes(&layout));
		late.block[b] = block[b];
		get_block(&from, 0, here[b], block[b]);
	}
	for (int at = 26; at < 28; at++) {
		q = llama_seq(token, at, 1, here);
		step.hooks = (struct mc_llama_hooks){0};
		stayed = llama_step(&from, &step, NULL);
		q = llama_seq(token, at, 1, there);
		if (at == 26)
			step.hooks = (struct mc_llama_hooks){.need = bring, .arg = &late};
		moved = llama_step(&to, &step, NULL);
		ck_assert(!memcmp(stayed, moved, 256 * sizeof *moved));
		free(stayed);
		free(moved);
	}
	free(block[0]);
	free(block[1]);
	llama_close(&from);
	llama_close(&to);
}
END_TEST

/* What a seed draws depends on the request and the position only; a temperature of 0 draws nothing. */
START_TEST(sampling)
{
	struct llama_rig l;
	int32_t token[40], block[] = {1, 2, 3}, whole[40], other[40], last;
	struct mc_llama_seq q;
	struct mc_llama_step step = {.seq = &q, .seqs = 1};
	int differ = 0;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
	llama_prompt(llama_tiny(), 5, token, 40);
	q = llama_seq(token, 0, 40, block);
	q.temperature = 50; /* nearly uniform: rounding of the logits changes little */
	q.seed = 99;
	free(llama_step(&l, &step, whole));
	for (int n = 16; n >= 1; n -= 5) {
		q = llama_seq(token, 24, n, block);
		q.logits = MC_LLAMA_LAST;
		q.temperature = 50;
		q.seed = 99;
		free(llama_step(&l, &step, &last));
		ck_assert_int_eq(last, whole[23 + n]);
	}
	for (int i = 1; i < 40; i++)
		differ += whole[i] != whole[0];
	ck_assert_int_gt(differ, 30);
	/* Another seed draws others at each position, neighbours' too. */
	q = llama_seq(token, 0, 40, block);
	q.temperature = 50;
	q.seed = 100;
	free(llama_step(&l, &step, other));
	for (int shift = 0; shift < 2; shift++) {
		differ = 0;
		for (int i = 1; i < 40; i++)
			differ += whole[i] != other[i - shift];
		ck_assert_int_gt(differ, 30);
	}
	llama_close(&l);
}
END_TEST

START_TEST(steps_refused)
{
	struct llama_rig l;
	int32_t token[LLAMA_TOKENS + 1] = {0}, block[11] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	struct mc_llama_seq good = llama_seq(token, 0, 20, block), q[LLAMA_SEQS + 1];
	struct mc_llama_step step = {.seq = q, .seqs = 1};
	struct mc_llama_result out;
	struct mc_err err;
	float *x;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
#define REFUSED(change, why)                                                                                 \
	do {                                                                                                 \
		step = (struct mc_llama_step){.seq = q, .seqs = 1};                                          \
		for (int s = 0; s <= LLAMA_SEQS; s++)                                                        \
			q[s] = good;                                                                         \
		change;                                                                                      \
		err = (struct mc_err){0};                                                                    \
		ck_assert_int_eq(mc_llama_step(l.m, &step, &out, &err), MC_USAGE);                           \
		ck_assert_msg(strstr(err.text, why), "%s", err.text);                                        \
	} while (0)
	REFUSED(q[0].tokens = 0, "0 tokens");
	REFUSED(q[0].context = -1, "after -1");
	REFUSED((q[0].tokens = LLAMA_TOKENS + 1, q[0].blocks = 11), "160 in all");
	REFUSED((q[0].context = INT32_MAX, q[0].blocks = 11), "160 in all");
	REFUSED((q[0].context = LLAMA_TOKENS - 10, q[0].blocks = 11), "160 in all");
	REFUSED(q[0].blocks = 1, "expected 2");
	REFUSED(block[1] = LLAMA_BLOCKS, "block 40");
	REFUSED(block[1] = -1, "block -1");
	block[1] = 1;
	REFUSED(token[19] = 256, "token 256");
	REFUSED(token[19] = -1, "token -1");
	token[19] = 0;
	REFUSED(q[0].temperature = -1, "temperature");
	REFUSED(q[0].temperature = NAN, "temperature");
	REFUSED(q[0].temperature = INFINITY, "temperature");
	REFUSED(step.seqs = LLAMA_SEQS + 1, "7 sequences");
	REFUSED((step.seqs = 2, q[0].tokens = 150, q[0].blocks = 10), "170 tokens");
	REFUSED((step.from = 1, step.to = 3), "layers");
	REFUSED((step.from = 1, step.to = 0), "layers");
#undef REFUSED
	step = (struct mc_llama_step){.seq = q, .seqs = 0};
	ck_assert_int_eq(mc_llama_step(l.m, &step, &out, NULL), 0);
	ck_assert_int_eq(out.rows, 0);
	step.seqs = 1;
	q[0] = good;
	x = llama_step(&l, &step, NULL);
	ck_assert(isfinite(x[19 * 256]));
	free(x);
	llama_close(&l);
}
END_TEST

/* A model that has room for one row of logits, and no more; pages are zeros at first. */
START_TEST(tight)
{
	struct mc_llama_shape s = *llama_tiny();
	struct mc_llama_want want;
	struct mc_weights *w;
	int32_t token[LLAMA_TOKENS] = {0}, block[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct mc_llama_seq q = llama_seq(token, 0, LLAMA_TOKENS, block);
	struct mc_llama_step step = {.seq = &q, .seqs = 1};
	struct mc_err err = {0};
	unsigned char *page;
	struct mc_kv_layout layout;

	mc_weights_seeded(&w, SEED);
	llama_prompt(&s, 6, token, LLAMA_TOKENS);
	for (int wide = 0; wide < 2; wide++) { /* the network's rows are the widest; attention's are */
		struct llama_rig l = {0};
		double *exact, bound;
		float *got;

		s.ffn = wide ? 512 : 192;
		llama_want(_i, &s, 1, &want);
		want.max_logits = want.max_seqs = 1;
		l = (struct llama_rig){.be = want.backend, .dtype = want.dtype, .shape = s};
		ck_assert_int_eq(mc_llama_open(&l.m, &want, w, &err), 0);
		mc_llama_pool(l.m, 0, &layout);
		page = malloc(mc_kv_block_bytes(&layout));
		get_block(&l, 0, LLAMA_BLOCKS - 1, page);
		for (size_t i = 0; i < mc_kv_block_bytes(&layout); i++)
			ck_assert_int_eq(page[i], 0);
		free(page);
		q.logits = MC_LLAMA_ALL;
		err = (struct mc_err){0};
		ck_assert_int_eq(mc_llama_step(l.m, &step, NULL, &err), MC_USAGE);
		ck_assert_msg(strstr(err.text, "160 rows of logits"), "%s", err.text);
		err = (struct mc_err){0};
		q.logits = MC_LLAMA_LAST;
		got = llama_step(&l, &step, NULL);
		exact = llama_naive(&l, SEED, token, LLAMA_TOKENS);
		bound = llama_bound(&l, llama_rms(exact, LLAMA_TOKENS * 256));
		for (size_t i = 0; i < 256; i++)
			rig_close_to(got[i], exact[(LLAMA_TOKENS - 1) * 256 + i], bound, "logits", i);
		free(got);
		free(exact);
		llama_close(&l);
	}
	mc_weights_close(w);
}
END_TEST

/* Matrices larger than the piece of memory that they pass through. */
START_TEST(large_matrix)
{
	struct mc_llama_shape s = *llama_tiny();
	struct llama_rig l;
	int32_t token[] = {81000, 3}, block[] = {0};
	struct mc_llama_seq q = llama_seq(token, 0, 2, block);
	double *exact, bound;
	float *got;

	s.layers = 1;
	s.vocab = 81920;
	s.tied = true;
	llama_open(&l, _i, &s, 1, SEED);
	got = llama_one(&l, &q);
	exact = llama_naive(&l, SEED, token, 2);
	bound = llama_bound(&l, llama_rms(exact, 2 * 81920));
	for (size_t i = 0; i < 2 * 81920; i++)
		rig_close_to(got[i], exact[i], bound, "logits", i);
	free(got);
	free(exact);
	llama_close(&l);
}
END_TEST

START_TEST(models_refused)
{
	struct mc_llama_want good, w;
	struct mc_llama_bytes bytes, more;
	struct mc_llama *m;
	struct mc_weights *weights;

	mc_weights_seeded(&weights, 1);
	llama_want(_i, llama_tiny(), 1, &good);
#define REFUSED(change)                                                                                      \
	do {                                                                                                 \
		w = good;                                                                                    \
		change;                                                                                      \
		ck_assert_int_eq(mc_llama_open(&m, &w, weights, NULL), MC_USAGE);                            \
		ck_assert_int_eq(mc_llama_measure(&w, &bytes, NULL), MC_USAGE);                              \
		ck_assert_ptr_null(m);                                                                       \
	} while (0)
	REFUSED(w.ranks = 3);
	REFUSED(w.ranks = 0);
	REFUSED(w.shape.head_dim = 32);
	REFUSED(w.block_tokens = 24);
	REFUSED(w.block_tokens = 1024);
	REFUSED(w.blocks = 0);
	REFUSED(w.max_seqs = 0);
	REFUSED(w.max_seqs = w.max_rows = 1 << 16); /* a GPU's grid has no place for it */
	REFUSED(w.max_rows = w.max_seqs - 1);
	REFUSED(w.max_logits = w.max_rows + 1);
	REFUSED(w.max_logits = 0);
	REFUSED(w.max_tokens = w.shape.max_position + 1);
	REFUSED(w.device[0] = 1000);
	REFUSED(w.device[0] = -1);
	for (int t = MC_F32; t <= MC_F16; t++)
		if (!(good.backend->dtypes >> t & 1))
			REFUSED(w.dtype = (enum mc_dtype)t);
#undef REFUSED
	/* More than any machine has; what was there already is given back. */
	w = good;
	w.blocks = INT32_MAX;
	ck_assert_int_eq(mc_llama_open(&m, &w, weights, NULL), MC_FAIL);
	ck_assert_ptr_null(m);
	w = good;
	ck_assert_int_eq(mc_llama_measure(&w, &bytes, NULL), 0);
	ck_assert_uint_ge(bytes.weights, (size_t)mc_llama_parameters(&w.shape) * mc_dtype_bytes(w.dtype));
	ck_assert_uint_eq(bytes.kv,
			  (size_t)(mc_llama_kv_token_bytes(&w.shape, w.dtype) * LLAMA_BLOCKS * LLAMA_BLOCK));
	w.max_rows *= 2;
	ck_assert_int_eq(mc_llama_measure(&w, &more, NULL), 0);
	ck_assert_uint_gt(more.workspace, bytes.workspace);
	ck_assert_uint_eq(more.weights, bytes.weights);
	mc_weights_close(weights);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("llama-ranks");
	TCase *t = tcase_create("llama-ranks");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, ranks_equal_one, 0, rig_count());
	tcase_add_loop_test(t, hooks_in_order, 0, rig_count());
	tcase_add_loop_test(t, moved_kv_goes_on, 0, rig_count());
	tcase_add_loop_test(t, sampling, 0, rig_count());
	tcase_add_loop_test(t, steps_refused, 0, rig_count());
	tcase_add_loop_test(t, tight, 0, rig_count());
	tcase_add_loop_test(t, large_matrix, 0, rig_count() > 0);
	tcase_add_loop_test(t, models_refused, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
