/* mooncake trace: look at traces, make them, change them. */
#include "cli/command.h"

#include <string.h>

#include "base/suggest.h"
#include "cli/trace_cli.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv, const char *usage);
} parts[] = {
    {"convert", mc_trace_cli_convert},
    {"gen", mc_trace_cli_gen},
    {"head", mc_trace_cli_head},
    {"stat", mc_trace_cli_stat},
};

static const char usage[] =
    "usage: mooncake trace stat T [--capacities 1000,10K,inf] [--evict all] [--format text|json|csv]\n"
    "                             [--top K] [-o FILE]\n"
    "       mooncake trace head T [-n N]\n"
    "       mooncake trace gen SPEC [--seed N] [--set KEY=VALUE]... [-o FILE]\n"
    "       mooncake trace convert T [-o FILE]\n\n"
    "stat     counts, lengths, arrivals, the ceiling of prefix reuse, and the hits of one LRU pool:\n"
    "  -c, --capacities LIST    blocks in the pool (default 1000,3000,10K,30K,100K,inf)\n"
    "  -e, --evict LIST         also replay it through one pool of each of these policies and capacities:\n"
    "                           all, or names of `mooncake list evictors`, as lru,sieve\n"
    "  -f, --format FORMAT      text, json, or csv (the LRU table only; with --evict that of the policies)\n"
    "  -k, --top K              hottest blocks shown (default 5)\n"
    "head     the first requests as a table (-n N, default 10)\n"
    "gen      a synthetic trace from a JSON spec; `mooncake trace gen --help-spec` explains its keys\n"
    "convert  Mooncake JSON lines from any format, after rate, limit, re-blocking ...\n"
    "  -o, --output FILE        whole or not at all; compressed when its name ends in .zst (default "
    "stdout)\n\n" //
    MC_TRACE_CLI_HELP;

static int trace_run(int argc, char **argv)
{
	const char *names[] = {"convert", "gen", "head", "stat", NULL}, *near;

	if (argc < 2)
		return mc_cli_misuse("trace: expected stat, head, gen or convert; see mooncake help trace");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		fputs(usage, stdout);
		return MC_OK;
	}
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(parts[i].name, argv[1]))
			return parts[i].run(argc - 1, argv + 1, usage);
	near = mc_suggest(argv[1], names);
	return mc_cli_misuse("trace: unknown '%s'%s%s; expected stat, head, gen or convert", argv[1],
			     near ? ", did you mean " : "", near ? near : "");
}

const struct mc_command mc_command_trace = {
    .name = "trace",
    .help = "statistics of a trace; show, generate, convert one",
    .usage = usage,
    .run = trace_run,
};
