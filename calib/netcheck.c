#include "calib/netcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "calib/measure.h"

/* Median of a point's visits that have no flag; 0: there are none. */
static double median_of(const struct mc_opsamples *s, const struct mc_netpoint *p)
{
	struct mc_calib_series visits = {0};
	struct mc_calib_summary sum = {0};

	for (size_t i = 0; i < s->n; i++)
		if (!s->at[i].flag[0] && mc_netpoint_same(p, &s->at[i].point))
			mc_vec_push(&visits, s->at[i].seconds);
	if (visits.n)
		mc_calib_summarise(&visits, &sum);
	mc_vec_fini(&visits);
	return sum.median;
}

static struct mc_netpoint point_of(const struct mc_op_point *p)
{
	const int64_t *d = p->dim;

	return (struct mc_netpoint){.op = p->op,
				    .bytes = d[MC_DIM_BYTES],
				    .depth = d[MC_DIM_DEPTH],
				    .slice = d[MC_DIM_SLICE],
				    .peers = d[MC_DIM_PEERS],
				    .nics = d[MC_DIM_NICS]};
}

static bool possible(const struct mc_netlimits *l, const struct mc_netpoint *p)
{
	int64_t under_way = mc_net_stride(p->bytes) * p->depth;

	return p->bytes <= l->most && p->depth <= l->depth && p->peers <= l->peers && p->nics <= l->nics &&
	       under_way <= l->remote && under_way * p->peers <= l->local;
}

