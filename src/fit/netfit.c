#include "fit/netfit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "stat/sort.h"
#include "stat/summary.h"

#define FOLDS  5
#define ROUNDS 80   /* of reweighting */
#define TERMS  5    /* start-up, request, slice, byte, loss */
#define NEAR   1e-3 /* errors no larger than that weigh alike */
/* A form with fewer terms is as good as one that is better by no more. */
#define AS_GOOD      1.05
#define AS_GOOD_PLUS 0.002

enum { STARTUP = 1, REQUEST = 2, SLICE = 4, BYTE = 8, LOSS = 16 };
enum { AT_LOSS = TERMS - 1 };

/* From the simplest on. */
static const unsigned forms[] = {STARTUP | BYTE,
				 STARTUP | BYTE | SLICE,
				 STARTUP | BYTE | REQUEST,
				 STARTUP | BYTE | LOSS,
				 STARTUP | BYTE | SLICE | REQUEST,
				 STARTUP | BYTE | SLICE | LOSS,
				 STARTUP | BYTE | REQUEST | LOSS,
				 STARTUP | BYTE | SLICE | REQUEST | LOSS};
#define FORMS (sizeof forms / sizeof *forms)

const char *const mc_netfit_lefts[MC_NETFIT_LEFTS] = {"nothing", "a fifth of the points", "every second size",
						      "a depth, a number of peers"};

struct point {
	struct mc_op_point p;
	double x[AT_LOSS]; /* without loss, seconds are their sum times the coefficients */
	double peers, seconds;
	uint64_t hash;
};

struct points {
	MC_VEC(struct point)
};

struct form {
	unsigned terms;
	double c[TERMS]; /* the last: loss */
};

/* What it takes beyond the start-up, were there no loss. */
static double own(const struct form *f, const struct point *p)
{
	double sum = 0;

	for (int k = 1; k < AT_LOSS; k++)
		sum += f->c[k] * p->x[k];
	return sum;
}

static double predicted(const struct form *f, const struct point *p)
{
	return f->c[0] + own(f, p) * (1 + f->c[AT_LOSS] * (p->peers - 1));
}

/* Gauss on the normal equations of the terms in `use`. False: not determined, or one is below 0. */
static bool solve(double n[TERMS][TERMS + 1], unsigned use, double c[TERMS])
{
	double m[TERMS][TERMS + 1];

	memcpy(m, n, sizeof m);
	for (int k = 0; k < TERMS; k++) {
		c[k] = 0;
		for (int j = 0; j < TERMS; j++)
			if (!(use >> k & 1) || !(use >> j & 1))
				m[k][j] = k == j;
		if (!(use >> k & 1))
			m[k][TERMS] = 0;
	}
	for (int k = 0; k < TERMS; k++) {
		if (!(m[k][k] > 1e-12 * n[k][k] || !(use >> k & 1)))
			return false;
		for (int r = 0; r < TERMS; r++)
			for (int j = TERMS; r != k && j >= k; j--)
				m[r][j] -= m[k][j] * (m[r][k] / m[k][k]);
	}
	for (int k = 0; k < TERMS; k++) {
		c[k] = m[k][TERMS] / m[k][k];
		if (!(c[k] >= 0))
			return false;
	}
	return true;
}

/* The best of the terms' subsets, by what it takes off the squares. */
static void solve_least(double n[TERMS][TERMS + 1], unsigned terms, double c[TERMS])
{
	double best = -1;

	for (unsigned use = 1; use < 1u << TERMS; use++) {
		double try[TERMS], gain = 0;

		if (use & ~terms || !solve(n, use, try))
			continue;
		for (int k = 0; k < TERMS; k++)
			gain += try[k] * n[k][TERMS];
		if (gain > best) {
			best = gain;
			memcpy(c, try, sizeof try);
		}
	}
}

/* Of an equation pred = seconds, so that its squares are those of the log, over its size. */
static double weight(const struct form *f, const struct point *p)
{
	double now = predicted(f, p), off;

	if (!(now > 0))
		return 1 / (p->seconds * p->seconds);
	off = fabs(log(now / p->seconds));
	return 1 / (now * p->seconds * (off > NEAR ? off : NEAR));
}

