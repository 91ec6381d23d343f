/* Bytes that move: within the device, to and from pinned host memory, and sums over several devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bench.h"

enum { RANKS = 8 };

static void copy_once(struct mc_bench *b, const void *arg)
{
	b->be->copy(b->s, arg);
}

/* A KV block of all layers: what a transfer moves. pinned: 0 neither end, 1 the source, 2 the target is host
 * memory.
 */
static void copy(struct mc_bench *b, size_t bytes, const char *what, int pinned)
{
	struct mc_copy a = {.bytes = bytes, .rows = 1};
	struct mc_bench_case c = {.op = "copy",
				  .work = mc_work_copy(&a),
				  .bytes = 2 * mc_bench_room_of(bytes),
				  .arg_size = sizeof a,
				  .once = copy_once,
				  .out_n = bytes / mc_dtype_bytes(b->o->dtype),
				  .out_dtype = b->o->dtype};
	struct mc_bench_result r;
	size_t n = bytes / mc_dtype_bytes(b->o->dtype);
	char *host = NULL;

	/* Only one end is in the device's memory. */
	c.work.bytes /= pinned ? 2 : 1;
	snprintf(c.shape, sizeof c.shape, "KV block of %zu KiB, %s", bytes / 1024, what);
	if (!mc_bench_begin(b, &c))
		return;
	if (pinned) {
		/* On a CPU both ends are memory of its own, and there is one block of the host's. */
		c.cached |= b->host && mc_bench_cached(b, (double)bytes);
		host = b->be->alloc(b->dev, MC_PINNED, bytes, &b->err);
		b->failed |= !host;
		if (host)
			memset(host, 0, bytes);
	}
	for (int i = 0; i < c.copies; i++) {
		a.from = pinned == 1 ? host : mc_bench_numbers(b, n, b->o->dtype);
		a.to = pinned == 2 ? host : mc_bench_room(b, bytes);
		((struct mc_copy *)c.args)[i] = a;
	}
	c.out = pinned == 2 ? NULL : ((struct mc_copy *)c.args)[0].to;
	mc_bench_end(b, &c, &r);
	b->be->release(b->dev, MC_PINNED, host);
}

void mc_bench_copy(struct mc_bench *b)
{
	size_t block = (size_t)mc_llama_kv_token_bytes(&b->rank, b->o->dtype) * (size_t)b->o->block_tokens;

	copy(b, block, "within the device", 0);
	copy(b, block, "from the host", 1);
	copy(b, block, "to the host", 2);
}

/* The devices beside the first, and what they add up. */
struct group {
	int ranks;
	struct mc_device *dev[RANKS];
	struct mc_stream *s[RANKS];
	void *buffer[RANKS];
	struct mc_comm *comm;
	struct mc_all_reduce a;
};

static void reduce_once(struct mc_bench *b, const void *arg)
{
	struct group *const *g = arg;

	b->be->all_reduce((*g)->comm, &(*g)->a);
}

static int open_all(struct mc_bench *b, struct group *g, size_t bytes)
{
	int rc;

	for (int i = 0; i < g->ranks; i++) {
		struct mc_device_want want = {.index = (int)b->o->device + i, .threads = (int)b->o->threads};

		if (i == 0) {
			g->dev[0] = b->dev;
			g->s[0] = b->s;
		} else if ((rc = b->be->device_open(&g->dev[i], &want, &b->err)) ||
			   (rc = b->be->stream_open(&g->s[i], g->dev[i], MC_COMPUTE, &b->err)))
			return rc;
		g->buffer[i] = b->be->alloc(g->dev[i], MC_DEVICE, bytes, &b->err);
		if (!g->buffer[i])
			return b->err.rc;
		/* Zeros: sums of sums would grow without bound. */
		b->be->fill(g->s[i], g->buffer[i], 0, bytes);
		if ((rc = b->be->stream_sync(g->s[i], &b->err)))
			return rc;
	}
	return b->be->comm_open(&g->comm, g->dev, g->ranks, bytes, &b->err);
}

static void close_all(struct mc_bench *b, struct group *g)
{
	for (int i = 0; i < g->ranks; i++)
		if (g->s[i])
			b->be->stream_sync(g->s[i], NULL);
	b->be->comm_close(g->comm);
	for (int i = 0; i < g->ranks && g->dev[i]; i++) {
		b->be->release(g->dev[i], MC_DEVICE, g->buffer[i]);
		if (i > 0) {
			b->be->stream_close(g->s[i]);
			b->be->device_close(g->dev[i]);
		}
	}
}

/* What each half of a layer ends with: the sum of hidden states. */
static void all_reduce(struct mc_bench *b, int rows)
{
	struct group g = {.ranks = (int)b->o->ranks}, *pointer = &g;
	size_t bytes;
	struct mc_bench_case c = {.op = "all_reduce", .arg_size = sizeof pointer, .once = reduce_once};
	struct mc_bench_result r;

	g.a = (struct mc_all_reduce){.stream = g.s,
				     .buffer = g.buffer,
				     .count = (size_t)rows * (size_t)b->o->model->hidden,
				     .dtype = b->o->dtype};
	bytes = g.a.count * mc_dtype_bytes(g.a.dtype);
	c.bytes = bytes;
	c.work = mc_work_all_reduce(&g.a, g.ranks);
	snprintf(c.shape, sizeof c.shape, "%d x %d, %d ranks", rows, b->o->model->hidden, g.ranks);
	if (!mc_bench_begin(b, &c))
		return;
	/* The buffers are there once: their devices' memory is not the first one's to give. */
	c.cached = mc_bench_cached(b, (double)bytes * (b->host ? g.ranks : 1));
	for (int i = 0; i < c.copies; i++)
		((struct group **)c.args)[i] = pointer;
	b->failed |= open_all(b, &g, bytes) != 0;
	c.out = g.buffer[0];
	c.out_n = g.a.count;
	c.out_dtype = g.a.dtype;
	mc_bench_end(b, &c, &r);
	close_all(b, &g);
}

/* Only where there are several. */
void mc_bench_all_reduce(struct mc_bench *b)
{
	struct mc_bench_case c = {.op = "all_reduce", .shape = "all"};

	if (b->o->ranks > 1)
		mc_bench_each_rows(b, all_reduce);
	else
		mc_bench_skip(b, &c, "one rank has nothing to sum (--tp 2 or more)");
}
