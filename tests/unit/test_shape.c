#include "unit.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/shape.h"

/* As published with the weights: the number of values in the checkpoint; to a billion (or a tenth), where
 * only that is said. */
static const struct {
	const char *name;
	double params, within;
} published[] = {
    {"llama2-7b", 6738415616, 0},        {"llama2-13b", 13015864320, 0},  {"llama2-70b", 68976648192, 0},
    {"llama3-8b", 8030261248, 0},        {"llama3-70b", 70553706496, 0},  {"llama3-405b", 405853388800, 0},
    {"qwen2.5-3b", 3085938688, 0},       {"qwen2.5-7b", 7615616512, 0},   {"qwen2.5-14b", 14770033664, 0},
    {"qwen2.5-32b", 32763876352, 0},     {"qwen2.5-72b", 72706203648, 0}, {"mistral-7b", 7241732096, 0},
    {"mistral-nemo-12b", 12.2e9, 0.1e9}, {"mistral-large-2", 123e9, 1e9}, {"mixtral-8x7b", 46702792704, 0},
    {"mixtral-8x22b", 141e9, 1e9},       {"deepseek-v2", 236e9, 1e9},     {"deepseek-v2-lite", 15.7e9, 0.1e9},
    {"deepseek-v3", 671e9, 1e9},
};

START_TEST(published_parameter_counts)
{
	size_t n = 0;

	for (const struct mc_shape *s = mc_shapes; s->name[0]; s++, n++) {
		size_t i = 0;

		while (i < sizeof published / sizeof *published && strcmp(published[i].name, s->name))
			i++;
		ck_assert_msg(i < sizeof published / sizeof *published, "%s has no published count", s->name);
		ck_assert_msg(fabs(mc_shape_params(s) - published[i].params) <= published[i].within,
			      "%s: %.0f, not %.0f", s->name, mc_shape_params(s), published[i].params);
	}
	ck_assert_int_eq(n, sizeof published / sizeof *published);
	ck_assert_ptr_null(mc_shape_find("llama"));
	ck_assert_ptr_null(mc_shape_find(""));
}
END_TEST

/* "37B activated" and the like leave the embedding table out. */
START_TEST(published_active_parameters)
{
	static const struct {
		const char *name;
		double active, within;
	} says[] = {{"deepseek-v2", 21e9, 0.5e9},   {"deepseek-v2-lite", 2.4e9, 0.1e9},
		    {"deepseek-v3", 37e9, 0.5e9},   {"mixtral-8x7b", 12.9e9, 0.2e9},
		    {"mixtral-8x22b", 39e9, 0.5e9}, {"llama3-8b", 7.5e9, 0.1e9}};

	for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
		const struct mc_shape *s = mc_shape_find(says[i].name);
		double active = mc_shape_pass_bytes(s) / (double)s->weight_bytes_per_param;

		ck_assert_msg(fabs(active - says[i].active) <= says[i].within, "%s: %.2g", s->name, active);
		ck_assert(active <= mc_shape_active_params(s) &&
			  mc_shape_active_params(s) <= mc_shape_params(s));
		ck_assert_int_eq(mc_shape_is_dense(s), !strcmp(s->name, "llama3-8b"));
	}
}
END_TEST

