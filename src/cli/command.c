#include "cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

const struct mc_command *mc_command_find(const char *name)
{
	for (const struct mc_command *const *c = mc_commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

void mc_cli_usage(FILE *out)
{
	fputs("usage: mooncake COMMAND [ARGUMENTS]\n"
	      "       mooncake help [TOPIC]    mooncake --version\n\n"
	      "Simulates KVCache-centric serving of large language models.\n\n",
	      out);
	for (const struct mc_command *const *c = mc_commands; *c; c++)
		fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->help);
}

int mc_cli_error(const struct mc_err *err)
{
	char buf[1024];

	fprintf(stderr, "mooncake: %s\n", mc_err_format(err, buf, sizeof buf));
	return err->rc;
}

static void say(const char *kind, const char *fmt, va_list ap)
{
	fprintf(stderr, "mooncake: %s", kind);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int mc_cli_misuse(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
	return MC_USAGE;
}

void mc_cli_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("warning: ", fmt, ap);
	va_end(ap);
}

int mc_cli_finish(int rc)
{
	/* An earlier write may have failed; its errno is long gone. */
	bool earlier = ferror(stdout) != 0;

	errno = 0;
	/* A command that failed has told why. */
	if ((fflush(stdout) == 0 && !earlier) || rc)
		return rc;
	fprintf(stderr, "mooncake: cannot write to standard output%s%s\n", errno ? ": " : "",
		errno ? strerror(errno) : "");
	return MC_FAIL;
}
