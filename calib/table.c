/* Does the sum of a layer's operators say what the layer takes, and the sum of it all the step? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/compute.h"

/* The samples of one step stand together, the step's own last. */
struct group {
	const struct mc_opsample *at;
	size_t n;
};

static bool dims_are(const struct mc_op_point *p, const int64_t *d)
{
	for (int i = 0; i < MC_DIMS; i++)
		if (mc_op_dims[p->op] >> i & 1 && p->dim[i] != *d++)
			return false;
	return true;
}

/* Seconds of an operator in the group; NAN: it isn't there. dims: those that it has, in order. */
static double seconds_of(const struct group *g, enum mc_op op, const int64_t *dims)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->at[i].point.op == op && dims_are(&g->at[i].point, dims))
			return g->at[i].seconds;
	return NAN;
}

#define OF(op, ...) seconds_of(g, MC_OP_##op, (const int64_t[]){__VA_ARGS__})

static double attention(const struct group *g, const struct mc_llama_shape *s, const int64_t *d)
{
	if (d[MC_DIM_ROWS] == 1)
		return OF(ATTENTION_DECODE, d[MC_DIM_CONTEXT] + 1, d[MC_DIM_SEQS], s->heads, s->kv_heads,
			  s->head_dim);
	return OF(ATTENTION_PREFILL, d[MC_DIM_ROWS], d[MC_DIM_CONTEXT], d[MC_DIM_SEQS], s->heads, s->kv_heads,
		  s->head_dim);
}

static double layer_sum(const struct group *g, const struct mc_llama_shape *s, const int64_t *d)
{
	int64_t rows = d[MC_DIM_ROWS] * d[MC_DIM_SEQS];

	return 2 * OF(NORM, rows, s->hidden) +
	       OF(GEMM, rows, (s->heads + 2 * s->kv_heads) * s->head_dim, s->hidden) +
	       OF(ROPE, rows, s->heads, s->kv_heads, s->head_dim) +
	       OF(KV_SCATTER, rows, s->kv_heads, s->head_dim) + attention(g, s, d) +
	       OF(GEMM, rows, s->hidden, s->heads * s->head_dim) + OF(GEMM, rows, 2 * s->ffn, s->hidden) +
	       OF(SWIGLU, rows, s->ffn) + OF(GEMM, rows, s->hidden, s->ffn);
}

static double outside_sum(const struct group *g, const struct mc_llama_shape *s, const int64_t *d)
{
	int64_t picks = d[MC_DIM_SEQS];

	return OF(EMBED, d[MC_DIM_ROWS] * picks, s->hidden) + OF(NORM, picks, s->hidden) +
	       OF(GEMM, picks, s->vocab, s->hidden) + OF(SAMPLE, picks, s->vocab);
}

/* What is told of prefills, or of decodes. */
struct ratios {
	struct mc_calib_series layer, step, gap_s, host_s, host;
};

static void add(struct ratios *r, const struct mc_llama_shape *s, const struct group *g)
{
	const struct mc_opsample *step = &g->at[g->n - 1];
	const int64_t *d = step->point.dim;
	double layer = OF(LAYER, d[MC_DIM_ROWS], d[MC_DIM_CONTEXT], d[MC_DIM_SEQS]);
	double host = OF(HOST_STEP, d[MC_DIM_SEQS]), sum = layer_sum(g, s, d);
	double all = sum * s->layers + outside_sum(g, s, d) + host;

	if (!isfinite(all) || !isfinite(layer))
		return;
	mc_vec_push(&r->layer, fabs(sum / layer - 1));
	mc_vec_push(&r->gap_s, layer - sum);
	mc_vec_push(&r->step, fabs(all / step->seconds - 1));
	mc_vec_push(&r->host_s, host);
	mc_vec_push(&r->host, host / step->seconds);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double at_share(struct mc_calib_series *s, double share)
{
	qsort(s->at, s->n, sizeof *s->at, ascending);
	return s->at[(size_t)(share * (double)(s->n - 1) + 0.5)];
}

static void print(const char *name, struct ratios *r)
{
	if (r->layer.n)
		printf("%-8s %6zu | %8.1f %% %7.1f %% | %9.2f us | %8.1f %% %7.1f %% | %9.1f us %6.1f %%\n",
		       name, r->layer.n, 100 * at_share(&r->layer, 0.5), 100 * at_share(&r->layer, 0.95),
		       1e6 * at_share(&r->gap_s, 0.5), 100 * at_share(&r->step, 0.5),
		       100 * at_share(&r->step, 0.95), 1e6 * at_share(&r->host_s, 0.5),
		       100 * at_share(&r->host, 0.5));
	mc_vec_fini(&r->layer);
	mc_vec_fini(&r->step);
	mc_vec_fini(&r->gap_s);
	mc_vec_fini(&r->host_s);
	mc_vec_fini(&r->host);
}

void mc_calib_compute_table(const struct mc_calib_compute *c)
{
	const struct mc_opsamples *all = &c->session.all;
	struct ratios of[2] = {0};
	size_t from = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct group g = {&all->at[from], i + 1 - from};

		if (all->at[i].point.op != MC_OP_STEP)
			continue;
		if (!all->at[i].flag[0])
			add(&of[all->at[i].point.dim[MC_DIM_ROWS] == 1], &c->want.shape, &g);
		from = i + 1;
	}
	if (!of[0].layer.n && !of[1].layer.n)
		return;
	printf("%-8s %6s | %-20s | %12s | %-20s | %s\n", "", "", "sum against a layer", "gap",
	       "sum against a step", "the host's part");
	printf("%-8s %6s | %10s %9s | %12s | %10s %9s | %12s %8s\n", "", "points", "median", "p95",
	       "of a layer", "median", "p95", "of a step", "of it");
	print("prefill", &of[0]);
	print("decode", &of[1]);
}
