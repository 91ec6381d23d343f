/* The "operators" section of profiles: what is read, what is refused and where. */
#include "profile_text.h"

#include "hw/profile.h"

#define HEAD "\"device\": \"d\", \"dtype\": \"bf16\", \"date\": \"2025-01-01\", \"source\": \"s\""
#define GEMM                                                                                                 \
	"{\"op\": \"gemm\", \"fixed\": {\"n\": 8192, \"k\": 1024}, \"axes\": [{\"dim\": \"rows\", \"at\": "  \
	"[1, 1024]}], \"seconds\": [2e-5, 1e-4], \"error\": {\"points\": 30, \"median\": 0.01, \"p95\": "    \
	"0.04, "                                                                                             \
	"\"worst\": 0.1, \"worst_at\": \"rows 96\"}}"
#define NORM                                                                                                 \
	"{\"op\": \"norm\", \"fixed\": {\"n\": 8192}, \"axes\": [{\"dim\": \"rows\", \"at\": [1, 64]}], "    \
	"\"seconds\": [3e-6, 4e-6]}"

/* The A800 profile with an operators section of that text; the caller frees it. */
static char *with_operators(const char *section)
{
	char *to = malloc(strlen(section) + 64), *text;

	sprintf(to, "\"operators\": %s, \"analytic\": {", section);
	text = doctored(source_text("calib/profiles/a800-x8-analytic.json"), "\"analytic\": {", to);
	free(to);
	return text;
}

START_TEST(a_section_is_read)
{
	char *text = with_operators("{" HEAD ", \"curves\": [" GEMM ", " NORM "]}");
	struct mc_profile p;
	struct mc_err err = {0};
	struct mc_op_point at = {MC_OP_GEMM, {[MC_DIM_ROWS] = 1024, [MC_DIM_N] = 8192, [MC_DIM_K] = 1024}};
	struct mc_operators_summary s;

	ck_assert_int_eq(mc_profile_load_text(&p, text, "p.json", &err), 0);
	ck_assert_uint_eq(p.operators.n, 2);
	ck_assert_str_eq(p.operators.device, "d");
	ck_assert_str_eq(p.operators.software, "");
	ck_assert_str_eq(p.operators.date, "2025-01-01");
	ck_assert_double_eq(p.operators.element_bytes, 2);
	ck_assert_double_eq(p.operators.limits.flops, 312e12);
	ck_assert(mc_curve_matches(&p.operators.curve[0], &at));
	ck_assert_double_eq_tol(mc_curve_s(&p.operators.curve[0], &at), 1e-4, 1e-12);
	mc_operators_summary(&p.operators, MC_OP_GEMM, &s);
	ck_assert_uint_eq(s.curves, 1);
	ck_assert_int_eq(s.points, 30);
	ck_assert_double_eq(s.worst, 0.1);
	ck_assert(s.low[MC_DIM_ROWS] == 1 && s.high[MC_DIM_ROWS] == 1024 && s.low[MC_DIM_N] == 8192);
	mc_operators_summary(&p.operators, MC_OP_ROPE, &s);
	ck_assert_uint_eq(s.curves, 0);
	mc_profile_fini(&p);
	free(text);
}
END_TEST

/* Errors of several curves: by points, the worst of all. */
START_TEST(a_summary_weighs_by_points)
{
	char *text = with_operators(
	    "{" HEAD ", \"curves\": [" GEMM ", "
	    "{\"op\": \"gemm\", \"fixed\": {\"n\": 4096, \"k\": 64}, \"axes\": [{\"dim\": \"rows\", \"at\": "
	    "[16, "
	    "64]}], \"seconds\": [2e-5, 1e-4], \"error\": {\"points\": 10, \"median\": 0.03, \"p95\": 0.08, "
	    "\"worst\": 0.09}}]}");
	struct mc_operators_summary s;
	struct mc_profile p;

	ck_assert_int_eq(mc_profile_load_text(&p, text, "p.json", NULL), 0);
	mc_operators_summary(&p.operators, MC_OP_GEMM, &s);
	ck_assert_int_eq(s.points, 40);
	ck_assert_double_eq_tol(s.median, 0.015, 1e-12);
	ck_assert_double_eq_tol(s.p95, 0.05, 1e-12);
	ck_assert_double_eq(s.worst, 0.1);
	ck_assert(s.low[MC_DIM_K] == 64 && s.high[MC_DIM_K] == 1024 && s.low[MC_DIM_ROWS] == 1);
	mc_profile_fini(&p);
	free(text);
}
END_TEST

