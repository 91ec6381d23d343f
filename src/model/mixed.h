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
 */
#ifndef MC_MODEL_MIXED_H
#define MC_MODEL_MIXED_H

#include "model/cost.h"

/* What tokens p .. n-1 of a prompt add to a pass, s; 0 <= p <= n. */
static inline double mc_cost_slice_s(const struct mc_cost *c, double n, double p)
{
	return c->pf_b * (n - p) + c->pf_c * ((n - p) * (n + p));
}

/* A pass of slices whose sum that is, and of `batch` running requests whose contexts sum to `context`; of
 * either there may be none. Without slices (0) it is a decode iteration. */
static inline double mc_cost_mixed_s(const struct mc_cost *c, double slices_s, double batch, double context)
{
	double t = c->pf_a + slices_s + batch * c->de_gemm_token + context * c->de_context, alone;

	if (batch <= 0)
		return c->pf_a + slices_s;
	alone = mc_cost_decode_s(c, batch, context);
	return slices_s > 0 && t > alone ? t : alone;
}

#endif
