/* Where a command's output goes: stdout or -o FILE, and a folder of files. */
#ifndef MC_CLI_OUTPUT_H
#define MC_CLI_OUTPUT_H

#include <stdio.h>

#include "base/err.h"

/* A writer of one file; errors of writing stay in the stream. */
typedef void mc_write_fn(FILE *out, const void *arg);

/* Write path ("-": stdout) whole or not at all. */
int mc_cli_write(const char *path, mc_write_fn *write, const void *arg, struct mc_err *err);
/* The same for dir/name. */
int mc_cli_write_in(const char *dir, const char *name, mc_write_fn *write, const void *arg,
		    struct mc_err *err);
/* The folder, and its parents, exist afterwards. */
int mc_cli_make_dir(const char *dir, struct mc_err *err);

#endif
