/* Shapes, config.json, weights from a seed and from files. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/llama_shape.h"
#include "kernels/safetensors.h"
#include "kernels/weights.h"

static char folder[] = "llama-shape-XXXXXX";
static char path[256];

static void setup(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/config.json", folder);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf ./%s", folder);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(counts)
{
	const struct mc_llama_shape *s;

	for (s = mc_llama_shapes; s->name; s++) {
		ck_assert_int_eq(mc_llama_shape_check(s, NULL), 0);
		ck_assert_ptr_eq(mc_llama_shape_find(s->name, NULL), s);
	}
	/* As published, or as RMSNorm's vectors and matrices add up. */
	ck_assert_int_eq(mc_llama_parameters(mc_llama_shape_find("llama2-7b", NULL)), 6738415616);
	ck_assert_int_eq(mc_llama_parameters(mc_llama_shape_find("llama3-8b", NULL)), 8030261248);
	ck_assert_int_eq(mc_llama_parameters(mc_llama_shape_find("llama3-70b", NULL)), 70553706496);
	ck_assert_int_eq(mc_llama_parameters(mc_llama_shape_find("small-3.5m", NULL)) / 100000, 34);
	ck_assert_int_eq(mc_llama_parameters(mc_llama_shape_find("small-24.6m", NULL)) / 100000, 246);
	ck_assert_int_eq(mc_llama_kv_token_bytes(mc_llama_shape_find("llama3-70b", NULL), MC_BF16), 327680);
}
END_TEST

START_TEST(shapes_refused)
{
	const struct mc_llama_shape good = *mc_llama_shape_find("tiny", NULL);
	struct mc_llama_shape s = good, rank;
	struct mc_err err = {0};

#define REFUSED(change, k)                                                                                   \
	do {                                                                                                 \
		s = good;                                                                                    \
		change;                                                                                      \
		err = (struct mc_err){0};                                                                    \
		ck_assert_int_eq(mc_llama_shape_check(&s, &err), MC_USAGE);                                  \
		ck_assert_str_eq(err.key, k);                                                                \
	} while (0)
	REFUSED(s.layers = 0, "num_hidden_layers");
	REFUSED(s.hidden = 100, "hidden_size");
	REFUSED(s.head_dim = 32, "head_dim");
	REFUSED(s.kv_heads = 3, "num_key_value_heads");
	REFUSED((s.heads = 34, s.kv_heads = 2), "num_key_value_heads");
	REFUSED(s.ffn = 1 << 30, "intermediate_size");
	REFUSED(s.vocab = 257, "vocab_size");
	REFUSED(s.max_position = 0, "max_position_embeddings");
	REFUSED(s.rope_theta = NAN, "rope_theta");
	REFUSED(s.rope_theta = INFINITY, "rope_theta");
	REFUSED(s.norm_eps = -1, "rms_norm_eps");
	REFUSED((s.rope.factor = 8, s.rope.low = 4, s.rope.high = 1, s.rope.original = 8192), "rope_scaling");
#undef REFUSED
	ck_assert_ptr_null(mc_llama_shape_find("llama3-7b", &err));
	for (int ranks = 1; ranks <= 8; ranks++)
		ck_assert_int_eq(mc_llama_ranks_check(&good, ranks, NULL),
				 ranks == 1 || ranks == 2 || ranks == 4 ? 0 : MC_USAGE);
	ck_assert_int_eq(mc_llama_ranks_check(&good, 0, NULL), MC_USAGE);
	ck_assert_int_eq(mc_llama_ranks_check(&good, 16, NULL), MC_USAGE);
	s = *mc_llama_shape_find("llama3-70b", NULL);
	ck_assert_int_eq(mc_llama_ranks_check(&s, 8, NULL), 0);
	s.kv_heads = 4;
	ck_assert_int_eq(mc_llama_ranks_check(&s, 8, NULL), 0);
	mc_llama_rank_shape(&s, 8, &rank);
	ck_assert(rank.heads == 8 && rank.kv_heads == 1 && rank.ffn == 3584 && rank.vocab == 16032);
	ck_assert(rank.hidden == 8192 && rank.layers == 80 && !mc_llama_shape_check(&rank, NULL));
	mc_llama_rank_shape(&s, 2, &rank);
	ck_assert(rank.heads == 32 && rank.kv_heads == 2);
	/* Shares are whole eights. */
	s.ffn = 24;
	ck_assert_int_eq(mc_llama_ranks_check(&s, 2, NULL), MC_USAGE);
	s.ffn = 48;
	ck_assert_int_eq(mc_llama_ranks_check(&s, 2, NULL), 0);
	s.vocab = 40;
	ck_assert_int_eq(mc_llama_ranks_check(&s, 2, NULL), MC_USAGE);
}
END_TEST