static int by_seconds(const void *va, const void *vb)
{
	const struct mc_opsample *a = *(const struct mc_opsample *const *)va,
				 *b = *(const struct mc_opsample *const *)vb;

	return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

static bool there(const struct mc_netgrid *g, const struct mc_netpoint *p)
{
	struct mc_op_point q = mc_netpoint_op(p);

	for (size_t i = 0; i < g->n; i++)
		if (mc_netpoint_same(&g->at[i], &q))
			return true;
	return false;
}

void mc_netcheck_anchors(struct mc_netgrid *g, const struct mc_opsamples *then, const struct mc_netlimits *l)
{
	const struct mc_opsample **all = mc_xcalloc(then->n + 1, sizeof *all);
	size_t n = 0;

	for (size_t i = 0; i < then->n; i++) {
		struct mc_netpoint p = point_of(&then->at[i].point);

		if (mc_op_is_net(p.op) && !then->at[i].flag[0] && possible(l, &p))
			all[n++] = &then->at[i];
	}
	if (n)
		qsort(all, n, sizeof *all, by_seconds);
	for (size_t i = 0; i < MC_NETCHECK_ANCHORS && n; i++) {
		struct mc_netpoint p = point_of(&all[(2 * i + 1) * n / (2 * MC_NETCHECK_ANCHORS)]->point);

		if (!there(g, &p))
			mc_vec_push(g, p);
	}
	free(all);
}

static int by_error(const void *va, const void *vb)
{
	const struct mc_netpair *a = va, *b = vb;

	return (a->error > b->error) - (a->error < b->error);
}

void mc_netcheck_pairs(struct mc_netpairs *out, const struct mc_netgrid *g, size_t anchors,
		       const struct mc_opsamples *now, const struct mc_nettime *t)
{
	*out = (struct mc_netpairs){0};
	for (size_t i = anchors; i < g->n; i++) {
		struct mc_op_point q = mc_netpoint_op(&g->at[i]);
		struct mc_netpair p = {.at = g->at[i], .measured = median_of(now, &g->at[i])};

		if (!(p.measured > 0))
			continue;
		p.predicted = mc_nettime_point_s(t, &q);
		mc_vec_push(out, p);
	}
	mc_netcheck_at_pace(out, 1);
}

double mc_netcheck_pace(const struct mc_netgrid *g, size_t anchors, const struct mc_opsamples *now,
			const struct mc_opsamples *then)
{
	struct mc_calib_series ratios = {0};
	struct mc_calib_summary sum = {0};

	for (size_t i = 0; i < anchors; i++) {
		double is = median_of(now, &g->at[i]), was = median_of(then, &g->at[i]);

		if (is > 0 && was > 0)
			mc_vec_push(&ratios, is / was);
	}
	if (ratios.n)
		mc_calib_summarise(&ratios, &sum);
	mc_vec_fini(&ratios);
	return sum.median;
}

void mc_netcheck_at_pace(struct mc_netpairs *p, double pace)
{
	for (size_t i = 0; i < p->n; i++)
		p->at[i].error = fabs(p->at[i].predicted * pace / p->at[i].measured - 1);
	if (p->n)
		qsort(p->at, p->n, sizeof *p->at, by_error);
}

double mc_netcheck_share(const struct mc_netpairs *p, double share)
{
	return p->at[(size_t)ceil(share * (double)p->n) - 1].error;
}

/* Which of them a line is of. */
struct class
{
	const char *name;
	unsigned ops;        /* bits */
	int64_t above, most; /* bytes */
	int64_t depth[2], peers[2];
};

#define ALL_OPS (1u << MC_OP_NET_READ | 1u << MC_OP_NET_WRITE | 1u << MC_OP_NET_BOTH)
#define ANY                                                                                                  \
	{                                                                                                    \
		1, INT64_MAX                                                                                 \
	}
static const struct class classes[] = {
    {"net_read", 1u << MC_OP_NET_READ, 0, INT64_MAX, ANY, ANY},
    {"net_write", 1u << MC_OP_NET_WRITE, 0, INT64_MAX, ANY, ANY},
    {"net_both", 1u << MC_OP_NET_BOTH, 0, INT64_MAX, ANY, ANY},
    {"up to 4 KiB", ALL_OPS, 0, 4 << 10, ANY, ANY},
    {"up to 64 KiB", ALL_OPS, 4 << 10, 64 << 10, ANY, ANY},
    {"up to 1 MiB", ALL_OPS, 64 << 10, 1 << 20, ANY, ANY},
    {"above 1 MiB", ALL_OPS, 1 << 20, INT64_MAX, ANY, ANY},
    {"one request", ALL_OPS, 0, INT64_MAX, {1, 1}, {1, 1}},
    {"several", ALL_OPS, 0, INT64_MAX, {2, INT64_MAX}, {1, 1}},
    {"several peers", ALL_OPS, 0, INT64_MAX, ANY, {2, INT64_MAX}},
    {"all", ALL_OPS, 0, INT64_MAX, ANY, ANY},
};

static bool belongs(const struct class *c, const struct mc_netpoint *p)
{
	return c->ops >> p->op & 1 && p->bytes > c->above && p->bytes <= c->most && p->depth >= c->depth[0] &&
	       p->depth <= c->depth[1] && p->peers >= c->peers[0] && p->peers <= c->peers[1];
}

static void line_of(const struct class *c, const struct mc_netpairs *all, FILE *out)
{
	struct mc_netpairs of = {0};
	const struct mc_netpair *w;
	char bytes[MC_UNITS_TEXT];
	size_t low = 0;

	for (size_t i = 0; i < all->n; i++)
		if (belongs(c, &all->at[i].at)) {
			mc_vec_push(&of, all->at[i]);
			low += all->at[i].predicted < all->at[i].measured;
		}
	if (of.n) {
		w = &of.at[of.n - 1];
		fprintf(out,
			"%-13s %6zu  %6.1f %% %6.1f %% %6.1f %%  %4.0f %%  %s of %s, %lld to each of %lld: "
			"%.4g s, "
			"predicted %.4g s\n",
			c->name, of.n, 100 * mc_netcheck_share(&of, 0.5), 100 * mc_netcheck_share(&of, 0.95),
			100 * w->error, 100 * (double)low / (double)of.n, mc_op_names[w->at.op],
			mc_units_format_bytes((double)w->at.bytes, bytes), (long long)w->at.depth,
			(long long)w->at.peers, w->measured, w->predicted);
	}
	mc_vec_fini(&of);
}

void mc_netcheck_print(const struct mc_netpairs *p, FILE *out)
{
	fprintf(out, "%-13s %6s  %8s %8s %8s  %6s  %s\n", "", "points", "median", "p95", "worst", "low",
		"worst at");
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		line_of(&classes[i], p, out);
}
