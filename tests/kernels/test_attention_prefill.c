/* What prefill attention needs beside the edges of test_attention.c: random shapes, pools larger than 32 bits
 * reach, any scale, and rows that don't depend on what is computed beside them. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/naive_attention.h"

static size_t width_of(const struct paged_batch *b)
{
	return (size_t)(b->heads * b->want.head_dim);
}

static void against_double(struct rig *r, struct paged_batch *b, float scale, const char *what)
{
	float *out = malloc((size_t)b->rows * width_of(b) * sizeof *out + 1);
	struct naive_attention n;

	naive_attention_init(&n, b, scale);
	paged_attention(b, r, r->be->attention_prefill, scale, out);
	naive_attention_check(&n, out, what);
	naive_attention_fini(&n);
	free(out);
}

/* All that may vary, at once: each shape is another pattern of tiles, blocks, steps and rows left over. */
START_TEST(random_shapes)
{
	struct rig_random g = {23};
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < 9; i++) {
		int context[3], fresh[3];
		struct paged_want w = {.kv_heads = 1 + (int)rig_below(&g, 2),
				       .group = 1 + (int)rig_below(&g, i % 4 ? 4 : 16),
				       .head_dim = rig_below(&g, 2) ? 128 : 64,
				       .block_tokens = 16 * (1 + (int)rig_below(&g, i % 3 ? 8 : 32)),
				       .seqs = 1 + (int)rig_below(&g, 3),
				       .context = context,
				       .fresh = fresh,
				       .q_scale = 0.5f + (float)rig_below(&g, 5)};
		struct paged_batch b;

		for (int s = 0; s < 3; s++) {
			context[s] = (int)rig_below(&g, s ? 40 : 200);
			fresh[s] = 1 + (int)rig_below(&g, 60);
		}
		paged_batch_init(&b, &r, &g, &w);
		against_double(&r, &b, 0.1f, "random shape");
		paged_batch_fini(&b);
	}
	rig_close(&r);
}
END_TEST

/* Numbers of blocks so high that bytes, and even numbers, from the start of the pool don't fit 32 bits. The
 * pool begins that far before the memory that it has. */
START_TEST(far_blocks)
{
	static const int context[] = {70, 0}, fresh[] = {9, 33}, one[] = {1, 1};
	struct rig_random g = {24};
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < 2; i++) {
		struct paged_want w = {.kv_heads = 2,
				       .group = 2,
				       .head_dim = 64,
				       .block_tokens = 16,
				       .seqs = 2,
				       .context = context,
				       .fresh = i ? one : fresh,
				       .q_scale = 1};
		struct paged_batch b;
		size_t entries, block;
		int32_t far;

		paged_batch_init(&b, &r, &g, &w);
		entries = (size_t)(w.seqs * b.pages.table_stride);
		block = mc_kv_block_bytes(&b.pages.layout);
		far = (int32_t)((UINT64_C(9) << 30) / block);
		for (size_t e = 0; e < entries; e++)
			b.table[e] += b.table[e] < b.pages.blocks ? far : 0;
		b.pages.table = rig_put_bytes(&r, b.table, entries * sizeof *b.table);
		b.pages.blocks += far;
		b.pages.pool = (void *)((uintptr_t)b.pages.pool - (size_t)far * block);
		against_double(&r, &b, 0.125f, "far blocks");
		if (i) {
			float *x = malloc((size_t)b.rows * width_of(&b) * sizeof *x);
			struct naive_attention n;

			naive_attention_init(&n, &b, 0.125f);
			paged_attention(&b, &r, r.be->attention_decode, 0.125f, x);
			naive_attention_check(&n, x, "far blocks, decode");
			naive_attention_fini(&n);
			free(x);
		}
		paged_batch_fini(&b);
	}
	rig_close(&r);
}
END_TEST

/* Scales of 0 (the mean of V), below it, and so large that all but one token vanish. */
START_TEST(scales)
{
	static const float scale[] = {0, -0.0f, -0.2f, 5, -40};
	static const int context[] = {61, 3}, fresh[] = {8, 66};
	struct rig_random g = {25};
	struct paged_batch b;
	struct rig r;

	rig_open(&r, _i);
	for (size_t i = 0; i < sizeof scale / sizeof *scale; i++) {
		paged_batch_init(&b, &r, &g,
				 &(struct paged_want){.kv_heads = 1,
						      .group = 1 + (int)i,
						      .head_dim = i & 1 ? 64 : 128,
						      .block_tokens = 48,
						      .seqs = 2,
						      .context = context,
						      .fresh = fresh,
						      .q_scale = 1});
		against_double(&r, &b, scale[i], "scale");
		paged_batch_fini(&b);
	}
	rig_close(&r);
}
END_TEST

