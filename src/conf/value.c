/* One value: read from text or JSON, checked against its field, stored. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/str.h"
#include "base/time.h"
#include "base/units.h"
#include "base/vec.h"
#include "conf/internal.h"

static void *slot(const struct mc_field *f, void *obj)
{
	return (char *)obj + f->offset;
}

const char *mc_conf_type_expected(enum mc_field_type type)
{
	static const char *const text[] = {
	    [MC_F_BOOL] = "true or false",
	    [MC_F_INT] = "an integer",
	    [MC_F_COUNT] = "a count such as 512 or \"3M\"",
	    [MC_F_BYTES] = "bytes such as 65536 or \"80GB\"",
	    [MC_F_REAL] = "a number",
	    [MC_F_RATE] = "bytes per second such as \"87GB/s\" or \"800Gbps\"",
	    [MC_F_FLOPS] = "operations per second such as \"312TFLOPS\"",
	    [MC_F_TIME] = "a time such as \"100ms\", or seconds",
	    [MC_F_STRING] = "a string",
	    [MC_F_CHOICE] = "a name",
	    [MC_F_JSON] = "a name or an object",
	    [MC_F_LIST] = "a list of objects",
	};

	return text[type];
}

static bool is_integral(enum mc_field_type type)
{
	return type == MC_F_INT || type == MC_F_COUNT || type == MC_F_BYTES;
}

static int out_of_range(const struct mc_field *f, double v, struct mc_err *err)
{
	const char *unit = f->unit ? f->unit : "", *space = *unit ? " " : "";

	if (isinf(f->max))
		return mc_err_set(err, MC_USAGE, "%.15g%s%s is out of range; expected at least %.12g%s%s", v,
				  space, unit, f->min, space, unit);
	return mc_err_set(err, MC_USAGE, "%.15g%s%s is out of range; expected %.12g to %.12g%s%s", v, space,
			  unit, f->min, f->max, space, unit);
}

static bool has_range(const struct mc_field *f)
{
	return f->min != 0 || f->max != 0;
}

static int store_int(const struct mc_field *f, void *obj, int64_t v, struct mc_err *err)
{
	if (has_range(f) && ((double)v < f->min || (double)v > f->max))
		return out_of_range(f, (double)v, err);
	*(int64_t *)slot(f, obj) = v;
	return 0;
}

static int store_real(const struct mc_field *f, void *obj, double v, struct mc_err *err)
{
	if (!isfinite(v) || (has_range(f) && (v < f->min || v > f->max)))
		return out_of_range(f, v, err);
	*(double *)slot(f, obj) = v;
	return 0;
}

static int store_time(const struct mc_field *f, void *obj, mc_time t, struct mc_err *err)
{
	if (t == MC_TIME_MAX && has_range(f) && !isinf(f->max))
		return mc_err_set(err, MC_USAGE, "cannot be infinite; expected %.12g to %.12g s", f->min,
				  f->max);
	if (has_range(f) && (t < mc_time_from_s(f->min) || t > mc_time_from_s(f->max)))
		return out_of_range(f, mc_time_to_s(t), err);
	*(mc_time *)slot(f, obj) = t;
	return 0;
}

static void store_string(const struct mc_field *f, void *obj, const char *text)
{
	char **p = slot(f, obj);
	char *copy = mc_xstrdup(text); /* text may be the old value */

	free(*p);
	*p = copy;
}

static int store_choice(const struct mc_field *f, void *obj, const char *text, struct mc_err *err)
{
	const char *const *list = f->choices(), *near;
	struct mc_str all = {0};
	int rc;

	for (size_t i = 0; list[i]; i++) {
		if (!strcmp(list[i], text)) {
			store_string(f, obj, text);
			return 0;
		}
	}
	for (size_t i = 0; list[i]; i++)
		mc_str_printf(&all, "%s%s", i ? ", " : "", list[i]);
	near = mc_suggest(text, list);
	rc = mc_err_set(err, MC_USAGE, "'%.60s' is unknown; %s%s%sexpected one of %.300s", text,
			near ? "did you mean '" : "", near ? near : "", near ? "'? " : "", mc_str_text(&all));
	mc_str_fini(&all);
	return rc;
}

static int store_json(const struct mc_field *f, void *obj, json_t *v, struct mc_err *err)
{
	json_t **p = slot(f, obj), *part;
	size_t i;
	bool good = json_is_object(v) || json_is_string(v);

	if (f->type == MC_F_LIST) {
		good = json_is_array(v);
		json_array_foreach(v, i, part)
		{
			good = good && json_is_object(part);
		}
	}
	if (!good) {
		json_decref(v);
		return mc_err_set(err, MC_USAGE,
				  f->type == MC_F_LIST ? "is not a list of objects; expected [{...}, ...]"
						       : "is neither a name nor an object");
	}
	json_decref(*p);
	*p = v;
	return 0;
}

