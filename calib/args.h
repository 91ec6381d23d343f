/* The command line of a command: one table drives parsing, ranges and --help. */
#ifndef MC_CALIB_ARGS_H
#define MC_CALIB_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum mc_calib_kind {
	MC_CALIB_FLAG,  /* bool, takes no value */
	MC_CALIB_TEXT,  /* const char *, of argv */
	MC_CALIB_COUNT, /* int64_t: "3M", "64Ki" */
	MC_CALIB_BYTES, /* int64_t: "4GiB" */
	MC_CALIB_REAL,  /* double: "0.02", "2%" */
	MC_CALIB_TIME,  /* double, seconds: "3min", "90s", "20" */
	MC_CALIB_LIST,  /* struct mc_calib_list: given several times */
};

enum { MC_CALIB_LIST_MOST = 64 };

/* Texts of argv, in their order. */
struct mc_calib_list {
	const char *at[MC_CALIB_LIST_MOST];
	size_t n;
};

struct mc_calib_option {
	const char *name;
	int letter;        /* above 255: none; each another one */
	const char *value; /* in --help; NULL: a flag */
	enum mc_calib_kind kind;
	size_t at;        /* in the struct of options */
	double low, high; /* of numbers */
	const char *help;
};

struct mc_calib_command;

enum mc_calib_parsed {
	MC_CALIB_GO,
	MC_CALIB_HELP,   /* was asked for */
	MC_CALIB_MISUSE, /* *err says why */
};

/* Options to *into; operands go to the end of argv. argv[0] is the name of the command. */
enum mc_calib_parsed mc_calib_args(const struct mc_calib_command *c, int argc, char **argv, void *into,
				   struct mc_err *err);
/* Where the operands are after that, and the whole --help. */
int mc_calib_args_first(void);
void mc_calib_args_help(const struct mc_calib_command *c, FILE *out);

#endif
