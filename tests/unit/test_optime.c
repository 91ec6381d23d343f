/* Times of operators that were measured and of those that were not, against the rule by hand. */
#include "operators_made.h"

#include <math.h>

#define near(a, b) ck_assert_double_eq_tol((a) / (b), 1, 1e-9)

static struct mc_op_time time_of(const struct mc_operators *o, struct mc_op_point p)
{
	struct mc_op_time t = {0};
	struct mc_err err = {0};
	char text[1024];

	ck_assert_msg(mc_op_time(o, &p, &t, &err) == 0, "%s", mc_err_format(&err, text, sizeof text));
	ck_assert_double_ge(t.seconds, mc_op_floor_s(&p, &made_limits, 2));
	return t;
}

static void unknown(const struct mc_operators *o, struct mc_op_point p, const char *word)
{
	struct mc_op_time t;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_op_time(o, &p, &t, &err), MC_USAGE);
	ck_assert_msg(strstr(err.text, word) != NULL, "'%s' is not in '%s'", word, err.text);
}

static void add_gemm(json_t *section, int64_t n, int64_t k, double factor)
{
	struct mc_op_point p = gemm_point(1, n, k);

	made_curve(section, &p, factor);
}

/* Weights by the inverse square of the distance, over the four nearest of five. */
START_TEST(gemm_between_neighbours)
{
	static const struct {
		int64_t n, k;
		double factor;
	} at[] = {{8192, 1024, 2}, {4096, 1024, 3}, {4096, 2048, 1.5}, {8192, 4096, 5}, {16384, 4096, 40}};
	json_t *section = made_section();
	struct mc_operators o;
	struct mc_op_time t;
	struct mc_op_point p = gemm_point(300, 5000, 1500);
	double sum = 0, weights = 0;

	for (int i = 4; i >= 0; i--)
		add_gemm(section, at[i].n, at[i].k, at[i].factor);
	made_operators(&o, section);
	for (int i = 0; i < 4; i++) {
		double x = log(5000.0 / (double)at[i].n), y = log(1500.0 / (double)at[i].k);

		sum += log(at[i].factor) / (x * x + y * y);
		weights += 1 / (x * x + y * y);
	}
	t = time_of(&o, p);
	near(t.seconds, made_work(&p) * exp(sum / weights));
	ck_assert(t.how == MC_HOW_INTERPOLATED && t.covered);
	p.dim[MC_DIM_ROWS] = 5000;
	ck_assert(!time_of(&o, p).covered);
	/* One that was measured is not interpolated, however near others are. */
	p = gemm_point(17, 8192, 4096);
	t = time_of(&o, p);
	near(t.seconds, 5 * made_work(&p));
	ck_assert(t.how == MC_HOW_CURVE && t.covered);
	mc_operators_fini(&o);
}
END_TEST

START_TEST(gemm_of_one_neighbour_and_none)
{
	json_t *section = made_section();
	struct mc_operators o;
	struct mc_op_point p = gemm_point(10, 32768, 256);
	struct mc_op_time t;

	add_gemm(section, 8192, 1024, 2);
	made_operators(&o, section);
	t = time_of(&o, p);
	near(t.seconds, 2 * made_work(&p));
	ck_assert_int_eq(t.how, MC_HOW_SCALED);
	unknown(&o, gemm_point(10, 32769, 1024), "gemm of rows 10, n 32769, k 1024");
	unknown(&o, gemm_point(10, 8192, 255), "k 255");
	mc_operators_fini(&o);
}
END_TEST

static struct mc_op_point attention_point(enum mc_op op, int64_t rows, int64_t context, int64_t seqs,
					  int64_t heads)
{
	struct mc_op_point p = {.op = op};

	if (op == MC_OP_ATTENTION_PREFILL)
		p.dim[MC_DIM_ROWS] = rows;
	p.dim[MC_DIM_CONTEXT] = context;
	p.dim[MC_DIM_SEQS] = seqs;
	p.dim[MC_DIM_HEADS] = heads;
	p.dim[MC_DIM_KV_HEADS] = heads / 4;
	p.dim[MC_DIM_HEAD_DIM] = 128;
	return p;
}

