/*
 * The points of a grid, visited in rounds. A machine that others share changes its speed by a tenth or more
 * within minutes: what is measured in one go is wrong by as much, however many its repeats. So a round takes
 * a third of the budget and every point is visited in each of them; `mooncake fit` takes the median of
 * visits.
 */
#include <math.h>
#include <string.h>

#include "calib/compute.h"

enum { REFERENCE_EVERY = 10 };
static const double drift_limit = 0.15;

static struct mc_op_point step_of(const struct mc_calib_point *p)
{
	return (struct mc_op_point){
	    .op = MC_OP_STEP,
	    .dim = {[MC_DIM_ROWS] = p->rows, [MC_DIM_CONTEXT] = p->context, [MC_DIM_SEQS] = p->seqs}};
}

/* Seconds that the fewest repeats of a step will take, from the one of the same kind that is nearest in
 * operations; 0: nobody knows. */
static double estimate(const struct mc_calib_compute *c, const struct mc_calib_point *p)
{
	double work = mc_calib_model_work(&c->model, p), nearest = INFINITY, seconds = 0;

	for (size_t i = 0; i < c->session.all.n; i++) {
		const struct mc_opsample *s = &c->session.all.at[i];
		const int64_t *d = s->point.dim;
		struct mc_calib_point q = {d[MC_DIM_ROWS], d[MC_DIM_CONTEXT], d[MC_DIM_SEQS], 0};
		double w, far;

		if (s->point.op != MC_OP_STEP || (q.rows > 1) != (p->rows > 1))
			continue;
		w = mc_calib_model_work(&c->model, &q);
		far = fabs(log(w / work));
		if (far < nearest) {
			nearest = far;
			seconds = s->seconds * work / w;
		}
	}
	return seconds * (MC_CALIB_FEWEST + 1);
}

static int measure_point(struct mc_calib_compute *c, const struct mc_calib_point *p, struct mc_err *err)
{
	struct mc_calib_outcome o = {0};
	const struct mc_calib_samples *s = &o.samples;
	int rc = c->measure(&c->model, p, &c->goal, &o, err);

	if (!rc && s->n)
		rc = mc_calib_session_add(&c->session, s->at, s->n, err);
	c->measured += s->n > 0;
	c->flagged += s->n > 0 && o.result.flag[0];
	mc_vec_fini(&o.samples);
	return rc;
}

/* A point in the middle: new tokens by the half of their way, no context. */
static const struct mc_calib_point *reference(const struct mc_calib_grid *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->at[i].level == 1 && g->at[i].rows > 1 && !g->at[i].context)
			return &g->at[i];
	return &g->at[0];
}

struct drift {
	struct mc_calib_drift d;
	struct mc_calib_point at;
	size_t since; /* samples at the last look */
	int points;   /* measured since */
};

/* Is the machine as it was? What was measured since is flagged if not. */
static int look_at_drift(struct mc_calib_compute *c, struct drift *d, struct mc_err *err)
{
	struct mc_calib_goal goal = c->goal;
	struct mc_calib_result r;
	int rc;

	if (goal.tolerant)
		return 0;
	rc = mc_calib_model_whole(&c->model, &d->at, &goal, &r, err);
	if (rc || !r.time.n || r.flag[0])
		return rc; /* a disturbed look says nothing */
	if (mc_calib_drift_moved(&d->d, r.time.median)) {
		c->drifted = true;
		rc = mc_calib_session_flag(&c->session, d->since, "drift", err);
	}
	d->since = c->session.all.n;
	d->points = 0;
	return rc;
}

struct round {
	const struct mc_calib_grid *g;
	size_t visits; /* that a point has at the end of it */
	bool known;    /* only points that were visited before */
	double until;  /* seconds of the session */
};

static bool is_due(const struct mc_calib_compute *c, const struct round *r, const struct mc_calib_point *p)
{
	struct mc_op_point s = step_of(p);
	size_t flagged, good = mc_calib_session_count(&c->session, &s, &flagged);

	return good < r->visits && (!r->known || good + flagged > 0);
}

static void show(struct mc_calib_compute *c, const struct mc_calib_point *p)
{
	double elapsed = mc_calib_session_elapsed_s(&c->session);
	double left = mc_calib_session_left_s(&c->session);
	char text[128];

	snprintf(text, sizeof text, "%s %s, %lld x %lld after %lld", c->name,
		 p->rows > 1 ? "prefill" : "decode", (long long)p->seqs, (long long)p->rows,
		 (long long)p->context);
	mc_calib_session_progress(&c->session, (size_t)elapsed, (size_t)(elapsed + left), text);
}

/* All points that are due and fit into what is left of the round. */
static int run_round(struct mc_calib_compute *c, const struct round *r, struct drift *d, struct mc_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->g->n && !rc; i++) {
		const struct mc_calib_point *p = &r->g->at[i];
		double left = r->until - mc_calib_session_elapsed_s(&c->session);

		if (mc_calib_stop || left <= 0)
			break;
		if (!is_due(c, r, p) || (c->session.all.n && estimate(c, p) > left))
			continue;
		show(c, p);
		rc = measure_point(c, p, err);
		if (!rc && !mc_calib_stop && ++d->points >= REFERENCE_EVERY)
			rc = look_at_drift(c, d, err);
	}
	if (!rc && d->points > 0 && !mc_calib_stop)
		rc = look_at_drift(c, d, err);
	return rc;
}

int mc_calib_compute_run(struct mc_calib_compute *c, struct mc_err *err)
{
	struct mc_calib_grid g;
	struct drift d = {.d = {.limit = drift_limit}, .since = c->session.all.n};
	double budget = mc_calib_session_elapsed_s(&c->session) + mc_calib_session_left_s(&c->session);
	size_t before;
	int rc;

	mc_calib_grid(&g, &c->want.limits, (int)c->o->levels);
	d.at = *reference(&g);
	rc = look_at_drift(c, &d, err);
	for (int k = 1; k <= MC_CALIB_ROUNDS && !rc; k++) {
		struct round r = {&g, (size_t)k, k > 1, budget * k / MC_CALIB_ROUNDS};

		rc = run_round(c, &r, &d, err);
	}
	/* What time is left goes to more points, and to those whose visits were flagged. */
	do {
		before = c->measured;
		for (int k = 1; k <= MC_CALIB_ROUNDS && !rc; k++) {
			struct round r = {&g, (size_t)k, false, budget};

			rc = run_round(c, &r, &d, err);
		}
	} while (!rc && c->measured > before);
	mc_calib_session_clear(&c->session);
	mc_vec_fini(&g);
	return rc;
}