/* Grouped, one KV head a query head, and latent: bytes of one token, as published or by hand. */
START_TEST(kv_bytes_of_each_kind)
{
	ck_assert_int_eq(mc_shape_kv_bytes_per_token(mc_shape_find("llama3-70b")), 327680);
	ck_assert_int_eq(mc_shape_kv_bytes_per_token(mc_shape_find("llama3-405b")), 516096);
	ck_assert_int_eq(mc_shape_kv_bytes_per_token(mc_shape_find("llama2-7b")), 524288);
	ck_assert_int_eq(mc_shape_kv_bytes_per_token(mc_shape_find("deepseek-v3")),
			 70272); /* 61 (512 + 64) 2 */
	ck_assert_int_eq(mc_shape_kv_bytes_per_token(mc_shape_find("qwen2.5-72b")), 327680);
	/* 128 heads: a query and key of 192, a value of 128. */
	ck_assert(mc_shape_pair_flops(mc_shape_find("deepseek-v3")) == 61.0 * 128 * 2 * (192 + 128));
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
		ck_assert_int_eq(mc_shape_from_json(&t, name, NULL, &err), 0);
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
	rc = mc_shape_from_json(s, v, NULL, err);
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
    {"{\"base\": \"mixtral-8x7b\", \"experts_per_token\": 9}", "experts"},
    {"{\"base\": \"llama3-8b\", \"expert_ffn\": 9}", "experts"},
    {"{\"base\": \"mixtral-8x7b\", \"dense_layers\": 33}", "dense_layers"},
    {"{\"base\": \"llama3-8b\", \"kv_lora_rank\": 512}", "kv_lora_rank"},
    {"{\"base\": \"llama3-8b\", \"v_head_dim\": 512}", "kv_lora_rank"},
    {"{\"base\": \"llama3-8b\", \"tied_embeddings\": true}", "tied_embeddings"},
    {"{\"base\": \"llama3-8b\", \"tied_embeddings\": 2}", "tied_embeddings"},
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

/* What each architecture's config.json looks like, less what has no part in the shape; and the built-in shape
 * it must equal. */
static const struct {
	const char *name, *text;
} configs[] = {
    {"llama2-7b",
     "'model_type': 'llama', 'hidden_size': 4096, 'intermediate_size': 11008, 'num_attention_heads': 32,"
     "'num_hidden_layers': 32, 'num_key_value_heads': 32, 'vocab_size': 32000, 'torch_dtype': 'float16'"},
    {"llama3-70b",
     "'model_type': 'llama', 'hidden_size': 8192, 'intermediate_size': 28672, 'num_attention_heads': 64,"
     "'num_hidden_layers': 80, 'num_key_value_heads': 8, 'vocab_size': 128256, 'torch_dtype': 'bfloat16',"
     "'attention_bias': false, 'rope_scaling': null, 'tie_word_embeddings': false, 'eos_token_id': [1, 2]"},
    {"mistral-nemo-12b",
     "'model_type': 'mistral', 'hidden_size': 5120, 'intermediate_size': 14336, 'head_dim': 128,"
     "'num_attention_heads': 32, 'num_hidden_layers': 40, 'num_key_value_heads': 8,"
     "'vocab_size': 131072, 'sliding_window': null, 'dtype': 'bfloat16'"},
    {"qwen2.5-3b",
     "'model_type': 'qwen2', 'hidden_size': 2048, 'intermediate_size': 11008, 'num_attention_heads': 16,"
     "'num_hidden_layers': 36, 'num_key_value_heads': 2, 'vocab_size': 151936, 'tie_word_embeddings': true"},
    {"mixtral-8x7b",
     "'model_type': 'mixtral', 'hidden_size': 4096, 'intermediate_size': 14336, 'num_attention_heads': 32,"
     "'num_hidden_layers': 32, 'num_key_value_heads': 8, 'vocab_size': 32000, 'num_local_experts': 8,"
     "'num_experts_per_tok': 2"},
    {"deepseek-v2-lite",
     "'model_type': 'deepseek_v2', 'hidden_size': 2048, 'intermediate_size': 10944,"
     "'num_attention_heads': 16, 'num_hidden_layers': 27, 'num_key_value_heads': 16, 'vocab_size': 102400,"
     "'n_routed_experts': 64, 'num_experts_per_tok': 6, 'n_shared_experts': 2, 'moe_intermediate_size': 1408,"
     "'first_k_dense_replace': 1, 'kv_lora_rank': 512, 'q_lora_rank': null, 'qk_rope_head_dim': 64,"
     "'qk_nope_head_dim': 128, 'v_head_dim': 128"},
};

/* Write {text}, with " for ', to DIR/config.json below the working folder, and read it. */
static int config(struct mc_shape *s, const char *text, struct mc_err *err)
{
	char dir[64], path[96];
	FILE *f;
	int rc;

	snprintf(dir, sizeof dir, "test_shape.%ld", (long)getpid());
	snprintf(path, sizeof path, "%s/config.json", dir);
	ck_assert_int_eq(mkdir(dir, 0777), 0);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (const char *p = text; *p; p++)
		fputc(*p == '\'' ? '"' : *p, f);
	fclose(f);
	memset(err, 0, sizeof *err);
	rc = mc_shape_from_config(s, path, err);
	if (!rc)
		ck_assert_str_eq(s->name, dir);
	else
		ck_assert_str_eq(err->file, path);
	unlink(path);
	rmdir(dir);
	return rc;
}

START_TEST(config_files)
{
	char text[1024];
	struct mc_err err;
	struct mc_shape s;

	snprintf(text, sizeof text, "{%s}", configs[_i].text);
	ck_assert_msg(!config(&s, text, &err), "%s: %s", err.key, err.text);
	ck_assert_msg(mc_shape_same_compute(&s, mc_shape_find(configs[_i].name)), "%s", configs[_i].name);
	ck_assert_int_eq(s.kv_bytes_per_value, 2);
	/* Weights in 8 bits. */
	snprintf(text, sizeof text,
		 "{%s, 'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128, 128]}}",
		 configs[_i].text);
	ck_assert_int_eq(config(&s, text, &err), 0);
	ck_assert_int_eq(s.weight_bytes_per_param, 1);
}
END_TEST

static const struct {
	const char *text, *key;
} bad_configs[] = {
    {"", ""},
    {"[]", ""},
    {"{'a': 1, 'a': 2}", ""},
    {"{}", "num_hidden_layers"},
    {"{'num_hidden_layers': '32'}", "num_hidden_layers"},
    {"{'num_hidden_layers': 0}", "num_hidden_layers"},
    {"{'num_hidden_layers': null}", "num_hidden_layers"},
    {"{'num_hidden_layers': 99999999999999999999}", ""},
    {"{'model_type': 'gpt2', 'num_hidden_layers': 2, 'hidden_size': 8, 'num_attention_heads': 2, "
     "'intermediate_size': 8,"
     "'vocab_size': 8}",
     "model_type"},
    {"{'model_type': 'llama', 'num_hidden_layers': 2, 'hidden_size': 1, 'num_attention_heads': 2, "
     "'intermediate_size': 8,"
     "'vocab_size': 8}",
     "hidden_size"},
    {"{'model_type': 'llama', 'num_hidden_layers': 2, 'hidden_size': 8, 'num_attention_heads': 2, "
     "'intermediate_size': 8,"
     "'vocab_size': 8, 'torch_dtype': 'int4'}",
     "torch_dtype"},
    {"{'model_type': 'llama', 'num_hidden_layers': 2, 'hidden_size': 8, 'num_attention_heads': 2, "
     "'intermediate_size': 8,"
     "'vocab_size': 8, 'quantization_config': {'quant_method': 'awq'}}",
     "quantization_config.quant_method"},
    {"{'model_type': 'llama', 'num_hidden_layers': 2, 'hidden_size': 8, 'num_attention_heads': 3, "
     "'intermediate_size': 8,"
     "'vocab_size': 8, 'num_key_value_heads': 2}",
     "kv_heads"},
};

START_TEST(bad_config_files_name_the_key)
{
	struct mc_err err;
	struct mc_shape s;

	ck_assert_int_eq(config(&s, bad_configs[_i].text, &err), MC_USAGE);
	ck_assert_str_eq(err.key, bad_configs[_i].key);
	ck_assert(err.text[0]);
}
END_TEST

/* As a scenario names it: beside itself first, then in the working folder. */
START_TEST(a_path_names_a_shape)
{
	static const char name[] = "test_shape_path.json";
	json_t *plain = json_string(name), *based = json_pack("{s:s, s:i}", "base", name, "layers", 7);
	struct mc_err err = {0};
	struct mc_shape s;
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	for (const char *p = configs[1].text; *p; p++)
		fputc(p == configs[1].text ? fputc('{', f), '"' : *p == '\'' ? '"' : *p, f);
	fputs("}", f);
	fclose(f);
	ck_assert_int_eq(mc_shape_from_json(&s, plain, NULL, &err), 0);
	ck_assert(mc_shape_same_compute(&s, mc_shape_find("llama3-70b")));
	ck_assert_int_eq(mc_shape_from_json(&s, plain, "./scenario.json", &err), 0);
	ck_assert_int_eq(mc_shape_from_json(&s, plain, "nowhere/scenario.json", &err), 0);
	ck_assert_int_eq(mc_shape_from_json(&s, based, NULL, &err), 0);
	ck_assert_int_eq(s.layers, 7);
	unlink(name);
	ck_assert_int_eq(mc_shape_from_json(&s, plain, NULL, &err), MC_USAGE);
	ck_assert_str_eq(err.file, name);
	json_decref(plain);
	json_decref(based);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("shape");
	TCase *t = tcase_create("shape");

	tcase_add_test(t, published_parameter_counts);
	tcase_add_test(t, published_active_parameters);
	tcase_add_test(t, kv_bytes_of_each_kind);
	tcase_add_test(t, a_path_names_a_shape);
	tcase_add_loop_test(t, config_files, 0, sizeof configs / sizeof *configs);
	tcase_add_loop_test(t, bad_config_files_name_the_key, 0, sizeof bad_configs / sizeof *bad_configs);
	tcase_add_test(t, closed_forms_of_70b);
	tcase_add_test(t, attention_is_the_sum_over_pairs);
	tcase_add_test(t, table_is_sorted_and_sound);
	tcase_add_test(t, objects);
	tcase_add_loop_test(t, bad_objects_name_the_key, 0, (int)(sizeof bad_cases / sizeof *bad_cases));
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
