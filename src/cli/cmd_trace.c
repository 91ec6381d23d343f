/* mooncake trace: look at traces, make them, change them. */
#include "cli/command.h"

static int trace_run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return mc_cli_misuse("trace: expected stat, head, gen or convert");
}

const struct mc_command mc_command_trace = {
    .name = "trace",
    .help = "statistics of a trace; show, generate, convert one",
    .usage = "usage: mooncake trace stat|head|gen|convert ...\n",
    .run = trace_run,
};