/* A step of Gauss and Newton: only the loss is no linear term. */
static void step(struct form *f, const struct point *const *p, size_t n)
{
	double m[TERMS][TERMS + 1] = {{0}};

	for (size_t i = 0; i < n; i++) {
		double w = weight(f, p[i]), more = p[i]->peers - 1, x[TERMS + 1];

		for (int k = 0; k < AT_LOSS; k++)
			x[k] = p[i]->x[k] * (k ? 1 + f->c[AT_LOSS] * more : 1);
		x[AT_LOSS] = own(f, p[i]) * more;
		x[TERMS] = p[i]->seconds + f->c[AT_LOSS] * x[AT_LOSS];
		for (int k = 0; k < TERMS; k++)
			for (int j = 0; j <= TERMS; j++)
				m[k][j] += w * x[k] * x[j];
	}
	solve_least(m, f->terms, f->c);
}

static void fit_form(struct form *f, unsigned terms, const struct point *const *p, size_t n)
{
	*f = (struct form){.terms = terms};
	for (int round = 0; round < ROUNDS; round++)
		step(f, p, n);
}

/* Predictions of points that a form did not see. */
struct held {
	MC_VEC(double)
	struct mc_op_point where;
	double worst;
};

static void hold(struct held *h, const struct mc_op_point *p, double measured, double s)
{
	double off = s / measured - 1;

	if (!h->n || fabs(off) > h->worst) {
		h->worst = fabs(off);
		h->where = *p;
	}
	mc_vec_push(h, off);
}

/* Empties the list. */
static void error_of(struct mc_netfit_error *e, struct held *h)
{
	*e = (struct mc_netfit_error){.points = h->n, .worst = h->worst, .at = h->where};
	if (h->n) {
		mc_sort_f64(h->at, h->n);
		e->bias = h->at[mc_stat_rank(h->n, 50)];
		for (size_t i = 0; i < h->n; i++)
			h->at[i] = fabs(h->at[i]);
		mc_sort_f64(h->at, h->n);
		e->median = h->at[mc_stat_rank(h->n, 50)];
		e->p95 = h->at[mc_stat_rank(h->n, 95)];
	}
	mc_vec_fini(h);
}

/* Fit what is not left out, and hold the rest against it; out: of all points, in their order. */
static void leave(const struct points *p, unsigned terms, const bool *out, struct held *h)
{
	const struct point **kept = mc_xcalloc(p->n, sizeof *kept);
	struct form f;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!out[i])
			kept[n++] = &p->at[i];
	if (n >= MC_NETFIT_LEAST && n < p->n) {
		fit_form(&f, terms, kept, n);
		for (size_t i = 0; i < p->n; i++)
			if (out[i])
				hold(h, &p->at[i].p, p->at[i].seconds, predicted(&f, &p->at[i]));
	}
	free(kept);
}

/* Points are in the order of their hashes, so that a fold is any of them. */
static void leave_folds(const struct points *p, unsigned terms, struct held *h)
{
	bool *out = mc_xcalloc(p->n, sizeof *out);

	for (size_t k = 0; k < FOLDS; k++) {
		for (size_t i = 0; i < p->n; i++)
			out[i] = i % FOLDS == k;
		leave(p, terms, out, h);
	}
	free(out);
}

/* The different values of a dimension, rising; returns how many. */
static size_t values(const struct points *p, enum mc_dim d, int64_t *at)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		at[i] = p->at[i].p.dim[d];
	mc_sort_i64(at, p->n);
	for (size_t i = 0; i < p->n; i++)
		if (!n || at[i] != at[n - 1])
			at[n++] = at[i];
	return n;
}

/* Every second size, the ends kept. */
static void leave_sizes(const struct points *p, unsigned terms, struct held *h)
{
	int64_t *at = mc_xcalloc(p->n, sizeof *at);
	bool *out = mc_xcalloc(p->n, sizeof *out);
	size_t n = values(p, MC_DIM_BYTES, at);

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 1; k + 1 < n; k += 2)
			out[i] |= p->at[i].p.dim[MC_DIM_BYTES] == at[k];
	leave(p, terms, out, h);
	free(out);
	free(at);
}

/* Each value of a dimension, if there are several. */
static void leave_each(const struct points *p, unsigned terms, enum mc_dim d, struct held *h)
{
	int64_t *at = mc_xcalloc(p->n, sizeof *at);
	bool *out = mc_xcalloc(p->n, sizeof *out);
	size_t n = values(p, d, at);

	for (size_t k = 0; k < n && n > 1; k++) {
		for (size_t i = 0; i < p->n; i++)
			out[i] = p->at[i].p.dim[d] == at[k];
		leave(p, terms, out, h);
	}
	free(out);
	free(at);
}

/* Where each request is one slice, what a slice takes is not told from what a request does: it's the
 * request's, whose number doesn't depend on how transfers are cut. */
