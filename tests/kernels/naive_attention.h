/*
 * Attention of a paged batch in double precision, as its definition says (kernels/ops.h), from the arrays
 * that the pages were made of: no pages, no tiles, no running maximum. With it, how far from that a kernel
 * may be: every number against a bound that no correct rounding passes, and the root mean square over each
 * head, which grows by the root of the tokens only, against three times what random rounding gives, so that
 * one token of a thousand that is missed or counted twice shows.
 */
#ifndef MC_TESTS_KERNELS_NAIVE_ATTENTION_H
#define MC_TESTS_KERNELS_NAIVE_ATTENTION_H

#include "tests/kernels/paged_batch.h"

struct naive_attention {
	const struct paged_batch *b;
	double *out;   /* [rows][heads][head_dim] */
	double *bound; /* the same: largest error of a number */
	double *rms;   /* [rows][heads]: largest root mean square of a head's errors */
};

/* b must stay as long as n. */
void naive_attention_init(struct naive_attention *n, const struct paged_batch *b, float scale);
void naive_attention_fini(struct naive_attention *n);

/* Fail, naming row and head, unless got [rows][heads][head_dim] is within the bounds. */
void naive_attention_check(const struct naive_attention *n, const float *got, const char *what);

#endif
