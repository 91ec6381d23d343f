/*
 * The cost model: how long prefill, decode, loads and transfers take for one model shape on one profile.
 * Times are computed in double seconds and rounded once to nanoseconds, by mc_time_from_s.
 *
 * Prefill of a prompt of n tokens of which the first p are cached (paper, figure 14):
 *     compute(n, p) = a + b (n - p) + c (n^2 - p^2)       forward passes alone, chunks included
 *     load(p)       = p * kv_bytes / h2d                  the cached prefix from DRAM to VRAM
 *     gpu(n, p)     = compute + load                      measured profiles: the load is visible in the fit
 *                   = max(compute, load) + smaller/layers analytic profiles: layer-wise overlap
 * One decode iteration of `batch` requests whose contexts sum to `context` tokens:
 *     iter = base + per_context * context + max(0, gemm(batch) - gemm(1))
 *     gemm(B) = max(weight_bytes / achieved memory bandwidth, B * dense flops / achieved flops)
 * never below the roofline max(bytes / bandwidth, operations / peak) of the node.
 *
 * A measured profile's base and per_context are fitted at batch 1. How it grows with the batch is not
 * published, so gemm() is counted: achieved flops are those of the prefill fit (dense flops per token / b),
 * the achieved memory bandwidth is that of the decode fit (KV bytes per token / per_context), at most the
 * hardware's.
 *
 * Measured operators (hw/operators.h) give no such closed forms: times are looked up in tables made of their
 * sums (model/optable.h). A prefill is then the sum of its chunks, and the load overlaps as on the analytic
 * path. All that follows holds for both: who asks need not know which it is.
 *
 * A shape that the profile has no measured times for takes the analytic path: operations and bytes over the
 * hardware's peaks times the profile's assumed efficiencies. A shape that differs from the measured one only
 * in the bytes of a KV value keeps its times, with load and per_context scaled by the bytes.
 */
#ifndef MC_MODEL_COST_H
#define MC_MODEL_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "hw/profile.h"
#include "model/optable.h"
#include "model/shape.h"

/* Where prefill and decode times come from. auto: the first of the others that the profile has for the shape.
 */
enum mc_times { MC_TIMES_AUTO, MC_TIMES_MEASURED, MC_TIMES_OPERATORS, MC_TIMES_ANALYTIC };
/* "auto", "measured", "operators", "analytic", NULL. */
extern const char *const mc_times_names[];

/* Tokens of a pass where prompts are not cut. */
#define MC_COST_WHOLE ((int64_t)1 << 40)

struct mc_cost {
	struct mc_shape shape;
	double kv_bytes;            /* a token */
	struct mc_optable *table;   /* owned; NULL: the closed forms, else pf_a .. c and de_ are 0 */
	int64_t chunk;              /* tokens of a prefill pass at most; only the table asks */
	enum mc_times times;        /* never auto */
	double pf_a, pf_b, pf_c;    /* prefill: s, s/token, s/token^2 */
	double pf_load;             /* s a cached token from DRAM */
	bool pf_load_overlaps;      /* analytic: layer-wise overlap; measured: the sum */
	double de_base, de_context; /* decode iteration: s, s a context token */
	double de_gemm_floor;       /* s: gemm(1) */
	double de_gemm_token;       /* s a batch member once compute bound */
	double roof_weights_s;      /* bytes that a pass must read / memory bandwidth */
	double roof_kv_s;           /* s a context token: KV bytes / memory bandwidth */
	double roof_flops_s;        /* s a batch member: dense and head operations / peak */
	double h2d_bytes_per_s;     /* host to device, whole node */
	double net_bytes_per_s;     /* usable, whole node, one direction; slices of the profile counted in */
	double net_startup_s;       /* a transfer */
	/* of a profile, for transfers: see hw/nettime.h */
	double net_request_s, net_slice_s, net_slice_bytes, net_peer_loss, net_duplex;
	struct mc_nics nics; /* of a node; n = 0: one NIC of net_bytes_per_s */
	/* SSDs of a node together; 0: it has none. Reads: the least of the bandwidth and of what a full queue
	 * does (depth x bytes of a read / its latency). */
	double ssd_read_bytes_per_s, ssd_write_bytes_per_s;
	double ssd_latency_s; /* before the first byte of a read */
	int64_t ssd_bytes;
	double schedule_s;      /* fixed latency of a scheduling decision */
	int64_t hop_bytes;      /* stage boundary of a prefill group: the activations of one token */
	double hop_s_per_token; /* the same over the NICs of one node, which has them to itself */
	int64_t dram_bytes;     /* host memory of a node for KV */
	int64_t vram_kv_tokens; /* KV tokens that fit beside weights and reserve on a decode node */
	/* Analytic profiles: nothing was fitted, the fit_ values are 0. */
	int64_t fit_prefill_max, trust_prefill_max; /* prompt tokens: fitted range and trusted range */
	int64_t fit_context_max, trust_context_max; /* context tokens of one request, decode */
	int64_t fit_batch_max, trust_batch_max;     /* decode batch */
	/* Why auto passed the profile's operators over; "": it has none, or did not. */
	char no_operators[256];
};

