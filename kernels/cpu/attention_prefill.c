/*
 * Attention of many new tokens. Work is cut into tiles of up to 96 rows (new tokens times the heads of a
 * group), for each sequence and KV head; threads take the next tile when they are done with one (long ones
 * first), and no tile's result depends on another. Operations: 4 head_dim heads for each pair of a new token
 * and one at or before it; limit: the multipliers.
 */
#include <stdatomic.h>

#include "kernels/cpu/attend.h"

struct job {
	const struct mc_attention *a;
	struct mc_cpu_team *team;
	int rows; /* new tokens of a tile */
	size_t tiles;
	atomic_size_t next;
};

static void finish(const struct mc_cpu_tile *t, const struct mc_cpu_attended *r)
{
	const struct mc_attention *a = t->a;
	size_t head_dim = (size_t)a->pages.layout.head_dim,
	       group = (size_t)(a->heads / a->pages.layout.kv_heads);
	size_t row = (size_t)a->batch.row_start[t->seq] + (size_t)t->first;

	for (size_t i = 0; i < (size_t)t->rows * group; i++) {
		float *y = (float *)a->out + (row + i / group) * (size_t)a->out_stride +
			   ((size_t)t->head * group + i % group) * head_dim;
		float by = 1 / r->sum[i];

		for (size_t d = 0; d < head_dim; d++)
			y[d] = r->out[i * head_dim + d] * by;
	}
}

static void work(void *arg, int thread, int threads)
{
	struct job *j = arg;
	const struct mc_attention *a = j->a;
	size_t heads = (size_t)a->pages.layout.kv_heads, seqs = (size_t)a->batch.seqs, i;

	(void)threads;
	while ((i = atomic_fetch_add(&j->next, 1)) < j->tiles * heads * seqs) {
		struct mc_cpu_tile t = {.a = a,
					.vec = j->team->vec,
					.scratch = mc_cpu_team_scratch(j->team, thread),
					.seq = (int)(i / heads % seqs),
					.head = (int)(i % heads),
					.first = (int)(j->tiles - 1 - i / heads / seqs) * j->rows};
		struct mc_cpu_attended r;
		int rows = a->batch.row_start[t.seq + 1] - a->batch.row_start[t.seq];

		if (t.first >= rows)
			continue;
		t.rows = rows - t.first < j->rows ? rows - t.first : j->rows;
		t.to = a->batch.context[t.seq] + t.first + t.rows;
		mc_cpu_attend(&t, &r);
		finish(&t, &r);
	}
}

void mc_cpu_attention_prefill(struct mc_cpu_team *t, const void *arguments)
{
	const struct mc_attention *a = arguments;
	struct job j = {.a = a, .team = t, .rows = MC_CPU_TILE_ROWS / (a->heads / a->pages.layout.kv_heads)};

	if (a->batch.seqs == 0)
		return;
	j.tiles = ((size_t)a->batch.max_rows + (size_t)j.rows - 1) / (size_t)j.rows;
	mc_cpu_pool_run(t->pool,
			mc_cpu_team_threads(t,
					    (size_t)a->batch.rows * (size_t)a->batch.max_tokens *
						(size_t)a->heads * (size_t)a->pages.layout.head_dim,
					    1 << 16),
			work, &j);
}
