/* mooncake capacity: the highest rate of arrivals that a cluster serves well enough. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/across.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/watch.h"
#include "cluster/clients.h"
#include "out/capacity.h"
#include "out/flat.h"

#define SEEDS_MAX 10000

struct capacity {
	struct mc_setup setup;
	const char *format, *output, *setting; /* setting: of --across */
	struct mc_across across;
	double low, high; /* of --rate; 0: not given */
	bool keep_given;
	int64_t seeds;
	struct mc_capacity found;
	struct mc_simulation *base; /* a side: lends its trace to all its runs */
	json_t *first;              /* result of the first run */
	struct mc_watch watch;
	int64_t runs;
};

static const struct mc_option options[] = {
    {"keep", 'k', "SHARE"},    {"rate", 'r', "LOW,HIGH"}, {"precision", 'p', "P"},
    {"seeds", 257, "N"},       {"metric", 'm', "KEY"},    {"across", 'a', "KEY[=A,B,C]"},
    {"set", 's', "KEY=VALUE"}, {"format", 'f', "FORMAT"}, {"output", 'o', "FILE"},
    {"quiet", 'q', NULL},      {NULL, 0, NULL},
};

static const char usage[] =
    "usage: mooncake capacity SCENARIO [options]\n"
    "\n"
    "The highest trace.rate up to which the scenario keeps a share of its requests effective, by bisection; "
    "of one\n"
    "scenario, or side by side with each value of a setting. Beside the answer a few rates below and above "
    "are tried:\n"
    "all that was tried up to it held, and a higher rate that holds again is told.\n"
    "\n"
    "  -k, --keep SHARE      what the metric has to keep (0.9)\n"
    "  -m, --metric KEY      the metric (slo.effective_ratio); at most SHARE where lower is better "
    "(ttft_s.p99)\n"
    "  -r, --rate LOW,HIGH   rates to look between; otherwise by doubling and halving from trace.rate\n"
    "  -p, --precision P     relative distance of the rates that hold and fail at the end (0.01)\n"
    "      --seeds N         a search for each of the seeds seed ... seed+N-1, and their mean with its 95 %\n"
    "                        confidence interval; one search where nothing is random\n"
    "  -a, --across KEY      with each value of a setting: those named, or all choices of one that has "
    "choices;\n"
    "                        ratios to the first are paired by seed\n"
    "  -s, --set KEY=VALUE   change a setting; may be given again\n"
    "  -f, --format FORMAT   text (default), json (with every rate that was tried) or csv\n"
    "  -o, --output FILE     write there instead of to standard output\n"
    "  -q, --quiet           no progress, no wall time\n"
    "\n"
    "The trace is sped up as a whole: sessions hurry with it, and it gets shorter. Ctrl-C: what is known is "
    "written,\n"
    "marked incomplete; exit status 1.\n";

static bool parse_range(struct capacity *c, struct mc_args *a)
{
	char *low = mc_xstrdup(a->value), *high = strchr(low, ',');
	struct mc_err err = {0};
	bool good = high != NULL;

	if (high)
		*high++ = 0;
	good = good && !mc_units_real(low, &c->low, &err) && !mc_units_real(high, &c->high, &err);
	good = good && c->low >= 1e-6 && c->high <= 1e6 && c->low < c->high;
	if (!good)
		a->rc = mc_cli_misuse("capacity: --rate %s: expected LOW,HIGH, two rates within 1e-06 to "
				      "1e+06 of which the first is lower",
				      a->value);
	free(low);
	return good;
}

static bool option(struct capacity *c, struct mc_args *a, int code)
{
	static const char *const formats[] = {"text", "json", "csv", NULL};
	int which = 0;
	bool good = true;

	switch (code) {
	case 'k':
		c->keep_given = true;
		return mc_args_real(a, -1e18, 1e18, &c->found.keep);
	case 'm':
		c->found.metric = a->value;
		break;
	case 'r':
		return parse_range(c, a);
	case 'p':
		return mc_args_real(a, MC_BISECT_PRECISION, 1, &c->found.precision);
	case 257:
		return mc_args_int(a, 1, SEEDS_MAX, &c->seeds);
	case 'a':
		c->setting = a->value;
		break;
	case 's':
		mc_vec_push(&c->setup.set, a->value);
		break;
	case 'f':
		good = mc_args_choice(a, formats, &which);
		c->format = formats[which];
		break;
	case 'o':
		c->output = a->value;
		break;
	default:
		c->setup.quiet = true;
	}
	return good;
}

