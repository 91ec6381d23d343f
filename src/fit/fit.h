/*
 * Samples to the measured part of a profile: weighted least squares (GSL) of
 *
 *     prefill = a + b (n - p) + c (n^2 - p^2) + d p      n tokens, p of them cached
 *     decode iteration = base + per_context * context    batch 1
 *
 * with weights 1/t^2, so that relative errors count alike from one second to thirty, and no coefficient below
 * 0: of all subsets of terms whose solution is not negative, the one with the least error.
 */
#ifndef MC_FIT_FIT_H
#define MC_FIT_FIT_H

#include <jansson.h>

#include "base/err.h"
#include "fit/samples.h"
#include "hw/profile.h"

struct mc_fit {
	double prefill[4]; /* a, b, c, d; rounded to the digits that the profile holds */
	double decode[2];  /* base, per_context */
	double prefill_error_ratio, decode_error_ratio; /* largest |fitted / measured - 1| */
	struct mc_range fitted, trusted;
	int64_t new_tokens_min; /* least uncached tokens of a prefill sample */
};

/*
 * Weighted least squares with non-negative coefficients: x is rows * terms (at most 4), row-major; every y >
 * 0. False when the problem does not determine all terms; coef is then unspecified.
 */
bool mc_fit_relative(const double *x, const double *y, size_t rows, size_t terms, double *coef);

/* hardware: bounds the trusted range by what its VRAM holds. */
int mc_fit_samples(struct mc_fit *f, const struct mc_samples *s, const struct mc_profile *hardware,
		   struct mc_err *err);

/* Seconds of one sample by the fit. */
double mc_fit_predict_s(const struct mc_fit *f, const struct mc_sample *p);

/*
 * The profile: `hardware` (the object of a profile file, borrowed) under a new name, with the fit as the
 * measured entry of its shape and degree in place of any there. date: NULL for the samples'. Its text is the
 * caller's to free; the same input gives the same bytes.
 */
char *mc_fit_profile_text(const struct mc_fit *f, const struct mc_samples *s, const json_t *hardware,
			  const char *name, const char *date);

#endif
