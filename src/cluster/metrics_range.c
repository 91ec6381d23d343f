/* How often passes lie beyond the operators that their times come from. */
#include <math.h>

#include "cluster/metrics.h"

/* A pass, as often as `times`, in which the dimension is x. */
static void count(struct mc_range_count *k, double x, int64_t times)
{
	k->passes += times;
	k->below += x < k->range.low ? times : 0;
	k->above += x > k->range.high ? times : 0;
	k->most = fmax(k->most, x);
}

/* The same of iterations in which it grows by 1. */
static void count_growing(struct mc_range_count *k, double x, int64_t times)
{
	double n = (double)times, below = ceil(k->range.low - x), within = floor(k->range.high - x) + 1;

	k->passes += times;
	k->below += (int64_t)fmin(fmax(below, 0), n);
	k->above += (int64_t)(n - fmin(fmax(within, 0), n));
	k->most = fmax(k->most, x + n - 1);
}

/* Each prompt as if its chunks were passes of their own, as they are on prefill nodes. */
static void count_prompt(const struct mc_cost *cost, const struct mc_row *row, struct mc_range_count *k)
{
	int64_t n = row->input, at = mc_row_hit(row), rows;

	for (at = at < n ? at : n - 1; at < n; at += rows) {
		rows = n - at < cost->chunk ? n - at : cost->chunk;
		if (k->range.per_row > 0)
			count(k, (double)rows * k->range.per_row, 1);
		else if (k->range.op == MC_OP_ATTENTION_PREFILL && rows > 1) /* else it is that of decode */
			count(k, (double)(k->range.dim == MC_DIM_ROWS ? rows : at), 1);
	}
}

static void count_segment(const struct mc_segment *g, struct mc_range_count *k)
{
	if (k->range.per_row > 0)
		count(k, (double)g->batch * k->range.per_row, g->count);
	else if (k->range.op != MC_OP_ATTENTION_DECODE)
		return;
	else if (k->range.dim == MC_DIM_SEQS)
		count(k, (double)g->batch, g->count);
	else
		count_growing(k, (double)g->context / (double)g->batch + 1, g->count);
}

void mc_metrics_ranges(const struct mc_cost *cost, const struct mc_result *r, struct mc_metrics *m)
{
	m->n_ranges = cost->table ? cost->table->n_ranges : 0;
	for (int i = 0; i < m->n_ranges; i++) {
		struct mc_range_count *k = &m->range[i];

		*k = (struct mc_range_count){.range = cost->table->range[i]};
		for (int64_t row = 0; row < r->n_rows; row++)
			if (r->row[row].counted && r->row[row].prefill_end >= 0)
				count_prompt(cost, &r->row[row], k);
		for (uint32_t d = 0; d < r->n_decode; d++)
			for (size_t s = 0; s < r->segment[d].n; s++)
				count_segment(&r->segment[d].at[s], k);
	}
}