#define GAP(constant, share, more)                                                                           \
	"{\"model\": \"m\", \"tensor_parallel\": 1, \"shape\": {\"layers\": 4, \"hidden\": 256, \"heads\": " \
	"4, "                                                                                                \
	"\"kv_heads\": 2, \"head_dim\": 64, \"ffn\": 704, \"vocab\": 2048}, \"step\": {\"decode\": "         \
	"{\"constant_s\": " constant ", \"row_s\": 0, \"share\": " share ", \"rows_max\": 32}, "             \
	"\"sum_error\": {\"points\": 9, \"median\": 0.1, \"p95\": 0.2, \"worst\": 0.3, \"worst_at\": "       \
	"\"x\"}, "                                                                                           \
	"\"error\": {\"points\": 9, \"median\": 0.01, \"p95\": 0.02, \"worst\": 0.03}" more "}}"
#define GAPS(list) "{" HEAD ", \"curves\": [" NORM "], \"gaps\": " list "}"

START_TEST(gaps_are_read)
{
	char *text = with_operators(GAPS("[" GAP("-1e-5", "-0.5", "") "]"));
	const struct mc_gaps *g;
	struct mc_profile p;
	struct mc_err err = {0};

	ck_assert_msg(!mc_profile_load_text(&p, text, "p.json", &err), "%s: %s", err.key, err.text);
	ck_assert_uint_eq(p.operators.n_gaps, 1);
	g = p.operators.gaps;
	ck_assert_str_eq(g->model, "m");
	ck_assert(g->tensor_parallel == 1 && g->shape[MC_GAP_LAYERS] == 4 && g->shape[MC_GAP_VOCAB] == 2048);
	ck_assert(g->layer.error.points == 0 && g->layer.gap[MC_DECODE].rows_max == 0);
	ck_assert(g->step.gap[MC_PREFILL].rows_max == 0 && g->step.gap[MC_DECODE].rows_max == 32);
	ck_assert_double_eq(g->step.gap[MC_DECODE].constant_s, -1e-5);
	ck_assert_double_eq(g->step.sum_error.p95, 0.2);
	ck_assert_double_eq(g->step.error.worst, 0.03);
	ck_assert_double_eq_tol(mc_gap_s(&g->step.gap[MC_DECODE], 7, 1e-4), -6e-5, 1e-12);
	mc_profile_fini(&p);
	free(text);
}
END_TEST

#define LEFT(op, what)                                                                                       \
	"{\"op\": \"" op "\", \"left_out\": \"" what                                                         \
	"\", \"error\": {\"points\": 100, \"median\": 0.05, \"p95\": 0.2, \"worst\": 0.4, \"worst_at\": "    \
	"\"n 1\"}}"
#define HELD(list) "{" HEAD ", \"curves\": [" GEMM "], \"held_out\": " list "}"

START_TEST(held_out_errors_are_read)
{
	char *text = with_operators(HELD("[" LEFT("gemm", "shape") ", " LEFT("gemm", "point") "]"));
	struct mc_operators_summary s;
	struct mc_profile p;

	ck_assert_int_eq(mc_profile_load_text(&p, text, "p.json", NULL), 0);
	ck_assert_double_eq(p.operators.held_out[MC_OP_GEMM][MC_LEFT_SHAPE].p95, 0.2);
	ck_assert_str_eq(p.operators.held_out[MC_OP_GEMM][MC_LEFT_SHAPE].worst_at, "n 1");
	ck_assert_int_eq(p.operators.held_out[MC_OP_GEMM][MC_LEFT_SECOND].points, 0);
	/* Of all points together, rather than of the curves' own. */
	mc_operators_summary(&p.operators, MC_OP_GEMM, &s);
	ck_assert(s.points == 100 && s.median == 0.05 && s.p95 == 0.2 && s.worst == 0.4);
	mc_profile_fini(&p);
	free(text);
}
END_TEST

