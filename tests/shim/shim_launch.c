/* A launch: its limits, and its blocks in some order, as many at a time as the device holds. */
#include "tests/shim/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED_A_UNIT = 167936, THREADS_A_UNIT = 2048, BLOCKS_A_UNIT = 32, ARG_LIMIT = 4096 };

struct shim_grid {
	struct shim_kernel kernel;
	struct shim_shape shape;
	void *args;
	uint64_t blocks, started;
	uint64_t factor, shift; /* block i of the order is number (i * factor + shift) % blocks */
	struct shim_block *stalled;
	int stalls, resident;
};

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

struct shim_grid *shim_grid_new(const struct shim_kernel *k, const struct shim_shape *shape)
{
	struct shim_grid *g = calloc(1, sizeof *g);
	int threads = (int)(shape->block.x * shape->block.y * shape->block.z);
	size_t by_threads = (size_t)(THREADS_A_UNIT / threads);
	size_t by_shared = SHARED_A_UNIT / (shape->shared + 1024);
	size_t a_unit = by_threads < by_shared ? by_threads : by_shared;

	g->kernel = *k;
	g->shape = *shape;
	g->args = malloc(k->arg_bytes + 1);
	memcpy(g->args, k->args, k->arg_bytes);
	g->blocks = (uint64_t)shape->grid.x * shape->grid.y * shape->grid.z;
	g->shift = shim_random() % g->blocks;
	do
		g->factor = shim_random() % g->blocks + 1;
	while (gcd(g->factor, g->blocks) != 1);
	if (shim_below(3) == 0) {
		g->factor = 1;
		g->shift = 0;
	}
	g->resident = SHIM_UNITS * (int)(a_unit < BLOCKS_A_UNIT ? a_unit : BLOCKS_A_UNIT);
	return g;
}

void shim_grid_free(struct shim_grid *g)
{
	while (g->stalled) {
		struct shim_block *b = g->stalled;

		g->stalled = b->next;
		shim_block_free(b);
	}
	free(g->args);
	free(g);
}

const struct shim_site *shim_grid_site(const struct shim_grid *g)
{
	return g->kernel.site;
}

static enum shim_result run_stalled(struct shim_grid *g, bool *progressed)
{
	for (struct shim_block **p = &g->stalled; *p;) {
		struct shim_block *b = *p;
		enum shim_result r = shim_block_run(b);

		if (r == SHIM_FAILED)
			return r;
		*progressed |= b->progressed;
		if (r == SHIM_STALLED) {
			p = &b->next;
			continue;
		}
		*p = b->next;
		shim_block_free(b);
		g->stalls--;
	}
	return SHIM_DONE;
}

enum shim_result shim_grid_run(struct shim_grid *g, bool *progressed)
{
	if (run_stalled(g, progressed) == SHIM_FAILED)
		return SHIM_FAILED;
	while (g->started < g->blocks && g->stalls < g->resident) {
		uint64_t number = (g->started++ * g->factor + g->shift) % g->blocks;
		struct shim_block *b = shim_block_new(&g->shape, g->kernel.site, number);
		enum shim_result r;

		b->call = g->kernel.call;
		b->args = g->args;
		b->next = g->stalled;
		*progressed = true;
		r = shim_block_run(b);
		if (r == SHIM_STALLED) {
			g->stalled = b;
			g->stalls++;
			continue;
		}
		shim_block_free(b);
		if (r == SHIM_FAILED)
			return r;
	}
	return g->stalled ? SHIM_STALLED : SHIM_DONE;
}

static cudaError_t refuse(const struct shim_kernel *k, const char *why)
{
	fprintf(stderr, "shim: %s:%d: %s: not launched: %s\n", k->site->file, k->site->line, k->site->what,
		why);
	return cudaErrorInvalidConfiguration;
}

static cudaError_t check(const struct shim_kernel *k, const struct shim_shape *s, cudaStream_t stream)
{
	struct dim3 g = s->grid, b = s->block;
	cudaError_t rc = shim_ready();
	int fault = shim_fault(SHIM_LAUNCH);

	if (rc || fault)
		return rc ? rc : (cudaError_t)fault;
	if (!shim_stream_valid(stream) || stream->device != shim_device()) {
		refuse(k, "the stream is not the current device's");
		return cudaErrorInvalidResourceHandle;
	}
	if (!g.x || !g.y || !g.z || g.x > 0x7fffffff || g.y > 65535 || g.z > 65535)
		return refuse(k, "the grid is empty, or larger than 2^31 - 1 x 65,535 x 65,535 blocks");
	if (!b.x || !b.y || !b.z || b.x > 1024 || b.y > 1024 || b.z > 64 ||
	    b.x * b.y * b.z > SHIM_MAX_THREADS)
		return refuse(k, "a block has no threads, or more than 1,024");
	if (k->arg_bytes > ARG_LIMIT)
		return refuse(k, "more than 4,096 bytes of arguments");
	if (s->shared > shim_dynamic_limit(k->function, stream->device)) {
		refuse(k, "more dynamic shared memory than 48 KiB, or than cudaFuncSetAttribute allowed on "
			  "this device");
		return cudaErrorInvalidValue;
	}
	return cudaSuccess;
}

void shim_launch(const struct shim_kernel *k, const struct shim_shape *s, cudaStream_t stream)
{
	cudaError_t rc;

	shim_lock();
	rc = shim_return(check(k, s, stream));
	if (!rc) {
		struct shim_op op = {.kind = SHIM_OP_GRID, .grid = shim_grid_new(k, s)};

		shim_queue(stream, &op, NULL, 0);
	}
	shim_unlock();
}
