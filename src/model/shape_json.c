/* Model shapes as scenarios, profiles and samples write them: a name, a path, or an object. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "model/shape.h"

static int64_t *number_at(struct mc_shape *s, const struct mc_shape_key *k)
{
	return (int64_t *)(void *)((char *)s + k->offset);
}

static bool is_path(const char *name)
{
	size_t n = strlen(name);

	return strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".json"));
}

static int from_path(struct mc_shape *s, const char *name, const char *beside, struct mc_err *err)
{
	const char *slash = beside ? strrchr(beside, '/') : NULL;
	char path[4096];

	if (slash && name[0] != '/') {
		snprintf(path, sizeof path, "%.*s/%s", (int)(slash - beside), beside, name);
		if (!access(path, F_OK))
			return mc_shape_from_config(s, path, err);
	}
	return mc_shape_from_config(s, name, err);
}

static int named(struct mc_shape *s, const char *name, const char *beside, struct mc_err *err)
{
	const struct mc_shape *found = mc_shape_find(name);
	const char *names[64], *near;
	size_t n = 0;

	if (found) {
		*s = *found;
		return MC_OK;
	}
	if (is_path(name))
		return from_path(s, name, beside, err);
	for (; mc_shapes[n].name[0] && n < 63; n++)
		names[n] = mc_shapes[n].name;
	names[n] = NULL;
	near = mc_suggest(name, names);
	return mc_err_set(
	    err, MC_USAGE,
	    "no model is named '%.64s'%s%s%s; expected one of 'mooncake list models', the path of a "
	    "config.json, or an object",
	    name, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static int dtype(int64_t *bytes, const char *key, const json_t *v, struct mc_err *err)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {{"bf16", 2}, {"fp16", 2}, {"int8", 1}, {"fp8", 1}};
	size_t i;

	for (i = 0; json_is_string(v) && i < sizeof types / sizeof *types; i++)
		if (!strcmp(json_string_value(v), types[i].name)) {
			*bytes = types[i].bytes;
			return MC_OK;
		}
	return mc_err_key(err, MC_USAGE, key, "is no known precision; expected bf16, fp16, int8 or fp8");
}

static int number(struct mc_shape *s, const char *key, const json_t *v, struct mc_err *err)
{
	const struct mc_shape_key *k = mc_shape_keys;

	while (k->key && strcmp(key, k->key))
		k++;
	if (!k->key)
		return mc_err_key(err, MC_USAGE, key,
				  "is not a key of a model shape; see mooncake-scenario(5)");
	if (!json_is_integer(v) || json_integer_value(v) < k->min || json_integer_value(v) > k->max)
		return mc_err_key(err, MC_USAGE, key, "is not an integer from %lld to %lld",
				  (long long)k->min, (long long)k->max);
	*number_at(s, k) = json_integer_value(v);
	return MC_OK;
}

static int member(struct mc_shape *s, const char *key, const json_t *v, struct mc_err *err)
{
	if (!strcmp(key, "base"))
		return MC_OK;
	if (!strcmp(key, "kv_dtype"))
		return dtype(&s->kv_bytes_per_value, key, v, err);
	if (!strcmp(key, "weight_dtype"))
		return dtype(&s->weight_bytes_per_param, key, v, err);
	if (strcmp(key, "name"))
		return number(s, key, v, err);
	if (!json_is_string(v) || !json_string_length(v) || json_string_length(v) >= sizeof s->name)
		return mc_err_key(err, MC_USAGE, key, "is not a name of 1 to 63 characters");
	snprintf(s->name, sizeof s->name, "%s", json_string_value(v));
	return MC_OK;
}

static int whole(const struct mc_shape *s, const json_t *o, struct mc_err *err)
{
	for (const struct mc_shape_key *k = mc_shape_keys; k->key; k++)
		if (k->required && !*number_at((struct mc_shape *)(uintptr_t)s, k))
			return mc_err_key(err, MC_USAGE, k->key,
					  "is missing; a shape without \"base\" needs it");
	if (json_object_get(o, "kv_dtype") && json_object_get(o, "kv_bytes_per_value"))
		return mc_err_key(err, MC_USAGE, "kv_dtype",
				  "says the same as kv_bytes_per_value; give one of them");
	if (json_object_get(o, "weight_dtype") && json_object_get(o, "weight_bytes_per_param"))
		return mc_err_key(err, MC_USAGE, "weight_dtype",
				  "says the same as weight_bytes_per_param; give one of them");
	return mc_shape_check(s, err);
}

int mc_shape_from_json(struct mc_shape *s, const json_t *name_or_object, const char *beside,
		       struct mc_err *err)
{
	/* jansson iterates over non-const objects only; nothing is changed. */
	json_t *o = (json_t *)(uintptr_t)name_or_object, *v;
	const char *key;
	int rc = MC_OK;

	memset(s, 0, sizeof *s);
	if (json_is_string(o))
		return named(s, json_string_value(o), beside, err);
	if (!json_is_object(o))
		return mc_err_set(err, MC_USAGE, "a model is neither a name nor an object");
	snprintf(s->name, sizeof s->name, "custom");
	s->weight_bytes_per_param = s->kv_bytes_per_value = 2;
	v = json_object_get(o, "base");
	if (v && !json_is_string(v))
		return mc_err_key(err, MC_USAGE, "base", "is not the name of a model");
	if (v && (rc = named(s, json_string_value(v), beside, err)))
		return mc_err_at(err, NULL, 0, 0, "base"), rc;
	json_object_foreach(o, key, v) if ((rc = member(s, key, v, err))) return rc;
	return whole(s, o, err);
}
