/*
 * A small model of every backend against a naive forward pass in double precision, and against itself: what
 * batches, chunks, cached prefixes and blocks may change is rounding (another tile or another product's shape
 * sums in another order), and where shapes are the same, not a bit. The CPU's sums have an order of their
 * own, so there it is never a bit (contexts of more than 1,024 tokens, which decode cuts in parts, aside).
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/llama_rig.h"
#include "tests/kernels/rig.h"

enum { SEED = 11 };

static const int32_t in_order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const int32_t elsewhere[] = {30, 12, 39, 13, 20, 11, 10, 38, 19, 31};

static float *run_part(struct llama_rig *l, const int32_t *token, int context, int n, const int32_t *block)
{
	struct mc_llama_seq q = llama_seq(token, context, n, block);

	return llama_one(l, &q);
}

static void near(const struct llama_rig *l, const float *got, const double *want, int rows)
{
	size_t n = (size_t)rows * (size_t)l->shape.vocab;
	double bound = llama_bound(l, llama_rms(want, n));

	for (size_t i = 0; i < n; i++)
		rig_close_to(got[i], want[i], bound, "logits", i);
}

static bool same(const struct llama_rig *l, const float *a, const float *b, int rows)
{
	return !memcmp(a, b, (size_t)rows * (size_t)l->shape.vocab * sizeof *a);
}

/* Two ways to the same logits. */
static void alike(const struct llama_rig *l, const float *got, const float *want, int rows)
{
	size_t n = (size_t)rows * (size_t)l->shape.vocab;
	double *x = malloc(n * sizeof *x);

	for (size_t i = 0; i < n; i++)
		x[i] = want[i];
	near(l, got, x, rows);
	free(x);
	if (!strcmp(l->be->name, "cpu"))
		ck_assert(same(l, got, want, rows));
}

static void against_naive(const struct mc_llama_shape *s, int pair, int n)
{
	struct llama_rig l;
	int32_t token[LLAMA_TOKENS];
	double *want;
	float *got;

	llama_open(&l, pair, s, 1, SEED);
	llama_prompt(s, (uint64_t)n, token, n);
	got = run_part(&l, token, 0, n, in_order);
	want = llama_naive(&l, SEED, token, n);
	near(&l, got, want, n);
	free(got);
	free(want);
	llama_close(&l);
}

START_TEST(equals_naive)
{
	struct mc_llama_shape s = *llama_tiny();

	against_naive(&s, _i, 75);
	against_naive(&s, _i, 1);
	s.head_dim = 128;
	s.heads = 6;
	s.kv_heads = 1;
	s.tied = true;
	s.norm_eps = 1e-3;
	/* Wavelengths of all three kinds among the pairs. */
	s.rope = (struct mc_llama_rope_scaling){8, 1, 4, 64};
	against_naive(&s, _i, 33);
}
END_TEST

/* The bound would show a fault: the logits of a model whose rotary angles are a hundredth off are beyond it.
 */
START_TEST(bound_is_tight)
{
	struct mc_llama_shape s = *llama_tiny(), other = s;
	struct llama_rig l;
	int32_t token[40];
	double *a, *b, most = 0;

	other.rope_theta *= 1.1;
	llama_open(&l, _i, &s, 1, SEED);
	llama_prompt(&s, 1, token, 40);
	a = llama_naive(&l, SEED, token, 40);
	l.shape = other;
	b = llama_naive(&l, SEED, token, 40);
	for (size_t i = 0; i < 40 * 256; i++)
		most = fmax(most, fabs(a[i] - b[i]));
	ck_assert_double_gt(most, llama_bound(&l, llama_rms(a, 40 * 256)));
	free(a);
	free(b);
	llama_close(&l);
}
END_TEST

START_TEST(chunks_equal_whole)
{
	static const int chunk[] = {32, 1, 15, 27};
	struct llama_rig l;
	int32_t token[75];
	float *whole, *part;
	int at = 0;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
	llama_prompt(llama_tiny(), 2, token, 75);
	whole = run_part(&l, token, 0, 75, in_order);
	for (int i = 0; i < 4; at += chunk[i++]) {
		part = run_part(&l, token, at, chunk[i], elsewhere);
		alike(&l, part, whole + at * 256, chunk[i]);
		free(part);
	}
	free(whole);
	llama_close(&l);
}
END_TEST

