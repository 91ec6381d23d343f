/* One row of the time series: what the cluster looks like now. */
#include "cluster/state.h"
#include "sched/load.h"

static void sample_prefill(const struct mc_cluster *c, struct mc_sample *s)
{
	uint32_t n = c->view.prefill_living.n;
	__int128 wait = 0;

	for (uint32_t i = 0; i < c->view.n_prefill; i++) {
		mc_time free_at = mc_prefill_free_at(&c->prefill[i]);
		mc_time t = free_at > c->loop.now ? free_at - c->loop.now : 0;

		s->prefill_queued += c->prefill[i].queue.n;
		s->prefill_running += c->prefill[i].running;
		if (c->view.node[i].down)
			continue;
		s->prefill_wait_max = t > s->prefill_wait_max ? t : s->prefill_wait_max;
		wait += t;
	}
	if (n)
		s->prefill_wait_mean = (mc_time)(wait / n);
}

static void sample_pools(const struct mc_cluster *c, struct mc_sample *s)
{
	for (uint32_t i = 0; i < mc_cluster_nodes(c); i++) {
		struct mc_pool_stats p;

		if (c->ssd && c->ssd[i].pool) {
			p = mc_pool_stats(c->ssd[i].pool);
			s->ssd_used_blocks += p.present;
			s->ssd_blocks += p.capacity;
		}
		if (!c->pool[i] || mc_cluster_at_rest(c, i))
			continue;
		p = mc_pool_stats(c->pool[i]);
		s->pool_used_blocks += p.present;
		s->pool_blocks += p.capacity;
	}
}

static void sample_decode(const struct mc_cluster *c, struct mc_sample *s)
{
	for (uint32_t i = 0; i < c->view.n_decode; i++) {
		const struct mc_decode *d = &c->decode[i];
		uint32_t n = (uint32_t)d->batch.n;
		double kv = (double)d->reserved / (double)d->params.kv_tokens;

		s->decode_running += n;
		s->vram_reserved += d->reserved;
		s->vram_active += d->context + (int64_t)d->cursor * n;
		s->decode_waiting += mc_decode_waiting(d);
		s->decode_kv_ratio_max = kv > s->decode_kv_ratio_max ? kv : s->decode_kv_ratio_max;
		s->decode_batch_max = n > s->decode_batch_max ? n : s->decode_batch_max;
		if (n) {
			mc_time t = mc_cost_decode_ns(c->cost, n, d->context + (int64_t)d->cursor * n);

			s->decode_iteration_max = t > s->decode_iteration_max ? t : s->decode_iteration_max;
		}
	}
}

static void sample_roles(const struct mc_cluster *c, struct mc_sample *s)
{
	if (c->coupled) { /* they have both */
		s->prefill_nodes = s->decode_nodes = mc_cluster_nodes(c);
		return;
	}
	for (uint32_t i = 0; i < mc_cluster_nodes(c); i++)
		if (!mc_cluster_at_rest(c, i))
			*(i < c->view.n_prefill ? &s->prefill_nodes : &s->decode_nodes) +=
			    mc_view_width(&c->view, i);
}

static void sample_outages(const struct mc_cluster *c, struct mc_sample *s)
{
	for (uint32_t i = 0; i < mc_cluster_nodes(c); i++)
		*(i < c->view.n_prefill ? &s->prefill_down : &s->decode_down) += mc_cluster_dead(c, i);
}

static void sample_links(struct mc_cluster *c, struct mc_sample *s)
{
	double dt = mc_time_to_s(c->loop.now - c->sampled);

	for (uint32_t l = 0; l < c->result->n_links; l++) {
		double bytes = mc_fabric_link_bytes(c->fabric, l);
		double ratio =
		    dt > 0 ? (bytes - c->link_seen[l]) / (dt * mc_fabric_link_capacity(c->fabric, l)) : 0;

		c->link_seen[l] = bytes;
		if (ratio > s->link_ratio_max) {
			s->link_ratio_max = ratio;
			s->link_max = l;
		}
	}
	c->sampled = c->loop.now;
}

/* Arrivals were known to fit, what follows them was not: keep every other row; the busiest link is that of
 * the two intervals which are now one. */
static void thin_out(struct mc_result *r)
{
	struct mc_sample *s = r->samples.at;

	for (size_t i = 1; 2 * i < r->samples.n; i++) {
		const struct mc_sample *gone = &s[2 * i - 1];

		s[i] = s[2 * i];
		if (gone->link_ratio_max > s[i].link_ratio_max) {
			s[i].link_ratio_max = gone->link_ratio_max;
			s[i].link_max = gone->link_max;
		}
	}
	r->samples.n /= 2;
	r->sample *= 2;
}

void mc_cluster_sample(struct mc_cluster *c)
{
	struct mc_sample s = {
	    .at = c->loop.now, .input_tokens = c->input_tokens, .hit_tokens = c->hit_tokens};

	mc_cluster_coupled_look(c);
	mc_cluster_look(c);
	s.prefill_load = mc_load_prefill_pool(&c->view, c->scenario->slo.ttft);
	s.decode_load = mc_load_decode_pool(&c->view, c->scenario->slo.tbt);
	if (c->coupled) {
		mc_cluster_coupled_sample(c, &s);
	} else {
		sample_prefill(c, &s);
		sample_decode(c, &s);
	}
	sample_pools(c, &s);
	sample_links(c, &s);
	sample_outages(c, &s);
	mc_cluster_arrivals_sample(c, &s);
	sample_roles(c, &s);
	mc_vec_push(&c->result->samples, s);
	mc_cluster_replicas_sample(c);
	if (c->result->samples.n == MC_CLUSTER_SAMPLES)
		thin_out(c->result);
}
