/*
 * Sum of the buffers of up to 8 devices, the same bytes in each: ((b0 + b1) + b2) + ..., in pieces that stay
 * in the first-level cache. Bytes: 4 an element read and as many written, for each rank; bound by memory. The
 * team of rank 0 does it, once every rank's stream got there; the others wait for that.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

enum { PIECE = 1024, BUSY = 1 << 15 };

struct mc_comm {
	int ranks;
	size_t max_bytes;
	struct mc_event *ready[MC_CPU_DEVICES], *done;
};

struct reduce {
	const struct mc_cpu_vec *vec;
	float *buffer[MC_CPU_DEVICES];
	size_t count;
	int ranks;
};

static void work(void *arg, int thread, int threads)
{
	const struct reduce *a = arg;
	float sum[PIECE];
	size_t part[2], n;

	mc_cpu_part(a->count, PIECE, thread, threads, part);
	for (size_t i = part[0]; i < part[1]; i += n) {
		n = part[1] - i < PIECE ? part[1] - i : PIECE;
		memcpy(sum, a->buffer[0] + i, n * sizeof *sum);
		for (int r = 1; r < a->ranks; r++)
			a->vec->add(sum, a->buffer[r] + i, n);
		for (int r = 0; r < a->ranks; r++)
			memcpy(a->buffer[r] + i, sum, n * sizeof *sum);
	}
}

static void reduce(struct mc_cpu_team *t, const void *arguments)
{
	struct reduce a = *(const struct reduce *)arguments;

	a.vec = t->vec;
	mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, a.count * (size_t)a.ranks, BUSY), work, &a);
}

int mc_cpu_comm_open(struct mc_comm **out, struct mc_device *const *d, int ranks, size_t max_bytes,
		     struct mc_err *err)
{
	struct mc_comm *c = calloc(1, sizeof *c);

	assert(ranks >= 1 && ranks <= MC_CPU_DEVICES);
	*out = NULL;
	if (!c)
		return mc_err_set(err, MC_FAIL, "no memory for a communicator");
	c->ranks = ranks;
	c->max_bytes = max_bytes;
	for (int r = 0; r < ranks; r++)
		if (mc_cpu_event_open(&c->ready[r], d[r], err)) {
			mc_cpu_comm_close(c);
			return MC_FAIL;
		}
	if (mc_cpu_event_open(&c->done, d[0], err)) {
		mc_cpu_comm_close(c);
		return MC_FAIL;
	}
	*out = c;
	return 0;
}

void mc_cpu_comm_close(struct mc_comm *c)
{
	if (!c)
		return;
	for (int r = 0; r < c->ranks; r++)
		mc_cpu_event_close(c->ready[r]);
	mc_cpu_event_close(c->done);
	free(c);
}

void mc_cpu_all_reduce(struct mc_comm *c, const struct mc_all_reduce *a)
{
	struct reduce r = {.count = a->count, .ranks = c->ranks};

	assert(a->dtype == MC_F32 && a->count % 8 == 0 && a->count * sizeof(float) <= c->max_bytes);
	for (int i = 0; i < c->ranks; i++) {
		r.buffer[i] = a->buffer[i];
		mc_cpu_event_record(c->ready[i], a->stream[i]);
	}
	for (int i = 1; i < c->ranks; i++)
		mc_cpu_event_wait(c->ready[i], a->stream[0]);
	mc_cpu_stream_do(a->stream[0], reduce, &r, sizeof r);
	mc_cpu_event_record(c->done, a->stream[0]);
	for (int i = 1; i < c->ranks; i++)
		mc_cpu_event_wait(c->done, a->stream[i]);
}
