#include "out/fitlines.h"

#include <inttypes.h>
#include <string.h>

#include "base/vec.h"

#define BETWEEN  8 /* places between two knots */
#define EACH_MAX 3 /* knots of each of the other axes: the first, one in the middle, the last */

static int axis_of(const struct mc_curve *c, enum mc_dim d)
{
	for (int a = 0; a < c->axes; a++)
		if (c->dim[a] == d)
			return a;
	return -1;
}

/* The axis of all curves that has most knots in all. */
static enum mc_dim axis_to_draw(const struct mc_operators *o, enum mc_op op)
{
	enum mc_dim best = MC_DIMS;
	size_t most = 0;

	for (int d = 0; d < MC_DIMS; d++) {
		size_t knots = 0, without = 0;

		for (size_t i = 0; i < o->n; i++) {
			int a = axis_of(&o->curve[i], (enum mc_dim)d);

			if (o->curve[i].fixed.op != op)
				continue;
			without += a < 0;
			knots += a < 0 ? 0 : o->curve[i].n[a];
		}
		if (!without && knots > most) {
			most = knots;
			best = (enum mc_dim)d;
		}
	}
	return best;
}

/* Knots of an axis that lines are drawn at; returns how many. */
static size_t places(const struct mc_curve *c, int a, enum mc_dim x, double at[EACH_MAX])
{
	size_t n = c->n[a];

	at[0] = c->at[a][0];
	if (c->dim[a] == x)
		return 1;
	if (n > 1)
		at[n > 2 ? 2 : 1] = c->at[a][n - 1];
	if (n > 2)
		at[1] = c->at[a][n / 2];
	return n < EACH_MAX ? n : EACH_MAX;
}

static size_t lines_of(const struct mc_curve *c, enum mc_dim x)
{
	double at[EACH_MAX];
	size_t n = 1;

	for (int a = 0; a < c->axes; a++)
		n *= places(c, a, x, at);
	return n;
}

static struct mc_op_point line_at(const struct mc_curve *c, enum mc_dim x, size_t i)
{
	struct mc_op_point p = c->fixed;

	for (int a = 0; a < c->axes; a++) {
		double at[EACH_MAX];
		size_t n = places(c, a, x, at);

		p.dim[c->dim[a]] = c->dim[a] == x ? 0 : (int64_t)at[i % n];
		i /= n;
	}
	return p;
}

bool mc_fitlines_choose(struct mc_fitlines *l, const struct mc_operators *o, enum mc_op op)
{
	size_t all = 0, seen = 0;

	memset(l, 0, sizeof *l);
	l->op = op;
	l->x = axis_to_draw(o, op);
	if (l->x == MC_DIMS)
		return false;
	for (size_t i = 0; i < o->n; i++)
		all += o->curve[i].fixed.op == op ? lines_of(&o->curve[i], l->x) : 0;
	for (size_t i = 0; i < o->n; i++) {
		const struct mc_curve *c = &o->curve[i];
		size_t n = c->fixed.op == op ? lines_of(c, l->x) : 0;

		for (size_t k = 0; k < n; k++, seen++) {
			/* The first, the last and those evenly between. */
			size_t want =
			    all <= MC_CHART_SERIES ? l->n : l->n * (all - 1) / (MC_CHART_SERIES - 1);

			if (l->n == MC_CHART_SERIES || seen != want)
				continue;
			l->line[l->n].curve = c;
			l->line[l->n++].at = line_at(c, l->x, k);
		}
	}
	return true;
}

void mc_fitline_init(struct mc_fitline *f, const struct mc_fitlines *l, size_t line, bool between)
{
	const struct mc_curve *c = l->line[line].curve;
	int a = axis_of(c, l->x);
	size_t most = c->n[a] * BETWEEN;

	f->n = 0;
	f->point = mc_xcalloc(most, sizeof *f->point);
	f->x = mc_xcalloc(most, sizeof *f->x);
	f->s = mc_xcalloc(most, sizeof *f->s);
	for (size_t i = 0; i < c->n[a]; i++) {
		double from = c->at[a][i], step = i + 1 < c->n[a] ? (c->at[a][i + 1] - from) / BETWEEN : 0;

		for (int k = 0; k < (between && step > 0 ? BETWEEN : 1); k++) {
			struct mc_op_point p = l->line[line].at;

			p.dim[l->x] = (int64_t)(from + step * k);
			if (f->n && (double)p.dim[l->x] <= f->x[f->n - 1])
				continue;
			f->point[f->n] = p;
			f->x[f->n] = (double)p.dim[l->x];
			f->s[f->n++] = mc_curve_s(c, &p);
		}
	}
}

void mc_fitline_fini(struct mc_fitline *f)
{
	free(f->point);
	free(f->x);
	free(f->s);
}

bool mc_fitlines_has(const struct mc_fitlines *l, size_t line, const struct mc_op_point *p)
{
	struct mc_op_point q = *p;

	q.dim[l->x] = 0;
	return q.op == l->op && !memcmp(q.dim, l->line[line].at.dim, sizeof q.dim);
}

static bool differs(const struct mc_fitlines *l, int d)
{
	for (size_t i = 1; i < l->n; i++)
		if (l->line[i].at.dim[d] != l->line[0].at.dim[d])
			return true;
	return false;
}

static char *dims(const struct mc_fitlines *l, size_t line, bool different, char text[128])
{
	size_t at = 0;

	*text = 0;
	for (int d = 0; d < MC_DIMS; d++) {
		int n;

		if ((enum mc_dim)d == l->x || !(mc_op_dims[l->op] >> d & 1) || differs(l, d) != different)
			continue;
		n = snprintf(text + at, 128 - at, "%s%s %" PRId64, at || !different ? ", " : "",
			     mc_dim_names[d], l->line[line].at.dim[d]);
		if (n < 0 || (size_t)n >= 128 - at)
			break;
		at += (size_t)n;
	}
	return text;
}

char *mc_fitlines_label(const struct mc_fitlines *l, size_t line, char text[128])
{
	return dims(l, line, true, text);
}

char *mc_fitlines_common(const struct mc_fitlines *l, char text[128])
{
	return dims(l, 0, false, text);
}

void mc_fitlines_axis(const struct mc_fitlines *l, struct mc_chart_axis *a)
{
	mc_chart_axis_init(a, mc_dim_names[l->x], l->x == MC_DIM_BYTES ? MC_CHART_BYTES : MC_CHART_PLAIN,
			   true);
}
