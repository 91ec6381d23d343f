/*
 * Operators that go row by row: RMSNorm, rotary embedding, SwiGLU, token embedding. f32; bound by memory (or
 * caches): bytes an element 8 (norm; 16 with a residual), 8 (rope), 12 (SwiGLU), 8 (embed). The squares of a
 * norm are summed in double. Threads share the rows; of SwiGLU the elements.
 */
#include <string.h>

#include "kernels/cpu/cpu.h"

/* Elements that keep a thread busy for some microseconds. */
enum { BUSY = 16384 };

struct job {
	const void *arguments;
	const struct mc_cpu_vec *vec;
};

static void norm(void *arg, int thread, int threads)
{
	const struct job *j = arg;
	const struct mc_norm *a = j->arguments;
	size_t part[2];

	mc_cpu_part((size_t)a->rows, 1, thread, threads, part);
	j->vec->norm(a, (int)part[0], (int)part[1]);
}

void mc_cpu_norm(struct mc_cpu_team *t, const void *arguments)
{
	const struct mc_norm *a = arguments;
	struct job j = {a, t->vec};

	mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, (size_t)a->rows * (size_t)a->hidden, BUSY), norm, &j);
}

static void rope(void *arg, int thread, int threads)
{
	const struct job *j = arg;
	const struct mc_rope *a = j->arguments;
	size_t part[2];

	mc_cpu_part((size_t)a->rows, 1, thread, threads, part);
	j->vec->rope(a, (int)part[0], (int)part[1]);
}

void mc_cpu_rope(struct mc_cpu_team *t, const void *arguments)
{
	const struct mc_rope *a = arguments;
	struct job j = {a, t->vec};

	mc_cpu_pool_run(
	    t->pool, mc_cpu_team_threads(t, (size_t)a->rows * (size_t)a->heads * (size_t)a->head_dim, BUSY),
	    rope, &j);
}

/* A part may begin and end within a row. */
static void swiglu(void *arg, int thread, int threads)
{
	const struct job *j = arg;
	const struct mc_swiglu *a = j->arguments;
	size_t part[2], ffn = (size_t)a->ffn, n;

	mc_cpu_part((size_t)a->rows * ffn, 64, thread, threads, part);
	for (size_t i = part[0]; i < part[1]; i += n) {
		const float *gate = (const float *)a->gate_up + i / ffn * 2 * ffn + i % ffn;

		n = ffn - i % ffn < part[1] - i ? ffn - i % ffn : part[1] - i;
		j->vec->swiglu(gate, gate + ffn, (float *)a->y + i, n);
	}
}

void mc_cpu_swiglu(struct mc_cpu_team *t, const void *arguments)
{
	const struct mc_swiglu *a = arguments;
	struct job j = {a, t->vec};

	mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, (size_t)a->rows * (size_t)a->ffn, BUSY), swiglu, &j);
}

static void embed(void *arg, int thread, int threads)
{
	const struct job *j = arg;
	const struct mc_embed *a = j->arguments;
	size_t part[2], bytes = (size_t)a->width * sizeof(float);

	mc_cpu_part((size_t)a->rows, 1, thread, threads, part);
	for (size_t i = part[0]; i < part[1]; i++) {
		unsigned char *y = (unsigned char *)a->y + i * bytes;

		if (a->id[i] < 0 || a->id[i] >= a->table_rows)
			memset(y, 0, bytes);
		else
			memcpy(y, (const unsigned char *)a->table + (size_t)a->id[i] * bytes, bytes);
	}
}

void mc_cpu_embed(struct mc_cpu_team *t, const void *arguments)
{
	const struct mc_embed *a = arguments;
	struct job j = {a, t->vec};

	mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, (size_t)a->rows * (size_t)a->width, 4 * BUSY), embed,
			&j);
}
