/* Counts of operations and bytes against loops that do each operation and mark each byte. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "kernels/work.h"
#include "tests/kernels/rig.h"

enum { CASES = 40 };

/* An array of which each byte is counted once however often it is touched. */
struct area {
	unsigned char *seen;
	size_t size, touched;
};

static struct area area(size_t size)
{
	return (struct area){.seen = calloc(1, size + 1), .size = size};
}

static void touch(struct area *a, size_t at, size_t bytes)
{
	ck_assert(at + bytes <= a->size);
	for (size_t i = at; i < at + bytes; i++)
		if (!a->seen[i]) {
			a->seen[i] = 1;
			a->touched++;
		}
}

/* Bytes touched; the array is gone. */
static double touched(struct area a)
{
	free(a.seen);
	return (double)a.touched;
}

static void is(struct mc_work got, double flops, double bytes)
{
	ck_assert_double_eq(got.flops, flops);
	ck_assert_double_eq(got.bytes, bytes);
}

static int up_to(struct rig_random *g, int n)
{
	return 1 + (int)rig_below(g, (uint32_t)n);
}

static enum mc_dtype any_dtype(struct rig_random *g)
{
	return (enum mc_dtype)rig_below(g, 3);
}

START_TEST(gemm)
{
	struct rig_random g = {1};

	for (int c = 0; c < CASES; c++) {
		struct mc_gemm a = {.m = (int)rig_below(&g, 7), .n = 8 * up_to(&g, 4), .k = 8 * up_to(&g, 4)};
		size_t m = (size_t)a.m, n = (size_t)a.n, k = (size_t)a.k, e, f;
		double flops = 0;

		a.dtype = any_dtype(&g);
		a.out_dtype = rig_below(&g, 2) ? MC_F32 : a.dtype;
		a.accumulate = rig_below(&g, 2);
		e = mc_dtype_bytes(a.dtype);
		f = mc_dtype_bytes(a.out_dtype);
		struct area x = area(m * k * e), w = area(n * k * e), read = area(m * n * f), written = read;

		written.seen = calloc(1, m * n * f + 1);
		for (size_t i = 0; i < m * n * k; i++) {
			size_t row = i / (n * k), col = i / k % n;

			touch(&x, (row * k + i % k) * e, e);
			touch(&w, (col * k + i % k) * e, e);
			flops += 2;
			touch(&written, (row * n + col) * f, f);
			if (a.accumulate)
				touch(&read, (row * n + col) * f, f);
		}
		is(mc_work_gemm(&a), flops, touched(x) + touched(w) + touched(read) + touched(written));
	}
}
END_TEST

START_TEST(norm)
{
	static float one[4];
	struct rig_random g = {2};

	for (int c = 0; c < CASES; c++) {
		struct mc_norm a = {.rows = (int)rig_below(&g, 6), .hidden = 8 * up_to(&g, 5)};
		int form = (int)rig_below(&g, 3);
		size_t n = (size_t)a.rows * (size_t)a.hidden, h = (size_t)a.hidden, e;
		double flops = 0;

		a.dtype = any_dtype(&g);
		a.x = form == 1 ? NULL : one;
		a.residual = form == 0 ? NULL : one;
		e = mc_dtype_bytes(a.dtype);
		struct area x = area(n * e), read = area(n * e), sum = area(n * e), w = area(h * e),
			    y = area(n * e);

		for (size_t i = 0; i < n; i++) {
			if (a.x)
				touch(&x, i * e, e);
			if (a.residual)
				touch(&read, i * e, e);
			if (a.x && a.residual) {
				flops += 1;
				touch(&sum, i * e, e);
			}
			flops += 2; /* its square, added */
			if (i % h == h - 1)
				flops += 4; /* / hidden, + eps, root, 1 / */
			flops += 2;         /* times that, times the weight */
			touch(&w, i % h * e, e);
			touch(&y, i * e, e);
		}
		is(mc_work_norm(&a), flops,
		   touched(x) + touched(read) + touched(sum) + touched(w) + touched(y));
	}
}
END_TEST

START_TEST(rope)
{
	struct rig_random g = {3};

	for (int c = 0; c < CASES; c++) {
		struct mc_rope a = {.rows = (int)rig_below(&g, 9),
				    .heads = up_to(&g, 3),
				    .head_dim = 16 * up_to(&g, 3),
				    .dtype = any_dtype(&g)};
		size_t rows = (size_t)a.rows, heads = (size_t)a.heads, d = (size_t)a.head_dim,
		       e = mc_dtype_bytes(a.dtype), n = rows * heads * d;
		struct area read = area(n * e), written = area(n * e), position = area(rows * 4),
			    turns = area((rows + 3) * d * 4);
		double flops = 0;

		for (size_t r = 0; r < rows; r++) {
			size_t p = (r + 2) % (rows + 3); /* another one for each row */

			touch(&position, 4 * r, 4);
			for (size_t i = 0; i < heads * d / 2; i++) {
				size_t at = (r * heads + i / (d / 2)) * d + i % (d / 2);

				for (size_t half = 0; half < 2; half++) {
					touch(&read, (at + half * d / 2) * e, e);
					touch(&written, (at + half * d / 2) * e, e);
					touch(&turns, (p * d + half * d / 2 + i % (d / 2)) * 4, 4);
					flops += 3; /* two products, one sum */
				}
			}
		}
		is(mc_work_rope(&a), flops,
		   touched(read) + touched(written) + touched(position) + touched(turns));
	}
}
END_TEST

