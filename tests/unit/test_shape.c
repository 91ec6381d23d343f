#include "unit.h"

#include <string.h>

#include "model/shape.h"

START_TEST(published_parameter_counts)
{
	/* As published with the weights. */
	ck_assert(mc_shape_params(mc_shape_find("llama3-70b")) == 70553706496.0);
	ck_assert(mc_shape_params(mc_shape_find("llama3-8b")) == 8030261248.0);
	ck_assert(mc_shape_params(mc_shape_find("llama2-70b")) == 68976648192.0);
	ck_assert_ptr_null(mc_shape_find("llama"));
	ck_assert_ptr_null(mc_shape_find(""));
}
END_TEST

START_TEST(closed_forms_of_70b)
{
	const struct mc_shape *s = mc_shape_find("llama3-70b");

	ck_assert_int_eq(mc_shape_kv_bytes_per_token(s), 327680);
	ck_assert(mc_shape_weight_bytes(s) == 141107412992.0);
	ck_assert(mc_shape_weight_bytes(s) - mc_shape_pass_bytes(s) == 2.0 * 128256 * 8192);
	/* 2 operations per parameter of a matrix inside a layer: 2 * 80 * (2 * 8192^2 + 2 * 8192 * 1024 + 3 *
	 * 8192 * 28672). */
	ck_assert(mc_shape_dense_flops_per_token(s) == 136902082560.0);
	ck_assert(mc_shape_head_flops(s) == 2.0 * 128256 * 8192);
	ck_assert(mc_shape_pair_flops(s) == 2621440.0);
}
END_TEST

START_TEST(attention_is_the_sum_over_pairs)
{
	const struct mc_shape *s = mc_shape_find("llama3-8b");

	for (int n = 0; n < 40; n++) {
		for (int p = 0; p <= n; p++) {
			double pairs = 0;

			for (int i = p; i < n; i++)
				pairs += i + 1;
			ck_assert(mc_shape_attention_flops(s, n, p) == pairs * mc_shape_pair_flops(s));
		}
	}
}
END_TEST

START_TEST(table_is_sorted_and_sound)
{
	const struct mc_shape *s;
	struct mc_shape t;
	struct mc_err err = {0};

	for (s = mc_shapes; s->name[0]; s++) {
		json_t *name = json_string(s->name);

		ck_assert(s == mc_shapes || strcmp(s[-1].name, s->name) < 0);
		ck_assert_int_eq(mc_shape_from_json(&t, name, &err), 0);
		ck_assert(mc_shape_same_compute(s, &t));
		ck_assert_str_eq(t.name, s->name);
		ck_assert_int_eq(s->heads % s->kv_heads, 0);
		json_decref(name);
	}
}
END_TEST

static int parse(struct mc_shape *s, const char *text, struct mc_err *err)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);
	int rc;

	ck_assert_ptr_nonnull(v);
	memset(err, 0, sizeof *err);
	rc = mc_shape_from_json(s, v, err);
	json_decref(v);
	return rc;
}

START_TEST(objects)
{
	struct mc_shape s;
	struct mc_err err;

	ck_assert_int_eq(parse(&s, "{\"base\": \"llama3-70b\", \"kv_bytes_per_value\": 1}", &err), 0);
	ck_assert_int_eq(mc_shape_kv_bytes_per_token(&s), 163840);
	ck_assert(mc_shape_same_compute(&s, mc_shape_find("llama3-70b")));
	ck_assert_str_eq(s.name, "llama3-70b");
	/* "base" comes first wherever it is written. */
	ck_assert_int_eq(
	    parse(&s, "{\"kv_dtype\": \"int8\", \"name\": \"mine\", \"base\": \"llama3-70b\"}", &err), 0);
	ck_assert_int_eq(s.kv_bytes_per_value, 1);
	ck_assert_str_eq(s.name, "mine");
	ck_assert_int_eq(
	    parse(&s,
		  "{\"layers\": 2, \"hidden\": 64, \"heads\": 4, \"kv_heads\": 2, \"head_dim\": 16,"
		  " \"ffn\": 128, \"vocab\": 100, \"weight_dtype\": \"fp8\"}",
		  &err),
	    0);
	ck_assert_str_eq(s.name, "custom");
	ck_assert_int_eq(s.weight_bytes_per_param, 1);
	/* 2 (64 * (64 + 64 + 32 + 32) + 3 * 64 * 128 + 2 * 64) + 2 * 100 * 64 + 64 */
	ck_assert(mc_shape_params(&s) == 86848.0);
}
END_TEST

static const struct {
	const char *text, *key;
} bad_cases[] = {
    {"\"llama4\"", ""},
    {"3", ""},
    {"[]", ""},
    {"{}", "layers"},
    {"{\"base\": 1}", "base"},
    {"{\"base\": \"x\"}", "base"},
    {"{\"base\": \"llama3-8b\", \"layer\": 3}", "layer"},
    {"{\"base\": \"llama3-8b\", \"layers\": 0}", "layers"},
    {"{\"base\": \"llama3-8b\", \"layers\": -1}", "layers"},
    {"{\"base\": \"llama3-8b\", \"layers\": \"32\"}", "layers"},
    {"{\"base\": \"llama3-8b\", \"layers\": 32.0}", "layers"},
    {"{\"base\": \"llama3-8b\", \"hidden\": 99999999999}", "hidden"},
    {"{\"base\": \"llama3-8b\", \"kv_heads\": 5}", "kv_heads"},
    {"{\"base\": \"llama3-8b\", \"kv_bytes_per_value\": 5}", "kv_bytes_per_value"},
    {"{\"base\": \"llama3-8b\", \"kv_dtype\": \"fp7\"}", "kv_dtype"},
    {"{\"base\": \"llama3-8b\", \"kv_dtype\": 8}", "kv_dtype"},
    {"{\"base\": \"llama3-8b\", \"kv_dtype\": \"int8\", \"kv_bytes_per_value\": 1}", "kv_dtype"},
    {"{\"base\": \"llama3-8b\", \"weight_dtype\": \"int8\", \"weight_bytes_per_param\": 1}", "weight_dtype"},
    {"{\"base\": \"llama3-8b\", \"name\": \"\"}", "name"},
    {"{\"layers\": 2, \"hidden\": 64, \"heads\": 4, \"kv_heads\": 2, \"head_dim\": 16, \"ffn\": 128}",
     "vocab"},
};

START_TEST(bad_objects_name_the_key)
{
	struct mc_shape s;
	struct mc_err err;

	ck_assert_int_eq(parse(&s, bad_cases[_i].text, &err), MC_USAGE);
	ck_assert_str_eq(err.key, bad_cases[_i].key);
	ck_assert(err.text[0]);
	ck_assert_int_eq(parse(&s, "\"llama3-8b\"", &err), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("shape");
	TCase *t = tcase_create("shape");

	tcase_add_test(t, published_parameter_counts);
	tcase_add_test(t, closed_forms_of_70b);
	tcase_add_test(t, attention_is_the_sum_over_pairs);
	tcase_add_test(t, table_is_sorted_and_sound);
	tcase_add_test(t, objects);
	tcase_add_loop_test(t, bad_objects_name_the_key, 0, (int)(sizeof bad_cases / sizeof *bad_cases));
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
