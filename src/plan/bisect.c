#include "plan/bisect.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Cells beside the bracket of which each must have been tried somewhere: factors of `pass` and of `fail`. */
static const double below[] = {1, 0.97, 0.93, 0.88, 0.82, 0.75};
static const double above[] = {1, 1.03, 1.08, 1.16, 1.3};

#define CELLS(edges) (sizeof(edges) / sizeof *(edges)-1)

const char *mc_bisect_state_name(enum mc_bisect_state s)
{
	static const char *const name[] = {"searching", "found", "never", "always"};

	return name[s];
}

void mc_bisect_init(struct mc_bisect *b, const struct mc_bisect_params *params)
{
	assert(params->start > 0 && params->precision >= MC_BISECT_PRECISION);
	assert(!params->low || (params->low > 0 && params->low < params->high));
	*b = (struct mc_bisect){.params = *params, .fail = INFINITY};
}

void mc_bisect_fini(struct mc_bisect *b)
{
	mc_vec_fini(&b->probe);
}

/* What a person can type: six digits. */
static double rounded(double x)
{
	char text[40];

	snprintf(text, sizeof text, "%.6g", x);
	return strtod(text, NULL);
}

const struct mc_bisect_probe *mc_bisect_at(const struct mc_bisect *b, double x)
{
	for (size_t i = 0; i < b->probe.n; i++)
		if (b->probe.at[i].x == x)
			return &b->probe.at[i];
	return NULL;
}

void mc_bisect_tell(struct mc_bisect *b, const struct mc_bisect_probe *probe)
{
	assert(b->state == MC_BISECT_SEARCHING && !mc_bisect_at(b, probe->x));
	mc_vec_push(&b->probe, *probe);
	b->fail = INFINITY;
	b->pass = b->again = 0;
	for (size_t i = 0; i < b->probe.n; i++)
		if (!b->probe.at[i].pass)
			b->fail = fmin(b->fail, b->probe.at[i].x);
	for (size_t i = 0; i < b->probe.n; i++) {
		const struct mc_bisect_probe *p = &b->probe.at[i];
		double *best = p->x < b->fail ? &b->pass : &b->again;

		if (p->pass)
			*best = fmax(*best, p->x);
	}
}

/* Was anything between from and to tried? */
static bool tried(const struct mc_bisect *b, double from, double to)
{
	for (size_t i = 0; i < b->probe.n; i++)
		if (b->probe.at[i].x > from && b->probe.at[i].x < to)
			return true;
	return false;
}

/* Does a bracket still have to be looked for: at *x? The state is set where there is none. */
static bool bracket(struct mc_bisect *b, double *x)
{
	const struct mc_bisect_params *p = &b->params;

	if (p->low && !mc_bisect_at(b, p->low))
		*x = p->low;
	else if (p->low && b->pass && !mc_bisect_at(b, p->high))
		*x = p->high;
	else if (p->low)
		*x = 0;
	else if (!b->probe.n)
		*x = rounded(p->start);
	else if (!b->pass)
		*x = b->fail > p->start / MC_BISECT_REACH ? rounded(b->fail / 2) : 0;
	else if (isinf(b->fail))
		*x = b->pass < p->start * MC_BISECT_REACH ? rounded(b->pass * 2) : 0;
	else
		*x = 0;
	return *x > 0;
}

/* Cells that nothing was tried in, nearest first. Where a range was given, only within it. */
static bool beside(const struct mc_bisect *b, double *x)
{
	double low = b->params.low, high = b->params.high ? b->params.high : INFINITY;

	for (size_t i = 0; i < CELLS(below); i++) {
		double from = b->pass * below[i + 1], to = b->pass * below[i];

		*x = rounded(sqrt(from * to));
		if (*x > low && !tried(b, from, to))
			return true;
	}
	for (size_t i = 0; i < CELLS(above) && !isinf(b->fail); i++) {
		double from = b->fail * above[i], to = b->fail * above[i + 1];

		*x = rounded(sqrt(from * to));
		if (*x < high && !tried(b, from, to))
			return true;
	}
	return false;
}

bool mc_bisect_next(struct mc_bisect *b, double *x)
{
	if (b->state != MC_BISECT_SEARCHING)
		return false;
	if (b->probe.n < MC_BISECT_PROBES) {
		if (bracket(b, x))
			return true;
		if (b->pass && !isinf(b->fail) && b->fail > b->pass * (1 + b->params.precision)) {
			*x = rounded(sqrt(b->pass * b->fail));
			return true;
		}
		if (b->pass && beside(b, x))
			return true;
	}
	b->state = !b->pass ? MC_BISECT_NEVER : isinf(b->fail) ? MC_BISECT_ALWAYS : MC_BISECT_FOUND;
	return false;
}

int mc_bisect_left(const struct mc_bisect *b)
{
	const struct mc_bisect_params *p = &b->params;
	bool bracketed = b->pass && !isinf(b->fail);
	double span = bracketed ? b->fail / b->pass : p->low ? p->high / p->low : 2;
	double halvings = ceil(log2(fmax(1, log(span) / log1p(p->precision))));

	return (bracketed ? 0 : 1) + (int)halvings + (int)(CELLS(below) + CELLS(above) - 1);
}
