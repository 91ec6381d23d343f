/* Sums over operators against a sum of our own, and against the operation counts of the shape. */
#include "operators_made.h"

#include "model/compose.h"

/* Factor of an operator over its work: any, from 1 to 3, by its dimensions that are no axes. */
static double factor_of(const struct mc_op_point *p)
{
	uint64_t h = 1469598103934665603u + (uint64_t)p->op;

	for (int d = 0; d < MC_DIMS; d++)
		if (!(made_axes(p->op) >> d & 1))
			h = (h ^ (uint64_t)p->dim[d]) * 1099511628211u;
	return 1 + (double)(h >> 40) / (double)(1 << 23);
}

struct world {
	struct mc_shape s;
	int64_t t;
	json_t *section; /* not yet loaded */
	struct mc_operators o;
	struct mc_compose c;
};

static uint64_t state;

static int64_t pick(int64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(state >> 33) % n;
}

/* An operator of the model's: its curve is made, unless it is there. */
static void want(struct world *w, enum mc_op op, const int64_t dims[MC_DIMS])
{
	struct mc_op_point p = {.op = op};
	json_t *curves = json_object_get(w->section, "curves"), *last;

	memcpy(p.dim, dims, sizeof p.dim);
	made_curve(w->section, &p, factor_of(&p));
	last = json_array_get(curves, json_array_size(curves) - 1);
	for (size_t i = 0; i + 1 < json_array_size(curves); i++)
		if (json_equal(json_array_get(curves, i), last)) {
			json_array_remove(curves, json_array_size(curves) - 1);
			return;
		}
}

#define WANT(op, ...) want(w, op, (const int64_t[MC_DIMS]){__VA_ARGS__})
#define ROWS          [MC_DIM_ROWS] = 1
#define N(x)          [MC_DIM_N] = (x)
#define K(x)          [MC_DIM_K] = (x)
#define HEADS(h, kv)  [MC_DIM_HEADS] = (h), [MC_DIM_KV_HEADS] = (kv), [MC_DIM_HEAD_DIM] = w->s.head_dim

static void random_world(struct world *w)
{
	int64_t t = (int64_t)1 << pick(4), kv_heads = (int64_t)1 << pick(4), group = (int64_t)1 << pick(3);
	int64_t heads = kv_heads * group < t ? t : kv_heads * group, h, kv, d = 64 << pick(2);

	*w = (struct world){.t = t, .section = made_section()};
	w->s = (struct mc_shape){.name = "made",
				 .layers = 1 + pick(5),
				 .hidden = 256 * (1 + pick(16)),
				 .heads = heads,
				 .kv_heads = kv_heads,
				 .head_dim = d,
				 .ffn = 8 * (100 + pick(1000)),
				 .vocab = 1000 + pick(9000),
				 .weight_bytes_per_param = 2,
				 .kv_bytes_per_value = 2};
	h = heads / t;
	kv = kv_heads > t ? kv_heads / t : 1;
	WANT(MC_OP_EMBED, ROWS, N(w->s.hidden));
	WANT(MC_OP_NORM, ROWS, N(w->s.hidden));
	WANT(MC_OP_GEMM, ROWS, N((h + 2 * kv) * d), K(w->s.hidden));
	WANT(MC_OP_ROPE, ROWS, HEADS(h, kv));
	WANT(MC_OP_KV_SCATTER, ROWS, HEADS(0, kv));
	WANT(MC_OP_ATTENTION_PREFILL, ROWS, [MC_DIM_SEQS] = 1, HEADS(h, kv));
	WANT(MC_OP_ATTENTION_DECODE, HEADS(h, kv));
	WANT(MC_OP_GEMM, ROWS, N(w->s.hidden), K(h * d));
	WANT(MC_OP_GEMM, ROWS, N(2 * w->s.ffn / t), K(w->s.hidden));
	WANT(MC_OP_SWIGLU, ROWS, N(w->s.ffn / t));
	WANT(MC_OP_GEMM, ROWS, N(w->s.hidden), K(w->s.ffn / t));
	WANT(MC_OP_GEMM, ROWS, N((w->s.vocab + t - 1) / t), K(w->s.hidden));
	WANT(MC_OP_SAMPLE, ROWS, N(w->s.vocab));
	if (t > 1)
		WANT(MC_OP_ALL_REDUCE, [MC_DIM_RANKS] = t);
}

static void ready(struct world *w)
{
	made_operators(&w->o, w->section);
	ck_assert_int_eq(mc_compose_init(&w->c, &w->o, &w->s, w->t, NULL), 0);
}

/* factor x work of one operator. */
static double cost(enum mc_op op, const int64_t dims[MC_DIMS])
{
	struct mc_op_point p = {.op = op};

	memcpy(p.dim, dims, sizeof p.dim);
	return factor_of(&p) * made_work(&p);
}
#define COST(op, ...) cost(op, (const int64_t[MC_DIMS]){__VA_ARGS__})
#define R(x)          [MC_DIM_ROWS] = (x)

