/* A struct being configured: defaults, assignments, checks. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "conf/internal.h"

const struct mc_field *mc_conf_find(const struct mc_field *fields, const char *key)
{
	for (; fields->key; fields++)
		if (!strcmp(fields->key, key))
			return fields;
	return NULL;
}

bool mc_conf_is_group(const struct mc_field *fields, const char *key)
{
	size_t n = strlen(key);

	for (; fields->key; fields++)
		if (!strncmp(fields->key, key, n) && fields->key[n] == '.')
			return true;
	return false;
}

int mc_conf_unknown(const struct mc_field *fields, const char *key, struct mc_err *err)
{
	struct {
		MC_VEC(const char *)
	} keys = {0};
	const char *near;
	int rc;

	for (const struct mc_field *f = fields; f->key; f++) {
		size_t n = strlen(f->key);

		if ((f->type == MC_F_JSON || f->type == MC_F_LIST) && !strncmp(f->key, key, n) &&
		    key[n] == '.') {
			rc = mc_err_set(err, MC_USAGE, "'%s' is one JSON value; set it whole, as in %s=%s",
					f->key, f->key, f->type == MC_F_LIST ? "[...]" : "{...}");
			goto out;
		}
		mc_vec_push(&keys, f->key);
	}
	mc_vec_push(&keys, NULL);
	near = mc_suggest(key, keys.at);
	rc = mc_err_set(err, MC_USAGE, near ? "unknown key; did you mean '%s'?" : "unknown key", near);
out:
	mc_vec_fini(&keys);
	mc_err_at(err, NULL, 0, 0, key);
	return rc;
}

int mc_conf_not_a_value(const struct mc_field *fields, const char *group, struct mc_err *err)
{
	struct mc_str members = {0};
	size_t n = strlen(group);
	int rc;

	for (const struct mc_field *f = fields; f->key; f++)
		if (!strncmp(f->key, group, n) && f->key[n] == '.')
			mc_str_printf(&members, "%s%s", members.n ? ", " : "", f->key + n + 1);
	rc = mc_err_set(err, MC_USAGE, "is not an object; expected one with the keys %.300s",
			mc_str_text(&members));
	mc_str_fini(&members);
	return rc;
}

int mc_conf_init(struct mc_conf *c, const struct mc_field *fields, void *obj, struct mc_err *err)
{
	size_t n = 0;

	*c = (struct mc_conf){.fields = fields, .obj = obj};
	while (fields[n].key)
		n++;
	c->set = mc_xcalloc(n, sizeof *c->set);
	/* The storage is the caller's and may hold anything. */
	for (const struct mc_field *f = fields; f->key; f++) {
		static const size_t size[] = {
		    [MC_F_BOOL] = sizeof(bool),     [MC_F_INT] = sizeof(int64_t),
		    [MC_F_COUNT] = sizeof(int64_t), [MC_F_BYTES] = sizeof(int64_t),
		    [MC_F_REAL] = sizeof(double),   [MC_F_RATE] = sizeof(double),
		    [MC_F_FLOPS] = sizeof(double),  [MC_F_TIME] = sizeof(int64_t),
		    [MC_F_STRING] = sizeof(char *), [MC_F_CHOICE] = sizeof(char *),
		    [MC_F_JSON] = sizeof(json_t *), [MC_F_LIST] = sizeof(json_t *),
		};

		assert(f->type != MC_F_CHOICE || f->choices);
		memset((char *)obj + f->offset, 0, size[f->type]);
	}
	for (const struct mc_field *f = fields; f->key; f++) {
		const char *def = f->def ? f->def : f->type == MC_F_STRING ? "" : NULL;

		if (def && mc_conf_value_parse(f, obj, def, err)) {
			mc_err_at(err, "default", 0, 0, f->key);
			mc_conf_fini(c);
			return MC_USAGE;
		}
	}
	return 0;
}

void mc_conf_fini(struct mc_conf *c)
{
	for (const struct mc_field *f = c->fields; f && f->key; f++)
		mc_conf_value_fini(f, c->obj);
	free(c->set);
	*c = (struct mc_conf){0};
}

int mc_conf_set(struct mc_conf *c, const char *assignment, struct mc_err *err)
{
	const char *eq = strchr(assignment, '=');
	const struct mc_field *f;
	char *key;
	int rc;

	if (!eq || eq == assignment) {
		rc = mc_err_set(err, MC_USAGE, "'%.100s' is not an assignment; expected key=value",
				assignment);
		mc_err_at(err, "--set", 0, 0, NULL);
		return rc;
	}
	key = mc_xstrdup(assignment);
	key[eq - assignment] = 0;
	f = mc_conf_find(c->fields, key);
	if (f)
		rc = mc_conf_value_parse(f, c->obj, eq + 1, err);
	else if (mc_conf_is_group(c->fields, key))
		rc = mc_conf_not_a_value(c->fields, key, err);
	else
		rc = mc_conf_unknown(c->fields, key, err);
	if (rc)
		mc_err_at(err, "--set", 0, 0, key);
	else
		c->set[f - c->fields] = true;
	free(key);
	return rc;
}

int mc_conf_check(const struct mc_conf *c, struct mc_err *err)
{
	for (const struct mc_field *f = c->fields; f->key; f++) {
		if (!f->def && !c->set[f - c->fields]) {
			mc_err_set(err, MC_USAGE, "is required and was not given; expected %s (%s)",
				   mc_conf_type_expected(f->type), f->help ? f->help : "");
			mc_err_at(err, NULL, 0, 0, f->key);
			return MC_USAGE;
		}
	}
	return 0;
}

bool mc_conf_is_set(const struct mc_conf *c, const char *key)
{
	const struct mc_field *f = mc_conf_find(c->fields, key);

	assert(f);
	return c->set[f - c->fields];
}