START_TEST(rowwise)
{
	struct rig_random g = {4};

	for (int c = 0; c < CASES; c++) {
		enum mc_dtype t = any_dtype(&g);
		size_t e = mc_dtype_bytes(t), rows = rig_below(&g, 9), n = 8 * (size_t)up_to(&g, 4),
		       table_rows = (size_t)up_to(&g, 12);
		size_t drawn = rows ? rig_below(&g, (uint32_t)rows) : 0;
		struct mc_swiglu s = {.rows = (int)rows, .ffn = (int)n, .dtype = t};
		struct mc_embed m = {
		    .rows = (int)rows, .width = (int)n, .table_rows = (int)table_rows, .dtype = t};
		struct mc_sample l = {.rows = (int)rows, .vocab = (int)n};
		struct area gate_up = area(2 * rows * n * e), y = area(rows * n * e),
			    table = area(table_rows * n * e), logits = area(rows * n * 4);
		double silu = 0, draws = 0;

		for (size_t i = 0; i < rows * n; i++) {
			size_t r = i / n, col = i % n;

			touch(&gate_up, (r * 2 * n + col) * e, e);
			touch(&gate_up, (r * 2 * n + n + col) * e, e);
			touch(&y, i * e, e);
			silu += 5; /* -g, exp, 1 +, g /, * up */
			touch(&table, (r % table_rows * n + col) * e, e);
			touch(&logits, i * 4, 4);
			draws += r < drawn ? 1 + 8 : 1;
		}
		is(mc_work_swiglu(&s), silu, touched(gate_up) + (double)y.touched);
		is(mc_work_embed(&m), 0, touched(table) + touched(y) + 4.0 * (double)rows);
		/* A temperature, a seed and a token for each row. */
		is(mc_work_sample(&l, (int)drawn), draws, touched(logits) + (4 + 8 + 4) * (double)rows);
	}
}
END_TEST

/* A ragged batch on the host, with its pool one tile a block, so that the bytes can be counted. */
struct ragged {
	int32_t row_start[9], context[8];
	struct mc_batch batch;
	struct mc_pages pages;
	struct mc_lengths lengths;
};

static void ragged_make(struct ragged *b, struct rig_random *g, bool decode)
{
	struct mc_kv_layout *l = &b->pages.layout;

	memset(b, 0, sizeof *b);
	*l = (struct mc_kv_layout){1, up_to(g, 3), 16 * up_to(g, 2), 64 * up_to(g, 2), any_dtype(g)};
	b->batch.seqs = (int)rig_below(g, 5);
	for (int s = 0; s < b->batch.seqs; s++) {
		b->context[s] = (int)rig_below(g, 70);
		b->row_start[s + 1] = b->row_start[s] + (decode ? 1 : up_to(g, 20));
	}
	b->batch.rows = b->row_start[b->batch.seqs];
	b->lengths = (struct mc_lengths){b->row_start, b->context};
}

/* Every multiply-add of every query with every key and value, every byte of the pages that it sees. */
static void attention_case(struct rig_random *g, bool decode)
{
	struct ragged b;

	ragged_make(&b, g, decode);
	struct mc_attention a = {.pages = b.pages, .batch = b.batch};
	size_t kv = (size_t)b.pages.layout.kv_heads, d = (size_t)b.pages.layout.head_dim,
	       bt = (size_t)b.pages.layout.block_tokens, e = mc_dtype_bytes(b.pages.layout.dtype), group;
	double flops = 0, bytes = 0;

	a.heads = b.pages.layout.kv_heads * up_to(g, 4);
	group = (size_t)a.heads / kv;
	for (int s = 0; s < a.batch.seqs; s++) {
		struct area k = area(150 * kv * d * e), v = area(150 * kv * d * e), table = area(150 * 4);

		for (int r = b.row_start[s]; r < b.row_start[s + 1]; r++)
			for (size_t h = 0; h < (size_t)a.heads; h++) {
				bytes += 2 * (double)(d * e); /* q read, out written */
				for (size_t t = 0; t <= (size_t)(b.context[s] + r - b.row_start[s]); t++) {
					touch(&table, t / bt * 4, 4);
					touch(&k, (t * kv + h / group) * d * e, d * e);
					touch(&v, (t * kv + h / group) * d * e, d * e);
					flops += 2 * (double)d + 2 * (double)d;
				}
			}
		bytes += touched(k) + touched(v) + touched(table) + 4 + 4; /* its start and context */
	}
	is(mc_work_attention(&a, &b.lengths), flops, bytes);
}

