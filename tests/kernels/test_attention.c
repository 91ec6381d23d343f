/* Attention of every backend, prefill and decode, against double precision (naive_attention.h). */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "kernels/cuda/splits.h"
#include "tests/kernels/naive_attention.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { PREFILL = 1, DECODE = 2 };

/* One batch through one operator or both, each against the reference: so where both are asked for, a decode
 * is the same as a prefill of one row. */
static void check(struct rig *r, struct rig_random *g, const struct paged_want *w, float scale, int ops)
{
	struct paged_batch b;
	struct naive_attention n;
	float *out;

	paged_batch_init(&b, r, g, w);
	naive_attention_init(&n, &b, scale);
	out = malloc((size_t)b.rows * (size_t)(b.heads * w->head_dim) * sizeof *out + 1);
	if (ops & PREFILL) {
		paged_attention(&b, r, r->be->attention_prefill, scale, out);
		naive_attention_check(&n, out, "prefill");
	}
	if (ops & DECODE) {
		paged_attention(&b, r, r->be->attention_decode, scale, out);
		naive_attention_check(&n, out, "decode");
	}
	free(out);
	naive_attention_fini(&n);
	paged_batch_fini(&b);
}

static float usual_scale(int head_dim)
{
	return 1 / sqrtf((float)head_dim);
}

/* Lengths on both sides of every edge of tiles, blocks and warps' shares, all in one ragged batch. */
START_TEST(decode_lengths)
{
	static const int context[] = {0,   1,   2,   6,   7,   8,   14,  15,  16,  17,  30,  31,  32,  46,
				      47,  48,  62,  63,  64,  65,  78,  79,  80,  95,  96,  126, 127, 128,
				      129, 143, 144, 190, 191, 192, 254, 255, 256, 257, 319, 383, 384};
	struct rig_random g = {3};
	struct rig r;

	rig_open(&r, _i);
	for (int d = 64; d <= 128; d += 64)
		check(&r, &g,
		      &(struct paged_want){.kv_heads = 1,
					   .group = 2,
					   .head_dim = d,
					   .block_tokens = 16,
					   .seqs = COUNT(context),
					   .context = context,
					   .q_scale = 1},
		      usual_scale(d), DECODE);
	rig_close(&r);
}
END_TEST

/* Every group, more than one KV head. */
START_TEST(decode_groups)
{
	static const int context[] = {40, 0, 99};
	struct rig_random g = {4};
	struct rig r;

	rig_open(&r, _i);
	for (int group = 1; group <= 16; group++)
		check(&r, &g,
		      &(struct paged_want){.kv_heads = 1 + group % 2,
					   .group = group,
					   .head_dim = group & 1 ? 128 : 64,
					   .block_tokens = 32,
					   .seqs = COUNT(context),
					   .context = context,
					   .q_scale = 2},
		      usual_scale(64), PREFILL | DECODE);
	rig_close(&r);
}
END_TEST

/* Every kind of block: powers of two, odd multiples of 16, larger than the sequence. */
START_TEST(blocks)
{
	static const int size[] = {16, 48, 64, 112, 256, 496, 512};
	static const int context[] = {150, 5, 531}, fresh[] = {3, 2, 1};
	struct rig_random g = {5};
	struct rig r;

	rig_open(&r, _i);
	for (size_t i = 0; i < COUNT(size); i++) {
		struct paged_want w = {.kv_heads = 2,
				       .group = 1 + (int)i % 2,
				       .head_dim = i & 1 ? 64 : 128,
				       .block_tokens = size[i],
				       .seqs = COUNT(context),
				       .context = context,
				       .q_scale = 1.5f};

		check(&r, &g, &w, usual_scale(w.head_dim), DECODE);
		w.fresh = fresh;
		w.kv_heads = 1;
		check(&r, &g, &w, usual_scale(w.head_dim), PREFILL);
	}
	rig_close(&r);
}
END_TEST

/* Few requests, long enough to be split; short ones beside them, whose later splits are empty. */
START_TEST(decode_long)
{
	static const int one[] = {1999}, few[] = {1200, 3, 1023, 511, 640};
	struct rig_random g = {6};
	struct rig r;

	rig_open(&r, _i);
	for (int d = 64; d <= 128; d += 64) {
		struct paged_want w = {.kv_heads = 1,
				       .group = d == 64 ? 8 : 3,
				       .head_dim = d,
				       .block_tokens = d == 64 ? 48 : 256,
				       .seqs = COUNT(one),
				       .context = one,
				       .q_scale = 1};

		check(&r, &g, &w, usual_scale(d), DECODE);
		w.seqs = COUNT(few);
		w.context = few;
		w.group = 2;
		check(&r, &g, &w, usual_scale(d), DECODE);
	}
	rig_close(&r);
}
END_TEST

