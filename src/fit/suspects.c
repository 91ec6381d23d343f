#include "fit/suspects.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stat/sort.h"

const char *const mc_suspect_names[MC_SUSPECTS + 1] = {"unphysical", "in-cache",  "dip",
						       "bump",       "disagrees", NULL};

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static void flag(struct mc_opsample *s, enum mc_suspect why)
{
	assert(strlen(mc_suspect_names[why]) < sizeof s->flag);
	if (!*s->flag)
		strcpy(s->flag, mc_suspect_names[why]);
}

/* By operator, then dimensions, `last` of them last, then file order: paths are those of one command line. */
static int compare_points(const struct mc_op_point *a, const struct mc_op_point *b, int last)
{
	int c = COMPARE(a->op, b->op);

	for (int d = 0; d < MC_DIMS && !c; d++)
		if (d != last)
			c = COMPARE(a->dim[d], b->dim[d]);
	return c;
}

struct place {
	struct mc_import_row *row;
	size_t at; /* in the order they were read */
	int last;  /* dimension to sort by after all others; -1: none */
};

static int compare_places(const void *va, const void *vb)
{
	const struct place *a = va, *b = vb;
	const struct mc_op_point *p = &a->row->s.point, *q = &b->row->s.point;
	int c = compare_points(p, q, a->last);

	if (!c && a->last >= 0)
		c = COMPARE(p->dim[a->last], q->dim[a->last]);
	return c ? c : COMPARE(a->at, b->at);
}

static struct place *sorted(const struct mc_import *im, int last)
{
	struct place *p = mc_xcalloc(im->rows.n + 1, sizeof *p);

	for (size_t i = 0; i < im->rows.n; i++)
		p[i] = (struct place){&im->rows.at[i], i, last};
	qsort(p, im->rows.n, sizeof *p, compare_places);
	return p;
}

/* Rows of one point as one. t: room for n times. */
static struct mc_import_row merged(const struct place *p, size_t n, double *t)
{
	struct mc_import_row r = *p[0].row;
	int64_t repeats = 0;
	double low, high;

	for (size_t i = 0; i < n; i++) {
		t[i] = p[i].row->s.seconds;
		repeats += p[i].row->s.repeats;
		r.s.spread_ratio = fmax(r.s.spread_ratio, p[i].row->s.spread_ratio);
	}
	if (n == 1)
		return r;
	mc_sort_f64(t, n);
	r.s.seconds = (t[(n - 1) / 2] + t[n / 2]) / 2;
	low = t[n / 20];
	high = t[n - 1 - n / 20];
	r.s.spread_ratio = fmax(r.s.spread_ratio, (high - low) / 2 / r.s.seconds);
	r.s.repeats = repeats;
	if (t[n - 1] > MC_SUSPECTS_REPEATS * t[0] && t[n - 1] - t[0] > MC_SUSPECTS_SLACK_S)
		flag(&r.s, MC_SUSPECT_DISAGREES);
	return r;
}

void mc_suspects_merge(struct mc_import *im)
{
	struct place *p = sorted(im, -1);
	struct mc_import_row *to = mc_xcalloc(im->rows.n + 1, sizeof *to);
	double *t = mc_xcalloc(im->rows.n + 1, sizeof *t);
	size_t n = 0;

	for (size_t i = 0, k; i < im->rows.n; i += k) {
		for (k = 1; i + k < im->rows.n; k++)
			if (compare_points(&p[i].row->s.point, &p[i + k].row->s.point, -1))
				break;
		to[n++] = merged(p + i, k, t);
	}
	free(p);
	free(t);
	free(im->rows.at);
	im->rows.at = to;
	im->rows.cap = im->rows.n + 1;
	im->rows.n = n;
}

static void flag_by_limits(struct mc_opsample *s, const struct mc_op_limits *l, double element_bytes)
{
	struct mc_op_limits no_memory = *l;

	no_memory.memory_bytes_per_s = 0;
	if (s->seconds >= mc_op_floor_s(&s->point, l, element_bytes))
		return;
	if (s->seconds >= mc_op_floor_s(&s->point, &no_memory, element_bytes) &&
	    mc_op_bytes(&s->point, element_bytes) <= MC_SUSPECTS_CACHE_BYTES)
		flag(s, MC_SUSPECT_IN_CACHE);
	else
		flag(s, MC_SUSPECT_UNPHYSICAL);
}

/* Mark in chain[] the longest subsequence of p's times that never falls; returns its length. tail, from: room
 * for n. */
