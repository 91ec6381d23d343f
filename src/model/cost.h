/*
 * The cost model: how long prefill, decode, loads and transfers take for one model shape on one profile.
 * Times are computed in double seconds and rounded once to nanoseconds by the *_ns functions.
 *
 * Prefill of a prompt of n tokens of which the first p are cached (paper, figure 14):
 *     compute(n, p) = a + b (n - p) + c (n^2 - p^2)       forward passes alone, chunks included
 *     load(p)       = p * kv_bytes / h2d                  the cached prefix from DRAM to VRAM
 *     gpu(n, p)     = compute + load                      measured profiles: the load is visible in the fit
 *                   = max(compute, load) + smaller/layers analytic profiles: layer-wise overlap
 * One decode iteration of `batch` requests whose contexts sum to `context` tokens:
 *     iter = base + per_context * context + max(0, gemm(batch) - gemm(1))
 *     gemm(B) = max(weight_bytes / memory bandwidth, B * dense flops / achieved flops)
 * never below the roofline max(bytes / bandwidth, operations / peak) of the node.
 */
#ifndef MC_MODEL_COST_H
#define MC_MODEL_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "hw/profile.h"
#include "model/shape.h"

struct mc_cost {
	struct mc_shape shape;
	double kv_bytes;               /* a token */
	double pf_a, pf_b, pf_c;       /* prefill: s, s/token, s/token^2 */
	double pf_load;                /* s a cached token from DRAM */
	bool pf_load_overlaps;         /* analytic: layer-wise overlap; measured: the sum */
	double de_base, de_context;    /* decode iteration: s, s a context token */
	double de_gemm_floor;          /* s: gemm(1) */
	double de_gemm_token;          /* s a batch member once compute bound */
	double roof_weights_s;         /* weight_bytes / memory bandwidth */
	double roof_kv_s;              /* s a context token: KV bytes / memory bandwidth */
	double roof_flops_s;           /* s a batch member: dense flops / peak */
	double h2d_bytes_per_s;        /* host to device, whole node */
	double net_bytes_per_s;        /* usable, whole node, one direction */
	double net_startup_s;          /* a transfer */
	double schedule_s;             /* fixed latency of a scheduling decision */
	double hop_s_per_token;        /* stage boundary of a prefill group: activations of one token over the NICs */
	int64_t vram_kv_tokens;        /* KV tokens that fit beside weights and reserve on a decode node */
	int64_t fit_prefill_max, trust_prefill_max; /* prompt tokens: fitted range and trusted range */
	int64_t fit_context_max, trust_context_max; /* context tokens of one request, decode */
	int64_t fit_batch_max, trust_batch_max;     /* decode batch */
};

/* Resolve; no room for the model's weights is an error (MC_USAGE), so is a profile faster than its own roofline. */
int mc_cost_init(struct mc_cost *c, const struct mc_profile *profile, const struct mc_shape *shape, struct mc_err *err);

double mc_cost_prefill_compute_s(const struct mc_cost *c, double n, double p);
double mc_cost_prefill_load_s(const struct mc_cost *c, double p);
double mc_cost_prefill_gpu_s(const struct mc_cost *c, double n, double p);

/* Hot path of decode. */
static inline double mc_cost_decode_s(const struct mc_cost *c, double batch, double context)
{
	double gemm = batch * c->de_gemm_token;
	double mem = c->roof_weights_s + context * c->roof_kv_s;
	double flops = batch * c->roof_flops_s;
	double t = c->de_base + context * c->de_context + (gemm > c->de_gemm_floor ? gemm - c->de_gemm_floor : 0);

	t = t > mem ? t : mem;
	return t > flops ? t : flops;
}

static inline mc_time mc_cost_decode_ns(const struct mc_cost *c, int64_t batch, int64_t context)
{
	return mc_time_from_s(mc_cost_decode_s(c, (double)batch, (double)context));
}

#endif
