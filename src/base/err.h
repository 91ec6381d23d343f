/*
 * Errors: a return code plus a description, filled by the first function that knows what is wrong.
 * Functions return 0 or one of enum mc_rc. Nothing below cli/ prints or exits.
 */
#ifndef MC_BASE_ERR_H
#define MC_BASE_ERR_H

#include <stdio.h>

enum mc_rc {
	MC_OK = 0,
	MC_FAIL = 1,  /* a run that failed on the way (disk full, interrupted), or a gate that was missed */
	MC_USAGE = 2, /* usage, configuration, bad input file */
	MC_NOHW = 77, /* hardware is absent */
};

/* Where and what. An empty file or key, or a line or column of 0, is not known. */
struct mc_err {
	int rc;
	char text[512]; /* what is wrong; what was expected */
	char file[256];
	char key[128]; /* dotted key of a configuration, or field of a record */
	long line, column;
};

/* Fill *e (ignored when NULL, or when it already holds an error) and return rc. */
int mc_err_set(struct mc_err *e, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same, and the key that it is about, where that is not known yet. */
int mc_err_key(struct mc_err *e, int rc, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* mc_err_set with errno's text appended. */
int mc_err_errno(struct mc_err *e, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Add the place to an error that is set, where it is not known yet. file and key may be NULL. Returns e->rc.
 */
int mc_err_at(struct mc_err *e, const char *file, long line, long column, const char *key);

/* "file:line:col: key: text", leaving out what is not known; at most n bytes with the NUL. Returns buf. */
char *mc_err_format(const struct mc_err *e, char *buf, size_t n);

#endif
