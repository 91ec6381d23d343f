/* Gaps: found in whole layers and iterations whose truth is known, kept in profiles, added to sums. */
#include "operators_made.h"

#include <math.h>

#include "base/hash.h"
#include "fit/opfit.h"
#include "fit/opgap_form.h"
#include "model/compose.h"

static uint64_t state;

static double uniform(double low, double high)
{
	state = mc_hash_u64(state);
	return low + (high - low) * (double)(state >> 11) / 9007199254740992.;
}

/* Points whose gap is that, by so much noise; every twentieth takes twice as long. */
static void points_of(const struct mc_gap *truth, double noise, struct mc_opgap_point *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double rows = floor(exp(uniform(0, log(1000)))), base_s = exp(uniform(log(1e-4), log(1e-2)));

		p[i] = (struct mc_opgap_point){.rows = rows, .base_s = base_s, .bare_s = base_s};
		p[i].seconds = base_s + mc_gap_s(truth, rows, base_s);
		p[i].seconds *= (1 + uniform(-noise, noise)) * (noise > 0 && i % 20 == 7 ? 2 : 1);
	}
}

static const struct mc_gap truths[] = {
    {0},
    {.constant_s = 5e-4},
    {.share = -0.2},
    {.constant_s = 2e-4, .share = 0.15},
    {.constant_s = 3e-4, .row_s = 4e-6},
    {.constant_s = 3e-4, .row_s = 4e-6, .share = -0.3},
};

/* Without noise the coefficients come back, and no other one with them. */
START_TEST(a_form_is_found)
{
	struct mc_opgap_point p[60];
	const struct mc_gap *t = &truths[_i];
	struct mc_gap g;
	double off[60];

	state = 11 + (uint64_t)_i;
	points_of(t, 0, p, 60);
	mc_opgap_form(p, 60, &g, off);
	ck_assert_double_eq_tol(g.constant_s, t->constant_s, 1e-9);
	ck_assert_double_eq_tol(g.row_s, t->row_s, 1e-11);
	ck_assert_double_eq_tol(g.share, t->share, 1e-6);
	ck_assert_int_gt(g.rows_max, 500);
	for (int i = 0; i < 60; i++)
		ck_assert_double_le(off[i], 1e-6);
}
END_TEST

/* With noise of up to 2 % and spoiled points, unseen ones are predicted nearly as if the truth was known. */
START_TEST(spoiled_points_do_not_bend_it)
{
	struct mc_opgap_point p[100], fresh[200];
	struct mc_gap g;
	double off[100];

	state = 100 + (uint64_t)_i;
	points_of(&truths[_i], 0.02, p, 100);
	points_of(&truths[_i], 0, fresh, 200);
	mc_opgap_form(p, 100, &g, off);
	for (int i = 0; i < 200; i++) {
		double s = fresh[i].base_s + mc_gap_s(&g, fresh[i].rows, fresh[i].base_s);

		ck_assert_double_le(fabs(s / fresh[i].seconds - 1), 0.025);
	}
	for (int i = 0; i < 100; i++)
		ck_assert(i % 20 == 7 ? off[i] > 0.4 : off[i] < 0.05);
}
END_TEST

/* A form that is wrong shows in the points that it did not see: this gap is no line in anything. */
START_TEST(the_error_is_honest)
{
	struct mc_opgap_point p[60];
	struct mc_gap g;
	double off[60], sum = 0;

	state = 5;
	points_of(&truths[0], 0, p, 60);
	for (int i = 0; i < 60; i++)
		p[i].seconds = p[i].base_s * (1 + 0.5 * sin(3 * log(p[i].rows)));
	mc_opgap_form(p, 60, &g, off);
	for (int i = 0; i < 60; i++)
		sum += off[i];
	ck_assert_double_gt(sum / 60, 0.15);
}
END_TEST

START_TEST(few_points_give_nothing)
{
	struct mc_opgap_point p[3];
	struct mc_gap g;
	double off[3];

	state = 6;
	points_of(&truths[1], 0, p, 3);
	mc_opgap_form(p, 3, &g, off);
	ck_assert(g.rows_max == 0 && g.constant_s == 0 && g.share == 0);
	for (int i = 0; i < 3; i++)
		ck_assert_double_eq_tol(off[i], 1 - p[i].base_s / p[i].seconds, 1e-12);
}
END_TEST