/* One iteration, layer by layer. */
static double naive(const struct world *w, int64_t rows, int64_t context, int64_t seqs, bool sampled)
{
	const struct mc_shape *s = &w->s;
	int64_t r = rows * seqs, h = s->heads / w->t, kv = s->kv_heads > w->t ? s->kv_heads / w->t : 1;
	int64_t d = s->head_dim, ffn = s->ffn / w->t;
	double sum = COST(MC_OP_EMBED, R(r), N(s->hidden));

	for (int64_t layer = 0; layer < s->layers; layer++) {
		for (int twice = 0; twice < 2; twice++) {
			sum += COST(MC_OP_NORM, R(r), N(s->hidden));
			if (w->t > 1)
				sum += COST(MC_OP_ALL_REDUCE, [MC_DIM_RANKS] = w->t,
					    [MC_DIM_BYTES] = 2 * r * s->hidden);
		}
		sum += COST(MC_OP_GEMM, R(r), N((h + 2 * kv) * d), K(s->hidden));
		sum += COST(MC_OP_ROPE, R(r), HEADS(h, kv));
		sum += COST(MC_OP_KV_SCATTER, R(r), HEADS(0, kv));
		if (rows == 1)
			sum +=
			    COST(MC_OP_ATTENTION_DECODE, [MC_DIM_CONTEXT] = context + 1, [MC_DIM_SEQS] = seqs,
				 HEADS(h, kv));
		else
			sum += (double)seqs * COST(MC_OP_ATTENTION_PREFILL,
						   R(rows), [MC_DIM_CONTEXT] = context, [MC_DIM_SEQS] = 1,
						   HEADS(h, kv));
		sum += COST(MC_OP_GEMM, R(r), N(s->hidden), K(h * d));
		sum += COST(MC_OP_GEMM, R(r), N(2 * ffn), K(s->hidden));
		sum += COST(MC_OP_SWIGLU, R(r), N(ffn));
		sum += COST(MC_OP_GEMM, R(r), N(s->hidden), K(ffn));
	}
	if (sampled) {
		sum += COST(MC_OP_NORM, R(seqs), N(s->hidden));
		sum += COST(MC_OP_GEMM, R(seqs), N((s->vocab + w->t - 1) / w->t), K(s->hidden));
		sum += COST(MC_OP_SAMPLE, R(seqs), N(s->vocab));
	}
	return sum;
}

START_TEST(sums_of_random_shapes)
{
	struct world w;

	state = (uint64_t)_i;
	random_world(&w);
	ready(&w);
	for (int i = 0; i < 20; i++) {
		int64_t cached = pick(2) * pick(3000), tokens = cached + 1 + pick(3000),
			chunk = pick(2) * (1 + pick(900));
		struct mc_prompts p = {tokens, cached, chunk, 1 + pick(3)};
		int64_t step = chunk ? chunk : tokens - cached, n = 0;
		struct mc_parts sum;
		double want_s = 0;

		for (int64_t at = cached; at < tokens; at += step, n++) {
			int64_t rows = tokens - at < step ? tokens - at : step;

			want_s += naive(&w, rows, at, p.seqs, at + rows == tokens);
		}
		ck_assert_int_eq(mc_compose_prefill(&w.c, &p, &sum, NULL), 0);
		ck_assert_double_eq_tol(sum.seconds / want_s, 1, 1e-9);
		ck_assert_int_eq(sum.iterations, n);
		ck_assert_double_eq_tol((sum.kind_s[0] + sum.kind_s[1] + sum.kind_s[2]) / want_s, 1, 1e-9);
		memset(&sum, 0, sizeof sum);
		ck_assert_int_eq(
		    mc_compose_add(&w.c, &(struct mc_iteration){1, cached, p.seqs, p.seqs}, &sum, NULL), 0);
		ck_assert_double_eq_tol(sum.seconds / naive(&w, 1, cached, p.seqs, true), 1, 1e-9);
	}
	mc_operators_fini(&w.o);
}
END_TEST

static double flops_of(const struct mc_parts *sum, enum mc_op op)
{
	double flops = 0;

	for (int i = 0; i < sum->n; i++)
		if (sum->part[i].point.op == op && strcmp(sum->part[i].name, "logits"))
			flops += (double)sum->part[i].calls * mc_op_flops(&sum->part[i].point);
	return flops;
}

/* GPUs share the operations of the shape, which model/shape.h counts in its own way. */
START_TEST(operations_are_those_of_the_shape)
{
	struct world w;
	struct mc_parts sum = {0};
	double dense, attention;

	state = (uint64_t)_i;
	do
		random_world(&w);
	while (w.t > w.s.kv_heads && (json_decref(w.section), true));
	ready(&w);
	ck_assert_int_eq(mc_compose_add(&w.c, &(struct mc_iteration){100, 500, 2, 0}, &sum, NULL), 0);
	dense = 200 * mc_shape_dense_flops_per_token(&w.s);
	attention = 2 * mc_shape_attention_flops(&w.s, 600, 500);
	ck_assert_double_eq_tol((double)w.t * flops_of(&sum, MC_OP_GEMM) / dense, 1, 1e-12);
	ck_assert_double_eq_tol((double)w.t * flops_of(&sum, MC_OP_ATTENTION_PREFILL) / attention, 1, 1e-12);
	mc_operators_fini(&w.o);
}
END_TEST

