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

/* Levenshtein distance of two short words; long ones count as far. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), row[64];

	if (n >= 64 || m >= 64)
		return 64;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[m];
}

const char *mc_cli_nearest(const char *wrong, const char *const *names, size_t n)
{
	size_t least = strlen(wrong) / 3 + 2;
	const char *best = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(wrong, names[i]);

		if (d < least) {
			least = d;
			best = names[i];
		}
	}
	return best;
}

int mc_cli_finish(int rc)
{
	/* An earlier write may have failed; its errno is long gone. */
	bool earlier = ferror(stdout) != 0;

	errno = 0;
	if (fflush(stdout) == 0 && !earlier)
		return rc;
	fprintf(stderr, "mooncake: cannot write to standard output%s%s\n", errno ? ": " : "",
		errno ? strerror(errno) : "");
	return rc ? rc : MC_FAIL;
}
