/* mooncake run: simulate one scenario. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/simulate.h"
#include "cli/watch.h"
#include "out/explain.h"
#include "out/seeds.h"
#include "out/tables.h"

#define SEEDS_MAX 10000

struct run {
	struct mc_setup setup;
	const char *format, *output, *out_dir;
	int64_t seeds, explain; /* explain: -1: none */
	bool all_seeds;         /* --seeds was given */
	char seed_setting[40];  /* "seed=N" of --seed */
	struct mc_watch watch;
};

static const struct mc_option options[] = {
    {"set", 's', "KEY=VALUE"}, {"seed", 256, "N"},      {"seeds", 257, "N"},   {"format", 'f', "FORMAT"},
    {"output", 'o', "FILE"},   {"out-dir", 258, "DIR"}, {"explain", 259, "N"}, {"check", 260, NULL},
    {"quiet", 'q', NULL},      {NULL, 0, NULL},
};

static const char usage[] =
    "usage: mooncake run SCENARIO [options]\n"
    "\n"
    "Replay the scenario's trace on its cluster and say what users would have felt and why.\n"
    "SCENARIO is a JSON file (mooncake help config), or - for standard input.\n"
    "\n"
    "  -s, --set KEY=VALUE  change a setting; may be given again (--set trace.path=- reads the trace from "
    "stdin)\n"
    "      --seed N         the same as --set seed=N\n"
    "      --seeds N        run seeds seed ... seed+N-1: mean and 95 % confidence interval of every metric\n"
    "  -f, --format FORMAT  text (default), json or csv\n"
    "  -o, --output FILE    write there instead of to standard output\n"
    "      --out-dir DIR    also write DIR/result.json, requests.csv, timeseries.csv and "
    "replicas.csv\n"
    "      --explain N      why request N of the trace (from 0) went where it went; -o still gets the "
    "result\n"
    "      --check          check invariants while running (run.check)\n"
    "  -q, --quiet          no progress, no wall time\n"
    "\n"
    "Ctrl-C: results so far are written, marked incomplete; exit status 1.\n"
    "mooncake help metrics defines every figure.\n";

static void write_report(FILE *out, const void *arg)
{
	const struct mc_report *report = arg;

	mc_sink_find("json")->write(out, report);
}

static void write_requests(FILE *out, const void *arg)
{
	mc_out_requests_csv(out, arg);
}

static void write_timeseries(FILE *out, const void *arg)
{
	mc_out_timeseries_csv(out, arg);
}

static void write_replicas(FILE *out, const void *arg)
{
	mc_out_replicas_csv(out, arg);
}

struct chosen {
	const struct mc_report *report;
	const char *format;
	const struct mc_explanation *explanation;
};

static void write_result(FILE *out, const void *arg)
{
	const struct chosen *c = arg;

	mc_sink_find(c->format)->write(out, c->report);
}

static void write_explanation(FILE *out, const void *arg)
{
	const struct chosen *c = arg;

	mc_explain_write(out, c->format, c->report, c->explanation);
}

static int write_dir(const char *dir, const struct mc_report *report, const struct mc_replicas *replicas,
		     struct mc_err *err)
{
	int rc;

	rc = mc_cli_write_in(dir, "result.json", write_report, report, err);
	if (!rc)
		rc = mc_cli_write_in(dir, "requests.csv", write_requests, report->result, err);
	if (!rc)
		rc = mc_cli_write_in(dir, "timeseries.csv", write_timeseries, report->result, err);
	return rc ? rc : mc_cli_write_in(dir, "replicas.csv", write_replicas, replicas, err);
}

static int write_all(const struct run *run, const struct mc_report *report, const struct mc_explanation *x,
		     struct mc_err *err)
{
	struct chosen c = {report, run->format, x};
	int rc = MC_OK;

	if (run->out_dir)
		rc = write_dir(run->out_dir, report, run->watch.hooks.replicas, err);
	if (!rc && (run->explain < 0 || run->output))
		rc = mc_cli_write(run->output ? run->output : "-", write_result, &c, err);
	if (!rc && run->explain >= 0) {
		if (x->found)
			rc = mc_cli_write("-", write_explanation, &c, err);
		else
			rc = mc_err_set(err, MC_FAIL,
					"request %" PRId64 " was not placed before the run stopped",
					run->explain);
	}
	return rc;
}

/* Requests that the run came to; not all when it was interrupted. */
static int64_t arrived(const struct mc_simulation *sim)
{
	const struct mc_metrics *m = &sim->metrics;

	return sim->result.interrupted ? m->total + m->warmup : sim->trace->n;
}

static int run_once(struct run *run, struct mc_simulation *sim, struct mc_err *err)
{
	struct mc_explanation x = {.request = run->explain};
	struct mc_replicas replicas = {0};
	struct mc_report report;
	int rc;

	rc = mc_simulation_open(sim, &run->setup, NULL, err);
	if (!rc && run->out_dir)
		rc = mc_cli_make_dir(run->out_dir, err);
	if (rc)
		return rc;
	if (run->explain >= sim->trace->n)
		return mc_err_set(err, MC_USAGE, "--explain %" PRId64 ": the run has requests 0 to %" PRId64,
				  run->explain, sim->trace->n - 1);
	if (run->explain >= 0)
		run->watch.hooks.explain = &x;
	if (run->out_dir)
		run->watch.hooks.replicas = &replicas;
	rc = mc_simulation_run(sim, &run->watch.hooks, err);
	run->watch.requests += arrived(sim);
	mc_watch_stop(&run->watch);
	if (!rc) {
		report = mc_simulation_report(sim);
		rc = write_all(run, &report, &x, err);
	}
	mc_replicas_fini(&replicas);
	free(x.score);
	free(x.decode_load);
	return !rc && sim->result.interrupted ? MC_FAIL : rc;
}

