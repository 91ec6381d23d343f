#include "fit/opgap_form.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/vec.h"
#include "stat/sort.h"
#include "stat/summary.h"

#define FOLDS  5
#define ROUNDS 30 /* of reweighting */
#define HUBER                                                                                                \
	1.345 /* deviations beyond which a point counts less; 95 % as good as squares without outliers */
#define TO_S    1.4826 /* median absolute deviation to a standard one, of normal noise */
#define LEAST_S 1e-4   /* deviations no smaller than that are noise */
#define TERMS   3
/* A form with fewer coefficients is as good as one that is better by no more. */
#define AS_GOOD      1.05
#define AS_GOOD_PLUS 0.002

enum { CONSTANT = 1, ROWS = 2, SHARE = 4 };
static const struct {
	unsigned terms;
	size_t points;
} forms[] = {{0, 0},
	     {CONSTANT, 4},
	     {SHARE, 4},
	     {CONSTANT | SHARE, 6},
	     {CONSTANT | ROWS, 6},
	     {CONSTANT | ROWS | SHARE, 9}};
#define FORMS (sizeof forms / sizeof *forms)

/* A row of the relative system: gap / measured. Returns its right side. */
static double row_of(const struct mc_opgap_point *p, double x[TERMS])
{
	x[0] = 1 / p->seconds;
	x[1] = p->rows / p->seconds;
	x[2] = p->base_s / p->seconds;
	return 1 - p->base_s / p->seconds;
}

/* Gaussian elimination with the largest pivot of k equations of unit scale. False: not determined. */
static bool solve(double m[TERMS][TERMS + 1], int k)
{
	for (int c = 0; c < k; c++) {
		int best = c;

		for (int r = c + 1; r < k; r++)
			if (fabs(m[r][c]) > fabs(m[best][c]))
				best = r;
		if (fabs(m[best][c]) < 1e-9)
			return false;
		for (int j = 0; j <= k; j++) {
			double t = m[c][j];

			m[c][j] = m[best][j];
			m[best][j] = t;
		}
		for (int r = 0; r < k; r++) {
			double f = r == c ? 0 : m[r][c] / m[c][c];

			for (int j = c; j <= k && r != c; j++)
				m[r][j] -= f * m[c][j];
		}
	}
	for (int c = 0; c < k; c++)
		m[c][k] /= m[c][c];
	return true;
}

/* Weighted least squares of the terms; the others are 0. */
static bool squares(const struct mc_opgap_point *p, size_t n, const double *weight, unsigned terms,
		    double coef[TERMS])
{
	double m[TERMS][TERMS + 1] = {{0}}, scale[TERMS], x[TERMS], y;
	int of[TERMS], k = 0;

	for (int t = 0; t < TERMS; t++)
		if (terms >> t & 1)
			of[k++] = t;
	for (size_t i = 0; i < n; i++) {
		y = row_of(&p[i], x);
		for (int a = 0; a < k; a++) {
			for (int b = 0; b < k; b++)
				m[a][b] += weight[i] * x[of[a]] * x[of[b]];
			m[a][k] += weight[i] * x[of[a]] * y;
		}
	}
	for (int a = 0; a < k; a++) {
		if (!(m[a][a] > 0))
			return false;
		scale[a] = 1 / sqrt(m[a][a]);
	}
	for (int a = 0; a < k; a++) {
		for (int b = 0; b < k; b++)
			m[a][b] *= scale[a] * scale[b];
		m[a][k] *= scale[a];
	}
	if (!solve(m, k))
		return false;
	memset(coef, 0, TERMS * sizeof *coef);
	for (int a = 0; a < k; a++)
		coef[of[a]] = m[a][k] * scale[a];
	return true;
}

/* room: 2 n. */
static bool robust(const struct mc_opgap_point *p, size_t n, unsigned terms, struct mc_gap *out, double *room)
{
	double *weight = room, *far = room + n, coef[TERMS] = {0}, x[TERMS];

	for (size_t i = 0; i < n; i++)
		weight[i] = 1;
	for (int round = 0; round < ROUNDS && terms; round++) {
		double s;

		if (!squares(p, n, weight, terms, coef))
			return false;
		for (size_t i = 0; i < n; i++) {
			double y = row_of(&p[i], x);

			weight[i] = far[i] = fabs(y - coef[0] * x[0] - coef[1] * x[1] - coef[2] * x[2]);
		}
		mc_sort_f64(far, n);
		s = TO_S * far[mc_stat_rank(n, 50)];
		s = HUBER * (s > LEAST_S ? s : LEAST_S);
		for (size_t i = 0; i < n; i++)
			weight[i] = weight[i] > s ? s / weight[i] : 1;
	}
	*out = (struct mc_gap){.constant_s = coef[0], .row_s = coef[1], .share = coef[2]};
	return out->share > -1;
}

static double off_by(const struct mc_opgap_point *p, const struct mc_gap *g)
{
	double s = p->base_s + mc_gap_s(g, p->rows, p->base_s);

	return fabs((s > p->floor_s ? s : p->floor_s) / p->seconds - 1);
}

/* How far held-out points are off; the sum of median and 95th percentile. INFINITY: not determined. room: 2
 * n.
 */
static double hold_out(const struct mc_opgap_point *p, size_t n, unsigned terms, double *off, void *room)
{
	struct mc_opgap_point *rest = mc_xcalloc(n, sizeof *rest);
	size_t folds = n < FOLDS ? n : FOLDS;
	double *sorted = room, score = 0;

	for (size_t k = 0; k < folds && isfinite(score); k++) {
		struct mc_gap g = {0};
		size_t left = 0;

		for (size_t i = 0; i < n; i++)
			if (i % folds != k)
				rest[left++] = p[i];
		if (terms && !robust(rest, left, terms, &g, room))
			score = INFINITY;
		for (size_t i = k; i < n; i += folds)
			off[i] = off_by(&p[i], &g);
	}
	free(rest);
	if (!isfinite(score))
		return score;
	memcpy(sorted, off, n * sizeof *sorted);
	mc_sort_f64(sorted, n);
	return sorted[mc_stat_rank(n, 50)] + sorted[mc_stat_rank(n, 95)];
}

void mc_opgap_form(const struct mc_opgap_point *p, size_t n, struct mc_gap *out, double *off)
{
	double *room = mc_xcalloc(2 * n, sizeof *room), score[FORMS], best = INFINITY;
	size_t form = 0;

	memset(out, 0, sizeof *out);
	for (size_t f = 0; f < FORMS; f++) {
		score[f] = n < forms[f].points ? INFINITY : hold_out(p, n, forms[f].terms, off, room);
		best = fmin(best, score[f]);
	}
	while (score[form] > best * AS_GOOD + AS_GOOD_PLUS)
		form++;
	/* Of the held-out points as this form predicts them. */
	hold_out(p, n, forms[form].terms, off, room);
	if (forms[form].terms && !robust(p, n, forms[form].terms, out, room))
		memset(out, 0, sizeof *out);
	for (size_t i = 0; i < n && n >= forms[1].points; i++)
		if (p[i].rows > (double)out->rows_max)
			out->rows_max = (int64_t)p[i].rows;
	free(room);
}
