/* The resolved values as JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/vec.h"
#include "conf/internal.h"

/* Seconds, or text where seconds in double would not read back the same. */
static json_t *dump_time(mc_time t)
{
	if (t == MC_TIME_MAX)
		return json_string("inf");
	if (t % MC_NS_PER_S == 0)
		return json_integer(t / MC_NS_PER_S);
	if (mc_time_from_s(mc_time_to_s(t)) == t)
		return json_real(mc_time_to_s(t));
	return json_sprintf("%lldns", (long long)t);
}

static json_t *dump_value(const struct mc_field *f, const void *obj)
{
	const void *p = (const char *)obj + f->offset;

	switch (f->type) {
	case MC_F_BOOL:
		return json_boolean(*(const bool *)p);
	case MC_F_INT:
	case MC_F_COUNT:
	case MC_F_BYTES:
		return json_integer(*(const int64_t *)p);
	case MC_F_REAL:
	case MC_F_RATE:
	case MC_F_FLOPS:
		return json_real(*(const double *)p);
	case MC_F_TIME:
		return dump_time(*(const mc_time *)p);
	case MC_F_STRING:
	case MC_F_CHOICE:
		return *(char *const *)p ? json_string(*(char *const *)p) : NULL;
	case MC_F_JSON:
	case MC_F_LIST:
		return *(json_t *const *)p ? json_deep_copy(*(json_t *const *)p) : NULL;
	}
	return NULL;
}

/* The object that holds the last part of key, made where needed; *last points into key. */
static json_t *dump_group(json_t *root, char *key, char **last)
{
	char *dot;

	for (; (dot = strchr(key, '.')); key = dot + 1) {
		json_t *next;

		*dot = 0;
		next = json_object_get(root, key);
		if (!next) {
			next = json_object();
			json_object_set_new(root, key, next);
		}
		root = next;
	}
	*last = key;
	return root;
}

json_t *mc_conf_dump(const struct mc_conf *c)
{
	json_t *root = json_object();

	json_object_set_new(root, "schema", json_string(MC_CONF_SCHEMA));
	for (const struct mc_field *f = c->fields; f->key; f++) {
		json_t *v = f->def || c->set[f - c->fields] ? dump_value(f, c->obj) : NULL;
		char *key, *last;
		json_t *group;

		if (!v)
			continue;
		key = mc_xstrdup(f->key);
		group = dump_group(root, key, &last);
		json_object_set_new(group, last, v);
		free(key);
	}
	return root;
}
