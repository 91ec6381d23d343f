#include "model/cost.h"

#include <assert.h>
#include <string.h>

#include "model/roofline.h"

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

	c->measured = true;
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
	c->net_bytes_per_s = bytes_per_s;
	c->hop_s_per_token = (double)c->hop_bytes / bytes_per_s;
}

int mc_cost_init(struct mc_cost *c, const struct mc_profile *profile, const struct mc_shape *shape,
		 struct mc_err *err)
{
	const struct mc_measured *m = mc_cost_measured(profile, shape);
	struct mc_roofline r;
	int rc;

	memset(c, 0, sizeof *c);
	c->shape = *shape;
	c->kv_bytes = (double)mc_shape_kv_bytes_per_token(shape);
	c->hop_bytes = 2 * shape->hidden; /* activations are bf16 */
	rc = cost_memory(c, profile, err);
	if (rc)
		return rc;
	mc_roofline_init(&r, profile);
	if (m)
		cost_from_measured(c, m, &r);
	else
		cost_from_peaks(c, profile, &r);
	c->roof_weights_s = mc_shape_pass_bytes(shape) / r.memory_bytes_per_s;
	c->roof_kv_s = c->kv_bytes / r.memory_bytes_per_s;
	c->roof_flops_s = (mc_shape_dense_flops_per_token(shape) + mc_shape_head_flops(shape)) / r.flops;
	c->h2d_bytes_per_s = profile->h2d_bytes_per_s;
	c->net_startup_s = profile->net_startup_s;
	ssd_init(c, profile);
	c->schedule_s = profile->schedule_s;
	c->dram_bytes = profile->dram_bytes;
	mc_profile_nics(profile, &c->nics);
	set_net(c, mc_nics_bytes_per_s(&c->nics));
	return mc_roofline_check(c, profile, err);
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

double mc_cost_transfer_s(const struct mc_cost *c, double bytes)
{
	return c->net_startup_s + bytes / c->net_bytes_per_s;
}

double mc_cost_ssd_s(const struct mc_cost *c, double bytes)
{
	return c->ssd_latency_s + bytes / c->ssd_read_bytes_per_s;
}
