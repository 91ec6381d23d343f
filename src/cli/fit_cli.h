/* The parts of `mooncake fit`. */
#ifndef MC_CLI_FIT_CLI_H
#define MC_CLI_FIT_CLI_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "fit/netfit.h"
#include "hw/profile.h"

/* What was asked for, borrowed. */
struct mc_fit_cli {
	char **samples;
	int files;
	const char *output; /* NULL or "-": stdout */
	const char *name;
	const char *date; /* NULL: the samples' */
};

/* `mooncake fit import`: tables to samples. argv[0] is "import"; returns the exit code. */
int mc_fit_cli_import(int argc, char **argv);
/* Is it a file of samples of operators? False, too, where it can't be read. */
bool mc_fit_cli_is_operators(const char *path);
/* Those to a profile: hw, of which root is the file. */
int mc_fit_cli_operators(const struct mc_fit_cli *o, const struct mc_profile *hw, const json_t *root,
			 struct mc_err *err);

/* What a report is to be of, borrowed. */
struct mc_fit_cli_report {
	const char *output; /* "-": stdout */
	const char *profile;
	const char *other; /* NULL: no comparison */
	char **samples;
	int files;
	const char *model;       /* NULL: no predictions */
	int64_t tensor_parallel; /* 0: all GPUs of the profile's node */
};

/* `mooncake fit --report`: the page to its file, its figures as text to stdout (stderr where the page is
 * there). */
int mc_fit_cli_report(const struct mc_fit_cli_report *o, struct mc_err *err);

/* What was found of transfers between nodes; faster: than the line rate. */
void mc_fit_cli_network(FILE *out, const struct mc_netfit *f, int64_t nics, bool fitted, bool faster);

#endif
