#include "model/cost.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/compose.h"
#include "model/roofline.h"

const char *const mc_times_names[] = {"auto", "measured", "operators", "analytic", NULL};

static double min2(double a, double b)
{
	return a < b ? a : b;
}

static void measured_shape(struct mc_shape *s, const struct mc_measured *m)
{
	memset(s, 0, sizeof *s);
	s->layers = m->layers;
	s->hidden = m->hidden;
	s->heads = m->heads;
	s->kv_heads = m->kv_heads;
	s->head_dim = m->head_dim;
	s->ffn = m->ffn;
	s->vocab = m->vocab;
	s->weight_bytes_per_param = m->weight_bytes_per_param;
	s->kv_bytes_per_value = m->kv_bytes_per_value;
	s->tied_embeddings = m->tied_embeddings;
	s->qkv_bias = m->qkv_bias;
	s->experts = m->experts;
	s->experts_per_token = m->experts_per_token;
	s->shared_experts = m->shared_experts;
	s->expert_ffn = m->expert_ffn;
	s->dense_layers = m->dense_layers;
	s->kv_lora_rank = m->kv_lora_rank;
	s->q_lora_rank = m->q_lora_rank;
	s->rope_head_dim = m->rope_head_dim;
	s->v_head_dim = m->v_head_dim;
}

const struct mc_measured *mc_cost_measured(const struct mc_profile *profile, const struct mc_shape *shape)
{
	const struct mc_measured *m, *best = NULL;
	struct mc_shape s;

	for (m = profile->measured; m < profile->measured + profile->n_measured; m++) {
		measured_shape(&s, m);
		if (m->tensor_parallel != profile->gpus || !mc_shape_same_compute(&s, shape))
			continue;
		if (m->kv_bytes_per_value == shape->kv_bytes_per_value)
			return m;
		if (!best)
			best = m;
	}
	return best;
}

static void cost_from_measured(struct mc_cost *c, const struct mc_measured *m, const struct mc_roofline *r)
{
	double ratio = (double)c->shape.kv_bytes_per_value / (double)m->kv_bytes_per_value;
	double achieved = c->kv_bytes / ratio / m->decode_context_s; /* bytes/s */

	c->times = MC_TIMES_MEASURED;
	c->pf_a = m->prefill_a_s;
	c->pf_b = m->prefill_b_s;
	c->pf_c = m->prefill_c_s;
	c->pf_load = m->prefill_load_s * ratio;
	c->de_base = m->decode_base_s;
	c->de_context = m->decode_context_s * ratio;
	/* The base holds the read of the weights and more, so the floor is no larger. A fit without a context
	 * term gives an infinite bandwidth, hence the hardware's. */
	achieved = min2(achieved, r->memory_bytes_per_s);
	c->de_gemm_floor = min2(mc_shape_pass_bytes(&c->shape) / achieved, m->decode_base_s);
	c->de_gemm_token = m->prefill_b_s;
	c->fit_prefill_max = m->fit.prompt_max;
	c->fit_context_max = m->fit.context_max;
	c->fit_batch_max = m->fit.batch_max;
	c->trust_prefill_max = m->trust.prompt_max;
	c->trust_context_max = m->trust.context_max;
	c->trust_batch_max = m->trust.batch_max;
}

static void cost_from_peaks(struct mc_cost *c, const struct mc_profile *p, const struct mc_roofline *r)
{
	const struct mc_shape *s = &c->shape;
	double flops = r->flops * p->flops_efficiency;
	double pair = mc_shape_pair_flops(s) / (r->flops * p->attention_efficiency);
	double bandwidth = r->memory_bytes_per_s * p->memory_efficiency;
	double launch = p->launch_s_per_layer * (double)s->layers;
	double weights = mc_shape_pass_bytes(s) / bandwidth;
	double head = mc_shape_head_flops(s) / flops;

	c->times = MC_TIMES_ANALYTIC;
	/* Tokens p .. n-1 see (n^2 - p^2) / 2 + (n - p) / 2 pairs. A short prefill still reads all weights.
	 */
	c->pf_a = launch + weights + head;
	c->pf_b = mc_shape_dense_flops_per_token(s) / flops + pair / 2;
	c->pf_c = pair / 2;
	c->pf_load = c->kv_bytes / p->h2d_bytes_per_s;
	c->pf_load_overlaps = true;
	c->de_base = launch + weights;
	c->de_context = c->kv_bytes / bandwidth;
	c->de_gemm_floor = weights;
	c->de_gemm_token = mc_shape_dense_flops_per_token(s) / flops + head;
	c->trust_prefill_max = p->trust.prompt_max;
	c->trust_context_max = p->trust.context_max;
	c->trust_batch_max = p->trust.batch_max;
}

static int64_t most(double a, int64_t b)
{
	return a > (double)b ? (int64_t)a : b;
}

/* 0: at no point. */
static double measured_to(const struct mc_optable *t, enum mc_op op, enum mc_dim dim)
{
	for (int i = 0; i < t->n_ranges; i++)
		if (t->range[i].op == op && t->range[i].dim == dim)
			return t->range[i].high;
	return 0;
}

