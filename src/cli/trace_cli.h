/* The parts of `mooncake trace`. */
#ifndef MC_CLI_TRACE_CLI_H
#define MC_CLI_TRACE_CLI_H

#include "cli/args.h"
#include "trace/reader.h"

/* Options of every part that reads a trace; codes from 'T' and from 300. */
#define MC_TRACE_CLI_OPTIONS                                                                                 \
	{"trace-format", 'T', "NAME"}, {"block-tokens", 300, "N"}, {"kv-block-tokens", 301, "N"},            \
	    {"rate", 302, "X"}, {"start", 303, "TIME"}, {"limit", 304, "N"}, {"spread-ticks", 305, NULL},    \
	    {"seed", 306, "N"},                                                                              \
	{                                                                                                    \
		"max-bad", 307, "N"                                                                          \
	}

/* The usage of those. */
#define MC_TRACE_CLI_HELP                                                                                    \
	"reading (T is a file, plain or zstd, or - for stdin):\n"                                            \
	"  -T, --trace-format NAME  format (default auto: by content)\n"                                     \
	"      --block-tokens N     tokens a block of its ids (default 512)\n"                               \
	"      --max-bad N          malformed records to skip before giving up (default 0)\n"                \
	"then, in this order:\n"                                                                             \
	"      --start TIME         skip so much trace time\n"                                               \
	"      --limit N            keep so many requests\n"                                                 \
	"      --rate X             divide the gaps between arrivals by X\n"                                 \
	"      --spread-ticks       spread requests of one instant over the gap after it (--seed N)\n"       \
	"      --kv-block-tokens N  re-block: a divisor or a multiple of the block tokens\n"

/* Is `code` one of them? Then it is taken; on a mistake a->rc is set. */
bool mc_trace_cli_option(struct mc_args *a, int code, struct mc_trace_params *params);
/* Read a->argv[0]; errors and skipped records are told. Returns the exit code. */
int mc_trace_cli_read(const struct mc_args *a, struct mc_trace_params *params, struct mc_trace *t);

/* Digits in groups of three; buf holds 32. Returned. */
char *mc_trace_cli_commas(uint64_t v, char *buf);

/* Each returns the exit code; argv[0] is the part's name. */
int mc_trace_cli_convert(int argc, char **argv, const char *usage);
int mc_trace_cli_gen(int argc, char **argv, const char *usage);
int mc_trace_cli_head(int argc, char **argv, const char *usage);
int mc_trace_cli_stat(int argc, char **argv, const char *usage);

#endif
