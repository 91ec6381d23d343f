/*
 * Times of one model from the measured operators of a profile (model/compose.h), tabulated so that a run may
 * ask millions of times. A pass of an engine over `rows` new tokens takes
 *
 *     prefill   dense(rows) + attention(rows, context), and the last chunk of a prompt samples: + sample
 *     decode    step(seqs) + attend(seqs, mean context)
 *     both      dense(rows + seqs) + sum of attention + attend + (step(seqs) - dense(seqs)); + sample
 *
 * dense: all that a pass takes without attention and without logits; step: the same of a decode iteration of
 * as many rows, logits and sampling included; hosts and gaps are in them. Attention is what depends on the
 * context; a gap that is a share of what precedes it is in it with that share. The mean stands for contexts
 * of different lengths.
 *
 * Between knots (model/grid.h) the tables are linear: they follow mc_compose_add within 1 % or so (a test
 * holds it). Beyond the largest knot times grow with the operations: rows, pairs of tokens.
 */
#ifndef MC_MODEL_OPTABLE_H
#define MC_MODEL_OPTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/grid.h"
#include "model/oprange.h"

struct mc_compose; /* model/compose.h */

struct mc_optable {
	struct mc_line dense, step;
	struct mc_plane attention; /* rows, 1 + context */
	struct mc_plane attend;    /* sequences, 1 + mean context */
	double sample_s;
	/* No pass over at most `chunk` rows takes less per row and per pair of tokens. */
	double row_floor_s, pair_floor_s;
	struct mc_op_range range[MC_OP_RANGES];
	int n_ranges;
};

/*
 * chunk: the most new tokens of a prefill pass, at least 1; larger passes are possible, their times grow as
 * above. MC_USAGE: an operator has no time; the message names it and its dimensions. *t needs _fini only on
 * success. compose is not kept.
 */
int mc_optable_init(struct mc_optable *t, const struct mc_compose *compose, int64_t chunk,
		    struct mc_err *err);
void mc_optable_fini(struct mc_optable *t);

/* Whole numbers of tokens in doubles, as mc_cost has them; rows and seqs at least 1. */
double mc_optable_dense_s(const struct mc_optable *t, double rows);
double mc_optable_attention_s(const struct mc_optable *t, double rows, double context);
double mc_optable_step_s(const struct mc_optable *t, double seqs);
double mc_optable_attend_s(const struct mc_optable *t, double seqs, double context); /* of all together */
/* A pass over rows tokens after context others of the same prompt. */
double mc_optable_chunk_s(const struct mc_optable *t, double rows, double context, bool last);
/* Tokens p .. n-1 of a prompt in chunks, p <= n. */
double mc_optable_prefill_s(const struct mc_optable *t, double n, double p, double chunk);
double mc_optable_decode_s(const struct mc_optable *t, double seqs, double context);
/* Falls with each p, and no prefill of tokens p .. n-1 takes less. */
double mc_optable_floor_s(const struct mc_optable *t, double n, double p);

#endif
