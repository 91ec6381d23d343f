/* Passes beyond the operators that their times come from. */
#include "cluster/metrics.h"
#include "hw/profile.h"
#include "unit.h"

/* Of prompts in chunks of 2,048 and of decode, by hand. */
START_TEST(passes_beyond_are_counted)
{
	static const struct mc_op_range want[] = {
	    {MC_OP_GEMM, MC_DIM_ROWS, 1, 32768, 1},
	    {MC_OP_ATTENTION_PREFILL, MC_DIM_ROWS, 64, 4096, 0},
	    {MC_OP_ATTENTION_PREFILL, MC_DIM_CONTEXT, 0, 4032, 0},
	    {MC_OP_ATTENTION_DECODE, MC_DIM_SEQS, 1, 128, 0},
	    {MC_OP_ATTENTION_DECODE, MC_DIM_CONTEXT, 32, 4032, 0},
	    {MC_OP_ALL_REDUCE, MC_DIM_BYTES, 16384, 67108864, 16384},
	};
	/* Chunks of 2,048: contexts 0, 2048, 4096 | 5000 (1 row: decode) | 4000, 6048 (32 rows) | none. */
	struct mc_row row[] = {{.input = 5000, .counted = true},
			       {.input = 5001, .local_hit = 5000, .counted = true},
			       {.input = 6080, .local_hit = 3000, .remote_hit = 1000, .counted = true},
			       {.input = 9000}};
	/* Contexts of one request, new token included: 30 .. 35 | 4030.5 .. 4034.5 of 2 | 10 of 200. */
	struct mc_segment segment[] = {{.count = 6, .batch = 1, .context = 29},
				       {.count = 5, .batch = 2, .context = 8059},
				       {.count = 1, .batch = 200, .context = 1800}};
	static const int64_t passes[] = {18, 5, 5, 12, 12, 18}, below[] = {0, 1, 0, 0, 3, 0},
			     above[] = {0, 0, 2, 1, 3, 0};
	static const double most[] = {2048, 2048, 6048, 200, 4034.5, 33554432};
	struct mc_segments segments = {.at = segment, .n = 3, .cap = 3};
	struct mc_result r = {.row = row, .n_rows = 4, .segment = &segments, .n_decode = 1};
	struct mc_metrics m = {0};
	struct mc_profile p;
	struct mc_cost c;

	ck_assert_int_eq(mc_profile_load(&p, "a100-x8-vidur", NULL), 0);
	ck_assert_int_eq(mc_cost_init(&c, &p, mc_shape_find("llama3-70b"), NULL, NULL), 0);
	mc_profile_fini(&p);
	ck_assert(c.fit_prefill_max == 4032 + 2048 && c.fit_context_max == 4032 && c.fit_batch_max == 128);
	mc_metrics_ranges(&c, &r, &m);
	ck_assert_int_eq(m.n_ranges, 6);
	for (int i = 0; i < 6; i++) {
		const struct mc_range_count *k = &m.range[i];

		ck_assert_int_eq(k->range.op, want[i].op);
		ck_assert_int_eq(k->range.dim, want[i].dim);
		ck_assert_double_eq(k->range.low, want[i].low);
		ck_assert_double_eq(k->range.high, want[i].high);
		ck_assert_double_eq(k->range.per_row, want[i].per_row);
		ck_assert_int_eq(k->passes, passes[i]);
		ck_assert_int_eq(k->below, below[i]);
		ck_assert_int_eq(k->above, above[i]);
		ck_assert_double_eq(k->most, most[i]);
	}
	mc_cost_fini(&c);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("metrics_range");
	TCase *t = tcase_create("metrics_range");

	suite_add_tcase(s, t);
	tcase_add_test(t, passes_beyond_are_counted);
	return s;
}

UNIT_MAIN
