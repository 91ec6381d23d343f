#include "calib/netmeasure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum { ROUNDS = 3, REFERENCE_EVERY = 16, FEWEST = 3, MOST = 1000, VISITS = 600 };
static const double drift_limit = 0.25, point_most_s = 1, point_least_s = 0.002;
/* Of a plain way's turn: so that starting its threads doesn't count. */
static const double bare_least_s = 0.002;

static int turn(void *arg, double *seconds, struct mc_err *err)
{
	return mc_netload_turn(arg, seconds, err);
}

static struct mc_calib_goal goal_of(const struct mc_netmeasure *m, double cap_s)
{
	return (struct mc_calib_goal){.precision = m->precision,
				      .warm_s = cap_s / 10,
				      .cap_s = cap_s,
				      .fewest = FEWEST,
				      .most = MOST,
				      .tolerant = m->busy_ok,
				      .stop = m->stop,
				      .clock = {mc_calib_clock.wall, NULL, NULL}};
}

static double volume(const struct mc_netpoint *p)
{
	return (double)(p->bytes * p->depth * p->peers);
}

/* And keep what the visit took at least: to start, a turn that warms up, the fewest, and this. */
static int verify(struct mc_netmeasure *m, struct mc_netload *l, const struct mc_netpoint *p,
		  const struct mc_calib_result *r, struct mc_err *err)
{
	double from = mc_calib_clock.wall(NULL), took;
	int rc = mc_netload_verify(l, err);

	took = mc_calib_clock.wall(NULL) - from + r->time.median * (FEWEST + 2);
	if (!rc && r->time.n)
		m->visit_s_per_byte[ilogb(volume(p))] = took / volume(p);
	return rc;
}

static int engine_point(struct mc_netmeasure *m, const struct mc_netpoint *p, double cap_s,
			struct mc_calib_result *out, struct mc_err *err)
{
	const struct mc_net_setting setting = {m->transport, p->slice, p->nics};
	const struct mc_netload_want want = {m->net, p, m->stop, m->session.all.n};
	const struct mc_calib_goal goal = goal_of(m, cap_s);
	struct mc_calib_task task = {turn, NULL, NULL};
	struct mc_netload *l;
	int rc = mc_net_use(m->net, &setting, err);

	if (!rc)
		rc = mc_netload_new(&l, &want, err);
	if (rc)
		return rc;
	task.arg = l;
	rc = mc_calib_measure(&goal, &task, out, err);
	if (!rc && !out->stopped)
		rc = verify(m, l, p, out, err);
	mc_netload_free(l);
	out->stopped |= *m->stop != 0;
	return rc;
}

struct plain {
	struct mc_bare *way;
	struct mc_bare_task task;
};

static int go(void *arg, double *seconds, struct mc_err *err)
{
	struct plain *b = arg;
	int rc = b->way->go(b->way, &b->task, seconds, err);

	*seconds *= (double)b->task.depth / (double)b->task.requests;
	return rc;
}

static int bare_point(struct mc_netmeasure *m, const struct mc_netpoint *p, double cap_s,
		      struct mc_calib_result *out, struct mc_err *err)
{
	struct plain b = {m->bare[p->bare - 1],
			  {p->op == MC_OP_NET_WRITE, (size_t)p->bytes, (unsigned)p->depth, (size_t)p->depth}};
	const struct mc_calib_goal goal = goal_of(m, cap_s);
	const struct mc_calib_task task = {go, NULL, &b};
	double seconds;
	int rc = go(&b, &seconds, err);

	if (rc)
		return rc;
	b.task.requests = (size_t)p->depth * (size_t)fmax(1, ceil(bare_least_s / fmax(seconds, 1e-9)));
	return mc_calib_measure(&goal, &task, out, err);
}

int mc_netmeasure_point(struct mc_netmeasure *m, const struct mc_netpoint *p, double cap_s,
			struct mc_calib_result *out, struct mc_err *err)
{
	return p->bare ? bare_point(m, p, cap_s, out, err) : engine_point(m, p, cap_s, out, err);
}

static int add(struct mc_netmeasure *m, const struct mc_netpoint *p, const struct mc_calib_result *r,
	       struct mc_err *err)
{
	struct mc_opsample s = {.point = mc_netpoint_op(p),
				.seconds = r->time.median,
				.spread_ratio = r->time.spread,
				.repeats = r->time.n};

	snprintf(s.flag, sizeof s.flag, "%s", p->bare ? m->bare[p->bare - 1]->flag : r->flag);
	m->measured++;
	return mc_calib_session_add(&m->session, &s, 1, err);
}

/* Visits of a point that count; *flagged: those that don't. */
static size_t visits(const struct mc_netmeasure *m, const struct mc_netpoint *p, size_t *flagged)
{
	const char *flag = p->bare ? m->bare[p->bare - 1]->flag : "";
	size_t good = 0;

	*flagged = 0;
	for (size_t i = 0; i < m->session.all.n; i++) {
		const struct mc_opsample *s = &m->session.all.at[i];

		if (!mc_netpoint_same(p, &s->point))
			continue;
		if (!strcmp(s->flag, flag))
			good++;
		else if (!p->bare && strncmp(s->flag, "bare", 4) != 0)
			++*flagged;
	}
	return good;
}

