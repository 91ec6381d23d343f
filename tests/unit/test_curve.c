/* Curves of operators against their definition in hw/curve.h, evaluated one axis after another. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "hw/curve.h"
#include "unit.h"

#define CLOSE(a, b) ck_assert_double_le(fabs((a) - (b)), 1e-9 * fabs(b))

static const struct mc_op_limits a100 = {312e12, 2e12, 300e9, 25e9, 5e9, 3e9, 0};
static const struct mc_op_limits unknown;
static uint64_t state;

static int64_t draw(int64_t from, int64_t to)
{
	state = mc_hash_u64(state);
	return from + (int64_t)(state % (uint64_t)(to - from + 1));
}

static int load(struct mc_curve *c, const json_t *o, const struct mc_op_limits *l, struct mc_err *err)
{
	memset(err, 0, sizeof *err);
	return mc_curve_load(c, o, l, 2, err);
}

static json_t *parse(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(o);
	return o;
}

static void load_text(struct mc_curve *c, const char *text, const struct mc_op_limits *l)
{
	json_t *o = parse(text);
	struct mc_err err;

	ck_assert_msg(!load(c, o, l, &err), "%s: %s", err.key, err.text);
	json_decref(o);
}

/* A curve as lists, and its definition. */
struct naive {
	struct mc_op_point fixed;
	int axes;
	enum mc_dim dim[3];
	int n[3];
	int64_t at[3][6];
	double seconds[216];
	bool over_work;
	const struct mc_op_limits *limits;
};

static double scale(enum mc_dim d, int64_t x)
{
	return log((double)(d == MC_DIM_CONTEXT ? x + 1 : x));
}

/* Of the knots that `corner` holds so far, the axes from a on still open: log of the time, or of time over
 * work. */
static double definition(const struct naive *v, const struct mc_op_point *p, int a, struct mc_op_point corner,
			 int index)
{
	int64_t x, from, to;
	double y0, y1;
	int i = 0;

	if (a == v->axes)
		return log(v->seconds[index]) - (v->over_work ? log(mc_op_work_s(&corner, v->limits, 2)) : 0);
	x = p->dim[v->dim[a]];
	while (i + 1 < v->n[a] - 1 && v->at[a][i + 1] <= x)
		i++;
	from = corner.dim[v->dim[a]] = v->at[a][i];
	y0 = definition(v, p, a + 1, corner, index * v->n[a] + i);
	if (v->n[a] == 1)
		return y0;
	to = corner.dim[v->dim[a]] = v->at[a][i + 1];
	y1 = definition(v, p, a + 1, corner, index * v->n[a] + i + 1);
	return y0 + (y1 - y0) * (scale(v->dim[a], x) - scale(v->dim[a], from)) /
			(scale(v->dim[a], to) - scale(v->dim[a], from));
}

static double naive_s(const struct naive *v, const struct mc_op_point *p)
{
	struct mc_op_point in = *p, out = *p;
	double s;

	for (int a = 0; a < v->axes; a++) {
		int64_t first = v->at[a][0], last = v->at[a][v->n[a] - 1], *x = &in.dim[v->dim[a]];

		if (*x < first)
			*x = out.dim[v->dim[a]] = first;
		if (*x > last)
			*x = last;
	}
	s = exp(definition(v, &in, 0, v->fixed, 0));
	if (v->over_work)
		s *= mc_op_work_s(&in, v->limits, 2);
	if (mc_op_work_s(&in, v->limits, 2) > 0)
		s *= mc_op_work_s(&out, v->limits, 2) / mc_op_work_s(&in, v->limits, 2);
	return fmax(s, mc_op_floor_s(p, v->limits, 2));
}

static json_t *naive_json(const struct naive *v)
{
	json_t *o = json_pack("{s:s, s:{}, s:[], s:[], s:s}", "op", mc_op_names[v->fixed.op], "fixed", "axes",
			      "seconds", "between", v->over_work ? "work" : "seconds");
	int total = 1;

	for (int d = 0; d < MC_DIMS; d++)
		if (v->fixed.dim[d])
			json_object_set_new(json_object_get(o, "fixed"), mc_dim_names[d],
					    json_integer(v->fixed.dim[d]));
	for (int a = 0; a < v->axes; a++) {
		json_t *at = json_array();

		for (int i = 0; i < v->n[a]; i++)
			json_array_append_new(at, json_integer(v->at[a][i]));
		json_array_append_new(json_object_get(o, "axes"),
				      json_pack("{s:s, s:o}", "dim", mc_dim_names[v->dim[a]], "at", at));
		total *= v->n[a];
	}
	for (int i = 0; i < total; i++)
		json_array_append_new(json_object_get(o, "seconds"), json_real(v->seconds[i]));
	return o;
}