#define SHAPE                                                                                                \
	"{\"layers\": 6, \"hidden\": 1024, \"heads\": 8, \"kv_heads\": 2, \"head_dim\": 128, \"ffn\": "      \
	"2816, "                                                                                             \
	"\"vocab\": 4096}"

/* Operators of that shape. */
static json_t *operators_of_shape(void)
{
	json_t *section = made_section();
	const struct mc_op_point p[] = {
	    norm_point(1, 1024),
	    gemm_point(1, 1536, 1024),
	    gemm_point(1, 1024, 1024),
	    gemm_point(1, 5632, 1024),
	    gemm_point(1, 1024, 2816),
	    gemm_point(1, 4096, 1024),
	    {MC_OP_ATTENTION_PREFILL,
	     {[MC_DIM_SEQS] = 1, [MC_DIM_HEADS] = 8, [MC_DIM_KV_HEADS] = 2, [MC_DIM_HEAD_DIM] = 128}},
	    {MC_OP_ATTENTION_DECODE, {[MC_DIM_HEADS] = 8, [MC_DIM_KV_HEADS] = 2, [MC_DIM_HEAD_DIM] = 128}},
	};

	for (size_t i = 0; i < sizeof p / sizeof *p; i++)
		made_curve(section, &p[i], 1.2 + 0.1 * (double)i);
	return section;
}

static struct mc_shape shape_of(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);
	struct mc_shape s;

	ck_assert_int_eq(mc_shape_from_json(&s, o, NULL, NULL), 0);
	json_decref(o);
	return s;
}

/* The gaps that the samples below have. */
static const struct mc_gaps planted = {
    .model = (char *)"m",
    .tensor_parallel = 1,
    .shape = {6, 1024, 8, 2, 128, 2816, 4096},
    .layer = {.gap = {{2e-5, 0, 0.1, 1 << 30}, {5e-6, 0, 0, 1 << 30}}},
    .step = {.gap = {{1e-4, 0, 0, 1 << 30}, {0, 0, -0.2, 1 << 30}}},
};

static struct mc_iteration random_iteration(bool decode)
{
	struct mc_iteration i = {1, (int64_t)uniform(0, 4000), 1, 0};

	if (decode)
		i.seqs = (int64_t)exp(uniform(0, log(200)));
	else
		i.rows = (int64_t)exp(uniform(log(2), log(4000)));
	return i;
}

static double seconds_of(const struct mc_compose *c, struct mc_iteration i, enum mc_op op)
{
	struct mc_parts sum = {0};

	i.logits = op == MC_OP_STEP ? i.seqs : 0;
	ck_assert_int_eq((op == MC_OP_STEP ? mc_compose_add : mc_compose_layer)(c, &i, &sum, NULL), 0);
	return sum.seconds;
}

static void sample(struct mc_opsamples *s, enum mc_op op, const struct mc_iteration *i, double seconds)
{
	mc_vec_push(
	    s,
	    ((struct mc_opsample){
		.point = {op,
			  {[MC_DIM_ROWS] = i->rows, [MC_DIM_CONTEXT] = i->context, [MC_DIM_SEQS] = i->seqs}},
		.seconds = seconds,
		.repeats = 1,
	    }));
}

static struct mc_opsamples wholes(const struct mc_compose *c, bool layers)
{
	struct mc_opsamples s = {.dtype = (char *)"bf16", .model = json_loads(SHAPE, 0, NULL)};

	for (int n = 0; n < 80; n++) {
		struct mc_iteration i = random_iteration(n & 1);

		if (layers)
			sample(&s, MC_OP_LAYER, &i, seconds_of(c, i, MC_OP_LAYER));
		sample(&s, MC_OP_STEP, &i, seconds_of(c, i, MC_OP_STEP) * uniform(0.99, 1.01));
	}
	return s;
}

static void samples_fini(struct mc_opsamples *s)
{
	json_decref(s->model);
	mc_vec_fini(s);
}

