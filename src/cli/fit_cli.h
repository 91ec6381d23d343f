/* The parts of `mooncake fit`. */
#ifndef MC_CLI_FIT_CLI_H
#define MC_CLI_FIT_CLI_H

/* `mooncake fit import`: tables to samples. argv[0] is "import"; returns the exit code. */
int mc_fit_cli_import(int argc, char **argv);

#endif
