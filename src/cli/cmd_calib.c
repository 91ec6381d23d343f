/* mooncake calib: mooncake-calib, in this one's place, as git runs its parts. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"
#include "cli/command.h"

static const char part[] = "mooncake-calib";
static const char usage[] =
    "usage: mooncake calib COMMAND [OPTION]...\n"
    "       mooncake calib --help                 what can be measured\n"
    "\n"
    "Runs mooncake-calib, which measures this machine and writes samples and a profile. It is looked for\n"
    "beside this program, then in PATH; arguments and exit code are its own. See mooncake-calib(1).\n";

static int calib_run(int argc, char **argv)
{
	char *path = mc_beside_find(part);

	(void)argc;
	if (!path) {
		mc_cli_misuse("calib: there is no %s beside this program, nor in PATH", part);
		return MC_FAIL;
	}
	argv[0] = path;
	signal(SIGPIPE, SIG_DFL); /* what is ignored stays so in another program */
	execv(path, argv);
	mc_cli_misuse("calib: %s cannot be run: %s", path, strerror(errno));
	free(path);
	return MC_FAIL;
}

const struct mc_command mc_command_calib = {
    .name = "calib",
    .help = "measure this machine: samples and a profile (mooncake-calib)",
    .usage = usage,
    .run = calib_run,
};