static int cost_from_operators(struct mc_cost *c, const struct mc_profile *p, struct mc_err *err)
{
	struct mc_compose compose;
	int rc;

	if (!p->operators.n)
		return mc_err_set(err, MC_USAGE, "it has none");
	rc = mc_compose_init(&compose, &p->operators, &c->shape, p->gpus, err);
	if (rc)
		return rc;
	c->table = mc_xcalloc(1, sizeof *c->table);
	rc = mc_optable_init(c->table, &compose, c->chunk, err);
	if (rc) {
		free(c->table);
		c->table = NULL;
		return rc;
	}
	c->times = MC_TIMES_OPERATORS;
	c->pf_load = c->kv_bytes / p->h2d_bytes_per_s;
	c->pf_load_overlaps = true;
	c->fit_prefill_max =
	    (int64_t)(measured_to(c->table, MC_OP_ATTENTION_PREFILL, MC_DIM_CONTEXT) +
		      min2(measured_to(c->table, MC_OP_ATTENTION_PREFILL, MC_DIM_ROWS), (double)c->chunk));
	c->fit_context_max = (int64_t)measured_to(c->table, MC_OP_ATTENTION_DECODE, MC_DIM_CONTEXT);
	c->fit_batch_max = (int64_t)min2(measured_to(c->table, MC_OP_ATTENTION_DECODE, MC_DIM_SEQS),
					 measured_to(c->table, MC_OP_GEMM, MC_DIM_ROWS));
	/* Beyond the knots times grow with the operations, as those of the analytic path do. */
	c->trust_prefill_max = most((double)c->fit_prefill_max, p->trust.prompt_max);
	c->trust_context_max = most((double)c->fit_context_max, p->trust.context_max);
	c->trust_batch_max = most((double)c->fit_batch_max, p->trust.batch_max);
	return MC_OK;
}

static int cost_memory(struct mc_cost *c, const struct mc_profile *p, struct mc_err *err)
{
	double usable = (double)p->gpus * (double)p->vram_bytes * (1 - p->vram_reserve_ratio);
	double weights = mc_shape_weight_bytes(&c->shape);

	if (weights > usable) {
		mc_err_set(
		    err, MC_USAGE,
		    "no room for the weights of %s: %.1f GB, and %lld GPUs have %.1f GB beside the reserve",
		    c->shape.name, weights / 1e9, (long long)p->gpus, usable / 1e9);
		mc_err_at(err, p->path, 0, 0, "hardware.vram");
		return MC_USAGE;
	}
	c->vram_kv_tokens = (int64_t)((usable - weights) / c->kv_bytes);
	return 0;
}

static void ssd_init(struct mc_cost *c, const struct mc_profile *p)
{
	double queue = (double)p->ssd_queue_depth * (double)p->ssd_io_bytes / p->ssd_latency_s;
	double read = (double)p->ssds * p->ssd_read_bytes_per_s;

	c->ssd_bytes = p->ssds * p->ssd_bytes;
	c->ssd_latency_s = p->ssd_latency_s;
	c->ssd_read_bytes_per_s = read < queue ? read : queue;
	c->ssd_write_bytes_per_s = (double)p->ssds * p->ssd_write_bytes_per_s;
}

static void set_net(struct mc_cost *c, double bytes_per_s)
{
	if (c->net_slice_s > 0 && c->nics.n)
		bytes_per_s /= 1 + bytes_per_s / c->nics.n * c->net_slice_s / c->net_slice_bytes;
	c->net_bytes_per_s = bytes_per_s;
	c->hop_s_per_token = (double)c->hop_bytes / bytes_per_s;
}

/* The times that are asked for; auto: what there is. */
static int cost_times(struct mc_cost *c, const struct mc_profile *p, enum mc_times times, struct mc_err *err)
{
	const struct mc_measured *m = mc_cost_measured(p, &c->shape);
	struct mc_roofline r;
	struct mc_err why = {0};

	mc_roofline_init(&r, p);
	if (m && (times == MC_TIMES_AUTO || times == MC_TIMES_MEASURED)) {
		cost_from_measured(c, m, &r);
		return MC_OK;
	}
	if (times == MC_TIMES_MEASURED) {
		mc_err_set(err, MC_USAGE,
			   "is measured, and %s has no such times of %s at tensor parallelism %lld", p->name,
			   c->shape.name, (long long)p->gpus);
		return mc_err_at(err, NULL, 0, 0, "hardware_times");
	}
	if (times != MC_TIMES_ANALYTIC && (times == MC_TIMES_OPERATORS || p->operators.n)) {
		if (!cost_from_operators(c, p, &why))
			return MC_OK;
		if (times == MC_TIMES_OPERATORS) {
			mc_err_set(err, MC_USAGE,
				   "is operators, and those of %s are not enough for %s: %.300s", p->name,
				   c->shape.name, why.text);
			return mc_err_at(err, NULL, 0, 0, "hardware_times");
		}
		snprintf(c->no_operators, sizeof c->no_operators, "%.250s", why.text);
	}
	cost_from_peaks(c, p, &r);
	return MC_OK;
}

