#include "hw/optime.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GEMM_NEIGHBOURS 4
#define GEMM_FACTOR     4
#define HEADS_FACTOR    8
#define BYTES_FACTOR    16

const char *const mc_op_hows[MC_HOWS] = {"curve", "interpolated", "scaled", "counted"};

char *mc_op_dims_text(const struct mc_op_point *p, char *text, size_t n)
{
	size_t at = 0;

	*text = '\0';
	for (int d = 0; d < MC_DIMS && at < n; d++)
		if (mc_op_dims[p->op] >> d & 1)
			at += (size_t)snprintf(text + at, n - at, "%s%s %lld", at ? ", " : "",
					       mc_dim_names[d], (long long)p->dim[d]);
	return text;
}

char *mc_op_point_text(const struct mc_op_point *p, char *text, size_t n)
{
	size_t at = (size_t)snprintf(text, n, "%s of ", mc_op_names[p->op]);

	if (at < n)
		mc_op_dims_text(p, text + at, n - at);
	return text;
}

static double work(const struct mc_operators *o, const struct mc_op_point *p)
{
	return mc_op_work_s(p, &o->limits, o->element_bytes);
}

static bool from_curve(const struct mc_operators *o, const struct mc_op_point *p, struct mc_op_time *out)
{
	const struct mc_curve *best = NULL;

	for (const struct mc_curve *c = o->curve; c < o->curve + o->n; c++)
		if (mc_curve_matches(c, p) && (!best || (!mc_curve_covers(best, p) && mc_curve_covers(c, p))))
			best = c;
	if (!best)
		return false;
	*out = (struct mc_op_time){mc_curve_s(best, p), MC_HOW_CURVE, mc_curve_covers(best, p)};
	return true;
}

/* The point with the curve's fixed dimensions in place of its own. */
static struct mc_op_point moved(const struct mc_curve *c, const struct mc_op_point *p)
{
	struct mc_op_point q = *p;

	for (int d = 0; d < MC_DIMS; d++)
		if (c->fixed.dim[d])
			q.dim[d] = c->fixed.dim[d];
	return q;
}

struct neighbour {
	const struct mc_curve *curve;
	double distance; /* squared, of logarithms */
};

/* The nearest curves of other n and k, in order; returns how many. */
static int gemm_neighbours(const struct mc_operators *o, const struct mc_op_point *p,
			   struct neighbour near[GEMM_NEIGHBOURS])
{
	int n = 0;

	for (const struct mc_curve *c = o->curve; c < o->curve + o->n; c++) {
		double dn, dk, d;
		int i;

		if (c->fixed.op != MC_OP_GEMM || !c->fixed.dim[MC_DIM_N] || !c->fixed.dim[MC_DIM_K])
			continue;
		dn = log((double)p->dim[MC_DIM_N] / (double)c->fixed.dim[MC_DIM_N]);
		dk = log((double)p->dim[MC_DIM_K] / (double)c->fixed.dim[MC_DIM_K]);
		d = dn * dn + dk * dk;
		if (fabs(dn) > log(GEMM_FACTOR) + 1e-9 || fabs(dk) > log(GEMM_FACTOR) + 1e-9)
			continue;
		for (i = n < GEMM_NEIGHBOURS ? n++ : GEMM_NEIGHBOURS; i > 0 && near[i - 1].distance > d; i--)
			if (i < GEMM_NEIGHBOURS)
				near[i] = near[i - 1];
		if (i < GEMM_NEIGHBOURS)
			near[i] = (struct neighbour){c, d};
	}
	return n;
}

static bool gemm_between(const struct mc_operators *o, const struct mc_op_point *p, struct mc_op_time *out)
{
	struct neighbour near[GEMM_NEIGHBOURS];
	int n = gemm_neighbours(o, p, near);
	double sum = 0, weights = 0;

	if (!n)
		return false;
	out->covered = true;
	for (int i = 0; i < n; i++) {
		struct mc_op_point q = moved(near[i].curve, p);
		double w = 1 / near[i].distance; /* not 0: that curve would have matched */

		sum += w * log(mc_curve_s(near[i].curve, &q) / work(o, &q));
		weights += w;
		out->covered &= mc_curve_covers(near[i].curve, &q);
	}
	out->seconds = work(o, p) * exp(sum / weights);
	out->how = n > 1 ? MC_HOW_INTERPOLATED : MC_HOW_SCALED;
	return true;
}

static bool attention_scaled(const struct mc_operators *o, const struct mc_op_point *p,
			     struct mc_op_time *out)
{
	const struct mc_curve *best = NULL;
	struct mc_op_point q;
	double nearest = log(HEADS_FACTOR) + 1e-9;