/* Operators with the axes that curves of them have, and the largest work that leaves times above the floor.
 */
static const struct shape {
	enum mc_op op;
	int axes;
	enum mc_dim dim[3];
} shapes[] = {
    {MC_OP_GEMM, 1, {MC_DIM_ROWS}},
    {MC_OP_GEMM, 3, {MC_DIM_K, MC_DIM_ROWS, MC_DIM_N}},
    {MC_OP_ATTENTION_PREFILL, 2, {MC_DIM_ROWS, MC_DIM_CONTEXT}},
    {MC_OP_ATTENTION_PREFILL, 3, {MC_DIM_SEQS, MC_DIM_ROWS, MC_DIM_CONTEXT}},
    {MC_OP_ATTENTION_DECODE, 2, {MC_DIM_CONTEXT, MC_DIM_SEQS}},
    {MC_OP_ALL_REDUCE, 1, {MC_DIM_BYTES}},
    {MC_OP_DISK_READ, 2, {MC_DIM_BYTES, MC_DIM_DEPTH}},
    {MC_OP_HOST_STEP, 1, {MC_DIM_SEQS}},
    {MC_OP_STEP, 3, {MC_DIM_ROWS, MC_DIM_CONTEXT, MC_DIM_SEQS}},
};

static void draw_curve(struct naive *v, bool rising)
{
	const struct shape *s = &shapes[draw(0, sizeof shapes / sizeof *shapes - 1)];
	int total = 1;

	memset(v, 0, sizeof *v);
	v->limits = draw(0, 1) ? &a100 : &unknown;
	v->fixed.op = s->op;
	for (int d = 0; d < MC_DIMS; d++)
		if (mc_op_dims[s->op] >> d & 1)
			v->fixed.dim[d] = draw(2, 64);
	v->axes = s->axes;
	for (int a = 0; a < s->axes; a++) {
		int64_t x = s->dim[a] == MC_DIM_CONTEXT ? draw(0, 3) : draw(1, 9);

		v->dim[a] = s->dim[a];
		v->fixed.dim[s->dim[a]] = 0;
		v->n[a] = (int)draw(1, 6);
		for (int i = 0; i < v->n[a]; i++, x += draw(1, 40))
			v->at[a][i] = x;
		total *= v->n[a];
	}
	v->over_work = !rising && s->op != MC_OP_HOST_STEP && s->op != MC_OP_STEP && draw(0, 1);
	for (int i = 0; i < total; i++) {
		v->seconds[i] = (double)draw(1, 1000) * 1e-3;
		/* At least what every lesser knot takes: the sum of the indices grows along each axis. */
		for (int a = v->axes - 1, rest = i, sum = 0; rising && a >= 0; rest /= v->n[a--]) {
			sum += rest % v->n[a];
			if (a == 0)
				v->seconds[i] = sum + v->seconds[i];
		}
	}
}

static void draw_point(const struct naive *v, struct mc_op_point *p)
{
	*p = v->fixed;
	for (int a = 0; a < v->axes; a++) {
		int64_t *x = &p->dim[v->dim[a]];

		if (draw(0, 2))
			*x = draw(v->dim[a] != MC_DIM_CONTEXT, v->at[a][v->n[a] - 1] + 30);
		else
			*x = v->at[a][draw(0, v->n[a] - 1)];
	}
}

START_TEST(curve_is_its_definition)
{
	for (state = 1; state < 400;) {
		uint64_t seed = state;
		struct mc_curve c;
		struct mc_err err;
		struct naive v;
		json_t *o;

		draw_curve(&v, false);
		o = naive_json(&v);
		ck_assert_msg(!load(&c, o, v.limits, &err), "%s: %s", err.key, err.text);
		for (int i = 0; i < 20; i++) {
			struct mc_op_point p;
			bool inside = true;

			draw_point(&v, &p);
			for (int a = 0; a < v.axes; a++)
				inside &=
				    p.dim[v.dim[a]] >= v.at[a][0] && p.dim[v.dim[a]] <= v.at[a][v.n[a] - 1];
			ck_assert(mc_curve_matches(&c, &p));
			ck_assert_int_eq(mc_curve_covers(&c, &p), inside);
			CLOSE(mc_curve_s(&c, &p), naive_s(&v, &p));
		}
		mc_curve_fini(&c);
		json_decref(o);
		state = seed + 1;
	}
}
END_TEST

