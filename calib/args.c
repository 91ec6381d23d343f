#include "calib/args.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "base/vec.h"
#include "calib/calib.h"

enum { OPTIONS = 40 };

static int number(const struct mc_calib_option *o, const char *text, double *v, struct mc_err *err)
{
	size_t n = strlen(text);
	mc_time t;
	int64_t i = 0;
	int rc;

	switch (o->kind) {
	case MC_CALIB_COUNT:
		rc = mc_units_count(text, &i, err);
		*v = (double)i;
		return rc;
	case MC_CALIB_BYTES:
		rc = mc_units_bytes(text, &i, err);
		*v = (double)i;
		return rc;
	case MC_CALIB_TIME:
		rc = mc_units_time(text, &t, err);
		*v = rc ? 0 : mc_time_to_s(t);
		return rc;
	default:
		break;
	}
	if (n > 1 && n < 32 && text[n - 1] == '%') {
		char part[32];

		snprintf(part, sizeof part, "%.*s", (int)n - 1, text);
		rc = mc_units_real(part, v, err);
		*v /= 100;
		return rc;
	}
	return mc_units_real(text, v, err);
}

static int put(const struct mc_calib_option *o, const char *text, void *into, struct mc_err *err)
{
	char *at = (char *)into + o->at;
	double v = 0;

	if (o->kind == MC_CALIB_FLAG) {
		*(bool *)(void *)at = true;
		return 0;
	}
	if (o->kind == MC_CALIB_TEXT) {
		*(const char **)(void *)at = text;
		return *text ? 0 : mc_err_set(err, MC_USAGE, "--%s is empty; expected %s", o->name, o->value);
	}
	if (o->kind == MC_CALIB_LIST) {
		struct mc_calib_list *l = (struct mc_calib_list *)(void *)at;

		if (!*text || l->n == MC_CALIB_LIST_MOST)
			return mc_err_set(err, MC_USAGE, "--%s: expected %s, %d times at most", o->name,
					  o->value, MC_CALIB_LIST_MOST);
		l->at[l->n++] = text;
		return 0;
	}
	if (number(o, text, &v, NULL) || !(v >= o->low && v <= o->high))
		return mc_err_set(err, MC_USAGE, "--%s is '%.60s'; expected %s from %.15g to %.15g%s",
				  o->name, text, o->value, o->low, o->high,
				  o->kind == MC_CALIB_TIME ? " s" : "");
	if (o->kind == MC_CALIB_REAL || o->kind == MC_CALIB_TIME)
		*(double *)(void *)at = v;
	else
		*(int64_t *)(void *)at = (int64_t)v;
	return 0;
}

static int unknown(const struct mc_calib_command *c, const char *word, struct mc_err *err)
{
	const char *names[OPTIONS + 1] = {0}, *near;
	char name[64];
	size_t n = 0;

	snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (const struct mc_calib_option *o = c->options; o->name && n < OPTIONS; o++)
		names[n++] = o->name;
	near = mc_suggest(name, names);
	return mc_err_set(err, MC_USAGE, "%s: unknown option '--%.60s'%s%s%s (%s --help lists all)", c->name,
			  name, near ? "; did you mean '--" : "", near ? near : "", near ? "'?" : "",
			  c->name);
}

/* getopt_long's tables from ours. */
static void tables(const struct mc_calib_command *c, struct option *all, char *letters)
{
	*letters++ = ':';
	for (const struct mc_calib_option *o = c->options; o->name; o++, all++) {
		*all = (struct option){o->name, o->value ? required_argument : no_argument, NULL, o->letter};
		if (o->letter > 255)
			continue;
		*letters++ = (char)o->letter;
		if (o->value)
			*letters++ = ':';
	}
	*all++ = (struct option){"help", no_argument, NULL, 'h'};
	*all = (struct option){0};
	*letters++ = 'h';
	*letters = 0;
}

static int bad(const struct mc_calib_command *c, int got, char **argv, struct mc_err *err)
{
	const char *word = argv[optind - 1];

	if (got == ':')
		return mc_err_set(err, MC_USAGE, "%s: %.60s needs a value", c->name, word);
	if (!strncmp(word, "--", 2))
		return unknown(c, word, err);
	return mc_err_set(err, MC_USAGE, "%s: unknown option '-%c' (%s --help lists all)", c->name, optopt,
			  c->name);
}

enum mc_calib_parsed mc_calib_args(const struct mc_calib_command *c, int argc, char **argv, void *into,
				   struct mc_err *err)
{
	struct option all[OPTIONS + 2];
	char letters[2 * OPTIONS + 4];
	int got;

	tables(c, all, letters);
	opterr = 0;
	optind = 0;
	while ((got = getopt_long(argc, argv, letters, all, NULL)) != -1) {
		const struct mc_calib_option *o = c->options;

		if (got == 'h')
			return MC_CALIB_HELP;
		if (got == '?' || got == ':')
			return bad(c, got, argv, err), MC_CALIB_MISUSE;
		while (o->letter != got)
			o++;
		if (put(o, optarg, into, err))
			return MC_CALIB_MISUSE;
	}
	if (argc - optind < c->min_operands || argc - optind > c->max_operands) {
		mc_err_set(err, MC_USAGE, "%s: %d operands; expected %s", c->name, argc - optind,
			   *c->operands ? c->operands : "options only");
		return MC_CALIB_MISUSE;
	}
	return MC_CALIB_GO;
}

int mc_calib_args_first(void)
{
	return optind;
}

/* "; default: 180 s": what the command begins with, where the option's text doesn't say. */
static void default_of(const struct mc_calib_option *o, const void *options, FILE *out)
{
	const char *at = (const char *)options + o->at;

	if (strstr(o->help, "default"))
		return;
	if (o->kind == MC_CALIB_TEXT && *(const char *const *)(const void *)at)
		fprintf(out, "; default: %s", *(const char *const *)(const void *)at);
	else if (o->kind == MC_CALIB_REAL || o->kind == MC_CALIB_TIME)
		fprintf(out, "; default: %g%s", *(const double *)(const void *)at,
			o->kind == MC_CALIB_TIME ? "s" : "");
	else if (o->kind == MC_CALIB_COUNT)
		fprintf(out, "; default: %" PRId64, *(const int64_t *)(const void *)at);
}

void mc_calib_args_help(const struct mc_calib_command *c, FILE *out)
{
	void *options = mc_xcalloc(1, c->options_size);

	if (c->defaults)
		c->defaults(options);
	fprintf(out, "usage: mooncake-calib %s%s%s [OPTION]...\n\n%s\n", c->name, *c->operands ? " " : "",
		c->operands, c->text);
	for (const struct mc_calib_option *o = c->options; o->name; o++) {
		char left[64];

		snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "",
			 o->value ? o->value : "");
		if (o->letter > 255)
			fprintf(out, "      %-22s %s", left, o->help);
		else
			fprintf(out, "  -%c, %-22s %s", o->letter, left, o->help);
		default_of(o, options, out);
		fputc('\n', out);
	}
	fprintf(out, "  -h, %-22s this text\n", "--help");
	free(options);
}