static unsigned choose(const struct points *p, bool sliced)
{
	double score[FORMS], best = INFINITY;

	for (size_t k = 0; k < FORMS; k++) {
		struct mc_netfit_error e;
		struct held h = {0};

		score[k] = INFINITY;
		if (!sliced && forms[k] & SLICE)
			continue;
		leave_folds(p, forms[k], &h);
		error_of(&e, &h);
		score[k] = e.points ? e.median + e.p95 / 4 : INFINITY;
		best = fmin(best, score[k]);
	}
	for (size_t k = 0; k < FORMS; k++)
		if (isfinite(score[k]) && score[k] <= best * AS_GOOD + AS_GOOD_PLUS)
			return forms[k];
	return forms[0];
}

/* Reads and writes alone are fitted, over so many NICs. */
static bool one_way(const struct mc_opsample *x, int64_t nics)
{
	return !*x->flag && (x->point.op == MC_OP_NET_READ || x->point.op == MC_OP_NET_WRITE) &&
	       x->point.dim[MC_DIM_NICS] == nics;
}

/* Of the profile's slice, if requests are cut at all. */
static bool of_slice(const struct mc_opsample *x, const struct mc_netfit *f)
{
	return !f->sliced || x->point.dim[MC_DIM_SLICE] == (int64_t)f->t.slice_bytes;
}

static bool fits(const struct mc_opsample *x, const struct mc_netfit *f)
{
	return one_way(x, f->t.nics) && of_slice(x, f);
}

/* Both ways at once over one way: the ratio of 1 to 2 that makes the errors of its samples smallest. */
static double duplex(const struct mc_netfit *f, const struct mc_opsamples *s, size_t n)
{
	double best = INFINITY, found = 2;

	for (int step = 100; step >= 0; step--) {
		struct mc_nettime try = f->t;
		double off = 0;
		size_t points = 0;

		try.duplex = 1 + step / 100.0;
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < s[i].n; k++) {
				const struct mc_opsample *x = &s[i].at[k];

				if (*x->flag || x->point.op != MC_OP_NET_BOTH ||
				    x->point.dim[MC_DIM_NICS] != (int64_t)f->t.nics || !of_slice(x, f))
					continue;
				points++;
				off += fabs(log(mc_nettime_point_s(&try, &x->point) / x->seconds));
			}
		if (points >= MC_NETFIT_LEAST && off < best * (1 - 1e-9)) {
			best = off;
			found = try.duplex;
		}
	}
	return found;
}

/* The slice that most points have, the largest of several; where none is cut (*sliced), the largest of all.
 */
static double usual_slice(const struct mc_opsamples *s, size_t n, int64_t nics, bool *sliced)
{
	struct {
		MC_VEC(int64_t)
	} at = {0};
	int64_t best = 0;
	size_t most = 0;

	*sliced = false;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n; k++) {
			const int64_t *dim = s[i].at[k].point.dim;

			if (!one_way(&s[i].at[k], nics))
				continue;
			mc_vec_push(&at, dim[MC_DIM_SLICE]);
			*sliced |= dim[MC_DIM_BYTES] > dim[MC_DIM_SLICE];
		}
	if (at.n)
		mc_sort_i64(at.at, at.n);
	for (size_t i = 0, to; i < at.n; i = to) {
		for (to = i; to < at.n && at.at[to] == at.at[i];)
			to++;
		if (to - i >= most || !*sliced) {
			most = to - i;
			best = at.at[i];
		}
	}
	mc_vec_fini(&at);
	return (double)best;
}

/* nics, or what most have if there are none of it. */
static int64_t nics_of(const struct mc_opsamples *s, size_t n, int64_t nics)
{
	size_t most[MC_NICS_MAX + 1] = {0}, best = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n; k++)
			for (int64_t m = 1; m <= MC_NICS_MAX; m++)
				most[m] += one_way(&s[i].at[k], m);
	if (nics <= MC_NICS_MAX && most[nics])
		return nics;
	for (size_t m = 1; m <= MC_NICS_MAX; m++)
		best = most[m] > most[best] ? m : best;
	return (int64_t)best;
}

