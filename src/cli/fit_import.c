/* mooncake fit import: public tables of measured times to samples of operators. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/fit_cli.h"
#include "fit/suspects.h"
#include "hw/profile.h"

#define SHOWN 5 /* flagged rows that are told one by one, of each flag */

static const char usage[] =
    "usage: mooncake fit import FORMAT TABLE... [-o SAMPLES.csv] [--where COLUMN=VALUE]...\n"
    "\n"
    "Reads tables of measured times that others published and writes them as samples of operators, see\n"
    "mooncake-samples(5). FORMAT is auto (by what is in it) or one of `mooncake list importers`; tables are\n"
    "plain or zstd. Repeats of a point become one, with their median. What contradicts the hardware or its\n"
    "neighbours is flagged, told, and not fitted later.\n"
    "\n"
    "  -o, --output FILE         where to write; stdout without it\n"
    "  -w, --where COLUMN=VALUE  only rows with that value; up to eight\n"
    "  -H, --hardware PROFILE    flag what is faster than this node's peaks\n"
    "  -m, --model NAME          for tables that don't say it\n"
    "      --device TEXT         what the samples say of themselves: device, software, dtype (default\n"
    "      --software TEXT       bf16), date (default: none) and source (default: names of the tables)\n"
    "      --dtype TYPE\n"
    "      --date DATE\n"
    "      --source TEXT\n";

struct import_options {
	const char *output, *hardware, *device, *software, *dtype, *date, *source;
	int wheres;
};

static const struct mc_option options[] = {{"output", 'o', "FILE"},      {"where", 'w', "COLUMN=VALUE"},
					   {"hardware", 'H', "PROFILE"}, {"model", 'm', "NAME"},
					   {"device", 300, "TEXT"},      {"software", 301, "TEXT"},
					   {"dtype", 302, "TYPE"},       {"date", 303, "DATE"},
					   {"source", 304, "TEXT"},      {0}};

/* Takes one option; false: told, a->rc set. */
static bool import_option(struct mc_args *a, int c, struct import_options *o, struct mc_import *im)
{
	const char **const texts[] = {&o->device, &o->software, &o->dtype, &o->date, &o->source};

	if (c == 'o')
		o->output = a->value;
	else if (c == 'H')
		o->hardware = a->value;
	else if (c == 'm')
		im->model = a->value;
	else if (c >= 300)
		*texts[c - 300] = a->value;
	else if (o->wheres < MC_IMPORT_WHERES)
		im->where[o->wheres++] = a->value;
	else
		return a->rc = mc_cli_misuse("fit import: more than %d --where", MC_IMPORT_WHERES), false;
	return true;
}

static int import_limits(struct mc_op_limits *l, const char *hardware, struct mc_err *err)
{
	struct mc_profile p;
	int rc;

	memset(l, 0, sizeof *l);
	if (!hardware)
		return MC_OK;
	rc = mc_profile_load(&p, hardware, err);
	if (rc)
		return rc;
	mc_profile_limits(&p, l);
	mc_profile_fini(&p);
	return MC_OK;
}

static void import_tell(const struct mc_import *im, const size_t count[MC_SUSPECTS])
{
	size_t shown[MC_SUSPECTS] = {0};

	fprintf(stderr, "%zu rows of the tables, %zu points\n", im->lines, im->rows.n);
	for (int i = 0; i < MC_IMPORT_SKIPS && im->skip[i].why; i++)
		fprintf(stderr, "%8zu rows left out: %s\n", im->skip[i].rows, im->skip[i].why);
	for (int w = 0; w < MC_SUSPECTS; w++) {
		if (count[w])
			fprintf(stderr, "%8zu points flagged: %s\n", count[w], mc_suspect_names[w]);
		for (size_t i = 0; i < im->rows.n && shown[w] < SHOWN; i++) {
			const struct mc_import_row *r = &im->rows.at[i];

			if (strcmp(r->s.flag, mc_suspect_names[w]))
				continue;
			shown[w]++;
			fprintf(stderr, "           %s:%ld: %s in %.4g s\n", r->file, r->s.line,
				mc_op_names[r->s.point.op], r->s.seconds);
		}
	}
}

/* "a.csv, b.csv, imported": the tables' names without their folders. */
static void import_source(char source[512], int n, char **paths)
{
	size_t at = 0;

	for (int i = 0; i < n && at < 400; i++) {
		const char *base = strrchr(paths[i], '/');

		at += (size_t)snprintf(source + at, 512 - at, "%s%.200s", i ? ", " : "",
				       base ? base + 1 : paths[i]);
	}
}

static int import_write(const struct import_options *o, const struct mc_import *im, const char *source,
			struct mc_err *err)
{
	struct mc_opsamples s = {.device = (char *)(o->device ? o->device : im->said_device),
				 .software = (char *)o->software,
				 .dtype = (char *)(o->dtype ? o->dtype : "bf16"),
				 .date = (char *)o->date,
				 .source = (char *)(o->source ? o->source : source)};
	struct mc_file f;
	int rc = mc_file_create(&f, o->output ? o->output : "-", err);

	if (rc)
		return rc;
	if (*im->said_model)
		s.model = json_string(im->said_model);
	s.tensor_parallel = strtoll(im->said_tensor_parallel, NULL, 10);
	mc_opsamples_write_header(&s, f.fp);
	for (size_t i = 0; i < im->rows.n; i++)
		mc_opsamples_write(&im->rows.at[i].s, f.fp);
	json_decref(s.model);
	return mc_file_commit(&f, err);
}

static int import_tables(const struct import_options *o, struct mc_import *im, int n, char **argv)
{
	const char *dtype = o->dtype ? o->dtype : "bf16";
	size_t count[MC_SUSPECTS];
	struct mc_op_limits limits;
	struct mc_err err = {0};
	char source[512] = "";
	int rc = import_limits(&limits, o->hardware, &err);

	for (int i = 1; i < n && !rc; i++)
		rc = mc_import_read(im, argv[i], argv[0], &err);
	if (!rc && !im->rows.n)
		rc = mc_err_set(&err, MC_USAGE, "no row is left of %zu", im->lines);
	if (!rc) {
		mc_suspects_merge(im);
		mc_suspects_flag(im, &limits, (double)mc_opsamples_element_bytes(dtype), count);
		import_source(source, n - 1, argv + 1);
		rc = import_write(o, im, source, &err);
	}
	if (rc)
		return mc_cli_error(&err);
	import_tell(im, count);
	return MC_OK;
}

int mc_fit_cli_import(int argc, char **argv)
{
	struct import_options o = {0};
	struct mc_import im = {0};
	struct mc_args a;
	int c, rc;

	mc_args_init(&a, argc, argv, options, usage);
	while ((c = mc_args_next(&a)) > 0)
		if (!import_option(&a, c, &o, &im))
			return a.rc;
	if (c == MC_ARGS_STOP)
		return a.rc;
	if (!mc_args_operands(&a, 2, 1000, "a format (or auto) and tables"))
		return a.rc;
	if (o.dtype && !mc_opsamples_element_bytes(o.dtype))
		return mc_cli_misuse("fit import: --dtype %.16s; expected f32, bf16 or f16", o.dtype);
	rc = import_tables(&o, &im, a.argc, a.argv);
	mc_import_fini(&im);
	return rc;
}
