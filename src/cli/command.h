/*
 * The commands of `mooncake`: one file cmd_NAME.c defining mc_command_NAME, and its name in CLI_COMMANDS of
 * local.mk. This room alone prints and decides exit codes.
 */
#ifndef MC_CLI_COMMAND_H
#define MC_CLI_COMMAND_H

#include "base/err.h"

struct mc_command {
	const char *name;
	const char *help;  /* one line, for `mooncake help` */
	const char *usage; /* the whole text of `mooncake help NAME` and `mooncake NAME --help`, ends with a
			      newline */
	int (*run)(int argc,
		   char **argv); /* argv[0] is the command's name; returns the exit code (enum mc_rc) */
};

/* NULL-terminated, sorted by name; generated from local.mk. */
extern const struct mc_command *const mc_commands[];

const struct mc_command *mc_command_find(const char *name); /* NULL: none of that name */

/* The list of commands. */
void mc_cli_usage(FILE *out);

/* "mooncake: file:line:col: key: text" on stderr. Returns the exit code, err->rc. */
int mc_cli_error(const struct mc_err *err);
/* The same for a mistake on the command line: exit code 2. */
int mc_cli_misuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "mooncake: warning: text" on stderr. */
void mc_cli_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Flush stdout at the end of a command: a full disk or a closed pipe is an error that is told. Returns rc, or
 * MC_FAIL when rc was 0 and the flush failed.
 */
int mc_cli_finish(int rc);

#endif