	for (const struct mc_curve *c = o->curve; c < o->curve + o->n; c++) {
		const int64_t *f = c->fixed.dim;
		double d;

		if (c->fixed.op != p->op || !f[MC_DIM_HEADS] || !f[MC_DIM_KV_HEADS] ||
		    f[MC_DIM_HEAD_DIM] != p->dim[MC_DIM_HEAD_DIM] ||
		    f[MC_DIM_HEADS] * p->dim[MC_DIM_KV_HEADS] != f[MC_DIM_KV_HEADS] * p->dim[MC_DIM_HEADS] ||
		    (f[MC_DIM_SEQS] && f[MC_DIM_SEQS] != p->dim[MC_DIM_SEQS]))
			continue;
		q = moved(c, p);
		if (!mc_curve_matches(c, &q) || q.dim[MC_DIM_ROWS] != p->dim[MC_DIM_ROWS] ||
		    q.dim[MC_DIM_CONTEXT] != p->dim[MC_DIM_CONTEXT])
			continue;
		d = fabs(log((double)p->dim[MC_DIM_HEADS] / (double)f[MC_DIM_HEADS]));
		if (d < nearest) {
			nearest = d;
			best = c;
		}
	}
	if (!best)
		return false;
	q = moved(best, p);
	*out = (struct mc_op_time){mc_curve_s(best, &q) * work(o, p) / work(o, &q), MC_HOW_SCALED,
				   mc_curve_covers(best, &q)};
	return true;
}

static bool attention(const struct mc_operators *o, const struct mc_op_point *p, struct mc_op_time *out)
{
	struct mc_op_point one = *p;

	if (attention_scaled(o, p, out))
		return true;
	one.dim[MC_DIM_SEQS] = 1;
	if (p->op != MC_OP_ATTENTION_PREFILL || p->dim[MC_DIM_SEQS] == 1 ||
	    (!from_curve(o, &one, out) && !attention_scaled(o, &one, out)))
		return false;
	out->seconds *= (double)p->dim[MC_DIM_SEQS];
	out->how = MC_HOW_SCALED;
	return true;
}

/* Operators that only move bytes, by rows. */
static bool bytes_only(const struct mc_operators *o, const struct mc_op_point *p, struct mc_op_time *out)
{
	const struct mc_curve *best = NULL;
	double nearest = log(BYTES_FACTOR) + 1e-9, rows;
	struct mc_op_point q;

	for (const struct mc_curve *c = o->curve; c < o->curve + o->n; c++) {
		double d;

		if (c->fixed.op != p->op || c->axes != 1 || c->dim[0] != MC_DIM_ROWS)
			continue;
		q = moved(c, p);
		d = fabs(log(work(o, p) / work(o, &q)));
		if (d < nearest) {
			nearest = d;
			best = c;
		}
	}
	if (!best) {
		*out = (struct mc_op_time){work(o, p), MC_HOW_COUNTED, true};
		return true;
	}
	q = moved(best, p);
	rows = floor((double)p->dim[MC_DIM_ROWS] * work(o, p) / work(o, &q) + 0.5);
	q.dim[MC_DIM_ROWS] = rows < 1 ? 1 : (int64_t)rows;
	*out = (struct mc_op_time){mc_curve_s(best, &q), MC_HOW_SCALED, mc_curve_covers(best, &q)};
	return true;
}

static bool derived(const struct mc_operators *o, const struct mc_op_point *p, struct mc_op_time *out)
{
	switch (p->op) {
	case MC_OP_GEMM:
		return gemm_between(o, p, out);
	case MC_OP_ATTENTION_PREFILL:
	case MC_OP_ATTENTION_DECODE:
		return attention(o, p, out);
	case MC_OP_NORM:
	case MC_OP_ROPE:
	case MC_OP_SWIGLU:
	case MC_OP_EMBED:
	case MC_OP_KV_SCATTER:
	case MC_OP_SAMPLE:
		return bytes_only(o, p, out);
	default:
		return false;
	}
}

int mc_op_time(const struct mc_operators *o, const struct mc_op_point *p, struct mc_op_time *out,
	       struct mc_err *err)
{
	double floor_s;
	char text[256];

	if (!from_curve(o, p, out) && !derived(o, p, out))
		return mc_err_set(err, MC_USAGE, "no curve gives the time of %s, and none is near enough",
				  mc_op_point_text(p, text, sizeof text));
	floor_s = mc_op_floor_s(p, &o->limits, o->element_bytes);
	if (out->seconds < floor_s)
		out->seconds = floor_s;
	return MC_OK;
}
