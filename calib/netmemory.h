/*
 * Memory that network measurements move bytes from and to, of the host or of a GPU: its first half is the
 * source, which holds a known pattern, the second the target.
 *
 * The pattern of a seed: the 8 bytes at offset i (a multiple of 8) are a hash of the seed and of i. So what
 * came from anywhere can be told from what should have come.
 */
#ifndef MC_CALIB_NETMEMORY_H
#define MC_CALIB_NETMEMORY_H

#include <stdint.h>

#include "base/err.h"
#include "kernels/backend.h"
#include "transport/memory.h"

struct mc_netmemory {
	struct mc_memory m;
	size_t half; /* bytes of the source, and of the target; a multiple of 64 */
	uint64_t seed;
	/* Of a GPU; NULL: host memory. */
	const struct mc_backend *backend;
	struct mc_device *device;
	struct mc_stream *stream;
	char *stage; /* pinned */
};

struct mc_netmemory_want {
	size_t bytes;     /* of both halves */
	const char *kind; /* "host" or "cuda" */
	uint64_t seed;
};

/* The source filled. MC_NOHW: no GPU. *n needs _free only on success. */
int mc_netmemory_alloc(struct mc_netmemory *n, const struct mc_netmemory_want *want, struct mc_err *err);
void mc_netmemory_free(struct mc_netmemory *n);

/* n bytes of the pattern from the offset on. */
void mc_netmemory_pattern(uint64_t seed, uint64_t offset, void *to, size_t n);
/* Bytes of the target, from `at` on, to something that is no pattern. */
int mc_netmemory_spoil(struct mc_netmemory *m, size_t at, size_t n, struct mc_err *err);

/* What bytes of the target should be. */
struct mc_netmemory_expected {
	size_t at, n;    /* in the target */
	uint64_t seed;   /* of the pattern */
	uint64_t offset; /* in it */
};

/* MC_FAIL: they are not; the first that is wrong is named. */
int mc_netmemory_check(struct mc_netmemory *m, const struct mc_netmemory_expected *x, struct mc_err *err);

static inline char *mc_netmemory_source(const struct mc_netmemory *m, size_t at)
{
	return (char *)m->m.base + at;
}

static inline char *mc_netmemory_target(const struct mc_netmemory *m, size_t at)
{
	return (char *)m->m.base + m->half + at;
}

#endif