#define CONFIG                                                                                               \
	"\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_act\": \"silu\", "   \
	"\"hidden_size\": 4096, \"intermediate_size\": 14336, \"num_hidden_layers\": 32, "                   \
	"\"num_attention_heads\": 32, \"vocab_size\": 128256, \"torch_dtype\": \"bfloat16\""

static int read_config(const char *text, struct mc_llama_shape *s, struct mc_err *err)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	*err = (struct mc_err){0};
	return mc_llama_config_read(path, s, err);
}

START_TEST(configs)
{
	struct mc_llama_shape s, want = *mc_llama_shape_find("llama3.1-8b", NULL);
	struct mc_err err;

	ck_assert_int_eq(read_config("{" CONFIG "}", &s, &err), 0);
	ck_assert(s.kv_heads == 32 && s.head_dim == 128 && s.max_position == 2048 && !s.tied);
	ck_assert(s.rope_theta == 10000 && s.norm_eps == 1e-6 && s.rope.factor == 0);
	ck_assert_int_eq(
	    read_config("{" CONFIG ", \"num_key_value_heads\": 8, \"rope_theta\": 500000.0, "
			"\"rms_norm_eps\": 1e-05, \"max_position_embeddings\": 131072, \"head_dim\": null, "
			"\"attention_bias\": false, \"tie_word_embeddings\": false, \"rope_scaling\": "
			"{\"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
			"\"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}}",
			&s, &err),
	    0);
	want.name = NULL;
	ck_assert(s.layers == want.layers && s.hidden == want.hidden && s.heads == want.heads &&
		  s.kv_heads == want.kv_heads && s.head_dim == want.head_dim && s.ffn == want.ffn &&
		  s.vocab == want.vocab && s.max_position == want.max_position && s.tied == want.tied);
	ck_assert(s.rope_theta == want.rope_theta && s.norm_eps == want.norm_eps &&
		  !memcmp(&s.rope, &want.rope, sizeof s.rope));
	ck_assert_int_eq(read_config("{" CONFIG ", \"tie_word_embeddings\": true, \"head_dim\": 64, "
				     "\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 7}}",
				     &s, &err),
			 0);
	ck_assert(s.tied && s.head_dim == 64 && s.rope_theta == 7 && s.rope.factor == 0);
}
END_TEST