START_TEST(attention_of_other_heads)
{
	json_t *section = made_section();
	struct mc_operators o;
	struct mc_op_point near8 = attention_point(MC_OP_ATTENTION_DECODE, 0, 1, 1, 8);
	struct mc_op_point far64 = attention_point(MC_OP_ATTENTION_DECODE, 0, 1, 1, 64);
	struct mc_op_point prefill = attention_point(MC_OP_ATTENTION_PREFILL, 1, 0, 1, 8);
	struct mc_op_point p = attention_point(MC_OP_ATTENTION_DECODE, 0, 1000, 7, 16);
	struct mc_op_time t;

	made_curve(section, &far64, 3);
	made_curve(section, &near8, 2);
	made_curve(section, &prefill, 1.5);
	made_operators(&o, section);
	t = time_of(&o, p);
	near(t.seconds, 2 * made_work(&p));
	ck_assert_int_eq(t.how, MC_HOW_SCALED);
	p.dim[MC_DIM_HEADS] = 8, p.dim[MC_DIM_KV_HEADS] = 2;
	ck_assert_int_eq(time_of(&o, p).how, MC_HOW_CURVE);
	p.dim[MC_DIM_KV_HEADS] = 1; /* another group */
	unknown(&o, p, "attention_decode of context 1000, seqs 7, heads 8, kv_heads 1, head_dim 128");
	p = attention_point(MC_OP_ATTENTION_DECODE, 0, 1000, 7, 1024);
	unknown(&o, p, "heads 1024"); /* more than 8 times 64 */
	/* Three prompts are three times one. */
	p = attention_point(MC_OP_ATTENTION_PREFILL, 100, 900, 3, 16);
	t = time_of(&o, p);
	p.dim[MC_DIM_SEQS] = 1;
	near(t.seconds, 3 * 1.5 * made_work(&p));
	ck_assert_int_eq(t.how, MC_HOW_SCALED);
	mc_operators_fini(&o);
}
END_TEST

START_TEST(operators_that_move_bytes)
{
	json_t *section = made_section();
	struct mc_operators o;
	struct mc_op_point p = norm_point(1, 1024);
	struct mc_op_time t;

	made_curve(section, &p, 4);
	made_operators(&o, section);
	/* Twice the width is twice the rows, but for the weights of the norm. */
	p = norm_point(512, 2048);
	t = time_of(&o, p);
	ck_assert_double_eq_tol(t.seconds, 4 * made_work(&p), 4e-3 * t.seconds);
	ck_assert(t.how == MC_HOW_SCALED && t.covered);
	p = norm_point(4096, 2048);
	ck_assert(!time_of(&o, p).covered);
	/* Narrower ones cost no less than a row. */
	p = norm_point(1, 128);
	ck_assert_double_gt(time_of(&o, p).seconds, 4 * made_work(&p));
	p = norm_point(1, 17 * 1024);
	t = time_of(&o, p);
	near(t.seconds, made_work(&p));
	ck_assert_int_eq(t.how, MC_HOW_COUNTED);
	mc_operators_fini(&o);
}
END_TEST

START_TEST(collectives_are_of_their_ranks)
{
	json_t *section = made_section();
	struct mc_operators o;
	struct mc_op_point p = {MC_OP_ALL_REDUCE, {[MC_DIM_RANKS] = 8, [MC_DIM_BYTES] = 1 << 20}};

	made_curve(section, &p, 1.5);
	made_operators(&o, section);
	near(time_of(&o, p).seconds, 1.5 * made_work(&p));
	p.dim[MC_DIM_RANKS] = 4;
	unknown(&o, p, "all_reduce of ranks 4");
	mc_operators_fini(&o);
}
END_TEST

/* Of two curves that match, the one whose knots hold the point. */
START_TEST(the_curve_that_covers)
{
	json_t *section = made_section(), *curves = json_object_get(section, "curves");
	struct mc_op_point p = norm_point(1, 1024);
	struct mc_operators o;

	made_curve(section, &p, 4);
	json_array_append_new(curves, json_pack("{s:s, s:[{s:s, s:[i, i]}, {s:s, s:[i, i]}], s:[f, f, f, f]}",
						"op", "norm", "axes", "dim", "rows", "at", 4096, 10000, "dim",
						"n", "at", 512, 2048, "seconds", 1e-3, 1e-3, 1e-3, 1e-3));
	made_operators(&o, section);
	ck_assert_double_eq_tol(time_of(&o, norm_point(8000, 1024)).seconds, 1e-3, 1e-12);
	near(time_of(&o, norm_point(100, 1024)).seconds,
	     4 * made_work(&(struct mc_op_point){MC_OP_NORM, {[MC_DIM_ROWS] = 100, [MC_DIM_N] = 1024}}));
	mc_operators_fini(&o);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("optime");
	TCase *t = tcase_create("optime");

	tcase_add_test(t, gemm_between_neighbours);
	tcase_add_test(t, gemm_of_one_neighbour_and_none);
	tcase_add_test(t, attention_of_other_heads);
	tcase_add_test(t, operators_that_move_bytes);
	tcase_add_test(t, collectives_are_of_their_ranks);
	tcase_add_test(t, the_curve_that_covers);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