/* From samples over the text of a profile to sums again. */
START_TEST(gaps_come_back_through_a_profile)
{
	json_t *section = operators_of_shape(), *list;
	struct mc_operators o, again;
	struct mc_shape shape = shape_of(SHAPE);
	struct mc_compose truth, c;
	struct mc_opsamples s;
	struct mc_opgaps g;

	state = 17;
	made_operators(&o, json_incref(section));
	ck_assert_int_eq(mc_compose_init(&truth, &o, &shape, 1, NULL), 0);
	ck_assert_ptr_null(truth.gaps);
	truth.gaps = &planted;
	s = wholes(&truth, _i == 0);
	s.at[0].flag[0] = 'x';
	s.at[1].seconds = 1e-9;
	ck_assert_int_eq(mc_opgaps_samples(&g, &o, &s, 1, NULL), 0);
	ck_assert_uint_eq(g.n, 1);
	ck_assert_uint_eq(g.at[0].level[MC_OPGAP_STEP].points, _i ? 78 : 79);
	ck_assert_uint_eq(g.at[0].level[_i ? MC_OPGAP_STEP : MC_OPGAP_LAYER].flagged, 1);
	ck_assert_uint_eq(g.at[0].level[MC_OPGAP_STEP].unphysical, 1);
	ck_assert_double_gt(g.at[0].gaps.step.sum_error.median, 0.08);
	ck_assert_double_lt(g.at[0].gaps.step.error.p95, _i ? 0.03 : 0.012);
	list = mc_opgaps_list(&g);
	json_object_set_new(section, "gaps", list);
	made_operators(&again, section);
	ck_assert_int_eq(mc_compose_init(&c, &again, &shape, 1, NULL), 0);
	ck_assert(c.own_gaps);
	for (int n = 0; n < 100; n++) {
		struct mc_iteration i = random_iteration(n & 1);
		double want = seconds_of(&truth, i, MC_OP_STEP);

		ck_assert_double_eq_tol(seconds_of(&c, i, MC_OP_STEP) / want, 1, _i ? 0.04 : 0.01);
	}
	mc_opgaps_fini(&g);
	samples_fini(&s);
	mc_operators_fini(&again);
	mc_operators_fini(&o);
}
END_TEST

