/* Strict loading of JSON, with inheritance by "base". */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "conf/internal.h"

#define FILE_MAX_BYTES ((size_t)16 << 20)
#define CHAIN_MAX      32

/* A file being loaded and the one that named it as its base. */
struct load {
	struct mc_conf *conf;
	struct mc_conf_text text;
	const char *id; /* canonical path, to find cycles */
	const struct load *up;
	int depth;
};

static int load_text(const struct load *l, struct mc_err *err);

static void path_join(const struct mc_conf_path *p, struct mc_str *out)
{
	for (size_t i = 0; i < p->n; i++)
		mc_str_printf(out, "%s%s", i ? "." : "", p->part[i]);
}

/* Add the place of a key (at_value: of its value) to err. */
static int fail_at(const struct load *l, const struct mc_conf_path *p, bool at_value, struct mc_err *err)
{
	struct mc_str name = {0};
	size_t key, value;
	long line = 0, column = 0;

	path_join(p, &name);
	if (mc_conf_locate(&l->text, p, &key, &value))
		mc_conf_line_column(&l->text, at_value ? value : key, &line, &column);
	mc_err_at(err, l->text.name, line, column, mc_str_text(&name));
	mc_str_fini(&name);
	return MC_USAGE;
}

static int apply_object(const struct load *l, const json_t *object, struct mc_conf_path *p,
			struct mc_err *err);

/* One member, the last part of p. */
static int apply_member(const struct load *l, const json_t *v, struct mc_conf_path *p, struct mc_err *err)
{
	const struct mc_field *fields = l->conf->fields, *f;
	struct mc_str key = {0};
	int rc;

	path_join(p, &key);
	f = mc_conf_find(fields, mc_str_text(&key));
	if (strchr(p->part[p->n - 1], '.')) {
		bool known = f || mc_conf_is_group(fields, mc_str_text(&key));

		rc = known ? mc_err_set(err, MC_USAGE, "is written with a dot; expected nested objects")
			   : mc_conf_unknown(fields, mc_str_text(&key), err);
		fail_at(l, p, false, err);
	} else if (f) {
		rc = mc_conf_value_json(f, l->conf->obj, v, err);
		if (rc)
			fail_at(l, p, true, err);
		else
			l->conf->set[f - fields] = true;
	} else if (!mc_conf_is_group(fields, mc_str_text(&key)) || p->n == MC_CONF_DEPTH) {
		rc = mc_conf_unknown(fields, mc_str_text(&key), err);
		fail_at(l, p, false, err);
	} else if (!json_is_object(v)) {
		rc = mc_conf_not_a_value(fields, mc_str_text(&key), err);
		fail_at(l, p, true, err);
	} else {
		rc = apply_object(l, v, p, err);
	}
	mc_str_fini(&key);
	return rc;
}

/* In the order of the file, so that the first error is the one reported. */
static int apply_object(const struct load *l, const json_t *object, struct mc_conf_path *p,
			struct mc_err *err)
{
	const char *key;
	json_t *v;
	int rc = 0;

	json_object_foreach((json_t *)object, key, v)
	{
		if (!p->n && l->text.name && (!strcmp(key, "schema") || !strcmp(key, "base")))
			continue;
		p->part[p->n++] = key;
		rc = apply_member(l, v, p, err);
		p->n--;
		if (rc)
			break;
	}
	return rc;
}

/* "1.0" or 1; another major was written by, or for, another program. */
static int check_schema(const struct load *l, const json_t *v, struct mc_err *err)
{
	struct mc_conf_path p = {{"schema"}, 1};
	const char *s = json_string_value(v);
	long long major = -1;

	if (!v)
		return 0;
	if (json_is_integer(v)) {
		major = json_integer_value(v);
	} else if (s && isdigit((unsigned char)*s)) {
		char *end;

		major = strtoll(s, &end, 10);
		if (*end == '.' && isdigit((unsigned char)end[1]))
			strtoull(end + 1, &end, 10);
		if (*end)
			major = -1;
	}
	if (major == MC_CONF_MAJOR)
		return 0;
	if (major > MC_CONF_MAJOR)
		mc_err_set(err, MC_USAGE, "schema %lld is newer than this program, which reads %d.x", major,
			   MC_CONF_MAJOR);
	else
		mc_err_set(err, MC_USAGE, "is no schema number that is known; expected \"%s\"",
			   MC_CONF_SCHEMA);
	return fail_at(l, &p, true, err);
}

static char *beside(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');
	struct mc_str s = {0};

	if (slash && *path != '/')
		mc_str_add(&s, file, (size_t)(slash - file) + 1);
	mc_str_printf(&s, "%s", path);
	return s.at;
}

