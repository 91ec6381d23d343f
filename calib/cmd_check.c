/* mooncake-calib check: steps that no fit saw, measured, beside what a profile predicts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/units.h"
#include "calib/anchors.h"
#include "calib/child.h"
#include "calib/gate.h"

static const char text[] =
    "Measures whole prefill and decode steps at random points and holds a profile's prediction (mooncake\n"
    "predict) against them. Points: new tokens, sequences and contexts drawn within the limits by factors, "
    "a\n"
    "quarter of the prefills without context; the same seed draws the same ones. Times are those of the CPU\n"
    "backend, each step visited three times, spread over the budget; the median counts. Disturbed visits\n"
    "are left out. Samples: DIR/check-MODEL.csv, always anew.\n"
    "Where DIR has the calibration's samples, up to 8 of its steps are measured again in between: so it is\n"
    "told how fast the machine is now, against then, and what the errors are but for that.\n";

enum { ANCHOR_EVERY = 4 };

static const struct mc_calib_option options[] = {
    MC_CALIB_COMMON(struct mc_calib_compute_options),
    MC_CALIB_MODEL_OPTIONS,
    {"points", 259, "N", MC_CALIB_COUNT, MC_CALIB_AT(points), 1, 10000, "at most; default: 400"},
    {"seed", 'S', "N", MC_CALIB_COUNT, MC_CALIB_AT(seed), 0, 1e15, "of the points; default: 1"},
    {"require", 'r', "MEDIAN,P95", MC_CALIB_TEXT, MC_CALIB_AT(require), 0, 0,
     "exit with 1 if the errors are above: \"5%,15%\""},
    {0}};

static void defaults(void *options_)
{
	struct mc_calib_compute_options *o = options_;

	*o = (struct mc_calib_compute_options){
	    .common = {.budget_s = 60, .precision = 0.02, .samples = "samples", .fresh = true},
	    .model = "small-24.6m",
	    .max_tokens = 2048,
	    .max_batch = 32,
	    .max_context = 4096,
	    .block_tokens = 64,
	    .tensor_parallel = 1,
	    .points = 400,
	    .seed = 1};
}

/* One step: predicted and measured. */
struct pair {
	char name[64];
	double predicted, measured, error; /* |predicted / measured - 1| */
	bool decode, outside;
};

struct pairs {
	MC_VEC(struct pair)
	struct mc_calib_series off; /* visits of a step from their median, ratios */
	struct mc_calib_anchors anchors;
	const char *no_anchors; /* why there are none */
};

/* The whole time of a step. */
static int visit(struct mc_calib_compute *c, const struct mc_calib_point *p, struct mc_err *err)
{
	struct mc_op_point at = {
	    .op = MC_OP_STEP,
	    .dim = {[MC_DIM_ROWS] = p->rows, [MC_DIM_CONTEXT] = p->context, [MC_DIM_SEQS] = p->seqs}};
	struct mc_calib_samples s = {0};
	struct mc_calib_result r;
	int rc = mc_calib_model_whole(&c->model, p, &c->goal, &r, err);

	if (!rc && r.time.n) {
		mc_calib_model_sample(&s, &at, &r.time, r.flag);
		c->measured++;
		c->flagged += r.flag[0] != 0;
		rc = mc_calib_session_add(&c->session, s.at, s.n, err);
	}
	mc_vec_fini(&s);
	return rc;
}

/* Steps one after the other until a third of the time is up, then the same ones again, and again: why, says
 * rounds.c. */
static int measure(struct mc_calib_compute *c, struct pairs *all, struct mc_err *err)
{
	double third = c->o->common.budget_s / MC_CALIB_ROUNDS;
	struct mc_calib_grid g;
	size_t points = (size_t)c->o->points;
	int rc = 0;

	mc_calib_grid_random(&g, &c->want.limits, (uint64_t)c->o->seed, points);
	for (int k = 1; k <= MC_CALIB_ROUNDS && !rc; k++) {
		size_t i = 0;

		for (; i < points && !rc && !mc_calib_stop; i++) {
			if ((k > 1 || i) && mc_calib_session_elapsed_s(&c->session) > k * third)
				break;
			mc_calib_session_progress(&c->session, (size_t)(k - 1) * points + i,
						  MC_CALIB_ROUNDS * points, c->name);
			rc = visit(c, &g.at[i], err);
			if (!rc && i % ANCHOR_EVERY == 0)
				rc = mc_calib_anchors_visit(&all->anchors, c, err);
		}
		points = k == 1 ? i : points;
	}
	mc_calib_session_clear(&c->session);
	mc_vec_fini(&g);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->measured > y->measured) - (x->measured < y->measured);
}

