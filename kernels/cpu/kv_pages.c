/*
 * K and V rows of new tokens to their pages and back, and plain copies. Bytes: each number is read and
 * written once; bound by memory. Threads share the rows (of one long row the bytes).
 */
#include <string.h>

#include "kernels/cpu/cpu.h"

/* Bytes that keep a thread busy for some microseconds. */
enum { BUSY = 1 << 17, LINE = 64 };

struct rows_job {
	const struct mc_kv_rows *a;
	bool scatter;
};

static void move_row(const struct rows_job *j, size_t row)
{
	const struct mc_kv_rows *a = j->a;
	const struct mc_pages *p = &a->pages;
	const struct mc_kv_layout *l = &p->layout;
	size_t bytes = (size_t)l->head_dim * sizeof(float);
	int position = a->batch.position[row];
	int block = p->table[(size_t)a->batch.row_seq[row] * (size_t)p->table_stride +
			     (size_t)(position / l->block_tokens)];
	unsigned char *page = (unsigned char *)p->pool + mc_kv_layer_offset(l, block, p->layer) +
			      (size_t)(position % l->block_tokens) * bytes;

	for (int part = 0; part < 2; part++)
		for (int h = 0; h < l->kv_heads; h++) {
			unsigned char *in = page + mc_kv_tile_offset(l, part, h);
			float *out = (float *)(part ? a->v : a->k) + row * (size_t)a->stride +
				     (size_t)h * (size_t)l->head_dim;

			if (j->scatter)
				memcpy(in, out, bytes);
			else
				memcpy(out, in, bytes);
		}
}

static void move_rows(void *arg, int thread, int threads)
{
	const struct rows_job *j = arg;
	size_t part[2];

	mc_cpu_part((size_t)j->a->batch.rows, 1, thread, threads, part);
	for (size_t i = part[0]; i < part[1]; i++)
		move_row(j, i);
}

static void start(struct mc_cpu_team *t, const struct mc_kv_rows *a, bool scatter)
{
	struct rows_job j = {a, scatter};
	size_t row = 2 * (size_t)a->pages.layout.kv_heads * (size_t)a->pages.layout.head_dim * sizeof(float);

	mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, row * (size_t)a->batch.rows, BUSY), move_rows, &j);
}

void mc_cpu_scatter(struct mc_cpu_team *t, const void *arguments)
{
	start(t, arguments, true);
}

void mc_cpu_gather(struct mc_cpu_team *t, const void *arguments)
{
	start(t, arguments, false);
}

static void copy(void *arg, int thread, int threads)
{
	const struct mc_copy *a = arg;
	unsigned char *to = a->to;
	const unsigned char *from = a->from;
	size_t part[2];

	if (a->rows == 1) {
		mc_cpu_part(a->bytes, LINE, thread, threads, part);
		memcpy(to + part[0], from + part[0], part[1] - part[0]);
		return;
	}
	mc_cpu_part(a->rows, 1, thread, threads, part);
	for (size_t i = part[0]; i < part[1]; i++)
		memcpy(to + i * a->to_pitch, from + i * a->from_pitch, a->bytes);
}

void mc_cpu_copy(struct mc_cpu_team *t, const void *arguments)
{
	struct mc_copy a = *(const struct mc_copy *)arguments;

	if (a.bytes && a.rows)
		mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, a.bytes * a.rows, BUSY), copy, &a);
}

static void fill(void *arg, int thread, int threads)
{
	const struct mc_cpu_fill *a = arg;
	size_t part[2];

	mc_cpu_part(a->bytes, LINE, thread, threads, part);
	if (part[1] > part[0])
		memset((unsigned char *)a->p + part[0], a->byte, part[1] - part[0]);
}

void mc_cpu_fill(struct mc_cpu_team *t, const void *arguments)
{
	struct mc_cpu_fill a = *(const struct mc_cpu_fill *)arguments;

	mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, a.bytes, BUSY), fill, &a);
}