struct mc_cost_params {
	enum mc_times times;
	int64_t chunk; /* new tokens of a prefill pass at most; 0: whole prompts */
};

/*
 * Resolve, for tensor parallelism over all the node's GPUs; params NULL: auto, chunks of 2,048. No room for
 * the model's weights is an error (MC_USAGE) that names the profile and key, so is a profile that is faster
 * than its own hardware (model/roofline.h), and so are times that it does not have, by name. profile and
 * shape are not kept. *c needs _fini only on success.
 */
int mc_cost_init(struct mc_cost *c, const struct mc_profile *profile, const struct mc_shape *shape,
		 const struct mc_cost_params *params, struct mc_err *err);
void mc_cost_fini(struct mc_cost *c);
/* Usable bandwidth of a node, one direction, in place of the profile's; > 0. Its NICs share it as their
 * speeds are, and nothing between them and the memories limits them. */
void mc_cost_set_bandwidth(struct mc_cost *c, double bytes_per_s);
/* What all NICs of a node reach together to or from host memory, in place of the profile's; > 0. */
void mc_cost_set_host_bandwidth(struct mc_cost *c, double bytes_per_s);
/* The measured entry that mc_cost_init would use, or NULL. */
const struct mc_measured *mc_cost_measured(const struct mc_profile *profile, const struct mc_shape *shape);

/* 0 <= p <= n, in tokens; a prompt that is wholly cached computes its last token, so callers pass p < n. */
static inline double mc_cost_prefill_compute_s(const struct mc_cost *c, double n, double p)
{
	if (c->table)
		return mc_optable_prefill_s(c->table, n, p, (double)c->chunk);
	return c->pf_a + c->pf_b * (n - p) + c->pf_c * ((n - p) * (n + p));
}

static inline double mc_cost_prefill_load_s(const struct mc_cost *c, double p)
{
	return c->pf_load * p;
}

/* Forward passes of at most `chunk` tokens; with closed forms each costs a start. */
double mc_cost_passes_s(const struct mc_cost *c, int64_t n, int64_t p, int64_t chunk);
/* A time that falls with each cached token and that no prefill is below; where `whole` and the closed forms
 * allow, of compute and load. */
double mc_cost_prefill_floor_s(const struct mc_cost *c, double n, double p, bool whole);
/* One chunk of a prompt: tokens p .. n-1, without a start, which a prefill has once. */
static inline double mc_cost_chunk_s(const struct mc_cost *c, double n, double p, bool last)
{
	if (c->table)
		return mc_optable_chunk_s(c->table, n - p, p, last);
	return c->pf_b * (n - p) + c->pf_c * ((n - p) * (n + p));
}

double mc_cost_prefill_gpu_s(const struct mc_cost *c, double n, double p);
/* Bytes from a node's SSDs that nothing else reads. */
double mc_cost_ssd_s(const struct mc_cost *c, double bytes);
/* One transfer of that many bytes that has the node's NICs to itself. */
double mc_cost_transfer_s(const struct mc_cost *c, double bytes);

/* The closed form of a decode iteration. */
static inline double mc_cost_closed_s(const struct mc_cost *c, double batch, double context)
{
	double gemm = batch * c->de_gemm_token;

	return c->de_base + context * c->de_context + (gemm > c->de_gemm_floor ? gemm - c->de_gemm_floor : 0);
}

/* What the profile says of a decode iteration, without the roofline. */
static inline double mc_cost_decode_raw_s(const struct mc_cost *c, double batch, double context)
{
	return c->table ? mc_optable_decode_s(c->table, batch, context) : mc_cost_closed_s(c, batch, context);
}

/* No less than the roofline. */
static inline double mc_cost_roofed_s(const struct mc_cost *c, double t, double batch, double context)
{
	double mem = c->roof_weights_s + context * c->roof_kv_s;
	double flops = batch * c->roof_flops_s;

	t = t > mem ? t : mem;
	return t > flops ? t : flops;
}

static inline double mc_cost_decode_s(const struct mc_cost *c, double batch, double context)
{
	return mc_cost_roofed_s(c, mc_cost_decode_raw_s(c, batch, context), batch, context);
}

/* Hot path of decode; at least 1. By the table: apart, so that the closed forms stay as quick as they are. */
__attribute__((cold, noinline)) mc_time mc_cost_table_decode_ns(const struct mc_cost *c, int64_t batch,
								int64_t context);

static inline mc_time mc_cost_decode_ns(const struct mc_cost *c, int64_t batch, int64_t context)
{
	mc_time t;

	if (c->table)
		return mc_cost_table_decode_ns(c, batch, context);
	t = mc_time_from_s(mc_cost_roofed_s(c, mc_cost_closed_s(c, (double)batch, (double)context),
					    (double)batch, (double)context));
	return t > 0 ? t : 1; /* time goes on, however small the model */
}

#endif