/* Two requests with the same first 48 tokens: the second uses three blocks of the first. */
START_TEST(prefix_equals_recomputing)
{
	struct llama_rig l;
	int32_t first[70], second[70], shared[5];
	float *whole, *rest;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
	llama_prompt(llama_tiny(), 3, first, 70);
	llama_prompt(llama_tiny(), 4, second, 70);
	memcpy(second, first, 48 * sizeof *first);
	free(run_part(&l, first, 0, 70, in_order));
	memcpy(shared, in_order, 3 * sizeof *shared);
	memcpy(shared + 3, elsewhere, 2 * sizeof *shared);
	rest = run_part(&l, second, 48, 22, shared);
	whole = run_part(&l, second, 0, 70, elsewhere + 2);
	alike(&l, rest, whole + 48 * 256, 22);
	ck_assert(!same(&l, whole, rest, 1));
	free(rest);
	free(whole);
	llama_close(&l);
}
END_TEST

static int largest(const float *x, int n)
{
	int at = 0;

	for (int i = 1; i < n; i++)
		at = x[i] > x[at] ? i : at;
	return at;
}

/* Greedy: each token decoded, then all of it in one prefill, then naively. */
START_TEST(decode_continues_prefill)
{
	struct llama_rig l;
	int32_t token[64];
	float *step[64] = {0}, *whole;
	double *want;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
	llama_prompt(llama_tiny(), 5, token, 40);
	for (int at = 40; at < 64; at++) {
		struct mc_llama_seq q = llama_seq(token, at == 40 ? 0 : at - 1, at == 40 ? 40 : 1, elsewhere);
		struct mc_llama_step s = {.seq = &q, .seqs = 1};
		int32_t next;

		q.logits = MC_LLAMA_LAST;
		step[at] = llama_step(&l, &s, &next);
		ck_assert_int_eq(q.row, 0);
		ck_assert_int_eq(next, largest(step[at], 256));
		token[at] = next;
	}
	whole = run_part(&l, token, 0, 64, in_order);
	want = llama_naive(&l, SEED, token, 64);
	near(&l, whole, want, 64);
	for (int at = 40; at < 64; at++) {
		alike(&l, step[at], whole + (at - 1) * 256, 1);
		near(&l, step[at], want + (at - 1) * 256, 1);
		free(step[at]);
	}
	free(whole);
	free(want);
	llama_close(&l);
}
END_TEST

/* Chunks and decodes together, in any order, equal each alone: what is read, and what is drawn. */
START_TEST(mixed_equals_separate)
{
	static const int context[] = {0, 20, 31, 5, 47}, tokens[] = {2, 1, 70, 1, 1};
	struct mc_llama_seq seq[5];
	struct mc_llama_step step = {.seq = seq, .seqs = 5};
	struct llama_rig l;
	int32_t prompt[5][101], block[5][7], next[80], drawn[70];
	float *alone[5], *all;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
	for (int i = 0; i < 5; i++) {
		struct mc_llama_step one = {.seq = &seq[i], .seqs = 1};

		for (int b = 0; b < 7; b++)
			block[i][b] = (7 * (7 * i + b) + 3) % LLAMA_BLOCKS;
		llama_prompt(llama_tiny(), (uint64_t)(20 + i), prompt[i], 101);
		if (context[i])
			free(run_part(&l, prompt[i], 0, context[i], block[i]));
		seq[i] = llama_seq(prompt[i], context[i], tokens[i], block[i]);
		seq[i].temperature = i ? 0 : 50; /* the first one's are nearly uniform */
		alone[i] = llama_step(&l, &one, i ? next : drawn);
	}
	seq[2].logits = MC_LLAMA_LAST;
	seq[3].logits = MC_LLAMA_NONE;
	all = llama_step(&l, &step, next);
	ck_assert_int_eq(seq[3].row, -1);
	for (int i = 0; i < 5; i++) {
		int rows = i == 2 ? 1 : i == 3 ? 0 : tokens[i];

		if (rows)
			alike(&l, all + seq[i].row * 256, alone[i] + (tokens[i] - rows) * 256, rows);
		for (int r = 0; r < rows; r++)
			ck_assert_int_eq(next[seq[i].row + r],
					 i ? largest(all + (seq[i].row + r) * 256, 256) : drawn[r]);
		free(alone[i]);
	}
	free(all);
	llama_close(&l);
}
END_TEST