START_TEST(attention)
{
	struct rig_random g = {5};

	for (int c = 0; c < CASES / 4; c++) {
		attention_case(&g, false);
		attention_case(&g, true);
	}
}
END_TEST

START_TEST(kv_rows)
{
	struct rig_random g = {6};

	for (int c = 0; c < CASES; c++) {
		struct ragged b;
		double bytes = 0;

		ragged_make(&b, &g, c % 2);
		struct mc_kv_rows a = {.pages = b.pages, .batch = b.batch};
		size_t row = (size_t)b.pages.layout.kv_heads * (size_t)b.pages.layout.head_dim *
			     mc_dtype_bytes(b.pages.layout.dtype);

		for (int s = 0; s < a.batch.seqs; s++) {
			struct area table = area(150 * 4);

			for (int r = b.row_start[s]; r < b.row_start[s + 1]; r++) {
				int t = b.context[s] + r - b.row_start[s];

				touch(&table, (size_t)(t / b.pages.layout.block_tokens) * 4, 4);
				/* K and V, read and written; the row's sequence and position. */
				bytes += 2 * 2 * (double)row + 4 + 4;
			}
			bytes += touched(table);
		}
		is(mc_work_kv_rows(&a, &b.lengths), 0, bytes);
	}
}
END_TEST

/* A ring in two turns, each rank sending a part at each of 2 (ranks - 1) steps. */
START_TEST(moves)
{
	struct mc_copy c = {.bytes = 100, .rows = 7, .to_pitch = 128, .from_pitch = 256};

	is(mc_work_copy(&c), 0, 1400);
	for (int ranks = 1; ranks <= 8; ranks++) {
		struct mc_all_reduce a = {.count = 8 * 840, .dtype = MC_BF16};
		double sums = 0, sent = 0, bytes = 0;

		for (int rank = 0; rank < ranks; rank++)
			for (size_t i = 0; i < a.count; i++) {
				bytes += 2 + 2;
				sums += rank > 0;
			}
		for (int step = 0; step < 2 * (ranks - 1); step++)
			sent += 2.0 * (double)(a.count / (size_t)ranks);
		is(mc_work_all_reduce(&a, ranks), sums, bytes);
		ck_assert_double_eq(mc_work_all_reduce_link(&a, ranks), sent);
	}
}
END_TEST

static struct mc_work matrix(int n, int k, double times)
{
	struct mc_gemm a = {.m = 1, .n = n, .k = k, .dtype = MC_BF16, .out_dtype = MC_BF16};
	struct mc_work w = mc_work_gemm(&a);

	return (struct mc_work){times * w.flops, times * w.bytes};
}

/*
 * LLaMA-3-70B has 70,553,706,496 parameters as its checkpoint lists them; all but the embedding table (1 in
 * 128,256 rows is read) and the norms are in a matrix product, once a token: 2 x 69.5e9 operations.
 */
START_TEST(published)
{
	double params = 70553706496.0, embedding = 128256.0 * 8192, norms = (80 * 2 + 1) * 8192.0;
	struct mc_work w = {0, 0};

	w = mc_work_sum(w, matrix((64 + 2 * 8) * 128, 8192, 80));
	w = mc_work_sum(w, matrix(8192, 64 * 128, 80));
	w = mc_work_sum(w, matrix(2 * 28672, 8192, 80));
	w = mc_work_sum(w, matrix(8192, 28672, 80));
	w = mc_work_sum(w, matrix(128256, 8192, 1));
	ck_assert_double_eq(w.flops, 2 * (params - embedding - norms));
	/* 16-bit weights, read once; vectors are little beside them. */
	ck_assert(fabs(w.bytes / w.flops - 1) < 1e-3);
}
END_TEST

START_TEST(floors)
{
	struct mc_limits l = {100e9, 30e9}, none = {0, 0}, unknown = {0, 30e9};
	struct mc_work much = {1e12, 3e9}, far = {1e9, 3e9};

	ck_assert_double_eq_tol(mc_work_floor(&much, &l), 10, 1e-12);
	ck_assert(!mc_work_memory_bound(&much, &l));
	ck_assert_double_eq_tol(mc_work_floor(&far, &l), 0.1, 1e-12);
	ck_assert(mc_work_memory_bound(&far, &l));
	ck_assert_double_eq_tol(mc_work_floor(&much, &unknown), 0.1, 1e-12);
	ck_assert_double_eq(mc_work_floor(&much, &none), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("work");
	TCase *t = tcase_create("work");

	tcase_add_test(t, gemm);
	tcase_add_test(t, norm);
	tcase_add_test(t, rope);
	tcase_add_test(t, rowwise);
	tcase_add_test(t, attention);
	tcase_add_test(t, kv_rows);
	tcase_add_test(t, moves);
	tcase_add_test(t, published);
	tcase_add_test(t, floors);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
