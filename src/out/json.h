/* Short forms for building JSON. */
#ifndef MC_OUT_JSON_H
#define MC_OUT_JSON_H

#include <jansson.h>
#include <math.h>
#include <stdint.h>

static inline void mc_json_int(json_t *o, const char *key, int64_t v)
{
	json_object_set_new(o, key, json_integer(v));
}

/* JSON has no infinity and no NaN: null. */
static inline void mc_json_real(json_t *o, const char *key, double v)
{
	json_object_set_new(o, key, isfinite(v) ? json_real(v) : json_null());
}

static inline void mc_json_text(json_t *o, const char *key, const char *v)
{
	json_t *text = json_string(v);

	/* A file name need not be UTF-8. */
	json_object_set_new(o, key, text ? text : json_string("(not UTF-8)"));
}

static inline json_t *mc_json_object(json_t *o, const char *key)
{
	json_t *child = json_object();

	json_object_set_new(o, key, child);
	return child;
}

#endif