/* Visits of one step become one: their median. */
static void merge(struct pairs *all)
{
	size_t n = 0, to;

	if (all->n)
		qsort(all->at, all->n, sizeof *all->at, by_name);
	for (size_t i = 0; i < all->n; i = to) {
		struct pair p = all->at[i];

		for (to = i; to < all->n && !strcmp(all->at[to].name, p.name);)
			to++;
		p.measured =
		    (all->at[i + (to - i - 1) / 2].measured + all->at[i + (to - i) / 2].measured) / 2;
		for (size_t j = i; j < to && to - i > 1; j++)
			mc_vec_push(&all->off, fabs(all->at[j].measured / p.measured - 1));
		p.error = fabs(p.predicted / p.measured - 1);
		all->at[n++] = p;
	}
	all->n = n;
}

/* What predict --format csv says: prediction,part,kind,calls,outside,how,seconds,measured_seconds. */
static int read_pairs(const char *path, struct pairs *all, struct mc_err *err)
{
	char *csv, *field[8], *rest = NULL;
	size_t n;
	int rc = mc_file_read(path, (size_t)1 << 28, &csv, &n, err);

	if (rc)
		return rc;
	for (char *line = strtok_r(csv, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct pair p = {0};

		if (mc_str_fields(line, ',', field, 8) != 8 || strcmp(field[1], "total"))
			continue;
		snprintf(p.name, sizeof p.name, "%s", field[0]);
		p.outside = atof(field[4]) > 0;
		p.predicted = atof(field[6]);
		p.measured = atof(field[7]);
		p.decode = strstr(p.name, "x1 after") != NULL;
		if (p.measured > 0)
			mc_vec_push(all, p);
	}
	free(csv);
	if (!all->n)
		rc = mc_err_set(err, MC_FAIL, "%s: nothing was predicted", path);
	return rc;
}

/* mooncake predict for what an option says, into DIR/check-MODEL-predicted.csv; the path is the caller's. */
static int predict(const struct mc_calib_compute *c, const char *profile, const char *const option[2],
		   char **said, struct mc_err *err)
{
	char *config = mc_calib_compute_config(c, err);
	const char *argv[] = {"predict", "--hardware", profile,    "--model", config,
			      option[0], option[1],    "--format", "csv",     NULL};
	int rc;

	*said = mc_calib_compute_path(c, "-predicted.csv");
	rc = config ? mc_calib_child(argv, *said, err) : err->rc;
	free(config);
	return rc;
}

/* Does it predict this model at all? Before the time is spent. */
static int try(const struct mc_calib_compute *c, const char *profile, struct mc_err *err)
{
	char *said;
	int rc = predict(c, profile, (const char *const[]){"--decode", "1x2"}, &said, err);

	free(said);
	return rc;
}

/* The profile's prediction of the session's points. */
static int predict_points(const struct mc_calib_compute *c, const char *profile, struct pairs *all,
			  struct mc_err *err)
{
	char *points = mc_calib_compute_path(c, ".csv"), *said;
	int rc = predict(c, profile, (const char *const[]){"--points", points}, &said, err);

	if (!rc)
		rc = read_pairs(said, all, err);
	merge(all);
	free(points);
	free(said);
	return rc;
}

static int by_error(const void *a, const void *b)
{
	double x = ((const struct pair *)a)->error, y = ((const struct pair *)b)->error;

	return (x > y) - (x < y);
}

static const struct pair *at_share(const struct pairs *p, double share)
{
	return &p->at[(size_t)ceil(share * (double)p->n) - 1];
}

/* All, the prefills or the decodes, sorted by error. */
static void line_of(const char *name, const struct pairs *all, int which)
{
	struct pairs of = {0};
	size_t low = 0, outside = 0;

	for (size_t i = 0; i < all->n; i++)
		if (which < 0 || all->at[i].decode == which) {
			mc_vec_push(&of, all->at[i]);
			low += all->at[i].predicted < all->at[i].measured;
			outside += all->at[i].outside;
		}
	if (of.n)
		printf(
		    "%-8s %6zu  %6.1f %% %6.1f %% %6.1f %%  %5.0f %%  %7zu  %s: %.6g s, predicted %.6g s\n",
		    name, of.n, 100 * at_share(&of, 0.5)->error, 100 * at_share(&of, 0.95)->error,
		    100 * at_share(&of, 1)->error, 100 * (double)low / (double)of.n, outside,
		    at_share(&of, 1)->name, at_share(&of, 1)->measured, at_share(&of, 1)->predicted);
	mc_vec_fini(&of);
}

/* How fast the machine was, and the errors but for that; they are left so. */
static void tell_pace(struct pairs *all)
{
	struct mc_calib_pace pace;

	mc_calib_anchors_pace(&all->anchors, &pace);
	if (!pace.steps) {
		printf("how fast the machine is now isn't known: %s\n",
		       all->no_anchors ? all->no_anchors : "all steps were disturbed");
		return;
	}
	printf(
	    "this machine takes %.3g times as long as when it was calibrated (%zu of its steps again: %.3g "
	    "to %.3g)\n",
	    pace.median, pace.steps, pace.low, pace.high);
	for (size_t i = 0; i < all->n; i++)
		all->at[i].error = fabs(all->at[i].predicted * pace.median / all->at[i].measured - 1);
	qsort(all->at, all->n, sizeof *all->at, by_error);
	printf("errors at that speed: %.1f %% (median), %.1f %% (p95), %.1f %% (worst)\n",
	       100 * at_share(all, 0.5)->error, 100 * at_share(all, 0.95)->error,
	       100 * at_share(all, 1)->error);
}

static int judge(const struct mc_calib_compute *c, struct pairs *all, const struct mc_calib_gate *g,
		 struct mc_err *err)
{
	struct mc_calib_summary visits;
	double median, p95;

	qsort(all->at, all->n, sizeof *all->at, by_error);
	median = at_share(all, 0.5)->error;
	p95 = at_share(all, 0.95)->error;
	printf("%s: %zu steps, visited %zu times in %.0f s; %zu visits were disturbed and left out\n",
	       c->name, all->n, c->measured, mc_calib_session_elapsed_s(&c->session), c->flagged);
	printf("%-8s %6s  %8s %8s %8s  %7s  %7s  %s\n", "", "steps", "median", "p95", "worst", "low",
	       "outside", "worst at");
	line_of("prefill", all, 0);
	line_of("decode", all, 1);
	line_of("all", all, -1);
	if (all->off.n) {
		mc_calib_summarise(&all->off, &visits);
		printf("visits of one step are %.1f %% (median) and %.1f %% (p95) from their median\n",
		       100 * visits.median, 100 * all->off.at[(all->off.n - 1) * 95 / 100]);
	}
	tell_pace(all);
	return mc_calib_gate_judge(g, median, p95, err);
}

/* Was it made here? */
static void compare_device(const struct mc_calib_compute *c, const char *profile)
{
	json_t *o = json_load_file(profile, 0, NULL);
	const char *device = json_string_value(json_object_get(json_object_get(o, "operators"), "device"));

	if (device && strcmp(device, c->session.all.device))
		mc_calib_warn("the profile is of '%s', this is '%s'", device, c->session.all.device);
	json_decref(o);
}

static int check(struct mc_calib_compute *c, const char *profile, const struct mc_calib_gate *g,
		 struct mc_err *err)
{
	struct pairs all = {0};
	int rc;

	rc = try(c, profile, err);
	if (rc)
		return rc;
	compare_device(c, profile);
	mc_calib_anchors_find(&all.anchors, c, &all.no_anchors);
	rc = measure(c, &all, err);
	if (!rc && mc_calib_stop) {
		mc_calib_anchors_fini(&all.anchors);
		return mc_calib_compute_stopped(c);
	}
	if (!rc && c->flagged == c->measured)
		rc = mc_err_set(err, MC_FAIL, "all %zu steps were disturbed by others on this machine",
				c->measured);
	if (!rc)
		rc = predict_points(c, profile, &all, err);
	if (!rc)
		rc = judge(c, &all, g, err);
	mc_calib_anchors_fini(&all.anchors);
	mc_vec_fini(&all.off);
	mc_vec_fini(&all);
	return rc;
}

static int run(void *options_, char **operands, struct mc_err *err)
{
	struct mc_calib_compute c = {.o = options_, .prefix = "check", .way = "whole steps at random points"};
	struct mc_calib_gate gate;
	int rc = mc_calib_gate_parse(&gate, c.o->require, err);

	if (rc)
		return rc;
	rc = mc_calib_compute_init(&c, "cpu", err);
	if (!rc)
		rc = mc_calib_compute_open(&c, err);
	if (rc)
		return rc;
	rc = check(&c, operands[0], &gate, err);
	mc_calib_compute_close(&c);
	return rc;
}

const struct mc_calib_command mc_calib_command_check = {
    .name = "check",
    .summary = "a profile's prediction beside steps that no fit saw",
    .operands = "PROFILE",
    .text = text,
    .options = options,
    .options_size = sizeof(struct mc_calib_compute_options),
    .min_operands = 1,
    .max_operands = 1,
    .defaults = defaults,
    .run = run,
};
