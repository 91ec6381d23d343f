#include "fit/opfit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "hw/optime.h"
#include "stat/sort.h"
#include "stat/summary.h"

#define PARTS         8    /* that a curve is looked at in between two knots */
#define SLACK         1e-3 /* by which it may fall there */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

struct points {
	MC_VEC(struct mc_opgrid_point)
};

/* By operator, its fixed dimensions, then the others, then time. */
static int compare_points(const void *va, const void *vb)
{
	const struct mc_opgrid_point *a = va, *b = vb;
	int c = COMPARE(a->point.op, b->point.op);
	enum mc_dim axis[MC_CURVE_AXES];
	unsigned free_dims = 0;

	if (c)
		return c;
	for (int i = mc_opfit_axes(a->point.op, axis); i > 0; i--)
		free_dims |= 1u << axis[i - 1];
	for (int on_axis = 0; on_axis < 2; on_axis++)
		for (int d = 0; d < MC_DIMS && !c; d++)
			if ((int)(free_dims >> d & 1) == on_axis)
				c = COMPARE(a->point.dim[d], b->point.dim[d]);
	return c ? c : COMPARE(a->log_s, b->log_s);
}

static bool same_point(const struct mc_op_point *a, const struct mc_op_point *b)
{
	return a->op == b->op && !memcmp(a->dim, b->dim, sizeof a->dim);
}

/* Points of one operator with the same fixed dimensions. */
static void basis_of(struct mc_opgrid_basis *b, const struct mc_op_point *p)
{
	b->fixed = *p;
	b->axes = mc_opfit_axes(p->op, b->dim);
	for (int a = 0; a < b->axes; a++)
		b->fixed.dim[b->dim[a]] = 0;
}

/* Repeats of a point, in order of their times, as one: the median. */
static void merge_repeats(struct points *p)
{
	size_t n = 0;

	for (size_t i = 0, k; i < p->n; i += k) {
		for (k = 1; i + k < p->n && same_point(&p->at[i].point, &p->at[i + k].point); k++)
			;
		p->at[n] = p->at[i];
		p->at[n++].log_s = (p->at[i + (k - 1) / 2].log_s + p->at[i + k / 2].log_s) / 2;
	}
	p->n = n;
}

static void collect(struct mc_opfit *f, const struct mc_opsamples *s, const struct mc_opgrid_basis *b,
		    struct points *p)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct mc_opsample *x = &s->at[i];
		struct mc_opfit_total *t = &f->total[x->point.op];

		if (x->point.op == MC_OP_LAYER || x->point.op == MC_OP_STEP || mc_op_is_net(x->point.op))
			continue;
		if (*x->flag)
			t->flagged++;
		else if (x->seconds < mc_op_floor_s(&x->point, &b->limits, b->element_bytes))
			t->unphysical++;
		else
			mc_vec_push(p, ((struct mc_opgrid_point){x->point, log(x->seconds), 0}));
	}
}

/* Errors of one curve's held-out points, and which they were. */
struct held {
	double *off;
	size_t n, worst; /* index of the worst point */
	double worst_off;
};

struct order {
	uint64_t hash;
	size_t i;
};

static int compare_order(const void *va, const void *vb)
{
	const struct order *a = va, *b = vb;

	return a->hash != b->hash ? COMPARE(a->hash, b->hash) : COMPARE(a->i, b->i);
}

/* Points in the order that they are dealt in. */
static struct order *deal(const struct mc_opgrid_point *p, size_t n)
{
	struct order *o = mc_xcalloc(n, sizeof *o);

	for (size_t i = 0; i < n; i++) {
		o[i] = (struct order){mc_hash_u64((uint64_t)p[i].point.op), i};
		/* No curve has those after depth: they came later, and would change every deal. */
		for (int d = 0; d <= MC_DIM_DEPTH; d++)
			o[i].hash = mc_hash_pair(o[i].hash, (uint64_t)p[i].point.dim[d]);
	}
	qsort(o, n, sizeof *o, compare_order);
	return o;
}

/* h->off: room for n. */
static void hold_out(const struct mc_opgrid_basis *b, const struct mc_opgrid_point *p, size_t n,
		     struct held *h)
{
	struct mc_opgrid_point *rest = mc_xcalloc(n, sizeof *rest);
	struct order *o = deal(p, n);
	size_t folds = n < MC_OPFIT_FOLDS ? n : MC_OPFIT_FOLDS;

