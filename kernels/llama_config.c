/* A model's shape from Hugging Face's config.json. */
#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "kernels/llama_shape.h"

/* Larger is no configuration. */
#define FILE_MAX_BYTES ((size_t)4 << 20)

struct config {
	const json_t *root;
	struct mc_err *err;
	int rc; /* of the first error */
};

static void fail(struct config *c, const char *key, const char *wrong, const char *expected)
{
	if (c->rc)
		return;
	c->rc = mc_err_set(c->err, MC_USAGE, "%s; expected %s", wrong, expected);
	if (c->err)
		mc_err_at(c->err, NULL, 0, 0, key);
}

/* A member, or NULL where it is absent or null. */
static const json_t *member(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_null(v) ? NULL : v;
}

/* A whole number; absent: `otherwise`, or an error if that is negative. */
static int whole(struct config *c, const json_t *o, const char *key, int otherwise)
{
	const json_t *v = member(o, key);

	if (!v && otherwise < 0)
		fail(c, key, "is missing", "a whole number");
	if (!v)
		return otherwise;
	if (json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) <= INT_MAX)
		return (int)json_integer_value(v);
	fail(c, key, "is no such number", "a whole number above 0");
	return otherwise;
}

static double number(struct config *c, const json_t *o, const char *key, double otherwise)
{
	const json_t *v = member(o, key);

	if (!v && otherwise < 0)
		fail(c, key, "is missing", "a number");
	if (v && !json_is_number(v))
		fail(c, key, "is no number", "a number");
	return v && json_is_number(v) ? json_number_value(v) : otherwise;
}

static bool flag(struct config *c, const char *key)
{
	const json_t *v = member(c->root, key);

	if (v && !json_is_boolean(v))
		fail(c, key, "is neither true nor false", "true or false");
	return v && json_is_true(v);
}

/* Absent, or this text. */
static void text_is(struct config *c, const char *key, const char *want)
{
	const json_t *v = member(c->root, key);

	if (v && (!json_is_string(v) || strcmp(json_string_value(v), want)))
		fail(c, key, "is another one", want);
}

static void only_llama(struct config *c)
{
	const json_t *a = member(c->root, "architectures");

	if (a && (json_array_size(a) != 1 || !json_is_string(json_array_get(a, 0)) ||
		  strcmp(json_string_value(json_array_get(a, 0)), "LlamaForCausalLM")))
		fail(c, "architectures", "is another one", "[\"LlamaForCausalLM\"]");
	if (!a && !member(c->root, "model_type"))
		fail(c, "architectures", "is missing", "[\"LlamaForCausalLM\"]");
	text_is(c, "model_type", "llama");
	text_is(c, "hidden_act", "silu");
	if (flag(c, "attention_bias"))
		fail(c, "attention_bias", "is true", "layers without biases");
	if (flag(c, "mlp_bias"))
		fail(c, "mlp_bias", "is true", "layers without biases");
	if (member(c->root, "quantization_config"))
		fail(c, "quantization_config", "is there", "weights that are not quantised");
}

/* o: rope_scaling, or what newer files call rope_parameters. */
static void read_scaling(struct config *c, const json_t *o, const char *key, struct mc_llama_shape *s)
{
	const json_t *type = member(o, "rope_type");

	if (!type)
		type = member(o, "type");
	if (!json_is_object(o) || !json_is_string(type)) {
		fail(c, key, "has no rope_type", "\"llama3\" or \"default\"");
	} else if (!strcmp(json_string_value(type), "llama3")) {
		s->rope.factor = number(c, o, "factor", -1);
		s->rope.low = number(c, o, "low_freq_factor", -1);
		s->rope.high = number(c, o, "high_freq_factor", -1);
		s->rope.original = whole(c, o, "original_max_position_embeddings", -1);
		if (s->rope.factor == 0) /* which would mean none */
			fail(c, key, "has the factor 0", "1 or more");
	} else if (strcmp(json_string_value(type), "default")) {
		fail(c, key, "has another rope_type", "\"llama3\" or \"default\"");
	}
}

static void read_rope(struct config *c, struct mc_llama_shape *s)
{
	const json_t *scaling = member(c->root, "rope_scaling"),
		     *parameters = member(c->root, "rope_parameters");

	s->rope_theta = number(c, c->root, "rope_theta", 10000);
	if (number(c, c->root, "partial_rotary_factor", 1) != 1)
		fail(c, "partial_rotary_factor", "is another one", "1: heads that are turned whole");
	if (scaling)
		read_scaling(c, scaling, "rope_scaling", s);
	if (parameters) {
		s->rope_theta = number(c, parameters, "rope_theta", s->rope_theta);
		read_scaling(c, parameters, "rope_parameters", s);
	}
}

static void read_shape(struct config *c, struct mc_llama_shape *s)
{
	s->layers = whole(c, c->root, "num_hidden_layers", -1);
	s->hidden = whole(c, c->root, "hidden_size", -1);
	s->heads = whole(c, c->root, "num_attention_heads", -1);
	s->kv_heads = whole(c, c->root, "num_key_value_heads", s->heads);
	s->head_dim = whole(c, c->root, "head_dim", s->heads > 0 ? s->hidden / s->heads : 0);
	s->ffn = whole(c, c->root, "intermediate_size", -1);
	s->vocab = whole(c, c->root, "vocab_size", -1);
	s->max_position = whole(c, c->root, "max_position_embeddings", 2048);
	s->norm_eps = number(c, c->root, "rms_norm_eps", 1e-6);
	s->tied = flag(c, "tie_word_embeddings");
	read_rope(c, s);
}

int mc_llama_config_read(const char *path, struct mc_llama_shape *out, struct mc_err *err)
{
	struct config c = {.err = err};
	json_error_t at;
	json_t *root;
	char *text;
	size_t n;

	*out = (struct mc_llama_shape){0};
	if (mc_file_read(path, FILE_MAX_BYTES, &text, &n, err))
		return MC_USAGE;
	root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
	free(text);
	if (!root) {
		mc_err_set(err, MC_USAGE, "%s; expected JSON", at.text);
		if (err)
			mc_err_at(err, path, at.line, at.column, NULL);
		return MC_USAGE;
	}
	c.root = root;
	if (!json_is_object(root))
		fail(&c, NULL, "is no object", "a model's config.json");
	if (!c.rc)
		only_llama(&c);
	if (!c.rc)
		read_shape(&c, out);
	if (!c.rc)
		c.rc = mc_llama_shape_check(out, err);
	json_decref(root);
	if (c.rc && err)
		mc_err_at(err, path, 0, 0, NULL);
	return c.rc;
}