/* Has the network become another one? What was measured since it was last looked at is flagged then. */
static int look_again(struct mc_netmeasure *m, const struct mc_netpoint *reference, double cap_s,
		      struct mc_err *err)
{
	struct mc_calib_result r = {0};
	int rc;

	if (m->busy_ok)
		return 0;
	rc = mc_netmeasure_point(m, reference, cap_s, &r, err);
	if (rc || r.stopped || r.flag[0])
		return rc;
	if (mc_calib_drift_moved(&m->drift, r.time.median)) {
		m->drifted = true;
		rc = mc_calib_session_flag(&m->session, m->trusted, "drift", err);
	}
	m->trusted = m->session.all.n;
	return rc;
}

static void show(struct mc_netmeasure *m, const struct mc_netpoint *p)
{
	double elapsed = mc_calib_session_elapsed_s(&m->session);
	double left = mc_calib_session_left_s(&m->session);
	char what[128], bytes[MC_UNITS_TEXT];

	snprintf(what, sizeof what, "%s %s of %s, %lld under way to each of %lld", m->transport->name,
		 p->bare ? m->bare[p->bare - 1]->flag : mc_op_names[p->op],
		 mc_units_format_bytes((double)p->bytes, bytes), (long long)p->depth, (long long)p->peers);
	mc_calib_session_progress(&m->session, (size_t)elapsed, (size_t)(elapsed + left), what);
}

struct round {
	const struct mc_netgrid *g;
	const struct mc_netpoint *reference;
	size_t visits; /* that a point has at the end of it */
	bool known;    /* only points that were visited before */
	double until;  /* seconds of the session */
};

static bool is_due(const struct mc_netmeasure *m, const struct round *r, const struct mc_netpoint *p)
{
	size_t flagged, good = visits(m, p, &flagged);

	return good < r->visits && (!r->known || good + flagged > 0);
}

/* Seconds that a visit takes at least, its bytes verified, by those of the nearest size that is no larger:
 * large ones are no faster, as caches don't help them. */
static double estimate(const struct mc_netmeasure *m, const struct mc_netpoint *p)
{
	int k = ilogb(volume(p));

	while (k && !(m->visit_s_per_byte[k] > 0))
		k--;
	return m->visit_s_per_byte[k] * volume(p);
}

static int visit(struct mc_netmeasure *m, const struct mc_netpoint *p, double cap_s, struct mc_err *err)
{
	struct mc_calib_result r = {0};
	int rc;

	show(m, p);
	rc = mc_netmeasure_point(m, p, cap_s, &r, err);
	if (rc || r.stopped || !r.time.n)
		return rc;
	return add(m, p, &r, err);
}

/* All points that are due and fit into what is left of the round. */
static int run_round(struct mc_netmeasure *m, const struct round *r, struct mc_err *err)
{
	double cap_s = fmin(fmax(m->budget_s / VISITS, point_least_s), point_most_s);
	int rc = 0, since = 0;

	for (size_t i = 0; i < r->g->n && !rc && !*m->stop; i++) {
		const struct mc_netpoint *p = &r->g->at[i];
		double left = r->until - mc_calib_session_elapsed_s(&m->session);

		if (left <= 0)
			break;
		if (!is_due(m, r, p))
			continue;
		if (estimate(m, p) > left) {
			m->skipped += r->visits == 1 && !p->bare;
			continue;
		}
		rc = visit(m, p, cap_s, err);
		if (!rc && !*m->stop && ++since % REFERENCE_EVERY == 0)
			rc = look_again(m, r->reference, cap_s, err);
	}
	if (!rc && since % REFERENCE_EVERY && !*m->stop)
		rc = look_again(m, r->reference, cap_s, err);
	return rc;
}

/* Reads in the middle: of 64 KiB or less, some under way. */
static const struct mc_netpoint *reference_of(const struct mc_netgrid *g)
{
	const struct mc_netpoint *best = NULL;

	for (size_t i = 0; i < g->n; i++) {
		const struct mc_netpoint *p = &g->at[i];

		if (p->op == MC_OP_NET_READ && !p->bare && p->slice == MC_NET_SLICE && p->peers == 1 &&
		    p->nics == g->at[0].nics && p->bytes <= MC_NET_SLICE && p->depth <= 4 &&
		    (!best || p->bytes * p->depth > best->bytes * best->depth))
			best = p;
	}
	return best ? best : &g->at[0];
}

int mc_netmeasure_run(struct mc_netmeasure *m, const struct mc_netgrid *g, struct mc_err *err)
{
	double cap_s = fmin(fmax(m->budget_s / VISITS, point_least_s), point_most_s);
	struct round r = {.g = g, .reference = reference_of(g)};
	size_t before;
	int rc;

	m->drift.limit = drift_limit;
	m->trusted = m->session.all.n;
	rc = look_again(m, r.reference, cap_s, err);
	for (int k = 1; k <= ROUNDS && !rc; k++) {
		r.visits = (size_t)k;
		r.known = k > 1;
		r.until = m->budget_s * k / ROUNDS;
		rc = run_round(m, &r, err);
	}
	/* What time is left goes to more points, and to those whose visits were flagged. */
	r.known = false;
	do {
		before = m->measured;
		for (int k = 1; k <= ROUNDS && !rc; k++) {
			r.visits = (size_t)k;
			rc = run_round(m, &r, err);
		}
	} while (!rc && m->measured > before && !*m->stop);
	mc_calib_session_clear(&m->session);
	return rc;
}