START_TEST(curve_exact_at_knots)
{
	for (state = 1; state < 200;) {
		uint64_t seed = state;
		struct mc_curve c;
		struct mc_err err;
		struct naive v;
		json_t *o;
		int total = 1;

		draw_curve(&v, false);
		o = naive_json(&v);
		ck_assert(!load(&c, o, v.limits, &err));
		for (int a = 0; a < v.axes; a++)
			total *= v.n[a];
		for (int i = 0; i < total; i++) {
			struct mc_op_point p = v.fixed;

			for (int a = v.axes - 1, rest = i; a >= 0; rest /= v.n[a--])
				p.dim[v.dim[a]] = v.at[a][rest % v.n[a]];
			CLOSE(mc_curve_s(&c, &p), v.seconds[i]);
		}
		mc_curve_fini(&c);
		json_decref(o);
		state = seed + 1;
	}
}
END_TEST

START_TEST(curve_rises_where_its_knots_do)
{
	for (state = 1; state < 200;) {
		uint64_t seed = state;
		struct mc_curve c;
		struct mc_err err;
		struct naive v;
		json_t *o;

		draw_curve(&v, true);
		o = naive_json(&v);
		ck_assert(!load(&c, o, v.limits, &err));
		for (int i = 0; i < 20; i++) {
			struct mc_op_point p;
			int a = (int)draw(0, v.axes - 1);
			double before;

			draw_point(&v, &p);
			/* Beyond one axis the growth of work may fall along another: more context, less
			 * growth with rows. */
			for (int b = 0; b < v.axes; b++)
				if (b != a && p.dim[v.dim[b]] > v.at[b][v.n[b] - 1])
					p.dim[v.dim[b]] = v.at[b][v.n[b] - 1];
			before = mc_curve_s(&c, &p);
			p.dim[v.dim[a]] += draw(1, 50);
			ck_assert_double_ge(mc_curve_s(&c, &p), before * (1 - 1e-12));
		}
		mc_curve_fini(&c);
		json_decref(o);
		state = seed + 1;
	}
}
END_TEST

static double at_rows(const struct mc_curve *c, int64_t rows)
{
	struct mc_op_point p = c->fixed;

	p.dim[MC_DIM_ROWS] = rows;
	return mc_curve_s(c, &p);
}

/* Numbers by hand: 2 rows n k operations over 1e15/s and rows n + rows k + n k values of 2 bytes over 1e12/s.
 */
START_TEST(curve_beyond_its_knots)
{
	struct mc_curve c;

	load_text(&c,
		  "{\"op\": \"gemm\", \"fixed\": {\"n\": 1000, \"k\": 1000}, \"axes\": [{\"dim\": \"rows\", "
		  "\"at\": [4, 16]}], \"seconds\": [1e-5, 4e-5]}",
		  &unknown);
	CLOSE(at_rows(&c, 1), 1e-5);
	CLOSE(at_rows(&c, 8), 2e-5);
	CLOSE(at_rows(&c, 1000), 4e-5 * (2e-6 + 6e-6) / (3.2e-8 + 2.064e-6));
	mc_curve_fini(&c);
}
END_TEST

START_TEST(curve_never_below_the_floor)
{
	struct mc_op_limits l = {.flops = 1e12};
	struct mc_curve c;

	/* 2e6 rows operations: 2e-6 s a row. The first knot's time stops being enough after 5 rows. */
	load_text(&c,
		  "{\"op\": \"gemm\", \"fixed\": {\"n\": 1000, \"k\": 1000}, \"axes\": [{\"dim\": \"rows\", "
		  "\"at\": [1, 1000]}], \"seconds\": [1e-5, 2e-3]}",
		  &l);
	CLOSE(at_rows(&c, 1), 1e-5);
	CLOSE(at_rows(&c, 100), 1e-5 * pow(200, 2. / 3));
	CLOSE(at_rows(&c, 1000), 2e-3);
	CLOSE(at_rows(&c, 999), fmax(1e-5 * pow(200, log(999) / log(1000)), 2e-6 * 999));
	mc_curve_fini(&c);
}
END_TEST

START_TEST(curve_matches_its_own_points)
{
	struct mc_op_point p = {.op = MC_OP_GEMM};
	struct mc_curve c;

	load_text(
	    &c,
	    "{\"op\": \"gemm\", \"fixed\": {\"n\": 10, \"k\": 20}, \"axes\": [{\"dim\": \"rows\", \"at\": "
	    "[4]}], \"seconds\": [1], \"error\": {\"points\": 3, \"median\": 0.1, \"p95\": 0.2, \"worst\": "
	    "0.3, \"worst_at\": \"rows 4\"}, \"source\": \"here\"}",
	    &unknown);
	ck_assert_int_eq(c.error.points, 3);
	ck_assert_double_eq(c.error.p95, 0.2);
	ck_assert_str_eq(c.error.worst_at, "rows 4");
	ck_assert_str_eq(c.source, "here");
	p.dim[MC_DIM_ROWS] = 4;
	p.dim[MC_DIM_N] = 10;
	p.dim[MC_DIM_K] = 20;
	ck_assert(mc_curve_matches(&c, &p));
	p.dim[MC_DIM_K] = 21;
	ck_assert(!mc_curve_matches(&c, &p));
	p.dim[MC_DIM_K] = 20;
	p.op = MC_OP_NORM;
	ck_assert(!mc_curve_matches(&c, &p));
	mc_curve_fini(&c);
}
END_TEST

