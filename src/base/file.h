/*
 * Whole files: read with a limit, and output that appears whole or not at all. Output goes to a temporary
 * name in the same folder, then is flushed to disk and renamed. "-" is stdin or stdout; an existing path that
 * is no regular file (a device, a pipe) is written directly, and a symbolic link is followed.
 */
#ifndef MC_BASE_FILE_H
#define MC_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/* All of a file, NUL-terminated; *text is the caller's to free. Larger than max bytes is an error. */
int mc_file_read(const char *path, size_t max, char **text, size_t *n, struct mc_err *err);

struct mc_file {
	FILE *fp;   /* write here, with stdio; errors need not be looked at before the commit */
	char *path; /* where it will be; NULL: stdout */
	char *tmp;  /* where it is; NULL: written directly */
};

/* Start writing. On an error there is nothing to abort. */
int mc_file_create(struct mc_file *f, const char *path, struct mc_err *err);
/* Finish. On any error since the start (MC_FAIL) the temporary file is gone and what was at path is
 * untouched. */
int mc_file_commit(struct mc_file *f, struct mc_err *err);
/* Give up; no-op after a commit or an earlier abort. */
void mc_file_abort(struct mc_file *f);

#endif
