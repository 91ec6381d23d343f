/* The slow path: the same record by jansson, and what is wrong with it in words. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "trace/mooncake.h"

static const char *kind(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a number with a fraction or exponent";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	default:
		return "null";
	}
}

static int bad(struct mc_err *err, const char *key)
{
	mc_err_at(err, NULL, 0, 0, key);
	return MC_USAGE;
}

static int get(const json_t *o, const char *key, const char *expected, json_t **out, struct mc_err *err)
{
	*out = json_object_get(o, key);
	if (*out)
		return 0;
	mc_err_set(err, MC_USAGE, "is missing; expected %s", expected);
	return bad(err, key);
}

/* big: integers were read as reals, because one of the line is above 2^63 - 1. */
static int get_length(const json_t *o, const char *key, bool big, int64_t *out, struct mc_err *err)
{
	json_t *v;

	if (get(o, key, "a number of tokens", &v, err))
		return MC_USAGE;
	if (json_is_integer(v) ||
	    (big && json_is_real(v) && json_real_value(v) == floor(json_real_value(v)))) {
		double x = json_number_value(v);

		*out = json_is_integer(v) ? json_integer_value(v) : 0;
		if (x >= 0 && x <= 9.2e18)
			return 0;
		mc_err_set(err, MC_USAGE, "is %.17g; expected a number of tokens, 0 or more", x);
		return bad(err, key);
	}
	mc_err_set(err, MC_USAGE, "is %s; expected an integer", kind(v));
	return bad(err, key);
}

static int get_timestamp(const json_t *o, mc_time *out, struct mc_err *err)
{
	json_t *v;
	double x;

	if (get(o, "timestamp", "milliseconds", &v, err))
		return MC_USAGE;
	if (!json_is_number(v)) {
		mc_err_set(err, MC_USAGE, "is %s; expected a number of milliseconds", kind(v));
		return bad(err, "timestamp");
	}
	x = json_number_value(v);
	if (x < 0) {
		mc_err_set(err, MC_USAGE, "is %.17g; expected milliseconds, 0 or more", x);
		return bad(err, "timestamp");
	}
	if (json_is_integer(v) ? json_integer_value(v) > INT64_MAX / MC_NS_PER_MS : !(x < 9.2e12)) {
		mc_err_set(err, MC_USAGE, "is %.17g; expected milliseconds below 292 years", x);
		return bad(err, "timestamp");
	}
	*out = json_is_integer(v) ? json_integer_value(v) * MC_NS_PER_MS : mc_mooncake_ns(x);
	return 0;
}

static int get_ids(const json_t *o, bool big, struct mc_mooncake_ids *ids, struct mc_err *err)
{
	json_t *list, *v;
	size_t i;

	ids->n = 0;
	if (get(o, "hash_ids", "a list of block ids", &list, err))
		return MC_USAGE;
	if (!json_is_array(list)) {
		mc_err_set(err, MC_USAGE, "is %s; expected a list of block ids", kind(list));
		return bad(err, "hash_ids");
	}
	json_array_foreach(list, i, v)
	{
		double x = json_number_value(v);

		if (!json_is_integer(v) && !(big && json_is_real(v) && x == floor(x)))
			mc_err_set(err, MC_USAGE, "id %zu is %s; expected an integer", i + 1, kind(v));
		else if (x < 0 || x > 18446744073709551616.0)
			mc_err_set(err, MC_USAGE, "id %zu is %.17g; expected 0 to 2^64 - 1", i + 1, x);
		else {
			mc_vec_push(ids, (uint64_t)json_integer_value(v));
			continue;
		}
		return bad(err, "hash_ids");
	}
	return 0;
}

/* May be missing: -1. */
static int get_chat(const json_t *o, const char *key, bool big, int64_t *out, struct mc_err *err)
{
	const json_t *v = json_object_get(o, key);
	int64_t least = strcmp(key, "chat_id") ? -1 : 0;

	*out = -1;
	if (!v || (big && json_is_real(v) && json_real_value(v) == floor(json_real_value(v))))
		return 0;
	if (!json_is_integer(v)) {
		mc_err_set(err, MC_USAGE, "is %s; expected an integer", kind(v));
		return bad(err, key);
	}
	*out = json_integer_value(v);
	if (*out >= least)
		return 0;
	mc_err_set(err, MC_USAGE, "is %lld; expected an integer, %lld or more", (long long)*out,
		   (long long)least);
	return bad(err, key);
}

static int get_record(const json_t *o, bool big, struct mc_mooncake_record *r, struct mc_err *err)
{
	if (!json_is_object(o))
		return mc_err_set(err, MC_USAGE,
				  "is %s; expected an object with timestamp, input_length, output_length "
				  "and hash_ids",
				  kind(o));
	if (get_timestamp(o, &r->timestamp, err) || get_length(o, "input_length", big, &r->input, err) ||
	    get_length(o, "output_length", big, &r->output, err) || get_ids(o, big, &r->ids, err) ||
	    get_chat(o, "chat_id", big, &r->chat, err) || get_chat(o, "parent_chat_id", big, &r->parent, err))
		return MC_USAGE;
	if (big)
		return mc_err_set(err, MC_USAGE,
				  "an integer is above its range; expected ids up to 2^64 - 1, "
				  "anything else up to 2^63 - 1");
	return 0;
}

/* jansson overlooks a NUL after a number. */
static int refuse_nul(const char *line, size_t n, struct mc_err *err)
{
	const char *nul = memchr(line, 0, n);

	if (!nul)
		return 0;
	mc_err_set(err, MC_USAGE, "not JSON: a NUL byte; expected one JSON object a line");
	if (err && !err->column)
		err->column = nul - line + 1;
	return MC_USAGE;
}

int mc_mooncake_parse(const char *line, size_t n, struct mc_mooncake_record *r, struct mc_err *err)
{
	json_error_t e;
	json_t *o;
	bool big = false;
	int rc;

	if (refuse_nul(line, n, err))
		return MC_USAGE;
	o = json_loadb(line, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
	if (!o && json_error_code(&e) == json_error_numeric_overflow) {
		big = true;
		o = json_loadb(line, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL,
			       &e);
	}
	if (!o) {
		bool twice = json_error_code(&e) == json_error_duplicate_key;

		mc_err_set(err, MC_USAGE, "%s%s; expected one JSON object a line%s",
			   twice ? "" : "not JSON: ", e.text, twice ? ", each key once" : "");
		if (err && !err->column)
			err->column = e.column;
		return MC_USAGE;
	}
	rc = get_record(o, big, r, err);
	json_decref(o);
	return rc;
}