/* One request, lengths around the edges that splits of few multiprocessors have. */
START_TEST(decode_splits)
{
	struct rig_random g = {7};
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < 24; i++) {
		int context = 64 * (1 + (int)rig_below(&g, 14)) - 2 + (int)rig_below(&g, 4);

		check(&r, &g,
		      &(struct paged_want){.kv_heads = 1,
					   .group = 1 + i % 2,
					   .head_dim = 64,
					   .block_tokens = 16 * (1 + i % 5),
					   .seqs = 1,
					   .context = &context,
					   .q_scale = 1},
		      usual_scale(64), DECODE);
	}
	rig_close(&r);
}
END_TEST

/* Scores of hundreds: the softmax is nearly one-hot, its maximum moves from tile to tile and split to
 * split. */
START_TEST(large_logits)
{
	static const int context[] = {500, 65, 0}, fresh[] = {1, 40, 17};
	struct rig_random g = {8};
	struct rig r;

	rig_open(&r, _i);
	for (float q = 4; q < 300; q *= 4) {
		struct paged_want w = {.kv_heads = 1,
				       .group = 2,
				       .head_dim = 128,
				       .block_tokens = 64,
				       .seqs = COUNT(context),
				       .context = context,
				       .q_scale = q};

		check(&r, &g, &w, usual_scale(128), DECODE);
		w.fresh = fresh;
		check(&r, &g, &w, usual_scale(128), PREFILL);
	}
	rig_close(&r);
}
END_TEST

/* All scores zero: the mean of V; and a negative scale. */
START_TEST(flat)
{
	static const int context[] = {0, 100, 31}, fresh[] = {20, 1, 33};
	struct rig_random g = {9};
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < 4; i++)
		check(&r, &g,
		      &(struct paged_want){.kv_heads = 1,
					   .group = 4,
					   .head_dim = 64,
					   .block_tokens = 16,
					   .seqs = COUNT(context),
					   .context = context,
					   .fresh = i & 1 ? fresh : NULL,
					   .q_scale = i & 2 ? 0 : 3},
		      i & 2 ? 1 : -usual_scale(64), i & 1 ? PREFILL : DECODE);
	rig_close(&r);
}
END_TEST

/* n tokens with a prefix of 0, 1 .. n - 1 of them: each a sequence of one batch. */
START_TEST(prefill_prefixes)
{
	enum { N = 41 };
	struct rig_random g = {10};
	int context[N], fresh[N];
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < N; i++) {
		context[i] = (i * 7) % N;
		fresh[i] = N - context[i];
	}
	for (int d = 64; d <= 128; d += 64)
		check(&r, &g,
		      &(struct paged_want){.kv_heads = 1,
					   .group = d == 64 ? 3 : 1,
					   .head_dim = d,
					   .block_tokens = 16,
					   .seqs = N,
					   .context = context,
					   .fresh = fresh,
					   .q_scale = 2},
		      usual_scale(d), PREFILL);
	rig_close(&r);
}
END_TEST

/* New tokens and context on both sides of tile edges, in random pairs. */
START_TEST(prefill_edges)
{
	static const int edge[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 127, 128, 129, 130};
	struct rig_random g = {11};
	int context[5], fresh[5];
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < 6; i++) {
		int d = i & 1 ? 128 : 64;

		for (size_t s = 0; s < COUNT(context); s++) {
			context[s] = edge[rig_below(&g, COUNT(edge))] - 1;
			fresh[s] = edge[((size_t)i * 5 + s) % COUNT(edge)];
		}
		check(&r, &g,
		      &(struct paged_want){.kv_heads = 1,
					   .group = 1 + i % 3,
					   .head_dim = d,
					   .block_tokens = 16 << i % 6,
					   .seqs = COUNT(context),
					   .context = context,
					   .fresh = fresh,
					   .q_scale = 1},
		      usual_scale(d), PREFILL);
	}
	rig_close(&r);
}
END_TEST