	h->n = 0;
	h->worst_off = -1;
	for (size_t k = 0; k < folds && n > 1; k++) {
		struct mc_opfit_curve c;
		size_t left = 0;

		for (size_t i = 0; i < n; i++)
			if (i % folds != k)
				rest[left++] = p[o[i].i];
		if (!mc_opfit_line(&c, b, rest, left))
			continue;
		for (size_t i = k; i < n; i += folds) {
			const struct mc_opgrid_point *q = &p[o[i].i];
			double off = fabs(mc_curve_s(&c.curve, &q->point) / exp(q->log_s) - 1);

			if (!mc_curve_covers(&c.curve, &q->point))
				continue;
			h->off[h->n++] = off;
			if (off > h->worst_off) {
				h->worst_off = off;
				h->worst = o[i].i;
			}
		}
		mc_curve_fini(&c.curve);
	}
	free(rest);
	free(o);
}

/* Sorts the errors. Of n > 0. */
static void error_of(struct mc_curve_error *e, double *off, size_t n)
{
	mc_sort_f64(off, n);
	e->points = (int64_t)n;
	e->median = off[mc_stat_rank(n, 50)];
	e->p95 = off[mc_stat_rank(n, 95)];
	e->worst = off[n - 1];
}

struct errors {
	MC_VEC(double)
};

static void add_errors(struct mc_opfit_curve *c, struct mc_opfit_total *t, const struct mc_opgrid_point *p,
		       struct held *h, struct errors *all)
{
	if (!h->n)
		return;
	for (size_t i = 0; i < h->n; i++)
		mc_vec_push(all, h->off[i]);
	error_of(&c->curve.error, h->off, h->n);
	mc_opfit_where(c->curve.error.worst_at, &c->curve, &p[h->worst].point);
	if (h->worst_off >= t->left_out[MC_LEFT_POINT].worst) {
		t->left_out[MC_LEFT_POINT].worst = h->worst_off;
		t->worst = p[h->worst].point;
	}
}

/* Does a curve fall anywhere between two knots that lie side by side on an axis? Its knots don't; time over
 * work, which may fall there faster than the work grows, can. */
static bool falls(const struct mc_curve *c)
{
	size_t n = mc_curve_knots(c), step = 1;

	for (int a = c->axes - 1; a >= 0; step *= c->n[a--])
		for (size_t i = 0; i < n && c->dim[a] != MC_DIM_DEPTH; i++) {
			struct mc_op_point p = mc_curve_knot(c, i);
			size_t k = i / step % c->n[a];
			double before = 0;

			for (int part = 0; part <= PARTS && k + 1 < c->n[a]; part++) {
				double t;

				p.dim[c->dim[a]] =
				    (int64_t)(c->at[a][k] + (c->at[a][k + 1] - c->at[a][k]) * part / PARTS);
				t = mc_curve_s(c, &p);
				if (t < before * (1 - SLACK))
					return true;
				before = t;
			}
		}
	return false;
}

/* The curve of one group, with what is between its knots as held-out points have it. */
static int fit_group(struct mc_opfit *f, struct mc_opgrid_basis *b, struct mc_opgrid_point *p, size_t n,
		     struct errors *all)
{
	struct mc_opfit_total *t = &f->total[p->point.op];
	struct held h[2] = {{.off = mc_xcalloc(n, sizeof(double))}, {.off = mc_xcalloc(n, sizeof(double))}};
	bool counted = mc_op_work_s(&p->point, &b->limits, b->element_bytes) > 0;
	struct mc_curve_error e[2] = {0};
	struct mc_opfit_curve c;
	int use = 0, rc;

	for (int w = 0; w < (counted ? 2 : 1); w++) {
		b->over_work = w;
		hold_out(b, p, n, &h[w]);
		if (h[w].n)
			error_of(&e[w], h[w].off, h[w].n);
	}
	if (counted && e[1].points && e[1].median + e[1].p95 < e[0].median + e[0].p95)
		use = 1;
	b->over_work = use;
	rc = mc_opfit_line(&c, b, p, n) ? MC_OK : MC_USAGE;
	if (!rc && use && falls(&c.curve)) {
		mc_curve_fini(&c.curve);
		use = 0;
		b->over_work = false;
		rc = mc_opfit_line(&c, b, p, n) ? MC_OK : MC_USAGE;
	}
	if (!rc) {
		add_errors(&c, t, p, &h[use], all);
		t->curves++;
		t->points += n;
		t->outliers += c.outliers;
		t->knots += mc_curve_knots(&c.curve);
		mc_vec_push(f, c);
	}
	free(h[0].off);
	free(h[1].off);
	return rc;
}

