#include "fit/fit.h"

#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/cost.h"

#define TERMS_MAX 4
#define DIGITS    7
/* Columns are balanced before the decomposition; below this share of the largest singular value they repeat.
 */
#define RANK_TOLERANCE 1e-9

struct problem {
	const double *x, *y;
	size_t rows, terms;
};

/* Solve for the terms in `mask`, the others zero. Returns the rank. */
static size_t solve(const struct problem *p, unsigned mask, double *coef, double *chisq)
{
	size_t used[TERMS_MAX], k = 0, i, j, rank;
	gsl_multifit_linear_workspace *work;
	gsl_matrix *x, *cov;
	gsl_vector *y, *w, *c;

	for (j = 0; j < p->terms; j++)
		if (mask >> j & 1)
			used[k++] = j;
	work = gsl_multifit_linear_alloc(p->rows, k);
	x = gsl_matrix_alloc(p->rows, k);
	cov = gsl_matrix_alloc(k, k);
	y = gsl_vector_alloc(p->rows);
	w = gsl_vector_alloc(p->rows);
	c = gsl_vector_alloc(k);
	for (i = 0; i < p->rows; i++) {
		for (j = 0; j < k; j++)
			gsl_matrix_set(x, i, j, p->x[i * p->terms + used[j]]);
		gsl_vector_set(y, i, p->y[i]);
		gsl_vector_set(w, i, 1 / (p->y[i] * p->y[i]));
	}
	gsl_multifit_wlinear_tsvd(x, w, y, RANK_TOLERANCE, c, cov, chisq, &rank, work);
	for (j = 0; j < p->terms; j++)
		coef[j] = 0;
	for (j = 0; j < k; j++)
		coef[used[j]] = gsl_vector_get(c, j);
	gsl_vector_free(c);
	gsl_vector_free(w);
	gsl_vector_free(y);
	gsl_matrix_free(cov);
	gsl_matrix_free(x);
	gsl_multifit_linear_free(work);
	return rank;
}

static bool non_negative(const double *coef, size_t terms)
{
	for (size_t j = 0; j < terms; j++)
		if (!(coef[j] >= 0))
			return false;
	return true;
}

bool mc_fit_relative(const double *x, const double *y, size_t rows, size_t terms, double *coef)
{
	const struct problem p = {x, y, rows, terms};
	double c[TERMS_MAX], chisq, best = INFINITY;
	unsigned all = (1u << terms) - 1, mask;

	if (rows < terms || solve(&p, all, coef, &chisq) < terms)
		return false;
	if (non_negative(coef, terms))
		return true;
	/* At most 15 subsets: trying all is exact and simple. */
	for (mask = 1; mask < all; mask++) {
		solve(&p, mask, c, &chisq);
		if (non_negative(c, terms) && chisq < best) {
			best = chisq;
			memcpy(coef, c, terms * sizeof *c);
		}
	}
	return true;
}

/* To the digits of the file, so that its residuals are those of its own coefficients. */
static void round_digits(double *v, size_t n)
{
	char text[32];

	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof text, "%.*g", DIGITS, v[i]);
		v[i] = strtod(text, NULL);
	}
}

/* The terms of one sample; returns how many. */
static size_t sample_terms(const struct mc_sample *p, double *x)
{
	double n = (double)p->total, cached = (double)p->cached;

	x[0] = 1;
	if (p->decode) {
		/* Contexts grow by one an iteration; time is linear in them, so their mean stands for all. */
		x[1] = (n + ((double)p->iterations - 1) / 2) * (double)p->batch;
		return 2;
	}
	x[1] = n - cached;
	x[2] = (n - cached) * (n + cached);
	x[3] = cached;
	return 4;
}

double mc_fit_predict_s(const struct mc_fit *f, const struct mc_sample *p)
{
	const double *coef = p->decode ? f->decode : f->prefill;
	double x[TERMS_MAX], t = 0;
	size_t n = sample_terms(p, x);

	for (size_t j = 0; j < n; j++)
		t += coef[j] * x[j];
	return t * (double)p->iterations;
}