START_TEST(what_has_no_sum_is_told)
{
	json_t *section = made_section();
	struct mc_op_point norm = norm_point(1, 1024);
	struct mc_iteration i = {16, 0, 1, 1};
	struct mc_opsamples s[3] = {{.dtype = (char *)"bf16", .model = json_string("llama3-8b")},
				    {.dtype = (char *)"bf16"},
				    {.dtype = (char *)"bf16", .model = json_string("no such model")}};
	struct mc_err err = {0};
	struct mc_operators o;
	struct mc_opgaps g;

	made_curve(section, &norm, 1);
	made_operators(&o, section);
	sample(&s[0], MC_OP_STEP, &i, 1);
	sample(&s[1], MC_OP_LAYER, &i, 1);
	sample(&s[2], MC_OP_STEP, &i, 1);
	ck_assert_int_eq(mc_opgaps_samples(&g, &o, s, 2, NULL), 0);
	ck_assert_uint_eq(g.nameless, 1);
	ck_assert_uint_eq(g.at[0].level[MC_OPGAP_STEP].lacking, 1);
	ck_assert_ptr_nonnull(strstr(g.at[0].level[MC_OPGAP_STEP].why, "gemm of rows 16"));
	ck_assert_ptr_null(mc_opgaps_list(&g));
	mc_opgaps_fini(&g);
	ck_assert_int_eq(mc_opgaps_samples(&g, &o, s, 3, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "model");
	for (int k = 0; k < 3; k++)
		samples_fini(&s[k]);
	mc_operators_fini(&o);
}
END_TEST

static double part_s(const struct mc_parts *p, const char *name, const struct mc_compose_part **part)
{
	for (int i = 0; i < p->n; i++)
		if (!strcmp(p->part[i].name, name)) {
			*part = &p->part[i];
			return p->part[i].seconds;
		}
	ck_abort_msg("no part %s", name);
	return 0;
}

/* Another shape gets the gaps of the nearest: a constant for each of its layers, and it is said. */
START_TEST(gaps_carry_over)
{
	json_t *section = operators_of_shape();
	struct mc_gaps both[2] = {planted, planted};
	struct mc_shape shape = shape_of(SHAPE);
	const struct mc_compose_part *part;
	struct mc_operators o;
	struct mc_compose c;
	struct mc_parts sum = {0};

	made_operators(&o, section);
	shape.layers = 9;
	both[0].shape[MC_GAP_FFN] *= 4;
	both[0].layer.gap[MC_DECODE].constant_s = 1;
	o.gaps = both;
	o.n_gaps = 2;
	ck_assert_int_eq(mc_compose_init(&c, &o, &shape, 1, NULL), 0);
	ck_assert_ptr_eq(c.gaps, &both[1]);
	ck_assert(!c.own_gaps);
	ck_assert_int_eq(mc_compose_add(&c, &(struct mc_iteration){1, 100, 4, 4}, &sum, NULL), 0);
	ck_assert_double_eq_tol(part_s(&sum, "layer_gap", &part), 9 * 5e-6, 1e-12);
	ck_assert(part->how == MC_HOW_SCALED && part->calls == 9 && part->outside == 0);
	ck_assert_double_eq_tol(part_s(&sum, "step_gap", &part), -0.25 * sum.seconds, 1e-12);
	ck_assert_int_eq(part->kind, MC_PART_GAP);
	ck_assert_double_eq_tol(sum.kind_s[MC_PART_GAP], 9 * 5e-6 - 0.25 * sum.seconds, 1e-12);
	ck_assert_double_eq_tol(mc_compose_factor(&c, MC_DECODE), 0.8, 1e-12);
	ck_assert_double_eq_tol(mc_compose_factor(&c, MC_PREFILL), 1.1, 1e-12);
	o.gaps = NULL;
	o.n_gaps = 0;
	mc_operators_fini(&o);
}
END_TEST

/* However much a gap saves: the hardware's bound stays. Rows beyond what was measured are counted. */
START_TEST(nothing_is_faster_than_the_hardware)
{
	json_t *section = operators_of_shape();
	struct mc_gaps g = planted;
	struct mc_shape shape = shape_of(SHAPE);
	struct mc_prompts prompts = {.tokens = 1500, .cached = 100, .chunk = 512, .seqs = 2};
	const struct mc_compose_part *part;
	struct mc_operators o;
	struct mc_compose c;
	struct mc_parts sum;

	made_operators(&o, section);
	g.step.gap[MC_PREFILL] = (struct mc_gap){-1, 0, 0, 1000};
	o.gaps = &g;
	o.n_gaps = 1;
	ck_assert_int_eq(mc_compose_init(&c, &o, &shape, 1, NULL), 0);
	ck_assert_int_eq(mc_compose_prefill(&c, &prompts, &sum, NULL), 0);
	ck_assert_int_eq(sum.iterations, 3);
	ck_assert_double_gt(sum.floor_s, 0);
	ck_assert_double_eq_tol(sum.seconds / sum.floor_s, 1, 1e-9);
	part_s(&sum, "step_gap", &part);
	ck_assert(part->calls == 3 && part->outside == 2 && part->how == MC_HOW_CURVE);
	part_s(&sum, "sample", &part);
	ck_assert_int_eq(part->calls, 1);
	o.gaps = NULL;
	o.n_gaps = 0;
	mc_operators_fini(&o);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("opgap");
	TCase *t = tcase_create("opgap");
	int forms = (int)(sizeof truths / sizeof *truths);

	tcase_add_loop_test(t, a_form_is_found, 0, forms);
	tcase_add_loop_test(t, spoiled_points_do_not_bend_it, 0, forms);
	tcase_add_test(t, the_error_is_honest);
	tcase_add_test(t, few_points_give_nothing);
	tcase_add_loop_test(t, gaps_come_back_through_a_profile, 0, 2);
	tcase_add_test(t, what_has_no_sum_is_told);
	tcase_add_test(t, gaps_carry_over);
	tcase_add_test(t, nothing_is_faster_than_the_hardware);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