static const struct {
	const char *section, *key;
} bad_cases[] = {
    {HELD("3"), "operators.held_out"},
    {HELD("[" LEFT("gemm", "shape") ", " LEFT("gem", "shape") "]"), "operators.held_out[1]"},
    {HELD("[" LEFT("gemm", "shapes") "]"), "operators.held_out[0]"},
    {HELD("[{\"op\": \"gemm\", \"left_out\": \"shape\"}]"), "operators.held_out[0]"},
    {HELD("[{\"op\": \"gemm\", \"left_out\": \"shape\", \"error\": {\"points\": -1}}]"),
     "operators.held_out[0].error"},
    {GAPS("[]"), "operators.gaps"},
    {GAPS("[3]"), "operators.gaps[0].model"},
    {GAPS("[{\"model\": \"m\", \"tensor_parallel\": 0}]"), "operators.gaps[0].tensor_parallel"},
    {GAPS("[{\"model\": \"m\", \"tensor_parallel\": 1, \"shape\": {\"layers\": 1}}]"),
     "operators.gaps[0].shape.hidden"},
    {GAPS("[" GAP("\"no\"", "0", "") "]"), "operators.gaps[0].step.decode.constant_s"},
    {GAPS("[" GAP("0", "-1", "") "]"), "operators.gaps[0].step.decode.share"},
    {GAPS("[" GAP("0", "0", ", \"more\": 1") "]"), "operators.gaps[0].step"},
    {GAPS("[" GAP("0", "0", "") ", " GAP("0", "1e9", "") "]"), "operators.gaps[1].step.decode.share"},
    {"\"none\"", "operators"},
    {"{}", "operators.device"},
    {"{" HEAD "}", "operators.curves"},
    {"{" HEAD ", \"curves\": {}}", "operators.curves"},
    {"{" HEAD ", \"curves\": []}", "operators.curves"},
    {"{" HEAD ", \"curves\": [" NORM "], \"curve\": 1}", "operators"},
    {"{" HEAD ", \"software\": 3, \"curves\": [" NORM "]}", "operators.software"},
    {"{\"device\": \"\", \"dtype\": \"bf16\", \"date\": \"x\", \"source\": \"s\", \"curves\": [" NORM "]}",
     "operators.device"},
    {"{\"device\": \"d\", \"dtype\": \"f8\", \"date\": \"x\", \"source\": \"s\", \"curves\": [" NORM "]}",
     "operators.dtype"},
    {"{\"device\": \"d\", \"dtype\": \"f32\", \"date\": \"x\", \"curves\": [" NORM "]}", "operators.source"},
    {"{" HEAD ", \"curves\": [" NORM ", 3]}", "operators.curves[1]"},
    {"{" HEAD ", \"curves\": [" NORM ", " GEMM ", " NORM "]}", "operators.curves[2]"},
    {"{" HEAD ", \"curves\": [{\"op\": \"norm\", \"fixed\": {\"n\": 8192}, \"axes\": [{\"dim\": \"rows\", "
     "\"at\": [1]}], \"seconds\": [0]}]}",
     "operators.curves[0].seconds"},
    /* 8,192 x 8,192 x 8,192 in a microsecond. */
    {"{" HEAD ", \"curves\": [{\"op\": \"gemm\", \"fixed\": {\"n\": 8192, \"k\": 8192}, \"axes\": [{\"dim\": "
     "\"rows\", \"at\": [8192]}], \"seconds\": [1e-6]}]}",
     "operators.curves[0].seconds"},
};

START_TEST(bad_sections_name_file_and_key)
{
	char *text = with_operators(bad_cases[_i].section);
	struct mc_profile p;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_profile_load_text(&p, text, "p.json", &err), MC_USAGE);
	ck_assert_str_eq(err.file, "p.json");
	ck_assert_str_eq(err.key, bad_cases[_i].key);
	ck_assert_int_ne(mc_profile_load_text(&p, text, "p.json", NULL), 0);
	free(text);
}
END_TEST

/* The link's rate bounds collectives, where it is given. */
START_TEST(the_link_is_a_bound)
{
	static const char section[] =
	    "{" HEAD
	    ", \"curves\": [{\"op\": \"all_reduce\", \"fixed\": {\"ranks\": 8}, \"axes\": [{\"dim\": "
	    "\"bytes\", \"at\": [1000000]}], \"seconds\": [5e-6]}]}";
	char *text = with_operators(section);
	struct mc_profile p;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_profile_load_text(&p, text, "p.json", NULL), 0);
	ck_assert_double_eq(p.operators.limits.link_bytes_per_s, 0);
	mc_profile_fini(&p);
	text = doctored(text, "\"gpus\": 8,", "\"gpus\": 8, \"link_bandwidth\": \"200GB/s\",");
	ck_assert_int_eq(mc_profile_load_text(&p, text, "p.json", &err), MC_USAGE);
	ck_assert_str_eq(err.key, "operators.curves[0].seconds");
	free(text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("operators");
	TCase *t = tcase_create("operators");

	tcase_add_test(t, a_section_is_read);
	tcase_add_test(t, a_summary_weighs_by_points);
	tcase_add_test(t, gaps_are_read);
	tcase_add_test(t, held_out_errors_are_read);
	tcase_add_loop_test(t, bad_sections_name_file_and_key, 0,
			    (int)(sizeof bad_cases / sizeof *bad_cases));
	tcase_add_test(t, the_link_is_a_bound);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
