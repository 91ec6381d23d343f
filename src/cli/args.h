/*
 * Options of a command: one table drives getopt_long and the messages.
 *
 *     static const struct mc_option options[] = {{"limit", 'n', "N"}, {"spread-ticks", 's', NULL}, {0}};
 *     struct mc_args a;
 *     mc_args_init(&a, argc, argv, options, command->usage);
 *     while ((c = mc_args_next(&a)) > 0)
 *             switch (c) ...
 *     if (c == MC_ARGS_STOP)
 *             return a.rc;
 *     operands: a.argv[0 .. a.argc - 1]
 *
 * --help (-h) is understood everywhere: it prints the usage.
 */
#ifndef MC_CLI_ARGS_H
#define MC_CLI_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define MC_ARGS_DONE 0  /* no more options */
#define MC_ARGS_STOP -1 /* leave with a->rc: help was shown, or a mistake was told */

/* Codes above 255 have no short form. */
struct mc_option {
	const char *name;
	int code;
	const char *arg; /* what the value is; NULL: takes none */
};

struct mc_args {
	const struct mc_option *options;
	const char *command, *usage;
	const char *value; /* of the last option */
	const char *name;  /* of the last option */
	int rc;
	int argc; /* operands, once DONE is returned */
	char **argv;
};

void mc_args_init(struct mc_args *a, int argc, char **argv, const struct mc_option *options,
		  const char *usage);
/* The code of the next option, MC_ARGS_DONE or MC_ARGS_STOP. */
int mc_args_next(struct mc_args *a);

/*
 * The last option's value as a number within [min, max], with units as in a scenario ("10K", "30s"); a
 * mistake is told, a->rc set, and false returned.
 */
bool mc_args_int(struct mc_args *a, int64_t min, int64_t max, int64_t *out);
bool mc_args_real(struct mc_args *a, double min, double max, double *out);
bool mc_args_time(struct mc_args *a, mc_time *out); /* 0 or more */
/* The last option's value is one of the words (NULL-terminated): its place in *out, which is an int. */
bool mc_args_choice(struct mc_args *a, const char *const *words, int *out);

/* Exactly n operands (or at least min, at most max): a mistake is told, a->rc set, and false returned. */
bool mc_args_operands(struct mc_args *a, int min, int max, const char *what);

#endif
