#include "model/roofline.h"

#include <stdio.h>

/* Figure 14's fit of the load differs from the bus speed by the drawing's resolution. */
#define LOAD_TOLERANCE 0.99
/* Sums of the same operations in another order differ by rounding. */
#define EQUAL 0.999999

static double max2(double a, double b)
{
	return a > b ? a : b;
}

void mc_roofline_init(struct mc_roofline *r, const struct mc_profile *p)
{
	r->flops = (double)p->gpus * p->peak_flops;
	r->memory_bytes_per_s = (double)p->gpus * p->memory_bytes_per_s;
}

double mc_roofline_prefill_s(const struct mc_roofline *r, const struct mc_shape *s, double n, double p)
{
	double flops = mc_shape_dense_flops_per_token(s) * (n - p) + mc_shape_attention_flops(s, n, p) +
		       mc_shape_head_flops(s);

	return max2(flops / r->flops, mc_shape_pass_bytes(s) / r->memory_bytes_per_s);
}

double mc_roofline_decode_s(const struct mc_roofline *r, const struct mc_shape *s, double batch,
			    double context)
{
	double flops = batch * (mc_shape_dense_flops_per_token(s) + mc_shape_head_flops(s)) +
		       context * mc_shape_pair_flops(s);
	double bytes = mc_shape_pass_bytes(s) + context * (double)mc_shape_kv_bytes_per_token(s);

	return max2(flops / r->flops, bytes / r->memory_bytes_per_s);
}

static void margin_prefill(const struct mc_cost *c, const struct mc_roofline *r, struct mc_roofline_margin *m)
{
	static const double shares[] = {0, 0.5, 0.9, 0.95, 0.99};
	double top = (double)c->trust_prefill_max;

	m->prefill = INFINITY;
	for (double n = 1; n <= top; n = n < top && n * 2 > top ? top : n * 2) {
		for (size_t i = 0; i <= sizeof shares / sizeof *shares; i++) {
			double p = i < sizeof shares / sizeof *shares ? floor(n * shares[i]) : n - 1;
			double ratio =
			    mc_cost_prefill_compute_s(c, n, p) / mc_roofline_prefill_s(r, &c->shape, n, p);

			if (ratio < m->prefill) {
				m->prefill = ratio;
				m->prefill_n = n;
				m->prefill_p = p;
			}
		}
	}
}

static void margin_decode(const struct mc_cost *c, const struct mc_roofline *r, struct mc_roofline_margin *m)
{
	double batch_top = (double)c->trust_batch_max;
	double context_top = (double)(c->vram_kv_tokens > 1 ? c->vram_kv_tokens : 1);

	m->decode = INFINITY;
	for (double b = 1; b <= batch_top; b = b < batch_top && b * 2 > batch_top ? batch_top : b * 2) {
		for (double x = 1; x <= context_top;
		     x = x < context_top && x * 4 > context_top ? context_top : x * 4) {
			double ratio =
			    mc_cost_decode_raw_s(c, b, x) / mc_roofline_decode_s(r, &c->shape, b, x);

			if (ratio < m->decode) {
				m->decode = ratio;
				m->decode_batch = b;
				m->decode_context = x;
			}
		}
	}
}

void mc_roofline_margins(const struct mc_cost *c, const struct mc_profile *p, struct mc_roofline_margin *m)
{
	struct mc_roofline r;

	mc_roofline_init(&r, p);
	margin_prefill(c, &r, m);
	margin_decode(c, &r, m);
	m->load = c->pf_load / (c->kv_bytes / p->h2d_bytes_per_s);
	m->net = 1 / p->net_efficiency;
}

int mc_roofline_check(const struct mc_cost *c, const struct mc_profile *p, struct mc_err *err)
{
	const struct mc_measured *e = c->times == MC_TIMES_MEASURED ? mc_cost_measured(p, &c->shape) : NULL;
	const char *other = c->times == MC_TIMES_OPERATORS ? "operators" : "analytic";
	struct mc_roofline_margin m;
	const char *part = NULL;
	char key[96];

	mc_roofline_margins(c, p, &m);
	if (!(m.prefill >= EQUAL)) {
		part = e ? "prefill" : other;
		mc_err_set(
		    err, MC_USAGE,
		    "prefill of %.0f tokens, %.0f of them cached, would take %.3g of the least time that "
		    "this hardware's peaks allow for %s",
		    m.prefill_n, m.prefill_p, m.prefill, c->shape.name);
	} else if (!(m.decode >= EQUAL)) {
		part = e ? "decode" : other;
		mc_err_set(
		    err, MC_USAGE,
		    "decode of batch %.0f with %.0f context tokens would take %.3g of the least time that "
		    "this hardware's peaks allow for %s",
		    m.decode_batch, m.decode_context, m.decode, c->shape.name);
	} else if (!(m.load >= LOAD_TOLERANCE)) {
		part = e ? "prefill.load_s_per_token" : other;
		mc_err_set(err, MC_USAGE,
			   "loads a cached token in %.3g of the time that hardware.h2d_bandwidth allows",
			   m.load);
	} else if (!(m.net >= EQUAL)) {
		mc_err_set(err, MC_USAGE, "is above 1: transfers faster than the NICs");
		mc_err_at(err, p->path, 0, 0, "hardware.net_efficiency");
		return MC_USAGE;
	}
	if (!part)
		return 0;
	if (e)
		snprintf(key, sizeof key, "measured.%.40s.%s", e->key, part);
	else
		snprintf(key, sizeof key, "%s", part);
	mc_err_at(err, p->path, 0, 0, key);
	return MC_USAGE;
}
