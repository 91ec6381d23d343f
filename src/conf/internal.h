/* Shared by the files of conf/ only. */
#ifndef MC_CONF_INTERNAL_H
#define MC_CONF_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "conf/field.h"

#define MC_CONF_DEPTH  16 /* parts of a dotted key */
#define MC_CONF_MAJOR  1
#define MC_CONF_SCHEMA "1.0" /* written by the dump */

/* A JSON text and its name in messages. */
struct mc_conf_text {
	const char *at;
	size_t n;
	const char *name;
};

/* A key as its parts: what a dot in a JSON key would blur. */
struct mc_conf_path {
	const char *part[MC_CONF_DEPTH];
	size_t n;
};

/* locate.c: 1-based line and column (in characters) of a byte offset. */
void mc_conf_line_column(const struct mc_conf_text *t, size_t offset, long *line, long *column);
/* Byte offsets of a key and its value in valid JSON; false when it isn't there. */
bool mc_conf_locate(const struct mc_conf_text *t, const struct mc_conf_path *p, size_t *key, size_t *value);
/*
 * Where parsing stopped: offset of the first token that ends at or after `stop`, and the dotted key it
 * belongs to (that of the object around it, or itself if it is a key). Works on text that is no valid JSON.
 */
size_t mc_conf_locate_stop(const struct mc_conf_text *t, size_t stop, char *key, size_t key_size);

/* value.c: one value of obj, checked; errors carry no place. */
int mc_conf_value_parse(const struct mc_field *f, void *obj, const char *text, struct mc_err *err);
int mc_conf_value_json(const struct mc_field *f, void *obj, const json_t *v, struct mc_err *err);
void mc_conf_value_fini(const struct mc_field *f, void *obj);
/* "a count such as 3M" */
const char *mc_conf_type_expected(enum mc_field_type type);

/* conf.c: field by key, or NULL; is key the name of a group, as "slo" of "slo.ttft"? */
const struct mc_field *mc_conf_find(const struct mc_field *fields, const char *key);
bool mc_conf_is_group(const struct mc_field *fields, const char *key);
/* Set err for a key that is neither; suggests the nearest. */
int mc_conf_unknown(const struct mc_field *fields, const char *key, struct mc_err *err);
/* Set err for a group given a value. */
int mc_conf_not_a_value(const struct mc_field *fields, const char *group, struct mc_err *err);

#endif