#define CURVE(op, fixed, axes, seconds, more)                                                                \
	"{\"op\": \"" op "\", \"fixed\": {" fixed "}, \"axes\": [" axes "], \"seconds\": [" seconds "]" more \
	"}"
#define NK      "\"n\": 10, \"k\": 20"
#define ROWS(x) "{\"dim\": \"rows\", \"at\": [" x "]}"

static const struct {
	const char *text, *key;
} mistakes[] = {
    {"[]", ""},
    {CURVE("gemm", NK, ROWS("4"), "1", ", \"sauce\": \"x\""), ""},
    {CURVE("gem", NK, ROWS("4"), "1", ""), "op"},
    {CURVE("gemm", "\"n\": 10", ROWS("4"), "1", ""), "k"},
    {CURVE("gemm", NK ", \"bytes\": 3", ROWS("4"), "1", ""), "bytes"},
    {CURVE("gemm", NK ", \"width\": 3", ROWS("4"), "1", ""), "width"},
    {CURVE("gemm", "\"n\": 10, \"k\": 0", ROWS("4"), "1", ""), "k"},
    {CURVE("gemm", "\"n\": 10, \"k\": 2.5", ROWS("4"), "1", ""), "k"},
    {CURVE("gemm", NK, "", "1", ""), "axes"},
    {CURVE("gemm", NK, "{\"dim\": \"rows\"}", "1", ""), "axes"},
    {CURVE("gemm", NK, "{\"dim\": \"n\", \"at\": [1]}", "1", ""), "axes"},
    {CURVE("gemm", NK, "{\"dim\": \"bytes\", \"at\": [1]}", "1", ""), "axes"},
    {CURVE("gemm", NK, ROWS("1") ", " ROWS("1"), "1", ""), "axes"},
    {CURVE("gemm", NK, ROWS(""), "", ""), "at"},
    {CURVE("gemm", NK, ROWS("0"), "1", ""), "at"},
    {CURVE("gemm", NK, ROWS("4, 4"), "1, 1", ""), "at"},
    {CURVE("gemm", NK, ROWS("4, 5.5"), "1, 1", ""), "at"},
    {CURVE("gemm", NK, ROWS("4"), "1, 2", ""), "seconds"},
    {CURVE("gemm", NK, ROWS("4"), "0", ""), "seconds"},
    {CURVE("gemm", NK, ROWS("4"), "\"1\"", ""), "seconds"},
    {CURVE("gemm", NK, ROWS("4"), "1e7", ""), "seconds"},
    {CURVE("gemm", NK, ROWS("1000"), "1e-12", ""), "seconds"}, /* faster than the hardware */
    {CURVE("gemm", NK, ROWS("4"), "1", ", \"between\": \"knots\""), "between"},
    {CURVE("host_step", "", "{\"dim\": \"seqs\", \"at\": [1]}", "1", ", \"between\": \"work\""), "between"},
    {CURVE("gemm", NK, ROWS("4"), "1", ", \"error\": 0.1"), "error"},
    {CURVE("gemm", NK, ROWS("4"), "1", ", \"error\": {\"points\": 1, \"median\": 0.2, \"p95\": 0.1}"),
     "error"},
};

START_TEST(curve_refuses)
{
	json_t *o = parse(mistakes[_i].text);
	struct mc_curve c;
	struct mc_err err;

	ck_assert_int_eq(load(&c, o, &a100, &err), MC_USAGE);
	ck_assert_str_eq(err.key, mistakes[_i].key);
	ck_assert_str_ne(err.text, "");
	json_decref(o);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("curve");
	TCase *t = tcase_create("all");

	tcase_add_test(t, curve_is_its_definition);
	tcase_add_test(t, curve_exact_at_knots);
	tcase_add_test(t, curve_rises_where_its_knots_do);
	tcase_add_test(t, curve_beyond_its_knots);
	tcase_add_test(t, curve_never_below_the_floor);
	tcase_add_test(t, curve_matches_its_own_points);
	tcase_add_loop_test(t, curve_refuses, 0, sizeof mistakes / sizeof *mistakes);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
