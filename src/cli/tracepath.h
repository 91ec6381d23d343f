/* Where a trace is: ${MOONCAKE_DATA}, paths relative to a scenario, .zst or not. */
#ifndef MC_CLI_TRACEPATH_H
#define MC_CLI_TRACEPATH_H

#include <stdbool.h>

#include "base/err.h"

/*
 * The file that trace.path means, in *found (free() it). A leading ${MOONCAKE_DATA} is that environment
 * variable. A relative path is looked up in the folder of the scenario that it stands in (NULL: it was given
 * on the command line), then in the current folder; each with and without ".zst". "-" stays. None of them
 * exists: MC_USAGE, key trace.path.
 */
int mc_cli_trace_find(const char *path, const char *scenario, char **found, struct mc_err *err);

#endif
