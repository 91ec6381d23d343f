/*
 * A model's config.json as Hugging Face's transformers write it, read for its shape alone. What is not read
 * here (windows of attention, rotary settings, token ids) changes nothing that costs are counted from, but
 * for sliding windows: attention is counted over the whole context.
 */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/shape.h"

/* Largest file that can be a config: real ones have 1 to 3 KB. */
#define CONFIG_MAX (1 << 20)

/* How the architectures call a number; the first that the file has counts. `otherwise`: what its absence (or
 * null) means; -1: an error. */
static const struct config_key {
	const char *key, *name[2];
	int64_t otherwise;
} config_keys[] = {
    {"layers", {"num_hidden_layers", NULL}, -1},
    {"hidden", {"hidden_size", NULL}, -1},
    {"heads", {"num_attention_heads", NULL}, -1},
    {"kv_heads", {"num_key_value_heads", NULL}, 0},
    {"head_dim", {"qk_nope_head_dim", "head_dim"}, 0},
    {"ffn", {"intermediate_size", NULL}, -1},
    {"vocab", {"vocab_size", NULL}, -1},
    {"experts", {"n_routed_experts", "num_local_experts"}, 0},
    {"experts_per_token", {"num_experts_per_tok", NULL}, 0},
    {"shared_experts", {"n_shared_experts", NULL}, 0},
    {"expert_ffn", {"moe_intermediate_size", NULL}, 0},
    {"dense_layers", {"first_k_dense_replace", NULL}, 0},
    {"kv_lora_rank", {"kv_lora_rank", NULL}, 0},
    {"q_lora_rank", {"q_lora_rank", NULL}, 0},
    {"rope_head_dim", {"qk_rope_head_dim", NULL}, 0},
    {"v_head_dim", {"v_head_dim", NULL}, 0},
};

static int number(struct mc_shape *s, const json_t *o, const struct config_key *c, struct mc_err *err)
{
	const struct mc_shape_key *k = mc_shape_keys;
	const json_t *v = NULL;
	const char *name = c->name[0];

	for (int i = 0; i < 2 && c->name[i] && (!v || json_is_null(v)); i++)
		v = json_object_get(o, name = c->name[i]);
	while (strcmp(k->key, c->key))
		k++;
	if (v && !json_is_null(v)) {
		json_int_t n = json_integer_value(v);

		if (!json_is_integer(v) || n < k->min || n > k->max)
			return mc_err_key(err, MC_USAGE, name, "is not an integer from %lld to %lld",
					  (long long)k->min, (long long)k->max);
		*(int64_t *)(void *)((char *)s + k->offset) = n;
		return MC_OK;
	}
	if (c->otherwise >= 0)
		return MC_OK;
	return mc_err_key(err, MC_USAGE, c->name[0], "is missing; expected a model's config.json");
}

/* Bytes of a weight: of the type that it is published in, or of its quantisation. */
static int precision(struct mc_shape *s, const json_t *o, struct mc_err *err)
{
	const json_t *q = json_object_get(o, "quantization_config");
	const char *key = json_object_get(o, "torch_dtype") ? "torch_dtype" : "dtype";
	const char *type = json_string_value(json_object_get(o, key));

	s->weight_bytes_per_param = s->kv_bytes_per_value = 2;
	if (q && !json_is_null(q)) {
		const char *method = json_string_value(json_object_get(q, "quant_method"));

		if (!method || strcmp(method, "fp8"))
			return mc_err_key(
			    err, MC_USAGE, "quantization_config.quant_method",
			    "'%.32s' is not known; expected fp8, or give the unquantised model's "
			    "config.json as \"base\" and weight_bytes_per_param",
			    method ? method : "");
		s->weight_bytes_per_param = 1;
	} else if (type && !strcmp(type, "float32")) {
		s->weight_bytes_per_param = s->kv_bytes_per_value = 4;
	} else if (type && strcmp(type, "bfloat16") && strcmp(type, "float16")) {
		return mc_err_key(err, MC_USAGE, key,
				  "'%.32s' is not known; expected bfloat16, float16 or float32", type);
	}
	return MC_OK;
}

/* What absence means, and what only the architecture says. */
static int architecture(struct mc_shape *s, const json_t *o, struct mc_err *err)
{
	static const char *const known[] = {"deepseek_v2", "deepseek_v3", "llama",
					    "mistral",     "mixtral",     "qwen2"};
	const char *type = json_string_value(json_object_get(o, "model_type"));
	size_t i = 0;

	while (i < sizeof known / sizeof *known && (!type || strcmp(type, known[i])))
		i++;
	if (i == sizeof known / sizeof *known)
		return mc_err_key(
		    err, MC_USAGE, "model_type",
		    "'%.32s' is not known; expected deepseek_v2, deepseek_v3, llama, mistral, mixtral "
		    "or qwen2 (or give the numbers as an object)",
		    type ? type : "");
	if (!s->kv_heads || s->kv_lora_rank)
		s->kv_heads = s->heads;
	if (!s->head_dim)
		s->head_dim = s->hidden / s->heads;
	if (s->experts && !s->expert_ffn)
		s->expert_ffn = s->ffn;
	s->qkv_bias = !strcmp(type, "qwen2") || json_is_true(json_object_get(o, "attention_bias"));
	s->tied_embeddings = json_is_true(json_object_get(o, "tie_word_embeddings"));
	if (s->head_dim)
		return MC_OK;
	return mc_err_key(err, MC_USAGE, "hidden_size", "is less than num_attention_heads");
}

/* Called by its folder, which is how checkpoints are told apart. */
static void name_it(struct mc_shape *s, const char *path)
{
	char copy[4096], *folder;

	snprintf(copy, sizeof copy, "%s", path);
	folder = basename(dirname(copy));
	snprintf(s->name, sizeof s->name, "%.63s", *folder == '.' || *folder == '/' ? "config.json" : folder);
}

static int read_config(struct mc_shape *s, const json_t *o, struct mc_err *err)
{
	int rc = MC_OK;

	if (!json_is_object(o))
		return mc_err_set(err, MC_USAGE, "is not an object; expected a model's config.json");
	for (size_t i = 0; i < sizeof config_keys / sizeof *config_keys && !rc; i++)
		rc = number(s, o, &config_keys[i], err);
	if (!rc)
		rc = architecture(s, o, err);
	if (!rc)
		rc = precision(s, o, err);
	return rc ? rc : mc_shape_check(s, err);
}

int mc_shape_from_config(struct mc_shape *s, const char *path, struct mc_err *err)
{
	char *text;
	json_error_t je;
	json_t *o;
	size_t n;
	int rc;

	memset(s, 0, sizeof *s);
	rc = mc_file_read(path, CONFIG_MAX, &text, &n, err);
	if (rc)
		return rc;
	o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &je);
	free(text);
	if (!o) {
		mc_err_set(err, MC_USAGE, "is not JSON: %s", je.text);
		return mc_err_at(err, path, je.line, je.column, NULL);
	}
	rc = read_config(s, o, err);
	json_decref(o);
	name_it(s, path);
	return rc ? mc_err_at(err, path, 0, 0, NULL) : MC_OK;
}
