/*
 * One table of fields per struct drives strict JSON loading, `--set a.b=c`, the dump of the resolved values,
 * `help config` and the man page. A table ends with a field whose key is NULL; keys are dotted paths.
 *
 *     struct s { int64_t seed; mc_time ttft; char *path; };
 *     static const struct mc_field fields[] = {
 *         {"seed", MC_F_INT, offsetof(struct s, seed), "1", 0, 1e18, "", "seed of all random streams", 0},
 *         {"slo.ttft", MC_F_TIME, offsetof(struct s, ttft), "30s", 0, 1e6, "s", "objective of TTFT", 0},
 *         {0}};
 *
 * Values in JSON are numbers in the base unit (s, bytes, bytes/s, tokens) or strings with a unit ("100ms",
 * "3M", "800Gbps", "80GB"); K, M, G are decimal, Ki, Mi, Gi binary.
 */
#ifndef MC_CONF_FIELD_H
#define MC_CONF_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

enum mc_field_type {
	MC_F_BOOL,   /* bool */
	MC_F_INT,    /* int64_t, plain integer */
	MC_F_COUNT,  /* int64_t, integer with K, M, G, Ki ... suffix ("3M"); tokens, blocks, requests */
	MC_F_BYTES,  /* int64_t, bytes ("80GB", "64KiB") */
	MC_F_REAL,   /* double */
	MC_F_RATE,   /* double, bytes per second ("800Gbps" = 100e9, "87GB/s") */
	MC_F_FLOPS,  /* double, operations per second ("312TFLOPS") */
	MC_F_TIME,   /* mc_time (ns) ("30s", "100ms", "5us"; "inf" = MC_TIME_MAX when max allows) */
	MC_F_STRING, /* char *, owned by the struct, never NULL: a required one is "" until it is given */
	MC_F_CHOICE, /* char *, one of choices() */
	MC_F_JSON,   /* json_t *, owned; any object or string; checked by its user; default "": optional, NULL
			if absent */
	MC_F_LIST,   /* json_t *, owned; an array of objects; likewise */
};

struct mc_field {
	const char *key;
	enum mc_field_type type;
	size_t offset;
	const char *def; /* default, written as a user would; NULL: the field is required */
	double min, max; /* range in the base unit, inclusive; both 0: any. MC_F_TIME: s; max INFINITY: "inf"
			    is allowed */
	const char *unit;
	const char *help;                    /* one line */
	const char *const *(*choices)(void); /* MC_F_CHOICE: NULL-terminated list */
};

/* A struct being configured. `set` has one flag a field: given by a file or --set (not a default). */
struct mc_conf {
	const struct mc_field *fields;
	void *obj;
	bool *set;
};

/* Fill obj with the defaults; required fields stay zero. The table and obj are borrowed. */
int mc_conf_init(struct mc_conf *c, const struct mc_field *fields, void *obj, struct mc_err *err);
void mc_conf_fini(struct mc_conf *c); /* frees strings and JSON inside obj, too */

/*
 * Load a JSON file ("-" is stdin), strictly: unknown and duplicate keys, wrong types, values out of range are
 * errors with file, line, column and key, exit code 2. "base": "other.json" (relative to this file) is loaded
 * first, cycles are refused. "schema": "1.0" (any minor) is accepted, another major refused. A file of more
 * than 16 MiB is refused. After an error obj holds what was read before it.
 */
int mc_conf_load(struct mc_conf *c, const char *path, struct mc_err *err);
/* The same from memory; name stands for the file in messages and for relative bases. */
int mc_conf_load_text(struct mc_conf *c, const char *text, size_t n, const char *name, struct mc_err *err);
/* The same from an object inside of another file, such as an element of an MC_F_LIST: errors name keys, not
 * places. */
int mc_conf_load_json(struct mc_conf *c, const json_t *object, struct mc_err *err);
/* "a.b=value", the value written as a user would; an MC_F_JSON one is JSON text or a bare word, taken whole;
 * an MC_F_LIST is JSON text.
 */
int mc_conf_set(struct mc_conf *c, const char *assignment, struct mc_err *err);
/* Every required field is given, or an error naming the first that is not. */
int mc_conf_check(const struct mc_conf *c, struct mc_err *err);

/*
 * The resolved values after "schema", nested by the dots, numbers in base units (times in s, or a string
 * where that would not read back the same). Required fields not given are left out. Loading it gives the same
 * values. New reference.
 */
json_t *mc_conf_dump(const struct mc_conf *c);
/* Was this key given (by a file or --set)? */
bool mc_conf_is_set(const struct mc_conf *c, const char *key);
/* A table for people: key, type, default, unit, help. */
void mc_conf_help(const struct mc_field *fields, FILE *out);

#endif