int mc_cost_init(struct mc_cost *c, const struct mc_profile *profile, const struct mc_shape *shape,
		 const struct mc_cost_params *params, struct mc_err *err)
{
	static const struct mc_cost_params plain = {MC_TIMES_AUTO, 2048};
	struct mc_roofline r;
	int rc;

	params = params ? params : &plain;
	memset(c, 0, sizeof *c);
	c->shape = *shape;
	c->chunk = params->chunk > 0 && params->chunk < MC_COST_WHOLE ? params->chunk : MC_COST_WHOLE;
	c->kv_bytes = (double)mc_shape_kv_bytes_per_token(shape);
	c->hop_bytes = 2 * shape->hidden; /* activations are bf16 */
	rc = cost_memory(c, profile, err);
	if (!rc)
		rc = cost_times(c, profile, params->times, err);
	if (rc)
		return rc;
	mc_roofline_init(&r, profile);
	c->roof_weights_s = mc_shape_pass_bytes(shape) / r.memory_bytes_per_s;
	c->roof_kv_s = c->kv_bytes / r.memory_bytes_per_s;
	c->roof_flops_s = (mc_shape_dense_flops_per_token(shape) + mc_shape_head_flops(shape)) / r.flops;
	c->h2d_bytes_per_s = profile->h2d_bytes_per_s;
	c->net_startup_s = profile->net_startup_s;
	c->net_request_s = profile->net_request_s;
	c->net_slice_s = profile->net_slice_s;
	c->net_slice_bytes = (double)profile->net_slice_bytes;
	c->net_peer_loss = profile->net_peer_loss;
	c->net_duplex = profile->net_duplex;
	ssd_init(c, profile);
	c->schedule_s = profile->schedule_s;
	c->dram_bytes = profile->dram_bytes;
	mc_profile_nics(profile, &c->nics);
	set_net(c, mc_nics_bytes_per_s(&c->nics));
	rc = mc_roofline_check(c, profile, err);
	if (rc)
		mc_cost_fini(c);
	return rc;
}

void mc_cost_fini(struct mc_cost *c)
{
	if (c->table)
		mc_optable_fini(c->table);
	free(c->table);
	c->table = NULL;
}

void mc_cost_set_bandwidth(struct mc_cost *c, double bytes_per_s)
{
	double sum = mc_nics_sum(&c->nics);

	for (uint32_t i = 0; i < c->nics.n; i++)
		c->nics.bytes_per_s[i] *= bytes_per_s / sum;
	c->nics.host_bytes_per_s = c->nics.switch_bytes_per_s = c->nics.socket_bytes_per_s = 0;
	set_net(c, bytes_per_s);
}

void mc_cost_set_host_bandwidth(struct mc_cost *c, double bytes_per_s)
{
	c->nics.host_bytes_per_s = bytes_per_s;
	set_net(c, mc_nics_bytes_per_s(&c->nics));
}

double mc_cost_passes_s(const struct mc_cost *c, int64_t n, int64_t p, int64_t chunk)
{
	int64_t more = (n - p - 1) / chunk;

	if (c->table)
		return mc_optable_prefill_s(c->table, (double)n, (double)p, (double)chunk);
	return mc_cost_prefill_compute_s(c, (double)n, (double)p) + (double)more * c->pf_a;
}

double mc_cost_prefill_floor_s(const struct mc_cost *c, double n, double p, bool whole)
{
	if (c->table)
		return mc_optable_floor_s(c->table, n, p);
	/* The load is left out where it may cost more than computing. */
	if (whole && !c->pf_load_overlaps && c->pf_load <= c->pf_b)
		return mc_cost_prefill_gpu_s(c, n, p);
	return mc_cost_prefill_compute_s(c, n, p);
}

double mc_cost_prefill_gpu_s(const struct mc_cost *c, double n, double p)
{
	double compute, load;

	assert(p >= 0 && p <= n);
	compute = mc_cost_prefill_compute_s(c, n, p);
	load = mc_cost_prefill_load_s(c, p);
	if (!c->pf_load_overlaps)
		return compute + load;
	/* The first layer waits for its own KV (or the last one's load for its compute). */
	return compute > load ? compute + load / (double)c->shape.layers
			      : load + compute / (double)c->shape.layers;
}

mc_time mc_cost_table_decode_ns(const struct mc_cost *c, int64_t batch, int64_t context)
{
	mc_time t = mc_time_from_s(mc_cost_decode_s(c, (double)batch, (double)context));

	return t > 0 ? t : 1;
}

double mc_cost_transfer_s(const struct mc_cost *c, double bytes)
{
	double own = c->nics.n ? c->net_request_s / c->nics.n : 0;

	return c->net_startup_s + own + bytes / c->net_bytes_per_s;
}

double mc_cost_ssd_s(const struct mc_cost *c, double bytes)
{
	return c->ssd_latency_s + bytes / c->ssd_read_bytes_per_s;
}
