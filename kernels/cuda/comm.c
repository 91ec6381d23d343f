/*
 * Communicators of local GPUs: the memory in which their all-reduce kernels (all_reduce.cu) meet. Each rank
 * has two sets of slots for small buffers (2 MiB a set, shared by the ranks), and its flags; all ranks write
 * there, so each must reach all others' memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"

enum {
	SET_BYTES = 2 << 20,
	FLAG_BYTES = MC_REDUCE_BLOCKS * MC_REDUCE_RANKS * (int)sizeof(uint32_t),
};

struct mc_comm {
	int ranks;
	int blocks; /* of a kernel at most: no more than any device has multiprocessors */
	size_t max_bytes;
	struct mc_device *dev[MC_REDUCE_RANKS];
	unsigned char *memory[MC_REDUCE_RANKS]; /* two sets of slots, flags */
	uint32_t epoch;                         /* meetings that were, or are queued */
	unsigned set;                           /* of slots, that the next small buffer takes */
};

static int reach(struct mc_comm *c, struct mc_err *err)
{
	for (int i = 0; i < c->ranks; i++)
		for (int j = 0; j < c->ranks; j++) {
			int rc;

			if (i == j)
				continue;
			if (c->dev[i]->index == c->dev[j]->index)
				return mc_err_set(err, MC_NOHW,
						  "ranks %d and %d share device %d; expected a device "
						  "of its own for each",
						  i < j ? i : j, i < j ? j : i, c->dev[i]->index);
			rc = mc_cuda_peer_enable(c->dev[i], c->dev[j], err);
			if (rc)
				return rc;
		}
	return 0;
}

/* Load the kernels now: loading may wait for the device, and in a reduction peers would wait for it. With one
 * rank and nothing to sum they end at once; what they write to the flags is cleared after. */
static void load_kernels(struct mc_stream *s, uint32_t *flags)
{
	static const enum mc_dtype formats[] = {MC_BF16, MC_F16};

	for (int i = 0; i < 4; i++) {
		struct mc_cuda_reduce a = {
		    .flag = {flags}, .slot_chunks = i & 1, .ranks = 1, .blocks = 1, .dtype = formats[i / 2]};

		mc_cuda_queued(s, "all-reduce", mc_cuda_all_reduce(s->cu, &a));
	}
}

static int rank_open(struct mc_comm *c, int rank, struct mc_err *err)
{
	struct mc_stream *s;
	size_t bytes = 2 * SET_BYTES + FLAG_BYTES;
	int rc;

	c->memory[rank] = mc_cuda_alloc(c->dev[rank], MC_DEVICE, bytes, err);
	if (!c->memory[rank])
		return MC_FAIL;
	rc = mc_cuda_stream_open(&s, c->dev[rank], MC_COPY, err);
	if (rc)
		return rc;
	load_kernels(s, (uint32_t *)(c->memory[rank] + 2 * SET_BYTES));
	mc_cuda_fill(s, c->memory[rank] + 2 * SET_BYTES, 0, FLAG_BYTES);
	rc = mc_cuda_stream_sync(s, err);
	mc_cuda_stream_close(s);
	return rc;
}

int mc_cuda_comm_open(struct mc_comm **out, struct mc_device *const *d, int ranks, size_t max_bytes,
		      struct mc_err *err)
{
	struct mc_comm *c = calloc(1, sizeof *c);
	int rc;

	assert(ranks >= 1 && ranks <= MC_REDUCE_RANKS);
	*out = NULL;
	if (!c)
		return mc_err_set(err, MC_FAIL, "out of memory");
	c->ranks = ranks;
	c->max_bytes = max_bytes;
	c->blocks = MC_REDUCE_BLOCKS;
	for (int i = 0; i < ranks; i++) {
		c->dev[i] = d[i];
		if (d[i]->units < c->blocks)
			c->blocks = d[i]->units;
	}
	rc = reach(c, err);
	for (int i = 0; i < ranks && !rc; i++)
		rc = rank_open(c, i, err);
	if (rc) {
		mc_cuda_comm_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void mc_cuda_comm_close(struct mc_comm *c)
{
	if (!c)
		return;
	for (int i = 0; i < c->ranks; i++)
		if (c->memory[i])
			mc_cuda_release(c->dev[i], MC_DEVICE, c->memory[i]);
	free(c);
}

void mc_cuda_comm_all_reduce(struct mc_comm *c, const struct mc_all_reduce *a)
{
	size_t chunks = a->count / 8, slot_chunks = SET_BYTES / 16 / (size_t)c->ranks;
	bool one_shot = chunks <= slot_chunks;
	struct mc_cuda_reduce part = {.chunks = (int64_t)chunks,
				      .slot_chunks = one_shot ? (int64_t)slot_chunks : 0,
				      .ranks = c->ranks,
				      .blocks = c->blocks,
				      .epoch = c->epoch + 1,
				      .dtype = a->dtype};

	assert(a->dtype == MC_BF16 || a->dtype == MC_F16);
	assert(a->count % 8 == 0 && chunks * 16 <= c->max_bytes);
	if (c->ranks == 1 || chunks == 0)
		return;
	for (int i = 0; i < c->ranks; i++) {
		assert(a->stream[i]->dev->index == c->dev[i]->index && (uintptr_t)a->buffer[i] % 16 == 0);
		part.buffer[i] = a->buffer[i];
		part.slots[i] = c->memory[i] + c->set * SET_BYTES;
		part.flag[i] = (uint32_t *)(c->memory[i] + 2 * SET_BYTES);
	}
	for (part.rank = 0; part.rank < c->ranks; part.rank++) {
		mc_cuda_use(c->dev[part.rank]);
		mc_cuda_queued(a->stream[part.rank], "all-reduce",
			       mc_cuda_all_reduce(a->stream[part.rank]->cu, &part));
	}
	c->epoch += one_shot ? 1 : 2;
	c->set ^= one_shot;
}