static int check_metric(struct capacity *c)
{
	const char *key = c->found.metric;
	enum mc_better better = mc_flat_better(key);

	if (!mc_metric_find(key))
		return mc_cli_misuse("capacity: --metric %s: no such metric; see mooncake help metrics", key);
	if (better == MC_BETTER_NEITHER)
		return mc_cli_misuse(
		    "capacity: --metric %s: neither high nor low is good; expected one that users feel", key);
	if (!c->keep_given && strcmp(key, "slo.effective_ratio"))
		return mc_cli_misuse("capacity: --metric %s needs --keep: what it has to keep", key);
	if (strstr(key, "ratio") && better == MC_BETTER_HIGH && c->found.keep > 1)
		return mc_cli_misuse("capacity: --keep: %.6g is out of range; expected 0 to 1 for %s",
				     c->found.keep, key);
	c->found.at_most = better == MC_BETTER_LOW;
	return MC_OK;
}

struct point {
	size_t side;
	int64_t seed;
	double rate;
};

/* Open a run of the side with the seed at the rate, set behind all else. */
static int open_at(struct capacity *c, const struct point *p, struct mc_simulation *sim, struct mc_err *err)
{
	char seed_setting[40], rate_setting[40];
	size_t n = c->setup.set.n;
	int rc;

	snprintf(seed_setting, sizeof seed_setting, "seed=%" PRId64, p->seed);
	snprintf(rate_setting, sizeof rate_setting, "trace.rate=%.6g", p->rate);
	if (c->setting)
		mc_across_push(&c->across, p->side, &c->setup);
	mc_vec_push(&c->setup.set, seed_setting);
	mc_vec_push(&c->setup.set, rate_setting);
	rc = mc_simulation_open(sim, &c->setup, &c->base[p->side], err);
	c->setup.set.n = n;
	return rc;
}

static int judge(struct capacity *c, const struct mc_simulation *sim, struct mc_bisect_probe *p,
		 struct mc_err *err)
{
	struct mc_report report = mc_simulation_report(sim);
	json_t *doc = mc_report_json(&report);
	struct mc_flat_list flat = {0};
	const struct mc_flat *f;

	mc_flat_from_json(doc, &flat);
	f = mc_flat_find(&flat, c->found.metric);
	if (f) {
		p->value = f->value;
		p->pass = mc_capacity_passes(&c->found, f->value);
		p->steady = sim->metrics.steady;
	}
	if (!c->first)
		c->first = json_incref(doc);
	mc_vec_fini(&flat);
	json_decref(doc);
	return f ? MC_OK
		 : mc_err_set(err, MC_USAGE, "--metric %s: is no single figure of a result; see its csv",
			      c->found.metric);
}

/* Run the search's next rate. An interrupted run tells nothing. */
static int probe(struct capacity *c, size_t side, struct mc_capacity_search *s, double rate,
		 struct mc_err *err)
{
	struct mc_bisect_probe p = {.x = rate};
	struct mc_simulation sim;
	int rc;

	rc = open_at(c, &(struct point){side, s->seed, rate}, &sim, err);
	if (!rc)
		rc = mc_simulation_run(&sim, &c->watch.hooks, err);
	if (!rc) {
		c->watch.requests +=
		    sim.result.interrupted ? sim.metrics.total + sim.metrics.warmup : sim.trace->n;
		c->runs++;
		c->found.incomplete = sim.result.interrupted;
	}
	if (!rc && !c->found.incomplete)
		rc = judge(c, &sim, &p, err);
	if (!rc && !c->found.incomplete) {
		mc_bisect_tell(&s->bisect, &p);
		if (rate == s->bisect.fail)
			snprintf(s->bottleneck, sizeof s->bottleneck, "%s", sim.metrics.bottleneck);
	}
	mc_simulation_fini(&sim);
	return rc;
}

/* What the progress line says beside the run, from how long the runs so far took. */
static void announce(struct capacity *c, size_t side, const struct mc_bisect *b, double rate, size_t searches)
{
	const struct mc_capacity_side *s = &c->found.side[side];
	double took = mc_watch_clock_s() - c->watch.started, n = (double)c->runs,
	       whole = mc_bisect_left(&(struct mc_bisect){.params = b->params});

	snprintf(c->watch.label, sizeof c->watch.label, "%.40s, search %zu, rate %.4g", s->name, s->n, rate);
	c->watch.ahead_s = c->runs ? took / n * (mc_bisect_left(b) - 1 + (double)searches * whole) : 0;
}

static int search(struct capacity *c, size_t side, int64_t seed, size_t later, struct mc_err *err)
{
	struct mc_capacity_side *s = &c->found.side[side];
	struct mc_capacity_search *x = &s->search[s->n++];
	struct mc_bisect_params params = {c->low, c->high, c->base[side].scenario.trace.rate,
					  c->found.precision};
	double rate;
	int rc = MC_OK;

	x->seed = seed;
	mc_bisect_init(&x->bisect, &params);
	while (!rc && !c->found.incomplete && mc_bisect_next(&x->bisect, &rate)) {
		announce(c, side, &x->bisect, rate, later);
		rc = probe(c, side, x, rate, err);
	}
	return rc;
}

