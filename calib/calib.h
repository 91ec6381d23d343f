/*
 * mooncake-calib: measures what a machine can do, as samples (hw/opsamples.h) and a profile. One file
 * cmd_NAME.c for each thing that is measured, and its name in CALIB_COMMANDS of local.mk. Commands and main
 * alone print and decide exit codes; this program never links GSL: fitting is `mooncake fit`'s, which is run
 * as a child (calib/child.h).
 */
#ifndef MC_CALIB_CALIB_H
#define MC_CALIB_CALIB_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"
#include "calib/args.h"

enum { MC_CALIB_INTERRUPTED = 130 }; /* exit code after Ctrl-C: what was measured is kept */

struct mc_calib_command {
	const char *name;
	const char *summary;  /* one line */
	const char *operands; /* in the usage line: "PROFILE", or "" */
	const char *text;     /* of --help, before the options */
	const struct mc_calib_option *options;
	/* Operands and options were parsed into a zeroed struct of options_size bytes, which begins with
	 * struct mc_calib_common. Returns the exit code; what is wrong is in *err, main prints it. */
	size_t options_size;
	int min_operands, max_operands;
	void (*defaults)(void *options); /* before parsing; NULL: all zero */
	int (*run)(void *options, char **operands, struct mc_err *err);
};

/* What the options of every command begin with: MC_CALIB_COMMON of their tables. */
struct mc_calib_common {
	double budget_s;
	double precision;     /* wanted, of the median's 95 % interval, a ratio */
	const char *samples;  /* folder */
	const char *output;   /* profile to be written; NULL: samples only */
	const char *hardware; /* profile whose hardware is kept; NULL: none */
	bool fresh, quiet, busy_ok;
};

/* Rows for a table of options; the budget's default is the command's. */
#define MC_CALIB_COMMON(type)                                                                                \
	{"budget",                                                                                           \
	 'b',                                                                                                \
	 "TIME",                                                                                             \
	 MC_CALIB_TIME,                                                                                      \
	 offsetof(type, common.budget_s),                                                                    \
	 0,                                                                                                  \
	 1e6,                                                                                                \
	 "measure no longer than that"},                                                                     \
	    {"precision",                                                                                    \
	     'p',                                                                                            \
	     "RATIO",                                                                                        \
	     MC_CALIB_REAL,                                                                                  \
	     offsetof(type, common.precision),                                                               \
	     1e-4,                                                                                           \
	     1,                                                                                              \
	     "repeat until the 95 % interval is that share of the median"},                                  \
	    {"samples",                                                                                      \
	     's',                                                                                            \
	     "DIR",                                                                                          \
	     MC_CALIB_TEXT,                                                                                  \
	     offsetof(type, common.samples),                                                                 \
	     0,                                                                                              \
	     0,                                                                                              \
	     "folder of the samples; a run goes on where the last one ended"},                               \
	    {"output",                                                                                       \
	     'o',                                                                                            \
	     "FILE",                                                                                         \
	     MC_CALIB_TEXT,                                                                                  \
	     offsetof(type, common.output),                                                                  \
	     0,                                                                                              \
	     0,                                                                                              \
	     "write a profile, by mooncake fit; without it: samples only"},                                  \
	    {"hardware",                                                                                     \
	     'H',                                                                                            \
	     "PROFILE",                                                                                      \
	     MC_CALIB_TEXT,                                                                                  \
	     offsetof(type, common.hardware),                                                                \
	     0,                                                                                              \
	     0,                                                                                              \
	     "profile whose hardware is kept"},                                                              \
	    {"fresh",                                                                                        \
	     'f',                                                                                            \
	     NULL,                                                                                           \
	     MC_CALIB_FLAG,                                                                                  \
	     offsetof(type, common.fresh),                                                                   \
	     0,                                                                                              \
	     0,                                                                                              \
	     "measure anew, whatever samples are there"},                                                    \
	    {"quiet", 'q', NULL, MC_CALIB_FLAG, offsetof(type, common.quiet), 0, 0, "no progress"},          \
	{                                                                                                    \
		"busy-ok", 256, NULL, MC_CALIB_FLAG, offsetof(type, common.busy_ok), 0, 0,                   \
		    "flag nothing, whatever others on the machine disturb"                                   \
	}

/* NULL-terminated, sorted; generated from local.mk. */
extern const struct mc_calib_command *const mc_calib_commands[];

/* Set by SIGINT and SIGTERM. */
extern volatile sig_atomic_t mc_calib_stop;

/* "mooncake-calib: warning: text" on stderr. */
void mc_calib_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
