/*
 * Scatter to and gather from paged KV: exact. After a scatter the whole pool is compared, after a gather the
 * rows and the gaps between them. Where a token lies is worked out here from the drawing of kv_layout.h, by
 * element, not by its functions.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/paged_batch.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* pool [blocks][layers][2][kv_heads][block_tokens][head_dim] */
static size_t at(const struct mc_kv_layout *l, const size_t place[6])
{
	const int extent[] = {0, l->layers, 2, l->kv_heads, l->block_tokens, l->head_dim};
	size_t i = place[0];

	for (int d = 1; d < 6; d++)
		i = i * (size_t)extent[d] + place[d];
	return i;
}

/* Where number i of a row's K or V lies in the pool. */
static size_t place_of(const struct paged_batch *b, int row, int part, int i)
{
	const struct mc_kv_layout *l = &b->pages.layout;
	int t = b->position[row], stride = b->pages.table_stride;
	size_t place[] = {(size_t)b->table[b->row_seq[row] * stride + t / l->block_tokens],
			  (size_t)b->pages.layer,
			  (size_t)part,
			  (size_t)(i / l->head_dim),
			  (size_t)(t % l->block_tokens),
			  (size_t)(i % l->head_dim)};

	return at(l, place);
}

static bool same(float a, float b)
{
	return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void compare(const float *got, const float *want, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (!same(got[i], want[i]))
			ck_abort_msg("%s[%zu] is %g, not %g", what, i, (double)got[i], (double)want[i]);
}

/* Rows of new tokens through the pool of b (whose pages of them are poison) and back; gaps wider than the row
 * on one side and none on the other. */
static void there_and_back(struct paged_batch *b, struct rig *r, struct rig_random *g)
{
	const struct mc_kv_layout *l = &b->pages.layout;
	int width = l->kv_heads * l->head_dim;
	size_t n = (size_t)b->rows * (size_t)width;
	float *k = rig_normals(g, r->dtype, n, 1), *v = rig_normals(g, r->dtype, n, 1);
	float *pool = malloc(b->pool_count * sizeof *pool), *got = malloc(n * sizeof *got + 1);
	size_t rows = (size_t)b->rows, wide = (size_t)(2 * width + 24);
	struct mc_kv_rows in = {.pages = b->pages,
				.batch = b->batch,
				.k = paged_put_rows(r, k, rows, (size_t)width, wide),
				.v = paged_put_rows(r, v, rows, (size_t)width, wide),
				.stride = (int)wide};
	struct mc_kv_rows out = in;

	r->be->kv_scatter(r->s, &in);
	rig_get(r, r->dtype, b->pages.pool, pool, b->pool_count);
	for (int row = 0; row < b->rows; row++)
		for (int i = 0; i < width; i++) {
			b->pool[place_of(b, row, 0, i)] = k[row * width + i];
			b->pool[place_of(b, row, 1, i)] = v[row * width + i];
		}
	compare(pool, b->pool, b->pool_count, "pool");

	out.stride = b->rows % 2 ? width : width + 8;
	out.k = paged_put_rows(r, NULL, rows, (size_t)width, (size_t)out.stride);
	out.v = paged_put_rows(r, NULL, rows, (size_t)width, (size_t)out.stride);
	r->be->kv_gather(r->s, &out);
	paged_get_rows(r, out.k, got, rows, (size_t)width, (size_t)out.stride);
	compare(got, k, n, "k");
	paged_get_rows(r, out.v, got, rows, (size_t)width, (size_t)out.stride);
	compare(got, v, n, "v");
	rig_get(r, r->dtype, b->pages.pool, pool, b->pool_count);
	compare(pool, b->pool, b->pool_count, "pool after gather");
	free(k);
	free(v);
	free(pool);
	free(got);
}

/* The batch of w, in each layer. */
static void run(struct rig *r, struct rig_random *g, struct paged_want w)
{
	w.q_scale = 1;
	w.group = 1;
	w.fresh_absent = true;
	for (int layer = 1; layer >= 0; layer--) {
		struct paged_batch b;

		paged_batch_init(&b, r, g, &w);
		b.pages.layer = layer;
		there_and_back(&b, r, g);
		paged_batch_fini(&b);
	}
}

/* Sizes of blocks, numbers of heads, head sizes, in a ragged batch across block edges. */
START_TEST(layouts)
{
	static const struct {
		int size, heads, head_dim;
	} layout[] = {{16, 1, 64}, {16, 3, 128}, {16, 8, 128},  {32, 2, 64},  {48, 2, 128},
		      {48, 5, 64}, {256, 1, 64}, {256, 2, 128}, {512, 1, 128}};
	struct rig_random g = {31};

	for (size_t i = 0; i < COUNT(layout); i++) {
		int size = layout[i].size;
		const int context[] = {0, size - 1, size, size + 1}, fresh[] = {size + 1, 2, 1, 17};
		struct rig r;

		rig_open(&r, _i);
		run(&r, &g,
		    (struct paged_want){.kv_heads = layout[i].heads,
					.head_dim = layout[i].head_dim,
					.block_tokens = size,
					.seqs = size < 256 ? COUNT(context) : 2, /* memory takes time */
					.context = context,
					.fresh = fresh});
		rig_close(&r);
	}
}
END_TEST

/* A prefix of every length before the last tokens of a sequence. */
START_TEST(prefixes)
{
	enum { TOKENS = 34 };
	struct rig_random g = {32};

	for (int size = 16; size <= 32; size += 16) {
		int context[TOKENS], fresh[TOKENS];
		struct rig r;

		rig_open(&r, _i);

		for (int i = 0; i < TOKENS; i++) {
			context[i] = i;
			fresh[i] = TOKENS - i;
		}
		run(&r, &g,
		    (struct paged_want){.kv_heads = 1,
					.head_dim = 64,
					.block_tokens = size,
					.seqs = TOKENS,
					.context = context,
					.fresh = fresh});
		rig_close(&r);
	}
}
END_TEST

/* Many heads: a row that is wider than a block of threads. */
START_TEST(many_heads)
{
	static const int context[] = {15, 0}, fresh[] = {2, 1};
	struct rig_random g = {33};
	struct rig r;

	rig_open(&r, _i);
	for (int d = 64; d <= 128; d += 64)
		run(&r, &g,
		    (struct paged_want){.kv_heads = 17,
					.head_dim = d,
					.block_tokens = 16,
					.seqs = COUNT(context),
					.context = context,
					.fresh = fresh});
	rig_close(&r);
}
END_TEST

/* No rows: nothing is read or written. */
START_TEST(nothing)
{
	static const int context[] = {5}, fresh[] = {3};
	struct paged_want w = {.kv_heads = 2,
			       .group = 1,
			       .head_dim = 64,
			       .block_tokens = 16,
			       .seqs = 1,
			       .context = context,
			       .fresh = fresh,
			       .q_scale = 1};
	struct rig_random g = {34};
	struct paged_batch b;
	struct rig r;
	float *pool;

	rig_open(&r, _i);
	paged_batch_init(&b, &r, &g, &w);
	b.batch.seqs = b.batch.rows = b.batch.max_rows = b.batch.max_tokens = 0;
	struct mc_kv_rows a = {.pages = b.pages,
			       .batch = b.batch,
			       .k = rig_blank(&r, 16),
			       .v = rig_blank(&r, 16),
			       .stride = 128};

	r.be->kv_scatter(r.s, &a);
	r.be->kv_gather(r.s, &a);
	pool = malloc(b.pool_count * sizeof *pool);
	rig_get(&r, r.dtype, b.pages.pool, pool, b.pool_count);
	compare(pool, b.pool, b.pool_count, "pool");
	free(pool);
	paged_batch_fini(&b);
	rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("kv");
	TCase *t = tcase_create("kv");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, layouts, 0, rig_count());
	tcase_add_loop_test(t, prefixes, 0, rig_count());
	tcase_add_loop_test(t, many_heads, 0, rig_count());
	tcase_add_loop_test(t, nothing, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