/* Read what a side needs, before any search begins: mistakes are found at once. */
static int prepare(struct capacity *c, size_t side, struct mc_err *err)
{
	struct mc_capacity_side *s = &c->found.side[side];
	struct mc_simulation *base = &c->base[side];
	size_t n = c->setup.set.n;
	mc_time span;
	int rc;

	s->name = c->setting ? c->across.value[side] : c->setup.path;
	if (c->setting)
		mc_across_push(&c->across, side, &c->setup);
	rc = mc_simulation_open(base, &c->setup, side ? &c->base[0] : NULL, err);
	c->setup.set.n = n;
	if (rc)
		return rc;
	if (mc_clients_closed(&base->scenario)) {
		mc_err_set(err, MC_USAGE,
			   "is closed: clients that wait for answers have no rate; expected open");
		return mc_err_at(err, s->name, 0, 0, "clients.mode");
	}
	if (!strcmp(c->found.metric, "slo.effective_ratio") && !base->scenario.classes &&
	    (!base->scenario.slo.ttft || !base->scenario.slo.tbt)) {
		mc_err_set(err, MC_USAGE,
			   "is 0: without an objective no request is effective; expected one, or another "
			   "--metric");
		return mc_err_at(err, s->name, 0, 0, base->scenario.slo.ttft ? "slo.tbt" : "slo.ttft");
	}
	s->random = mc_simulation_is_random(base);
	span = base->recorded->arrival[base->recorded->n - 1] - base->recorded->arrival[0];
	s->arrivals_per_s = span > 0 ? (double)base->recorded->n / mc_time_to_s(span) : NAN;
	s->search = mc_xcalloc((size_t)c->seeds, sizeof *s->search);
	return MC_OK;
}

static int search_all(struct capacity *c, struct mc_err *err)
{
	size_t n = c->found.n, left = 0;
	int rc = MC_OK;

	for (size_t i = 0; i < n && !rc; i++) {
		rc = prepare(c, i, err);
		left += c->found.side[i].random ? (size_t)c->seeds : 1;
	}
	for (size_t i = 0; i < n; i++) {
		int64_t seeds = c->found.side[i].random ? c->seeds : 1;

		for (int64_t k = 0; k < seeds && !rc && !c->found.incomplete; k++)
			rc = search(c, i, c->base[i].scenario.seed + k, --left, err);
	}
	return rc;
}

static void write_capacity(FILE *out, const void *arg)
{
	const struct capacity *c = arg;

	mc_out_capacity(out, c->format, &c->found, c->first);
}

static int capacity(struct capacity *c, struct mc_args *a, struct mc_err *err)
{
	int rc;

	if (!mc_args_operands(a, 1, 1, "one scenario"))
		return a->rc;
	rc = check_metric(c);
	if (!rc && c->setting)
		rc = mc_across_parse(&c->across, "capacity", c->setting);
	if (rc)
		return rc;
	if (c->setting && !strcmp(c->across.key, "trace.rate"))
		return mc_cli_misuse("capacity: --across trace.rate: is what is looked for; see --rate");
	c->setup.path = c->found.scenario = a->argv[0];
	c->found.across = c->across.key;
	c->found.n = c->setting ? c->across.n : 1;
	c->found.side = mc_xcalloc(c->found.n, sizeof *c->found.side);
	c->base = mc_xcalloc(c->found.n, sizeof *c->base);
	mc_watch_start(&c->watch, c->setup.quiet);
	rc = search_all(c, err);
	mc_watch_stop(&c->watch);
	if (rc || !c->first) /* not even one run */
		return rc;
	return mc_cli_write(c->output ? c->output : "-", write_capacity, c, err);
}

static int capacity_run(int argc, char **argv)
{
	struct capacity c = {.format = "text",
			     .seeds = 1,
			     .found = {.metric = "slo.effective_ratio", .keep = 0.9, .precision = 0.01}};
	struct mc_err err = {0};
	struct mc_args a;
	int code, rc;

	mc_args_init(&a, argc, argv, options, usage);
	while ((code = mc_args_next(&a)) > 0 && option(&c, &a, code))
		;
	rc = code ? a.rc : capacity(&c, &a, &err);
	if (err.rc)
		rc = mc_cli_error(&err);
	else if (!rc && c.found.incomplete)
		rc = MC_FAIL;
	if (!err.rc && c.found.incomplete)
		mc_cli_warn("interrupted: searches are cut off");
	for (size_t i = c.base ? c.found.n : 0; i-- > 0;) /* lenders go last */
		mc_simulation_fini(&c.base[i]);
	free(c.base);
	mc_capacity_fini(&c.found);
	json_decref(c.first);
	mc_across_fini(&c.across);
	mc_vec_fini(&c.setup.set);
	return rc;
}

const struct mc_command mc_command_capacity = {
    .name = "capacity",
    .help = "the highest rate that keeps objectives, by bisection; side by side for several",
    .usage = usage,
    .run = capacity_run,
};