/* Rows from..to - 1 of a batch of one sequence, as a chunk of their own after what came before. */
static void chunk(struct rig *r, const struct paged_batch *b, const void *q, int from, int to, float *out)
{
	const int32_t start[2] = {0, to - from}, context = b->context[0] + from;
	size_t width = width_of(b), rows = (size_t)(to - from), bytes;
	struct mc_attention a = {.pages = b->pages,
				 .batch = b->batch,
				 .heads = b->heads,
				 .q_stride = (int)width,
				 .out_stride = (int)width,
				 .scale = 0.1f};

	a.q = (const char *)q + (size_t)from * width * mc_dtype_bytes(r->dtype);
	a.batch.rows = a.batch.max_rows = to - from;
	a.batch.max_tokens = context + to - from;
	a.batch.row_start = rig_put_bytes(r, start, sizeof start);
	a.batch.context = rig_put_bytes(r, &context, sizeof context);
	a.batch.row_seq += from;
	a.batch.position += from;
	a.out = paged_put_rows(r, NULL, rows, width, width);
	bytes = r->be->attention_scratch(r->dev, &a);
	a.scratch = bytes ? rig_blank(r, bytes) : NULL;
	r->be->attention_prefill(r->s, &a);
	paged_get_rows(r, a.out, out + (size_t)from * width, rows, width, width);
}

/*
 * A prompt in chunks, and in other ones: each row within the bounds, whatever is beside it. On CUDA, where
 * tiles of tokens begin at the start of the sequence always, even the same bytes, as long as nothing is
 * split: a prefix taken from the cache gives what computing it again would.
 */
START_TEST(chunks)
{
	static const int cuts[][5] = {{0, 83}, {0, 1, 83}, {0, 64, 83}, {0, 17, 50, 82, 83}};
	static const int context = 30, fresh = 83;
	struct rig_random g = {26};
	float *out[2];
	struct paged_batch b;
	struct naive_attention n;
	struct rig r;
	size_t count;
	void *q;

	rig_open(&r, _i);
	paged_batch_init(&b, &r, &g,
			 &(struct paged_want){.kv_heads = 1,
					      .group = 3,
					      .head_dim = 64,
					      .block_tokens = 32,
					      .seqs = 1,
					      .context = &context,
					      .fresh = &fresh,
					      .q_scale = 2});
	count = (size_t)b.rows * width_of(&b);
	out[0] = malloc(count * sizeof(float));
	out[1] = malloc(count * sizeof(float));
	q = paged_put_rows(&r, b.q, (size_t)b.rows, width_of(&b), width_of(&b));
	naive_attention_init(&n, &b, 0.1f);
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		for (int c = 0; cuts[i][c] < fresh; c++)
			chunk(&r, &b, q, cuts[i][c], cuts[i][c + 1], out[i > 0]);
		naive_attention_check(&n, out[i > 0], "chunks");
		if (!strcmp(r.be->name, "cuda"))
			ck_assert_int_eq(memcmp(out[0], out[i > 0], count * sizeof(float)), 0);
	}
	naive_attention_fini(&n);
	free(out[0]);
	free(out[1]);
	paged_batch_fini(&b);
	rig_close(&r);
}
END_TEST

/* Few rows after many tokens, which CUDA cuts into splits: rows on both sides of a split's edge, sequences
 * with fewer splits than the longest, and with one. */
START_TEST(long_prefix)
{
	static const int context[] = {1640, 540, 1149, 0, 574}, fresh[] = {70, 70, 6, 1, 2};
	struct rig_random g = {27};
	struct paged_batch b;
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < 2; i++) {
		paged_batch_init(&b, &r, &g,
				 &(struct paged_want){.kv_heads = 1 + i,
						      .group = 2 - i,
						      .head_dim = i ? 128 : 64,
						      .block_tokens = 80,
						      .seqs = i ? 1 : 5,
						      .context = context,
						      .fresh = fresh,
						      .q_scale = 3});
		against_double(&r, &b, 0.125f, "long prefix");
		paged_batch_fini(&b);
	}
	rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("attention_prefill");
	TCase *t = tcase_create("attention_prefill");
	int n = rig_count();

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, random_shapes, 0, n);
	tcase_add_loop_test(t, far_blocks, 0, n);
	tcase_add_loop_test(t, scales, 0, n);
	tcase_add_loop_test(t, chunks, 0, n);
	tcase_add_loop_test(t, long_prefix, 0, n);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