static size_t longest_rise(const struct place *p, size_t n, bool *chain, size_t *tail, size_t *from)
{
	size_t length = 0;

	for (size_t i = 0; i < n; i++) {
		size_t low = 0, high = length;

		while (low < high) { /* the first length whose best end is above this time */
			size_t mid = (low + high) / 2;

			if (p[tail[mid]].row->s.seconds <= p[i].row->s.seconds)
				low = mid + 1;
			else
				high = mid;
		}
		from[i] = low ? tail[low - 1] : i;
		tail[low] = i;
		length += low == length;
		chain[i] = false;
	}
	for (size_t i = length ? tail[length - 1] : 0, k = 0; k < length; k++, i = from[i])
		chain[i] = true;
	return length;
}

/* Is this time less than a time of less by more than anything explains? */
static bool contradicts(double more, double less)
{
	return more < (1 - MC_SUSPECTS_NEIGHBOURS) * less && less - more > MC_SUSPECTS_SLACK_S;
}

/* Points i to k lie between two of the rise (times before and after): flag those that contradict them. */
static void flag_run(const struct place *p, size_t i, size_t k, double before, double after)
{
	if (k - i > MC_SUSPECTS_RUN)
		return;
	for (; i < k; i++) {
		struct mc_opsample *s = &p[i].row->s;

		if (contradicts(s->seconds, before))
			flag(s, MC_SUSPECT_DIP);
		else if (contradicts(after, s->seconds))
			flag(s, MC_SUSPECT_BUMP);
	}
}

/* A series along one dimension: what lies far from the longest rise through it is flagged, if that rise is
 * most of it: otherwise nobody can say which points are the wrong ones. */
static void flag_series(const struct place *p, size_t n, bool *chain, size_t *tail, size_t *from)
{
	double before = 0;
	size_t rise;

	if (n < 3)
		return;
	rise = longest_rise(p, n, chain, tail, from);
	if (rise < 3 || 3 * rise < 2 * n)
		return;
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && !chain[k]; k++)
			;
		flag_run(p, i, k, before, k < n ? p[k].row->s.seconds : INFINITY);
		if (k < n)
			before = p[k++].row->s.seconds;
	}
}

static void flag_along(struct mc_import *im, int dim)
{
	struct place *p = sorted(im, dim);
	bool *chain = mc_xcalloc(im->rows.n + 1, sizeof *chain);
	size_t *tail = mc_xcalloc(im->rows.n + 1, sizeof *tail),
	       *from = mc_xcalloc(im->rows.n + 1, sizeof *from);

	for (size_t i = 0, k; i < im->rows.n; i += k) {
		for (k = 1; i + k < im->rows.n; k++)
			if (compare_points(&p[i].row->s.point, &p[i + k].row->s.point, dim))
				break;
		if (mc_op_dims[p[i].row->s.point.op] >> dim & 1)
			flag_series(p + i, k, chain, tail, from);
	}
	free(p);
	free(chain);
	free(tail);
	free(from);
}

/* The halves of one row of a table of steps stand and fall together: prefill and decode of the same run. */
static void flag_companions(struct mc_import *im)
{
	for (size_t i = 0; i < im->rows.n; i++) {
		const struct mc_import_row *r = &im->rows.at[i];

		if (r->s.point.op != MC_OP_STEP || !*r->s.flag)
			continue;
		for (size_t k = 0; k < im->rows.n; k++) {
			struct mc_import_row *q = &im->rows.at[k];

			if (q->s.point.op == MC_OP_STEP && q->s.line == r->s.line &&
			    !strcmp(q->file, r->file) && !*q->s.flag)
				memcpy(q->s.flag, r->s.flag, sizeof q->s.flag);
		}
	}
}

void mc_suspects_flag(struct mc_import *im, const struct mc_op_limits *l, double element_bytes,
		      size_t count[MC_SUSPECTS])
{
	for (size_t i = 0; i < im->rows.n; i++)
		flag_by_limits(&im->rows.at[i].s, l, element_bytes);
	/* More ranks choose another algorithm; more depth is what makes disks fast, larger slices and more
	 * NICs what makes transfers so; several peers may be no slower than one. */
	for (int d = 0; d < MC_DIM_DEPTH; d++)
		if (d != MC_DIM_RANKS)
			flag_along(im, d);
	flag_companions(im);
	memset(count, 0, MC_SUSPECTS * sizeof *count);
	for (size_t i = 0; i < im->rows.n; i++)
		for (int w = 0; w < MC_SUSPECTS; w++)
			count[w] += !strcmp(im->rows.at[i].s.flag, mc_suspect_names[w]);
}
