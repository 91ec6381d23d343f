#include "cli/args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/command.h"

#define ARGS_MAX 48

void mc_args_init(struct mc_args *a, int argc, char **argv, const struct mc_option *options,
		  const char *usage)
{
	memset(a, 0, sizeof *a);
	a->options = options;
	a->usage = usage;
	a->command = argv[0];
	a->argc = argc;
	a->argv = argv;
	optind = 0; /* starts getopt afresh, permuting */
	opterr = 0;
}

static int mistake(struct mc_args *a, const char *word)
{
	const char *names[ARGS_MAX + 1] = {0}, *near = NULL;
	size_t n = 0;

	for (const struct mc_option *o = a->options; o->name && n < ARGS_MAX; o++)
		names[n++] = o->name;
	if (word && !strncmp(word, "--", 2))
		near = mc_suggest(word + 2, names);
	if (near)
		a->rc =
		    mc_cli_misuse("%s: unknown option '%s'; did you mean '--%s'?", a->command, word, near);
	else
		a->rc = mc_cli_misuse("%s: unknown option '%s'; see mooncake help %s", a->command,
				      word ? word : "", a->command);
	return MC_ARGS_STOP;
}

static int found(struct mc_args *a, int code)
{
	if (code == 'h') {
		fputs(a->usage, stdout);
		a->rc = MC_OK;
		return MC_ARGS_STOP;
	}
	for (const struct mc_option *o = a->options; o->name; o++)
		if (o->code == code)
			a->name = o->name;
	a->value = optarg;
	return code;
}

static int refused(struct mc_args *a, int code)
{
	char letter[3] = {'-', (char)optopt, 0};

	if (code == ':') {
		a->rc = mc_cli_misuse("%s: option '%s' needs a value", a->command, a->argv[optind - 1]);
		return MC_ARGS_STOP;
	}
	if (optopt && optopt < 256)
		return mistake(a, letter);
	for (const struct mc_option *o = a->options; o->name; o++)
		if (optopt && o->code == optopt) {
			a->rc = mc_cli_misuse("%s: option '--%s' takes no value", a->command, o->name);
			return MC_ARGS_STOP;
		}
	return mistake(a, a->argv[optind - 1]);
}

int mc_args_next(struct mc_args *a)
{
	struct option longs[ARGS_MAX + 2] = {{"help", no_argument, NULL, 'h'}};
	char shorts[2 * ARGS_MAX + 4] = ":h", *s = shorts + 2;
	int n = 1, code;

	for (const struct mc_option *o = a->options; o->name && n <= ARGS_MAX; o++) {
		longs[n++] =
		    (struct option){o->name, o->arg ? required_argument : no_argument, NULL, o->code};
		if (o->code < 256) {
			*s++ = (char)o->code;
			if (o->arg)
				*s++ = ':';
		}
	}
	code = getopt_long(a->argc, a->argv, shorts, longs, NULL);
	if (code == '?' || code == ':')
		return refused(a, code);
	if (code != -1)
		return found(a, code);
	a->argc -= optind;
	a->argv += optind;
	return MC_ARGS_DONE;
}

/* A value that is no number at all, told in the words of units.h. */
static bool no_number(struct mc_args *a, const struct mc_err *err)
{
	a->rc = mc_cli_misuse("%s: --%s: %s", a->command, a->name, err->text);
	return false;
}

bool mc_args_int(struct mc_args *a, int64_t min, int64_t max, int64_t *out)
{
	struct mc_err err = {0};
	int64_t v;

	if (mc_units_count(a->value, &v, &err))
		return no_number(a, &err);
	if (v >= min && v <= max) {
		*out = v;
		return true;
	}
	a->rc = mc_cli_misuse("%s: --%s: %s is out of range; expected %lld to %lld", a->command, a->name,
			      a->value, (long long)min, (long long)max);
	return false;
}

bool mc_args_real(struct mc_args *a, double min, double max, double *out)
{
	struct mc_err err = {0};
	double v;

	if (mc_units_real(a->value, &v, &err))
		return no_number(a, &err);
	if (v >= min && v <= max) {
		*out = v;
		return true;
	}
	a->rc = mc_cli_misuse("%s: --%s: %s is out of range; expected %g to %g", a->command, a->name,
			      a->value, min, max);
	return false;
}

bool mc_args_time(struct mc_args *a, mc_time *out)
{
	struct mc_err err = {0};
	mc_time v;

	if (mc_units_time(a->value, &v, &err))
		return no_number(a, &err);
	if (v >= 0) {
		*out = v;
		return true;
	}
	a->rc = mc_cli_misuse("%s: --%s: %s is negative; expected a time from 0 on", a->command, a->name,
			      a->value);
	return false;
}

bool mc_args_choice(struct mc_args *a, const char *const *words, int *out)
{
	char all[256];
	size_t at = 0;

	all[0] = 0;
	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], a->value)) {
			*out = i;
			return true;
		}
		if (at < sizeof all)
			at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", words[i]);
	}
	a->rc = mc_cli_misuse("%s: --%s %s: expected one of %s", a->command, a->name, a->value, all);
	return false;
}

bool mc_args_operands(struct mc_args *a, int min, int max, const char *what)
{
	if (a->argc >= min && a->argc <= max)
		return true;
	if (a->argc > max)
		a->rc = mc_cli_misuse("%s: unexpected argument '%s'; expected %s", a->command, a->argv[max],
				      what);
	else
		a->rc = mc_cli_misuse("%s: expected %s", a->command, what);
	return false;
}