/* --set model=llama3-70b or --set model={"layers": 80, ...} */
static int parse_json(const struct mc_field *f, void *obj, const char *text, struct mc_err *err)
{
	json_error_t je;
	json_t *v;

	if (!*text) {
		json_t **p = slot(f, obj);

		json_decref(*p);
		*p = NULL;
		return 0;
	}
	if (!strchr("{[\"", *text) && f->type == MC_F_JSON) {
		v = json_string(text);
		return v ? store_json(f, obj, v, err) : mc_err_set(err, MC_USAGE, "is not valid UTF-8");
	}
	v = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &je);
	return v ? store_json(f, obj, v, err) : mc_err_set(err, MC_USAGE, "is not valid JSON: %s", je.text);
}

static int parse_number(const struct mc_field *f, void *obj, const char *text, struct mc_err *err)
{
	int64_t i;
	double d;
	int rc;

	switch (f->type) {
	case MC_F_INT:
	case MC_F_COUNT:
	case MC_F_BYTES:
		rc = f->type == MC_F_INT     ? mc_units_int(text, &i, err)
		     : f->type == MC_F_COUNT ? mc_units_count(text, &i, err)
					     : mc_units_bytes(text, &i, err);
		return rc ? rc : store_int(f, obj, i, err);
	case MC_F_TIME:
		rc = mc_units_time(text, &i, err);
		return rc ? rc : store_time(f, obj, i, err);
	default:
		rc = f->type == MC_F_REAL   ? mc_units_real(text, &d, err)
		     : f->type == MC_F_RATE ? mc_units_rate(text, &d, err)
					    : mc_units_flops(text, &d, err);
		return rc ? rc : store_real(f, obj, d, err);
	}
}

int mc_conf_value_parse(const struct mc_field *f, void *obj, const char *text, struct mc_err *err)
{
	switch (f->type) {
	case MC_F_BOOL:
		if (strcmp(text, "true") && strcmp(text, "false"))
			return mc_err_set(err, MC_USAGE, "'%.60s' is not true or false", text);
		*(bool *)slot(f, obj) = *text == 't';
		return 0;
	case MC_F_STRING:
		store_string(f, obj, text);
		return 0;
	case MC_F_CHOICE:
		return store_choice(f, obj, text, err);
	case MC_F_JSON:
	case MC_F_LIST:
		return parse_json(f, obj, text, err);
	default:
		return parse_number(f, obj, text, err);
	}
}

static const char *json_kind(const json_t *v)
{
	static const char *const kind[] = {
	    [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
	    [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
	    [JSON_FALSE] = "false",      [JSON_NULL] = "null",
	};

	return kind[json_typeof(v)];
}

/* A JSON number of any field that takes one. */
static int number_json(const struct mc_field *f, void *obj, const json_t *v, struct mc_err *err)
{
	double d = json_number_value(v);

	if (is_integral(f->type)) {
		if (json_is_integer(v))
			return store_int(f, obj, json_integer_value(v), err);
		/* 1e6 is a real to JSON. */
		if (d != floor(d))
			return mc_err_set(err, MC_USAGE, "%.17g is not a whole number", d);
		if (fabs(d) > 9007199254740992.0)
			return mc_err_set(err, MC_USAGE, "%.17g is not an exact integer; write its digits",
					  d);
		return store_int(f, obj, (int64_t)d, err);
	}
	if (f->type != MC_F_TIME)
		return store_real(f, obj, d, err);
	if (fabs(d) > 9.2e9)
		return mc_err_set(err, MC_USAGE, "%.17g s is too large for a time", d);
	if (json_is_integer(v))
		return store_time(f, obj, json_integer_value(v) * MC_NS_PER_S, err);
	return store_time(f, obj, mc_time_from_s(d), err);
}

int mc_conf_value_json(const struct mc_field *f, void *obj, const json_t *v, struct mc_err *err)
{
	bool textual = f->type != MC_F_BOOL && f->type != MC_F_INT && f->type != MC_F_REAL &&
		       f->type != MC_F_JSON && f->type != MC_F_LIST;
	bool numeric = is_integral(f->type) || f->type == MC_F_REAL || f->type == MC_F_RATE ||
		       f->type == MC_F_FLOPS || f->type == MC_F_TIME;

	if (json_is_string(v) && textual)
		return mc_conf_value_parse(f, obj, json_string_value(v), err);
	if (json_is_number(v) && numeric)
		return number_json(f, obj, v, err);
	if (json_is_boolean(v) && f->type == MC_F_BOOL) {
		*(bool *)slot(f, obj) = json_is_true(v);
		return 0;
	}
	if (((json_is_string(v) || json_is_object(v)) && f->type == MC_F_JSON) ||
	    (json_is_array(v) && f->type == MC_F_LIST))
		return store_json(f, obj, json_deep_copy(v), err);
	return mc_err_set(err, MC_USAGE, "is %s; expected %s", json_kind(v), mc_conf_type_expected(f->type));
}

void mc_conf_value_fini(const struct mc_field *f, void *obj)
{
	if (f->type == MC_F_STRING || f->type == MC_F_CHOICE) {
		char **p = slot(f, obj);

		free(*p);
		*p = NULL;
	} else if (f->type == MC_F_JSON || f->type == MC_F_LIST) {
		json_t **p = slot(f, obj);

		json_decref(*p);
		*p = NULL;
	}
}
