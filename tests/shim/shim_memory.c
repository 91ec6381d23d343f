/* Memory of the devices and pinned memory: who owns what, and what was forgotten. */
#include "tests/shim/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 };
static const size_t device_bytes = (size_t)8 << 30;

struct piece {
	unsigned char *at;
	size_t bytes;
	int device; /* -1: pinned */
};

static struct piece *piece; /* by address */
static size_t pieces, room, latest;
static size_t used[SHIM_MAX_DEVICES];

/* The number of pieces that start at or before p. */
static size_t upto(const void *p)
{
	size_t lo = 0, hi = pieces;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (piece[mid].at <= (const unsigned char *)p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct piece *find(const void *p)
{
	const unsigned char *q = p;
	size_t i;

	if (latest < pieces && q >= piece[latest].at && q < piece[latest].at + piece[latest].bytes)
		return &piece[latest];
	i = upto(p);
	if (!i || q >= piece[i - 1].at + piece[i - 1].bytes)
		return NULL;
	latest = i - 1;
	return &piece[latest];
}

bool shim_memory_has(const void *p, size_t bytes)
{
	const struct piece *a = find(p);

	return a && bytes <= a->bytes - (size_t)((const unsigned char *)p - a->at);
}

bool shim_memory_touches(const void *p)
{
	return find(p) != NULL;
}

static cudaError_t take(void **out, size_t bytes, int device)
{
	unsigned char *p;
	size_t i;
	int rc = shim_fault(SHIM_ALLOC);

	*out = NULL;
	if (rc)
		return (cudaError_t)rc;
	if (bytes == 0)
		return cudaSuccess;
	if (bytes > device_bytes || (device >= 0 && bytes > device_bytes - used[device]))
		return cudaErrorMemoryAllocation;
	p = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
	if (!p)
		return cudaErrorMemoryAllocation;
	memset(p, 0xff, bytes < (size_t)1 << 24 ? bytes : (size_t)1 << 24);
	if (pieces == room) {
		room = room ? 2 * room : 64;
		piece = realloc(piece, room * sizeof *piece);
	}
	i = upto(p);
	memmove(piece + i + 1, piece + i, (pieces - i) * sizeof *piece);
	piece[i] = (struct piece){p, bytes, device};
	pieces++;
	if (device >= 0)
		used[device] += bytes;
	*out = p;
	return cudaSuccess;
}

static cudaError_t give(void *p, bool pinned)
{
	const struct piece *a = p ? find(p) : NULL;

	if (!p)
		return cudaSuccess;
	if (!a || a->at != p || (a->device < 0) != pinned)
		return cudaErrorInvalidValue;
	/* It waits for the device; for pinned memory, for all of them. */
	shim_drain_device(a->device);
	if (a->device >= 0)
		used[a->device] -= a->bytes;
	memmove(piece + (a - piece), a + 1, (pieces - (size_t)(a - piece) - 1) * sizeof *piece);
	pieces--;
	free(p);
	return cudaSuccess;
}

static cudaError_t take_ready(void **out, size_t bytes, bool pinned)
{
	cudaError_t rc;

	shim_lock();
	rc = shim_ready();
	if (!rc)
		rc = take(out, bytes, pinned ? -1 : shim_device());
	rc = shim_return(rc);
	shim_unlock();
	return rc;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
	return take_ready(out, bytes, false);
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
	return take_ready(out, bytes, true);
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
	return flags & ~1u ? shim_return(cudaErrorInvalidValue) : take_ready(out, bytes, true);
}

static cudaError_t give_locked(void *p, bool pinned)
{
	cudaError_t rc;

	shim_lock();
	rc = shim_return(give(p, pinned));
	shim_unlock();
	return rc;
}

cudaError_t cudaFree(void *p)
{
	return give_locked(p, false);
}

cudaError_t cudaFreeHost(void *p)
{
	return give_locked(p, true);
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
	cudaError_t rc = shim_ready();

	if (rc)
		return shim_return(rc);
	*total = device_bytes;
	*left = device_bytes - used[shim_device()];
	return cudaSuccess;
}

int shim_memory_left(void)
{
	for (size_t i = 0; i < pieces; i++)
		fprintf(stderr, "shim: %zu bytes of %s memory were never freed\n", piece[i].bytes,
			piece[i].device < 0 ? "pinned" : "a device's");
	return (int)pieces;
}