static int fit_kind(const struct mc_samples *s, bool decode, double *coef, struct mc_err *err)
{
	size_t terms = decode ? 2 : 4, rows = 0, i;
	double *x = mc_xcalloc(s->n * terms + 1, sizeof *x), *y = mc_xcalloc(s->n + 1, sizeof *y);
	int rc = 0;

	for (i = 0; i < s->n; i++) {
		if (s->at[i].decode != decode)
			continue;
		sample_terms(&s->at[i], x + rows * terms);
		y[rows++] = s->at[i].seconds / (double)s->at[i].iterations;
	}
	if (!mc_fit_relative(x, y, rows, terms, coef))
		rc = mc_err_set(err, MC_USAGE,
				"%zu %s samples do not determine the %zu coefficients; expected %s", rows,
				decode ? "decode" : "prefill", terms,
				decode ? "two contexts" : "prompts of three lengths, and cached ones of two");
	round_digits(coef, terms);
	free(x);
	free(y);
	return rc;
}

static void fit_ranges(struct mc_fit *f, const struct mc_samples *s)
{
	f->fitted.batch_max = 1;
	f->new_tokens_min = INT64_MAX;
	for (size_t i = 0; i < s->n; i++) {
		const struct mc_sample *p = &s->at[i];
		double error = fabs(mc_fit_predict_s(f, p) / p->seconds - 1);
		double *worst = p->decode ? &f->decode_error_ratio : &f->prefill_error_ratio;

		*worst = error > *worst ? error : *worst;
		if (p->decode) {
			int64_t context = p->total + p->iterations - 1;

			f->fitted.context_max =
			    context > f->fitted.context_max ? context : f->fitted.context_max;
		} else {
			int64_t fresh = p->total - p->cached;

			f->fitted.prompt_max =
			    p->total > f->fitted.prompt_max ? p->total : f->fitted.prompt_max;
			f->new_tokens_min = fresh < f->new_tokens_min ? fresh : f->new_tokens_min;
		}
	}
}

/* Reasons: see trusted() in profile_text.c. */
static int fit_trust(struct mc_fit *f, const struct mc_samples *s, const struct mc_profile *hw,
		     struct mc_err *err)
{
	double usable = (double)hw->gpus * (double)hw->vram_bytes * (1 - hw->vram_reserve_ratio);
	double room =
	    (usable - mc_shape_weight_bytes(&s->shape)) / (double)mc_shape_kv_bytes_per_token(&s->shape);
	int64_t prompt = f->fitted.prompt_max * 8;

	if (room < (double)f->fitted.context_max)
		return mc_err_set(err, MC_USAGE,
				  "the hardware has room for %.0f tokens of KV, the samples reach %lld",
				  room < 0 ? 0 : room, (long long)f->fitted.context_max);
	prompt = (double)prompt < room ? prompt : (int64_t)room;
	f->trusted.prompt_max = prompt > f->fitted.prompt_max ? prompt : f->fitted.prompt_max;
	f->trusted.context_max = prompt > f->fitted.context_max ? prompt : f->fitted.context_max;
	f->trusted.batch_max = f->new_tokens_min;
	return 0;
}

int mc_fit_samples(struct mc_fit *f, const struct mc_samples *s, const struct mc_profile *hardware,
		   struct mc_err *err)
{
	int rc;

	memset(f, 0, sizeof *f);
	rc = fit_kind(s, false, f->prefill, err);
	if (!rc)
		rc = fit_kind(s, true, f->decode, err);
	if (rc)
		return rc;
	fit_ranges(f, s);
	round_digits(&f->prefill_error_ratio, 1);
	round_digits(&f->decode_error_ratio, 1);
	return fit_trust(f, s, hardware, err);
}
