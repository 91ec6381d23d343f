/* mooncake compare: results, scenarios, or one scenario across the values of a setting. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/across.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/side.h"

struct compare {
	struct mc_setup setup; /* path: of the side that is run now */
	const char *format, *output;
	const char *setting; /* of --across; NULL: none */
	struct mc_across across;
	size_t n;             /* columns */
	struct mc_side *side; /* n */
	struct mc_watch watch;
};

static const struct mc_option options[] = {
    {"across", 'a', "KEY[=A,B,C]"}, {"set", 's', "KEY=VALUE"}, {"format", 'f', "FORMAT"},
    {"output", 'o', "FILE"},        {"quiet", 'q', NULL},      {NULL, 0, NULL},
};

static const char usage[] = "usage: mooncake compare A B [C ...] [options]\n"
			    "       mooncake compare SCENARIO --across KEY[=A,B,C] [options]\n"
			    "\n"
			    "Two results: every metric with difference and ratio, and, where both ran the "
			    "same trace and the requests are\n"
			    "known, the mean difference of each request's TTFT, TBT and end-to-end time with "
			    "its 95 % confidence interval.\n"
			    "More than two: a column each. A, B ... are results (run --format json -o FILE), "
			    "folders (run --out-dir DIR) or\n"
			    "scenarios, which are run now.\n"
			    "\n"
			    "  -a, --across KEY     run the scenario with each value of a setting: those "
			    "named, or all choices of one that\n"
			    "                       has choices (--across conductor.policy)\n"
			    "  -s, --set KEY=VALUE  change a setting of every scenario; may be given again\n"
			    "  -f, --format FORMAT  text (default), json or csv\n"
			    "  -o, --output FILE    write there instead of to standard output\n"
			    "  -q, --quiet          no progress, no wall time\n"
			    "\n"
			    "mooncake help metrics defines every figure.\n";

static int parse(struct compare *cmp, struct mc_args *a)
{
	static const char *const formats[] = {"text", "json", "csv", NULL};
	int code, which;

	while ((code = mc_args_next(a)) > 0) {
		switch (code) {
		case 'a':
			cmp->setting = a->value;
			break;
		case 's':
			mc_vec_push(&cmp->setup.set, a->value);
			break;
		case 'f':
			if (!mc_args_choice(a, formats, &which))
				return MC_ARGS_STOP;
			cmp->format = formats[which];
			break;
		case 'o':
			cmp->output = a->value;
			break;
		default:
			cmp->setup.quiet = true;
		}
	}
	return code;
}

static int run_across(struct compare *cmp, struct mc_err *err)
{
	int rc = MC_OK;

	for (size_t i = 0; i < cmp->n && !rc; i++) {
		mc_across_push(&cmp->across, i, &cmp->setup);
		rc = mc_side_run(&cmp->side[i], &cmp->setup, i ? &cmp->side[0] : NULL, &cmp->watch, err);
		cmp->setup.set.n--;
	}
	return rc;
}

static int load_sides(struct compare *cmp, char **paths, struct mc_err *err)
{
	const struct mc_side *like = NULL;
	int rc = MC_OK;

	for (size_t i = 0; i < cmp->n && !rc; i++) {
		bool stored;

		rc = mc_side_load(&cmp->side[i], paths[i], &stored, err);
		if (rc || stored)
			continue;
		cmp->setup.path = paths[i];
		rc = mc_side_run(&cmp->side[i], &cmp->setup, like, &cmp->watch, err);
		if (!like)
			like = &cmp->side[i];
	}
	return rc;
}

/* Did both run the same requests of the same trace? */
static bool same_requests(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"limit", "start"};
	const json_t *s = json_object_get(json_object_get(a, "scenario"), "trace");
	const json_t *t = json_object_get(json_object_get(b, "scenario"), "trace");

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!json_equal(json_object_get(s, keys[i]), json_object_get(t, keys[i])))
			return false;
	return json_equal(json_object_get(json_object_get(a, "trace"), "fingerprint"),
			  json_object_get(json_object_get(b, "trace"), "fingerprint"));
}

static void pair(const struct compare *cmp, struct mc_comparison *c)
{
	const struct mc_side *a = &cmp->side[0], *b = &cmp->side[1];

	if (!same_requests(a->result, b->result))
		c->unpaired = "they ran different traces (fingerprint, trace.limit, trace.start)";
	else if (!a->rows.n || !b->rows.n)
		c->unpaired = "no requests.csv beside a result; run with --out-dir and compare the folders";
	else
		mc_comparison_pair(c, &a->rows, &b->rows);
}

struct chosen {
	const char *format;
	const struct mc_comparison *c;
};

static void write_comparison(FILE *out, const void *arg)
{
	const struct chosen *a = arg;

	mc_comparison_write(out, a->format, a->c);
}

static int show(const struct compare *cmp, char **paths, struct mc_err *err)
{
	struct mc_comparison c = {.across = cmp->across.key, .scenario = paths[0], .n = cmp->n};
	struct chosen out = {cmp->format, &c};
	int rc;

	c.column = mc_xcalloc(c.n, sizeof *c.column);
	for (size_t i = 0; i < c.n; i++) {
		c.column[i].name = cmp->setting ? cmp->across.value[i] : paths[i];
		c.column[i].result = cmp->side[i].result;
		mc_flat_from_json(cmp->side[i].result, &c.column[i].flat);
	}
	if (c.n == 2)
		pair(cmp, &c);
	rc = mc_cli_write(cmp->output ? cmp->output : "-", write_comparison, &out, err);
	for (size_t i = 0; i < c.n; i++)
		mc_vec_fini(&c.column[i].flat);
	free(c.column);
	return rc;
}

static int compare(struct compare *cmp, struct mc_args *a)
{
	struct mc_err err = {0};
	int rc;

	if (cmp->setting) {
		if (!mc_args_operands(a, 1, 1, "one scenario with --across"))
			return a->rc;
		rc = mc_across_parse(&cmp->across, "compare", cmp->setting);
		if (rc)
			return rc;
		cmp->n = cmp->across.n;
		cmp->setup.path = a->argv[0];
	} else {
		if (!mc_args_operands(a, 2, MC_ACROSS_MAX,
				      "two results or scenarios, or one and --across KEY"))
			return a->rc;
		cmp->n = (size_t)a->argc;
	}
	cmp->side = mc_xcalloc(cmp->n, sizeof *cmp->side);
	mc_watch_start(&cmp->watch, cmp->setup.quiet);
	rc = cmp->setting ? run_across(cmp, &err) : load_sides(cmp, a->argv, &err);
	mc_watch_stop(&cmp->watch);
	if (!rc)
		rc = show(cmp, a->argv, &err);
	return rc ? mc_cli_error(&err) : MC_OK;
}

static int compare_run(int argc, char **argv)
{
	struct compare cmp = {.format = "text"};
	struct mc_args a;
	int rc;

	mc_args_init(&a, argc, argv, options, usage);
	rc = parse(&cmp, &a) == MC_ARGS_STOP ? a.rc : compare(&cmp, &a);
	/* Lenders go last. */
	for (size_t i = cmp.side ? cmp.n : 0; i-- > 0;)
		mc_side_fini(&cmp.side[i]);
	free(cmp.side);
	mc_across_fini(&cmp.across);
	mc_vec_fini(&cmp.setup.set);
	return rc;
}

const struct mc_command mc_command_compare = {
    .name = "compare",
    .help = "results or scenarios beside each other; a scenario across policies",
    .usage = usage,
    .run = compare_run,
};
