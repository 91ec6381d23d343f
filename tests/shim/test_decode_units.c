/*
 * Decode attention on devices of other sizes than the shim's: how contexts are cut depends on the number of
 * multiprocessors, so splits from the shortest there are to whole sequences.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "kernels/cuda/host.h"
#include "kernels/cuda/splits.h"
#include "tests/kernels/naive_attention.h"

/* A device of that many multiprocessors decodes within the bounds; the longest sequence has `splits` splits
 * (0: any number). */
static void check(struct rig *r, struct rig_random *g, const struct paged_want *w, int units, int splits)
{
	int before = r->dev->units;
	struct paged_batch b;
	struct naive_attention n;
	float *out;

	paged_batch_init(&b, r, g, w);
	naive_attention_init(&n, &b, 0.125f);
	out = malloc((size_t)b.rows * (size_t)(b.heads * w->head_dim) * sizeof *out);
	if (splits)
		ck_assert_int_eq(
		    mc_splits_of(&(struct mc_attention){.pages = b.pages, .batch = b.batch}, units).count,
		    splits);
	r->dev->units = units;
	paged_attention(&b, r, r->be->attention_decode, 0.125f, out);
	r->dev->units = before;
	naive_attention_check(&n, out, "decode");
	free(out);
	naive_attention_fini(&n);
	paged_batch_fini(&b);
}

/* One split of so many steps that a warp looks up blocks more than once. */
START_TEST(long_split)
{
	static const int context[] = {2299};
	struct rig_random g = {31};
	struct rig r;

	rig_open(&r, _i);
	check(&r, &g,
	      &(struct paged_want){.kv_heads = 4,
				   .group = 1,
				   .head_dim = 64,
				   .block_tokens = 16,
				   .seqs = 1,
				   .context = context,
				   .q_scale = 1},
	      1, 1);
	rig_close(&r);
}
END_TEST

/* The same batch in 2 to 9 splits, the last of 12 tokens, and no more however large the device is. */
START_TEST(many_splits)
{
	static const int context[] = {1035, 16, 519, 127, 128};
	static const int units[] = {1, 3, 5, 9, 16, 1000, 1 << 20}, splits[] = {2, 3, 4, 6, 9, 9, 9};
	struct rig_random g = {32};
	struct rig r;

	rig_open(&r, _i);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		check(&r, &g,
		      &(struct paged_want){.kv_heads = 1,
					   .group = 1 + (int)i * 2,
					   .head_dim = i & 1 ? 64 : 128,
					   .block_tokens = 48,
					   .seqs = i ? 5 : 2,
					   .context = context,
					   .q_scale = 1},
		      units[i], splits[i]);
	rig_close(&r);
}
END_TEST

START_TEST(random_units)
{
	struct rig_random g = {33};
	struct rig r;

	rig_open(&r, _i);
	for (int i = 0; i < 16; i++) {
		int context[3];

		for (int s = 0; s < 3; s++)
			context[s] = (int)rig_below(&g, s ? 200 : 900);
		check(&r, &g,
		      &(struct paged_want){.kv_heads = 1 + (int)rig_below(&g, 2),
					   .group = 1 + (int)rig_below(&g, i % 4 ? 4 : 16),
					   .head_dim = rig_below(&g, 2) ? 128 : 64,
					   .block_tokens = 16 * (1 + (int)rig_below(&g, 32)),
					   .seqs = 1 + (int)rig_below(&g, 3),
					   .context = context,
					   .q_scale = 1},
		      1 + (int)rig_below(&g, 12), 0);
	}
	rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("decode on any device");
	TCase *t = tcase_create("decode on any device");
	int n = rig_count();

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, long_split, 0, n);
	tcase_add_loop_test(t, many_splits, 0, n);
	tcase_add_loop_test(t, random_units, 0, n);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
