#include "calib/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A thread that had its processor computes nearly all the time; what remains is waiting for the others of its
 * team, and interrupts. */
static const double computing = 0.85;
static const double noisy = 5, far = 0.5;

static double seconds_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double wall(void *arg)
{
	(void)arg;
	return seconds_of(CLOCK_MONOTONIC);
}

static double cpu(void *arg)
{
	(void)arg;
	return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

const struct mc_calib_clock mc_calib_clock = {wall, cpu, NULL};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void mc_calib_summarise(struct mc_calib_series *s, struct mc_calib_summary *out)
{
	double n = (double)s->n, half = 0.98 * sqrt(n), m; /* 1.96 / 2: of a binomial of one half */
	size_t low, high, tail = s->n / 20;

	qsort(s->at, s->n, sizeof *s->at, ascending);
	m = (s->at[(s->n - 1) / 2] + s->at[s->n / 2]) / 2;
	low = (size_t)fmax(0, floor(n / 2 - half - 0.5));
	high = (size_t)fmin(n - 1, ceil(n / 2 + half - 0.5));
	*out = (struct mc_calib_summary){.median = m, .n = (int64_t)s->n};
	if (!(m > 0))
		return;
	out->spread = (s->at[s->n - 1 - tail] - s->at[tail]) / 2 / m;
	out->interval = (s->at[high] - s->at[low]) / 2 / m;
	for (size_t i = 0; i < s->n; i++)
		out->outliers += fabs(s->at[i] / m - 1) > far;
}

static double now(const struct mc_calib_goal *g)
{
	return g->clock.wall(g->clock.arg);
}

static bool stopped(const struct mc_calib_goal *g)
{
	return g->stop && *g->stop;
}

static int warm_up(const struct mc_calib_goal *g, const struct mc_calib_task *t, struct mc_err *err)
{
	double from = now(g), seconds;
	int rc = 0;

	while (!rc && !stopped(g) && now(g) - from < g->warm_s)
		rc = t->once(t->arg, &seconds, err);
	return rc;
}

/* One repeat, to where it belongs. */
static int repeat(const struct mc_calib_goal *g, const struct mc_calib_task *t,
		  struct mc_calib_series kept[2], struct mc_err *err)
{
	const struct mc_calib_clock *c = &g->clock;
	double wall_s = c->wall(c->arg), cpu_s = c->cpu ? c->cpu(c->arg) : 0, seconds = 0;
	bool disturbed = false;
	int rc = t->once(t->arg, &seconds, err);

	if (rc)
		return rc;
	if (c->cpu && !g->tolerant) {
		cpu_s = c->cpu(c->arg) - cpu_s;
		wall_s = c->wall(c->arg) - wall_s;
		disturbed = cpu_s < computing * wall_s;
	}
	mc_vec_push(&kept[disturbed], seconds);
	if (!disturbed && t->counts)
		t->counts(t->arg);
	return 0;
}

static bool enough(const struct mc_calib_goal *g, struct mc_calib_series kept[2], double elapsed,
		   struct mc_calib_summary *s)
{
	int64_t fewest = g->fewest > 0 ? g->fewest : 1, n = (int64_t)(kept[0].n + kept[1].n);

	if (kept[0].n)
		mc_calib_summarise(&kept[0], s);
	if (stopped(g) || n >= g->most)
		return true;
	if ((int64_t)kept[0].n >= fewest && s->interval <= g->precision)
		return true;
	return elapsed >= g->cap_s && (n >= fewest || elapsed >= 3 * g->cap_s);
}

/* Of quiet repeats, if they are not the fewer ones. */
static void conclude(const struct mc_calib_goal *g, struct mc_calib_series kept[2], struct mc_calib_result *r)
{
	const char *flag = "";

	r->disturbed = (int64_t)kept[1].n;
	if (kept[1].n > kept[0].n)
		flag = "busy";
	if (!kept[0].n && kept[1].n)
		mc_calib_summarise(&kept[1], &r->time);
	else if (kept[0].n)
		mc_calib_summarise(&kept[0], &r->time);
	if (!*flag && r->time.n &&
	    (r->time.outliers * 4 > r->time.n || r->time.interval > noisy * g->precision))
		flag = "noisy";
	snprintf(r->flag, sizeof r->flag, "%s", g->tolerant ? "" : flag);
}

int mc_calib_measure(const struct mc_calib_goal *goal, const struct mc_calib_task *task,
		     struct mc_calib_result *result, struct mc_err *err)
{
	struct mc_calib_series kept[2] = {0}; /* undisturbed, disturbed */
	struct mc_calib_summary s = {0};
	double since, from = now(goal);
	int rc = warm_up(goal, task, err);

	*result = (struct mc_calib_result){0};
	since = now(goal);
	while (!rc && !stopped(goal)) {
		rc = repeat(goal, task, kept, err);
		if (!rc && enough(goal, kept, now(goal) - since, &s))
			break;
	}
	result->stopped = stopped(goal);
	if (!rc)
		conclude(goal, kept, result);
	result->elapsed_s = now(goal) - from;
	mc_vec_fini(&kept[0]);
	mc_vec_fini(&kept[1]);
	return rc;
}

bool mc_calib_drift_moved(struct mc_calib_drift *d, double seconds)
{
	bool moved = d->reference > 0 && fabs(seconds / d->reference - 1) > d->limit;

	d->reference = seconds;
	return moved;
}
