/* mooncake trace gen: a trace from a spec. */
#include "cli/command.h"
#include "cli/trace_cli.h"

int mc_trace_cli_gen(int argc, char **argv, const char *usage)
{
	(void)argc;
	(void)argv;
	(void)usage;
	return mc_cli_misuse("gen");
}