/* The first run has the scenario's own seed (first is NULL), later ones have another. */
static int open_seed(struct run *run, struct mc_simulation *sim, int64_t seed,
		     const struct mc_simulation *first, struct mc_err *err)
{
	char setting[40];
	int rc;

	if (!first)
		return mc_simulation_open(sim, &run->setup, NULL, err);
	snprintf(setting, sizeof setting, "seed=%" PRId64, seed);
	mc_vec_push(&run->setup.set, setting);
	rc = mc_simulation_open(sim, &run->setup, first, err);
	run->setup.set.n--;
	return rc;
}

struct chosen_seeds {
	const char *format;
	const struct mc_seeds *seeds;
};

static void write_seeds(FILE *out, const void *arg)
{
	const struct chosen_seeds *a = arg;

	mc_seeds_write(out, a->format, a->seeds);
}

static void flatten(const struct mc_simulation *sim, struct mc_seeds *seeds, json_t **first)
{
	struct mc_report report = mc_simulation_report(sim);
	json_t *doc = mc_report_json(&report);

	mc_flat_from_json(doc, &seeds->run[seeds->n++]);
	if (!*first)
		*first = json_incref(doc);
	json_decref(doc);
}

static int run_seeds(struct run *run, struct mc_simulation *first, struct mc_err *err)
{
	struct mc_seeds seeds = {.run = mc_xcalloc((size_t)run->seeds, sizeof *seeds.run)};
	struct chosen_seeds out = {run->format, &seeds};
	struct mc_simulation other;
	json_t *doc = NULL;
	int rc = MC_OK;

	for (int64_t i = 0; i < run->seeds && !rc && !seeds.incomplete; i++) {
		struct mc_simulation *sim = i ? &other : first;

		rc = open_seed(run, sim, seeds.first + i, i ? first : NULL, err);
		if (!rc)
			rc = mc_simulation_run(sim, &run->watch.hooks, err);
		if (!rc) {
			run->watch.requests += arrived(sim);
			seeds.incomplete = sim->result.interrupted;
			seeds.random = mc_simulation_is_random(sim);
			if (!i)
				seeds.first = sim->scenario.seed;
			if (!seeds.incomplete || !i)
				flatten(sim, &seeds, &doc);
		}
		if (i)
			mc_simulation_fini(&other);
	}
	mc_watch_stop(&run->watch);
	if (!rc) {
		seeds.result = doc;
		rc = mc_cli_write(run->output ? run->output : "-", write_seeds, &out, err);
	}
	for (int64_t i = 0; i < seeds.n; i++)
		mc_vec_fini(&seeds.run[i]);
	free(seeds.run);
	json_decref(doc);
	return !rc && seeds.incomplete ? MC_FAIL : rc;
}

/* What options cannot be together. */
static int conflicts(const struct run *run)
{
	if (run->all_seeds && (run->out_dir || run->explain >= 0))
		return mc_cli_misuse(
		    "run: --seeds goes with neither --out-dir nor --explain: they are of one run");
	if (run->explain >= 0 && !strcmp(run->format, "csv") && !run->output)
		return mc_cli_misuse("run: --explain has the formats text and json");
	return MC_OK;
}

static int parse(struct run *run, struct mc_args *a)
{
	static const char *const formats[] = {"text", "json", "csv", NULL};
	int64_t seed;
	int code, which;

	while ((code = mc_args_next(a)) > 0) {
		bool good = true;

		switch (code) {
		case 's':
			mc_vec_push(&run->setup.set, a->value);
			break;
		case 256:
			good = mc_args_int(a, 0, INT64_MAX / 2, &seed);
			if (good) {
				snprintf(run->seed_setting, sizeof run->seed_setting, "seed=%" PRId64, seed);
				mc_vec_push(&run->setup.set, run->seed_setting);
			}
			break;
		case 257:
			run->all_seeds = good = mc_args_int(a, 1, SEEDS_MAX, &run->seeds);
			break;
		case 'f':
			good = mc_args_choice(a, formats, &which);
			if (good)
				run->format = formats[which];
			break;
		case 'o':
			run->output = a->value;
			break;
		case 258:
			run->out_dir = a->value;
			break;
		case 259:
			good = mc_args_int(a, 0, INT64_MAX / 2, &run->explain);
			break;
		case 260:
			mc_vec_push(&run->setup.set, "run.check=true");
			break;
		default:
			run->setup.quiet = true;
		}
		if (!good)
			return MC_ARGS_STOP;
	}
	return code;
}

static int run_run(int argc, char **argv)
{
	struct run run = {.format = "text", .seeds = 1, .explain = -1};
	struct mc_simulation sim = {0};
	struct mc_err err = {0};
	struct mc_args a;
	int rc;

	mc_args_init(&a, argc, argv, options, usage);
	rc = parse(&run, &a) == MC_ARGS_STOP || !mc_args_operands(&a, 1, 1, "one scenario") ? a.rc : -1;
	if (rc < 0)
		rc = conflicts(&run) ? MC_USAGE : -1;
	if (rc < 0) {
		run.setup.path = a.argv[0];
		mc_watch_start(&run.watch, run.setup.quiet);
		rc = run.all_seeds ? run_seeds(&run, &sim, &err) : run_once(&run, &sim, &err);
		if (err.rc)
			rc = mc_cli_error(&err);
		else if (rc)
			mc_cli_warn("interrupted: the results are of the requests up to then");
	}
	mc_simulation_fini(&sim);
	mc_vec_fini(&run.setup.set);
	return rc;
}

const struct mc_command mc_command_run = {
    .name = "run",
    .help = "simulate a scenario: what users would have felt, and why",
    .usage = usage,
    .run = run_run,
};
