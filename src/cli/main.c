/* mooncake: finds the command and runs it. */
#include <signal.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/command.h"
#include "config.h"

static int unknown(const char *name)
{
	const char *names[64] = {0}, *near;
	size_t n = 0;

	for (const struct mc_command *const *c = mc_commands; *c && n < 63; c++)
		names[n++] = (*c)->name;
	near = mc_suggest(name, names);
	if (near)
		return mc_cli_misuse("no command '%s'; did you mean '%s'? (mooncake help lists all)", name,
				     near);
	return mc_cli_misuse("no command '%s'; mooncake help lists all", name);
}

int main(int argc, char **argv)
{
	const struct mc_command *c;

	/* A reader that has gone is an error of the write, told and counted like a full disk. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		mc_cli_usage(stderr);
		return MC_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts(PACKAGE_NAME " " PACKAGE_VERSION);
		return mc_cli_finish(MC_OK);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		mc_cli_usage(stdout);
		return mc_cli_finish(MC_OK);
	}
	if (argv[1][0] == '-')
		return mc_cli_misuse("unknown option '%s'; expected a command (mooncake help lists all)",
				     argv[1]);
	c = mc_command_find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	return mc_cli_finish(c->run(argc - 1, argv + 1));
}