static void add(struct mc_netfit *f, struct points *all, const struct mc_op_point *p, double seconds)
{
	struct mc_nettime_load l;
	struct point x = {.p = *p, .seconds = seconds, .hash = mc_hash_u64((uint64_t)p->op)};
	double each;

	mc_nettime_load_of(&l, p);
	each = l.requests / l.nics;
	x.peers = l.peers;
	x.x[0] = 1;
	x.x[1] = each;
	x.x[2] = each * ceil(l.bytes / l.slice);
	x.x[3] = each * l.bytes;
	f->points++;
	f->read += p->op == MC_OP_NET_READ;
	for (int d = 0; d < MC_DIMS; d++) {
		x.hash = mc_hash_pair(x.hash, (uint64_t)p->dim[d]);
		f->low[d] = f->points == 1 || p->dim[d] < f->low[d] ? p->dim[d] : f->low[d];
		f->high[d] = p->dim[d] > f->high[d] ? p->dim[d] : f->high[d];
	}
	mc_vec_push(all, x);
}

static int compare(const void *va, const void *vb)
{
	const struct point *a = va, *b = vb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

/* False: bytes take no time. */
static bool fit_all(struct mc_netfit *f, const struct points *p, unsigned terms)
{
	const struct point **each = mc_xcalloc(p->n, sizeof *each);
	struct held h[MC_NETFIT_LEFTS] = {{0}};
	struct form best;

	for (size_t i = 0; i < p->n; i++)
		each[i] = &p->at[i];
	fit_form(&best, terms, each, p->n);
	free(each);
	if (!(best.c[3] > 0))
		return false;
	f->t.startup_s = best.c[0];
	f->t.request_s = best.c[1];
	f->t.slice_s = best.c[2];
	f->t.nic_bytes_per_s = 1 / best.c[3];
	f->t.peer_loss = best.c[AT_LOSS];
	for (size_t i = 0; i < p->n; i++)
		hold(&h[MC_NETFIT_ITSELF], &p->at[i].p, p->at[i].seconds, predicted(&best, &p->at[i]));
	leave_folds(p, terms, &h[MC_NETFIT_POINT]);
	leave_sizes(p, terms, &h[MC_NETFIT_SIZE]);
	leave_each(p, terms, MC_DIM_DEPTH, &h[MC_NETFIT_LOAD]);
	leave_each(p, terms, MC_DIM_PEERS, &h[MC_NETFIT_LOAD]);
	for (int k = 0; k < MC_NETFIT_LEFTS; k++)
		error_of(&f->left_out[k], &h[k]);
	return true;
}

static enum mc_netfit_apart apart_of(const struct mc_opsample *x, const struct mc_netfit *f)
{
	if (x->point.dim[MC_DIM_NICS] != f->t.nics)
		return MC_NETFIT_OTHER_NICS;
	return of_slice(x, f) ? MC_NETFIT_BOTH_WAYS : MC_NETFIT_OTHER_SLICES;
}

static void hold_apart(struct mc_netfit *f, const struct mc_opsamples *s, size_t n)
{
	struct held h[MC_NETFIT_APARTS] = {{0}};

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n; k++) {
			const struct mc_opsample *x = &s[i].at[k];

			if (*x->flag || !mc_op_is_net(x->point.op) || fits(x, f))
				continue;
			hold(&h[apart_of(x, f)], &x->point, x->seconds, mc_nettime_point_s(&f->t, &x->point));
		}
	for (int k = 0; k < MC_NETFIT_APARTS; k++)
		error_of(&f->apart[k], &h[k]);
}

bool mc_netfit_samples(struct mc_netfit *f, const struct mc_opsamples *s, size_t n, int64_t nics)
{
	struct points p = {0};
	bool done;

	*f = (struct mc_netfit){.t.nics = (uint32_t)nics_of(s, n, nics)};
	f->t.slice_bytes = usual_slice(s, n, f->t.nics, &f->sliced);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n; k++) {
			const struct mc_opsample *x = &s[i].at[k];

			f->flagged += mc_op_is_net(x->point.op) && *x->flag && !mc_opsample_bare(x);
			if (!fits(x, f))
				continue;
			add(f, &p, &x->point, x->seconds);
			f->device = f->device ? f->device : s[i].device;
			f->date = !f->date || strcmp(s[i].date, f->date) > 0 ? s[i].date : f->date;
		}
	done = p.n >= MC_NETFIT_LEAST && f->low[MC_DIM_BYTES] < f->high[MC_DIM_BYTES];
	if (done) {
		qsort(p.at, p.n, sizeof *p.at, compare);
		done = fit_all(f, &p, choose(&p, f->sliced));
		if (done) {
			f->t.duplex = duplex(f, s, n);
			hold_apart(f, s, n);
		}
	}
	mc_vec_fini(&p);
	return done;
}