static char *canonical(const char *path)
{
	char *id = realpath(path, NULL);

	return id ? id : mc_xstrdup(path);
}

/* Read and apply the base at `path`; on an error *unread tells that it could not even be read. */
static int load_base_file(const struct load *l, const char *path, struct mc_err *err)
{
	char *id = canonical(path), *text = NULL;
	struct load base = {.conf = l->conf, .id = id, .up = l, .depth = l->depth + 1};
	struct mc_err read_err = {0};
	int rc = 0;

	for (const struct load *up = l; up && !rc; up = up->up)
		if (!strcmp(up->id, id))
			rc = mc_err_set(err, MC_USAGE, "bases form a cycle: '%.200s' is already being read",
					path);
	if (!rc && base.depth > CHAIN_MAX)
		rc = mc_err_set(err, MC_USAGE, "more than %d bases in a chain", CHAIN_MAX);
	if (!rc && mc_file_read(path, FILE_MAX_BYTES, &text, &base.text.n, &read_err))
		rc = mc_err_set(err, MC_USAGE, "base '%.200s' %.200s", path, read_err.text);
	if (!rc) {
		base.text.at = text;
		base.text.name = path;
		rc = load_text(&base, err);
	}
	free(text);
	free(id);
	return rc;
}

static int load_base(const struct load *l, const json_t *v, struct mc_err *err)
{
	struct mc_conf_path p = {{"base"}, 1};
	const char *name = json_string_value(v);
	char *path;
	int rc;

	if (!v)
		return 0;
	if (!name || !*name || !strcmp(name, "-")) {
		mc_err_set(err, MC_USAGE, "is no path; expected the name of another JSON file");
		return fail_at(l, &p, true, err);
	}
	path = beside(l->text.name, name);
	rc = load_base_file(l, path, err);
	free(path);
	/* An error inside the base has its place already. */
	if (rc && err && !err->file[0])
		fail_at(l, &p, true, err);
	return rc;
}

/* What jansson refuses: the token where it stopped and the key that belongs to it. */
static int syntax_error(const struct load *l, const json_error_t *je, struct mc_err *err)
{
	char key[sizeof((struct mc_err *)0)->key];
	size_t stop = je->position > 0 ? (size_t)je->position : 0;
	size_t at = mc_conf_locate_stop(&l->text, stop, key, sizeof key);
	long line, column;

	mc_conf_line_column(&l->text, at, &line, &column);
	if (json_error_code(je) == json_error_duplicate_key)
		mc_err_set(err, MC_USAGE, "duplicate key; expected it once");
	else if (json_error_code(je) == json_error_numeric_overflow)
		mc_err_set(err, MC_USAGE, "number is out of range");
	else
		mc_err_set(err, MC_USAGE, "not valid JSON: %s", je->text);
	mc_err_at(err, l->text.name, line, column, key);
	return MC_USAGE;
}

static int load_text(const struct load *l, struct mc_err *err)
{
	struct mc_conf_path p = {{0}, 0};
	json_error_t je;
	json_t *root = json_loadb(l->text.at, l->text.n, JSON_REJECT_DUPLICATES, &je);
	int rc;

	if (!root)
		return syntax_error(l, &je, err);
	if (!json_is_object(root)) {
		rc = mc_err_set(err, MC_USAGE, "is an array; expected an object");
		mc_err_at(err, l->text.name, 1, 1, NULL);
	} else {
		rc = check_schema(l, json_object_get(root, "schema"), err);
		if (!rc)
			rc = load_base(l, json_object_get(root, "base"), err);
		if (!rc)
			rc = apply_object(l, root, &p, err);
	}
	json_decref(root);
	return rc;
}

int mc_conf_load_text(struct mc_conf *c, const char *text, size_t n, const char *name, struct mc_err *err)
{
	char *id = canonical(name);
	struct load l = {.conf = c, .text = {text, n, name}, .id = id};
	int rc = load_text(&l, err);

	free(id);
	return rc;
}

int mc_conf_load_json(struct mc_conf *c, const json_t *object, struct mc_err *err)
{
	struct load l = {.conf = c, .text = {"", 0, NULL}};
	struct mc_conf_path p = {{0}, 0};

	return apply_object(&l, object, &p, err);
}

int mc_conf_load(struct mc_conf *c, const char *path, struct mc_err *err)
{
	char *text;
	size_t n;
	int rc = mc_file_read(path, FILE_MAX_BYTES, &text, &n, err);

	if (rc)
		return rc;
	rc = mc_conf_load_text(c, text, n, strcmp(path, "-") ? path : "<stdin>", err);
	free(text);
	return rc;
}
