/* mooncake help [TOPIC]: the list of commands, or the usage of one. */
#include "cli/command.h"

static int help_run(int argc, char **argv)
{
	const struct mc_command *c;

	if (argc < 2) {
		mc_cli_usage(stdout);
		return MC_OK;
	}
	c = mc_command_find(argv[1]);
	if (!c)
		return mc_cli_misuse("no help on '%s'; expected a command (mooncake help lists all)",
				     argv[1]);
	fputs(c->usage, stdout);
	return MC_OK;
}

const struct mc_command mc_command_help = {
    .name = "help",
    .help = "this list, or a page on one topic",
    .usage = "usage: mooncake help [TOPIC]\n",
    .run = help_run,
};