static int fit_all(struct mc_opfit *f, struct mc_opgrid_basis *b, struct points *p, struct mc_err *err)
{
	struct errors all = {0};
	int rc = MC_OK;

	for (size_t i = 0, k; i < p->n && !rc; i += k) {
		struct mc_opgrid_basis next;

		basis_of(b, &p->at[i].point);
		for (k = 1; i + k < p->n; k++) {
			basis_of(&next, &p->at[i + k].point);
			if (!same_point(&next.fixed, &b->fixed))
				break;
		}
		if (fit_group(f, b, p->at + i, k, &all))
			rc = mc_err_set(err, MC_USAGE,
					"%zu points of %s are no grid: their coordinates would make one of "
					"more than %d points",
					k, mc_op_names[b->fixed.op], MC_OPGRID_CELLS_MAX);
		if (i + k == p->n || p->at[i + k].point.op != b->fixed.op) {
			struct mc_opfit_total *t = &f->total[b->fixed.op];

			if (all.n) {
				error_of(&t->left_out[MC_LEFT_POINT], all.at, all.n);
				mc_op_dims_text(&t->worst, t->left_out[MC_LEFT_POINT].worst_at,
						sizeof t->left_out[MC_LEFT_POINT].worst_at);
			}
			all.n = 0;
		}
	}
	mc_vec_fini(&all);
	return rc;
}

/* What is said of the samples, all sources that differ. */
static int say(struct mc_opfit *f, const struct mc_opsamples *s, size_t n, struct mc_err *err)
{
	struct mc_str source = {0};

	f->device = s->device;
	f->software = s->software;
	f->dtype = s->dtype;
	f->date = s->date;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(s[i].dtype, f->dtype))
			return mc_err_set(err, MC_USAGE, "files of %s and of %s; a profile has one dtype",
					  f->dtype, s[i].dtype);
		if (!*f->device)
			f->device = s[i].device;
		if (!*f->software)
			f->software = s[i].software;
		if (strcmp(s[i].date, f->date) > 0)
			f->date = s[i].date;
	}
	for (size_t i = 0; i < n; i++) {
		bool known = !*s[i].source;

		for (size_t k = 0; k < i; k++)
			known |= !strcmp(s[k].source, s[i].source);
		if (!known)
			mc_str_printf(&source, "%s%s", source.n ? "; " : "", s[i].source);
	}
	f->source = source.at ? source.at : mc_xstrdup("");
	return MC_OK;
}

/* What the curves are good for, as a profile has them: points that they did not see, and whole layers and
 * iterations. */
static int try_curves(struct mc_opfit *f, const struct points *p, const struct mc_opsamples *s, size_t n,
		      struct mc_err *err)
{
	json_t *section = mc_opfit_section(f);
	struct mc_operators o;
	int rc = mc_operators_load(&o, section, &f->at->curve.limits, err);

	if (!rc) {
		mc_opfit_leave_out(f, &o, p->at);
		rc = mc_opgaps_samples(&f->gaps, &o, s, n, err);
		mc_operators_fini(&o);
	}
	json_decref(section);
	return rc;
}

int mc_opfit_samples(struct mc_opfit *f, const struct mc_opsamples *s, size_t n, const struct mc_op_limits *l,
		     struct mc_err *err)
{
	struct mc_opgrid_basis b = {.limits = *l,
				    .element_bytes = (double)mc_opsamples_element_bytes(s->dtype)};
	struct points p = {0};
	int rc;

	memset(f, 0, sizeof *f);
	rc = say(f, s, n, err);
	for (size_t i = 0; i < n && !rc; i++)
		collect(f, &s[i], &b, &p);
	if (!rc && !p.n)
		rc = mc_err_set(err, MC_USAGE, "no sample is left to fit");
	if (!rc) {
		qsort(p.at, p.n, sizeof *p.at, compare_points);
		merge_repeats(&p);
		rc = fit_all(f, &b, &p, err);
	}
	if (!rc)
		rc = try_curves(f, &p, s, n, err);
	mc_vec_fini(&p);
	if (rc)
		mc_opfit_fini(f);
	return rc;
}

void mc_opfit_fini(struct mc_opfit *f)
{
	for (size_t i = 0; i < f->n; i++)
		mc_curve_fini(&f->at[i].curve);
	mc_vec_fini(f);
	mc_opgaps_fini(&f->gaps);
	free(f->source);
	f->source = NULL;
}