/* Every group in prefill, and one long chunk after a long prefix. */
START_TEST(prefill_groups)
{
	static const int context[] = {21, 0}, fresh[] = {9, 12}, far[] = {300}, chunk[] = {90};
	struct rig_random g = {12};
	struct rig r;

	rig_open(&r, _i);
	for (int group = 1; group <= 17; group++) {
		bool last = group == 17;
		struct paged_want w = {.kv_heads = last ? 1 : 1 + group % 2,
				       .group = last ? 2 : group,
				       .head_dim = group & 1 ? 64 : 128,
				       .block_tokens = 32,
				       .seqs = last ? 1 : COUNT(context),
				       .context = last ? far : context,
				       .fresh = last ? chunk : fresh,
				       .q_scale = 1};

		check(&r, &g, &w, usual_scale(w.head_dim), PREFILL);
	}
	rig_close(&r);
}
END_TEST

/* The same bytes every time; nothing to do is fine. */
START_TEST(repeats)
{
	static const int context[] = {700, 9};
	struct paged_want w = {.kv_heads = 2,
			       .group = 2,
			       .head_dim = 64,
			       .block_tokens = 64,
			       .seqs = COUNT(context),
			       .context = context,
			       .q_scale = 1};
	struct rig_random g = {13};
	struct paged_batch b;
	struct rig r;
	float out[3][COUNT(context) * 4 * 64];

	rig_open(&r, _i);
	paged_batch_init(&b, &r, &g, &w);
	for (int i = 0; i < 3; i++)
		paged_attention(&b, &r, r.be->attention_decode, 0.125f, out[i]);
	ck_assert_int_eq(memcmp(out[0], out[1], sizeof out[0]), 0);
	ck_assert_int_eq(memcmp(out[0], out[2], sizeof out[0]), 0);
	paged_batch_fini(&b);
	w.seqs = 0;
	check(&r, &g, &w, 1, PREFILL | DECODE);
	rig_close(&r);
}
END_TEST

/*
 * How CUDA's decode cuts contexts: every token in one split, none empty for the longest; enough blocks for
 * the device where there is work for them; scratch that is enough for smaller batches, too.
 */
START_TEST(splits)
{
	static const int units[] = {1, 2, 16, 108, 132},
			 tokens[] = {1, 16, 17, 128, 129, 1000, 2047, 8192, 9000, 33333, 131072};

	for (size_t u = 0; u < COUNT(units); u++)
		for (int kv = 1; kv <= 8; kv++)
			for (int seqs = 1; seqs < 70; seqs += 1 + seqs / 8)
				for (size_t t = 0; t < COUNT(tokens); t++) {
					struct mc_attention a = {
					    .batch = {.seqs = seqs, .max_tokens = tokens[t]},
					    .pages.layout.kv_heads = kv};
					struct mc_splits s = mc_splits_of(&a, units[u]);
					size_t room = mc_splits_room(&a, units[u]);
					int steps = (tokens[t] + 15) / 16;

					bool fine = s.steps % MC_SPLIT_WARPS == 0 &&
						    s.steps * s.count >= steps &&
						    s.steps * (s.count - 1) < steps &&
						    (size_t)s.count * (size_t)seqs <= room;

					if (steps * kv >= 2 * MC_SPLIT_LEAST * MC_SPLIT_BLOCKS * units[u])
						fine &= 2 * s.count * kv * seqs >= MC_SPLIT_BLOCKS * units[u];
					a.batch.seqs += 1 + seqs / 8;
					fine &= mc_splits_room(&a, units[u]) >= room;
					a.batch.seqs = seqs;
					a.batch.max_tokens += 15;
					fine &= mc_splits_room(&a, units[u]) >= room;
					if (!fine)
						ck_abort_msg("%d units, %d KV heads, %d sequences, %d tokens",
							     units[u], kv, seqs, tokens[t]);
				}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("attention");
	TCase *t = tcase_create("attention");
	int n = rig_count();

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, decode_lengths, 0, n);
	tcase_add_loop_test(t, decode_groups, 0, n);
	tcase_add_loop_test(t, blocks, 0, n);
	tcase_add_loop_test(t, decode_long, 0, n);
	tcase_add_loop_test(t, decode_splits, 0, n);
	tcase_add_loop_test(t, large_logits, 0, n);
	tcase_add_loop_test(t, flat, 0, n);
	tcase_add_loop_test(t, prefill_prefixes, 0, n);
	tcase_add_loop_test(t, prefill_edges, 0, n);
	tcase_add_loop_test(t, prefill_groups, 0, n);
	tcase_add_loop_test(t, repeats, 0, n);
	tcase_add_test(t, splits);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