/* Not a bit depends on which blocks are used, on what ran before, on steps in flight; weights do matter. */
START_TEST(same_bits)
{
	struct llama_rig l, other;
	int32_t token[75];
	float *a, *b;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
	llama_open(&other, _i, llama_tiny(), 1, SEED + 1);
	llama_prompt(llama_tiny(), 6, token, 75);
	a = run_part(&l, token, 0, 75, in_order);
	b = run_part(&l, token, 0, 75, elsewhere);
	ck_assert(same(&l, a, b, 75));
	free(b);
	b = run_part(&l, token, 0, 75, in_order);
	ck_assert(same(&l, a, b, 75));
	free(b);
	b = run_part(&other, token, 0, 75, in_order);
	ck_assert(!same(&l, a, b, 1));
	free(a);
	free(b);
	llama_close(&l);
	llama_close(&other);
}
END_TEST

/*
 * Steps queued without waiting give the tokens of steps that were waited for, in blocks where nothing is from
 * before: each has its own lengths, and its logits, until it is done. Tokens of the last two are there.
 */
static void queued_on(int pair, int ranks)
{
	struct llama_rig l;
	struct mc_llama_seq q;
	struct mc_llama_step step = {.seq = &q, .seqs = 1};
	struct mc_llama_result out[5];
	int32_t token[45], want[5];

	llama_open(&l, pair, llama_tiny(), ranks, SEED);
	llama_prompt(llama_tiny(), 7, token, 45);
	for (int round = 0; round < 4; round++) {
		const int32_t *block = round ? elsewhere + 3 * (round - 1) : in_order;

		free(run_part(&l, token, 0, 40, block));
		for (int i = 0; i < 5; i++) {
			q = llama_seq(token, 40 + i, 1, block);
			q.temperature = 2;
			if (round)
				ck_assert_int_eq(mc_llama_step(l.m, &step, &out[i], NULL), 0);
			else
				free(llama_step(&l, &step, &want[i]));
		}
		ck_assert_int_eq(mc_llama_sync(l.m, NULL), 0);
		for (int i = 3; i < 5 && round; i++)
			ck_assert_int_eq(out[i].token[0], want[i]);
	}
	llama_close(&l);
}

START_TEST(queued)
{
	for (int ranks = 1; ranks <= 2 && llama_has_ranks(_i, ranks); ranks++)
		queued_on(_i, ranks);
}
END_TEST

/* A step that was cut into its layers. */
START_TEST(cut_in_layers)
{
	struct llama_rig l;
	struct mc_llama_seq q;
	struct mc_llama_step step = {.seq = &q, .seqs = 1};
	int32_t token[45];
	float *whole, *cut;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
	llama_prompt(llama_tiny(), 7, token, 45);
	whole = run_part(&l, token, 0, 45, in_order);
	q = llama_seq(token, 0, 45, in_order);
	step.from = 0, step.to = 1;
	ck_assert_ptr_null(llama_step(&l, &step, NULL));
	ck_assert_int_eq(q.row, -1);
	step.from = 1, step.to = 2;
	cut = llama_step(&l, &step, NULL);
	ck_assert(same(&l, whole, cut, 45));
	free(whole);
	free(cut);
	llama_close(&l);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("llama");
	TCase *t = tcase_create("llama");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, equals_naive, 0, rig_count());
	tcase_add_loop_test(t, bound_is_tight, 0, rig_count());
	tcase_add_loop_test(t, chunks_equal_whole, 0, rig_count());
	tcase_add_loop_test(t, prefix_equals_recomputing, 0, rig_count());
	tcase_add_loop_test(t, decode_continues_prefill, 0, rig_count());
	tcase_add_loop_test(t, mixed_equals_separate, 0, rig_count());
	tcase_add_loop_test(t, same_bits, 0, rig_count());
	tcase_add_loop_test(t, queued, 0, rig_count());
	tcase_add_loop_test(t, cut_in_layers, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