START_TEST(configs_refused)
{
	static const char *const bad[][2] = {
	    {"{" CONFIG, ""},
	    {"[]", ""},
	    {"{}", "architectures"},
	    {"{\"model_type\": \"llama\"}", "num_hidden_layers"},
	    {"{\"model_type\": \"mistral\"}", "model_type"},
	    {"{\"architectures\": [\"Qwen2ForCausalLM\"]}", "architectures"},
	    {"{\"architectures\": [\"LlamaForCausalLM\", \"LlamaModel\"]}", "architectures"},
	    {"{\"architectures\": \"LlamaForCausalLM\"}", "architectures"},
	    {"{\"model_type\": \"llama\", \"hidden_act\": \"gelu\"}", "hidden_act"},
	    {"{" CONFIG ", \"attention_bias\": true}", "attention_bias"},
	    {"{" CONFIG ", \"mlp_bias\": 1}", "mlp_bias"},
	    {"{" CONFIG ", \"head_dim\": 1.5}", "head_dim"},
	    {"{" CONFIG ", \"head_dim\": 4294967360}", "head_dim"},
	    {"{" CONFIG ", \"num_key_value_heads\": -8}", "num_key_value_heads"},
	    {"{" CONFIG ", \"num_key_value_heads\": 5}", "num_key_value_heads"},
	    {"{" CONFIG ", \"rms_norm_eps\": \"1e-5\"}", "rms_norm_eps"},
	    {"{" CONFIG ", \"quantization_config\": {}}", "quantization_config"},
	    {"{" CONFIG ", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}}", "rope_scaling"},
	    {"{" CONFIG ", \"rope_scaling\": {\"factor\": 2}}", "rope_scaling"},
	    {"{" CONFIG ", \"rope_scaling\": 2}", "rope_scaling"},
	    {"{" CONFIG ", \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8}}", "low_freq_factor"},
	    {"{" CONFIG ", \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 0, \"low_freq_factor\": "
	     "1, \"high_freq_factor\": 4, \"original_max_position_embeddings\": 8192}}",
	     "rope_scaling"},
	    {"{" CONFIG ", \"partial_rotary_factor\": 0.5}", "partial_rotary_factor"},
	    {"{" CONFIG ", \"vocab_size\": 128256}", ""},
	};
	struct mc_llama_shape s;
	struct mc_err err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_int_eq(read_config(bad[i][0], &s, &err), MC_USAGE);
		ck_assert_msg(!strcmp(err.key, bad[i][1]), "case %zu: key %s, %s", i, err.key, err.text);
		ck_assert_str_eq(err.file, path);
		ck_assert_int_eq(mc_llama_config_read(path, &s, NULL), MC_USAGE);
	}
	ck_assert_int_eq(mc_llama_config_read("none/config.json", &s, NULL), MC_USAGE);
}
END_TEST

/* All numbers of a tensor, as floats. */
static float *all_of(const struct mc_weights *w, const struct mc_llama_tensor *t, enum mc_dtype dtype)
{
	int rows = t->rows ? t->rows : 1;
	size_t n = (size_t)rows * (size_t)t->cols;
	struct mc_weights_part p = {t, 0, rows, 0, t->cols, dtype, malloc(n * 4)};
	float *x = malloc(n * sizeof *x);

	mc_weights_get(w, &p);
	for (size_t i = 0; i < n; i++)
		x[i] = mc_dtype_get(dtype, p.to, i);
	free(p.to);
	return x;
}

START_TEST(seeded)
{
	const struct mc_llama_shape *s = mc_llama_shape_find("tiny", NULL);
	struct mc_llama_tensor t, u;
	struct mc_weights *w, *other;
	float *x, *y, *z, part[8][16];
	double sum = 0, squares = 0;
	int n = 128 * 192;

	mc_weights_seeded(&w, 7);
	mc_weights_seeded(&other, 8);
	mc_llama_tensor_of(s, MC_LLAMA_DOWN, 1, &t);
	mc_llama_tensor_of(s, MC_LLAMA_DOWN, 0, &u);
	x = all_of(w, &t, MC_F32);
	y = all_of(w, &t, MC_F16);
	z = all_of(other, &t, MC_F32);
	mc_weights_get(w, &(struct mc_weights_part){&t, 100, 8, 33, 16, MC_F32, part});
	for (int i = 0; i < n; i++) {
		sum += x[i];
		squares += (double)x[i] * x[i];
		ck_assert(y[i] == mc_f16_value(mc_f16_of(x[i])));
	}
	/* Mean 0, variance 1 / 192: within five standard deviations of what n of them have. */
	ck_assert_double_le(fabs(sum / n), 5 * sqrt(1 / 192.0 / n));
	ck_assert_double_le(fabs(squares / n * 192 - 1), 5 * sqrt(0.8 / n));
	for (int i = 0; i < 8; i++)
		ck_assert(!memcmp(part[i], x + (100 + i) * 192 + 33, sizeof part[i]));
	ck_assert(memcmp(x, z, (size_t)n * sizeof *x));
	free(y);
	y = all_of(w, &u, MC_F32);
	ck_assert(memcmp(x, y, (size_t)n * sizeof *x));
	free(y);
	mc_llama_tensor_of(s, MC_LLAMA_NORM, -1, &t);
	y = all_of(w, &t, MC_F32);
	for (int i = 0; i < 128; i++)
		ck_assert(y[i] >= 0.9f && y[i] <= 1.1f);
	free(x);
	free(y);
	free(z);
	mc_weights_close(w);
	mc_weights_close(other);
}
END_TEST