START_TEST(more_takes_longer)
{
	struct world w;
	double last = 0;

	state = (uint64_t)_i;
	random_world(&w);
	ready(&w);
	for (int i = 1; i < 30; i++) {
		struct mc_prompts p = {100 * i, 50, 0, 1};
		struct mc_parts sum;

		ck_assert_int_eq(mc_compose_prefill(&w.c, &p, &sum, NULL), 0);
		ck_assert_double_gt(sum.seconds, last);
		last = sum.seconds;
	}
	for (int dim = 0; dim < 2; dim++)
		for (int i = last = 0; i < 30; i++) {
			struct mc_iteration one = {1, dim ? 100 : 100 * i, dim ? 1 + 3 * i : 4, 1};
			struct mc_parts sum = {0};

			ck_assert_int_eq(mc_compose_add(&w.c, &one, &sum, NULL), 0);
			ck_assert_double_gt(sum.seconds, last);
			last = sum.seconds;
		}
	mc_operators_fini(&w.o);
}
END_TEST

/* What is beyond the knots (4,096 rows) is counted; the host is added where there is a curve of it. */
START_TEST(range_and_host)
{
	struct world w;
	struct mc_parts without = {0}, with = {0};
	struct mc_op_point host = {MC_OP_HOST_STEP, {[MC_DIM_SEQS] = 1}};
	const json_t *o;

	state = 5;
	random_world(&w);
	o = json_copy(w.section);
	ready(&w);
	ck_assert_int_eq(mc_compose_add(&w.c, &(struct mc_iteration){4096, 0, 1, 1}, &without, NULL), 0);
	for (int i = 0; i < without.n; i++)
		ck_assert_int_eq(without.part[i].outside, 0);
	ck_assert_int_eq(mc_compose_add(&w.c, &(struct mc_iteration){4097, 0, 1, 1}, &without, NULL), 0);
	ck_assert_str_eq(without.part[2].name, "qkv");
	ck_assert_int_eq(without.part[2].outside, w.s.layers);
	ck_assert_int_eq(without.part[2].calls, 2 * w.s.layers);
	ck_assert_double_eq(without.kind_s[MC_PART_HOST], 0);
	mc_operators_fini(&w.o);
	w.section = (json_t *)(uintptr_t)o;
	json_array_append_new(json_object_get(w.section, "curves"),
			      json_pack("{s:s, s:[{s:s, s:[i]}], s:[f]}", "op", mc_op_names[host.op], "axes",
					"dim", "seqs", "at", 1, "seconds", 0.25));
	ready(&w);
	ck_assert_int_eq(mc_compose_add(&w.c, &(struct mc_iteration){4096, 0, 1, 1}, &with, NULL), 0);
	ck_assert_double_eq_tol(with.kind_s[MC_PART_HOST], 0.25, 1e-12);
	mc_operators_fini(&w.o);
}
END_TEST

static void refused(struct mc_shape s, const struct mc_operators *o, int64_t t, const char *word)
{
	struct mc_err err = {0};
	struct mc_compose c;

	ck_assert_int_eq(mc_compose_init(&c, o, &s, t, &err), MC_USAGE);
	ck_assert_msg(strstr(err.text, word) != NULL, "'%s' is not in '%s'", word, err.text);
}

START_TEST(what_is_refused)
{
	const struct mc_shape *s = mc_shape_find("llama3-70b");
	struct mc_shape other = *s;
	struct mc_operators o = {.dtype = (char[]){"bf16"}, .element_bytes = 2, .limits = made_limits};
	struct mc_parts sum = {0};
	struct mc_compose c;
	struct mc_err err = {0};

	refused(*mc_shape_find("deepseek-v3"), &o, 8, "experts");
	refused(*s, &o, 3, "3 GPUs");
	refused(*s, &o, 128, "128 GPUs");
	other.kv_bytes_per_value = 1;
	refused(other, &o, 8, "bf16");
	other.kv_bytes_per_value = 2;
	other.weight_bytes_per_param = 1;
	refused(other, &o, 8, "bf16");
	/* Only 8 KV heads: each of two GPUs holds one. */
	ck_assert_int_eq(mc_compose_init(&c, &o, s, 16, NULL), 0);
	ck_assert_int_eq(mc_compose_add(&c, &(struct mc_iteration){1, 0, 1, 1}, &sum, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "gemm of rows 1, n 768, k 8192"));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("compose");
	TCase *t = tcase_create("compose");

	tcase_add_loop_test(t, sums_of_random_shapes, 0, 30);
	tcase_add_loop_test(t, operations_are_those_of_the_shape, 0, 10);
	tcase_add_loop_test(t, more_takes_longer, 0, 5);
	tcase_add_test(t, range_and_host);
	tcase_add_test(t, what_is_refused);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
