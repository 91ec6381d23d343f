/*
 * One pass of an engine that does both: slices of prompts, and one token of each running request (Sarathi's
 * chunked prefill, vLLM's). No published measurement of such a pass exists for the profiles, so it is put
 * together from the two that are known, by what a pass does:
 *  - weights are read once and kernels launched once: the fixed cost of a prefill, a, once;
 *  - the GEMMs have a row more for each running request: its share of them once they are compute bound, which
 *    they are beside a slice (de_gemm_token; of a measured profile that is b);
 *  - attention of a slice's tokens is that of the prompt: c times the pairs, the cached or earlier ones
 *    included; attention of the running requests reads their contexts, as in a decode iteration (de_context);
 *  - it is never faster than the slices alone or the running requests alone.
 * Several prompts in one pass are the sum of their slices with the fixed cost once.
 *
 * Tables of operators know better (model/optable.h): dense layers over the rows of all, attention of each.
 */
#ifndef MC_MODEL_MIXED_H
#define MC_MODEL_MIXED_H

#include "model/cost.h"

/* The slices of a pass together; all 0: none. */
struct mc_slices {
	double s;      /* closed forms: what they add; tables: attention and sampling of each */
	double tokens; /* new ones */
};

/* Tokens p .. n-1 of a prompt, 0 <= p <= n; last: the prompt ends with them. */
static inline void mc_slices_add(struct mc_slices *a, const struct mc_cost *c, double n, double p, bool last)
{
	if (n <= p)
		return;
	a->tokens += n - p;
	a->s += c->table ? mc_optable_attention_s(c->table, n - p, p) + (last ? c->table->sample_s : 0)
			 : mc_cost_chunk_s(c, n, p, last);
}

/* What share of a pass's slices that one of them is, by time: all add up to 1. */
static inline double mc_slices_share(const struct mc_slices *a, const struct mc_cost *c,
				     const struct mc_slices *one)
{
	double row = c->table ? mc_optable_dense_s(c->table, a->tokens) / a->tokens : 0;

	return (one->s + row * one->tokens) / (a->s + row * a->tokens);
}

/* A pass of slices, and of `batch` running requests whose contexts sum to `context`; of either there may be
 * none. Without slices it is a decode iteration. */
static inline double mc_cost_mixed_s(const struct mc_cost *c, const struct mc_slices *a, double batch,
				     double context)
{
	double t = c->pf_a + a->s + batch * c->de_gemm_token + context * c->de_context, alone;

	if (c->table && a->tokens > 0)
		t = a->s + mc_optable_dense_s(c->table, a->tokens + batch);
	if (batch <= 0)
		return t;
	alone = mc_cost_decode_s(c, batch, context);
	if (c->table && a->tokens > 0) /* an iteration alone has its rows counted above */
		t += mc_optable_decode_s(c->table, batch, context) - mc_optable_dense_s(c->table, batch);
	return a->s > 0 && t > alone ? t : alone;
}

#endif
