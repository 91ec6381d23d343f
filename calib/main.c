/* mooncake-calib: finds the command, parses its options, runs it. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/vec.h"
#include "calib/calib.h"
#include "calib/early.h"
#include "config.h"

volatile sig_atomic_t mc_calib_stop;

static void stop(int number)
{
	(void)number;
	mc_calib_stop = 1;
}

void mc_calib_warn(const char *fmt, ...)
{
	va_list ap;

	fputs("mooncake-calib: warning: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void usage(FILE *out)
{
	fputs(
	    "usage: mooncake-calib COMMAND [OPTION]...\n\n"
	    "Measures this machine: samples (mooncake-samples(5)), and a profile (mooncake-profile(5)).\n\n",
	    out);
	for (const struct mc_calib_command *const *c = mc_calib_commands; *c; c++)
		fprintf(out, "  %-8s %s\n", (*c)->name, (*c)->summary);
	fputs("\nmooncake-calib COMMAND --help says more of each. Exit codes: 0; 1 a failed run or a missed\n"
	      "gate; 2 wrong use; 77 the hardware is absent; 130 interrupted, what was measured is kept.\n",
	      out);
}

static int complain(const struct mc_err *err, int rc)
{
	char text[1280];

	fprintf(stderr, "mooncake-calib: %s\n", mc_err_format(err, text, sizeof text));
	return rc;
}

static const struct mc_calib_command *find(const char *name, struct mc_err *err)
{
	const char *names[32] = {0}, *near;
	size_t n = 0;

	for (const struct mc_calib_command *const *c = mc_calib_commands; *c; c++) {
		if (!strcmp((*c)->name, name))
			return *c;
		if (n < 31)
			names[n++] = (*c)->name;
	}
	near = mc_suggest(name, names);
	mc_err_set(err, MC_USAGE, "no command '%.60s'%s%s%s (--help lists all)", name,
		   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return NULL;
}

static int run(const struct mc_calib_command *c, int argc, char **argv)
{
	struct sigaction on_stop = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
	void *options = mc_xcalloc(1, c->options_size);
	struct mc_err err = {0};
	int rc = MC_USAGE;

	if (c->defaults)
		c->defaults(options);
	switch (mc_calib_args(c, argc, argv, options, &err)) {
	case MC_CALIB_HELP:
		mc_calib_args_help(c, stdout);
		rc = MC_OK;
		break;
	case MC_CALIB_GO:
		rc = mc_calib_early(options, &err);
		if (rc)
			break;
		sigaction(SIGINT, &on_stop, NULL);
		sigaction(SIGTERM, &on_stop, NULL);
		rc = c->run(options, argv + mc_calib_args_first(), &err);
		break;
	default:
		break;
	}
	free(options);
	return err.rc ? complain(&err, rc ? rc : err.rc) : rc;
}

/* What was said must have arrived. */
static int finish(int rc)
{
	if (!fflush(stdout) && !ferror(stdout))
		return rc;
	fprintf(stderr, "mooncake-calib: standard output: %s\n", strerror(errno));
	return rc ? rc : MC_FAIL;
}

int main(int argc, char **argv)
{
	const struct mc_calib_command *c;
	struct mc_err err = {0};

	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		usage(stderr);
		return MC_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return finish(MC_OK);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts(PACKAGE_NAME " " PACKAGE_VERSION);
		return finish(MC_OK);
	}
	c = find(argv[1], &err);
	if (!c)
		return complain(&err, MC_USAGE);
	return finish(run(c, argc - 1, argv + 1));
}