/* The tensors of a shape from a seed, as they would lie in a file. The names are in t. */
static size_t tensors_of(const struct mc_llama_shape *s, struct mc_llama_tensor *t, struct mc_tensor *out)
{
	size_t n = (size_t)mc_llama_tensors(s);
	struct mc_weights *w;

	mc_weights_seeded(&w, 3);
	for (size_t i = 0; i < n; i++) {
		mc_llama_tensor_at(s, (int)i, &t[i]);
		out[i] = (struct mc_tensor){.name = t[i].name,
					    .dtype = "F32",
					    .dims = t[i].rows ? 2 : 1,
					    .size = {t[i].rows ? t[i].rows : t[i].cols, t[i].cols},
					    .data = all_of(w, &t[i], MC_F32)};
	}
	mc_weights_close(w);
	return n;
}

static void opens(const struct mc_tensor *t, size_t n, const struct mc_llama_shape *s, const char *key)
{
	struct mc_weights *w;
	struct mc_err err = {0};
	int rc;

	ck_assert_int_eq(mc_safetensors_write(path, t, n, &err), 0);
	rc = mc_weights_files(&w, path, s, &err);
	ck_assert_msg(rc == (key ? MC_USAGE : 0), "%s: %s", err.key, err.text);
	if (key)
		ck_assert_msg(!strcmp(err.key, key), "key %s, %s", err.key, err.text);
	mc_weights_close(w);
}

START_TEST(from_files)
{
	struct mc_llama_shape s = *mc_llama_shape_find("tiny", NULL);
	struct mc_llama_tensor names[32];
	struct mc_tensor t[32], was;
	size_t n = tensors_of(&s, names, t);
	struct mc_weights *seed, *file;

	snprintf(path, sizeof path, "%s/model.safetensors", folder);
	opens(t, n, &s, NULL);
	mc_weights_seeded(&seed, 3);
	ck_assert_int_eq(mc_weights_files(&file, path, &s, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		float *x = all_of(seed, &names[i], MC_BF16), *y = all_of(file, &names[i], MC_BF16);

		ck_assert(
		    !memcmp(x, y, (size_t)(names[i].rows ? names[i].rows : 1) * (size_t)names[i].cols * 4));
		free(x);
		free(y);
	}
	mc_weights_close(seed);
	mc_weights_close(file);
	opens(t, n - 1, &s, "lm_head.weight");
	was = t[3];
	t[3].name = "model.layers.0.self_attn.v_proj.bias";
	opens(t, n, &s, "model.layers.0.self_attn.v_proj.weight");
	t[3] = was;
	t[n] = (struct mc_tensor){.name = "model.layers.2.mlp.up_proj.weight",
				  .dtype = "F32",
				  .dims = 1,
				  .size = {4},
				  .data = was.data};
	opens(t, n + 1, &s, t[n].name);
	t[n].name = "model.layers.0.self_attn.rotary_emb.inv_freq";
	opens(t, n + 1, &s, NULL);
	t[3].size[0] = 64, t[3].size[1] = 256;
	opens(t, n, &s, was.name);
	t[3].dims = 1, t[3].size[0] = 128 * 128;
	opens(t, n, &s, was.name);
	t[3] = was, t[3].dtype = "I32";
	opens(t, n, &s, was.name);
	t[3] = was;
	s.tied = true;
	opens(t, n, &s, NULL);
	opens(t, n - 1, &s, NULL);
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)t[i].data);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("llama-shape");
	TCase *t = tcase_create("llama-shape");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, counts);
	tcase_add_test(t, shapes_refused);
	tcase_add_test(t, configs);
	tcase_add_test(t, configs_refused);
	tcase_add_test(t, seeded);
	tcase_add_test(t, from_files);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
