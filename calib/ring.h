/*
 * Reads and writes of a file, many under way at once: Linux's io_uring, by its system calls alone. One thread
 * uses a ring. Requests are queued, handed to the kernel together, and come back in any order; a result is
 * what read(2) or write(2) would have said, so it may be short.
 */
#ifndef MC_CALIB_RING_H
#define MC_CALIB_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { MC_RING_DEPTH_MAX = 4096 };

struct mc_ring;

struct mc_ring_request {
	int fd;
	bool write;
	void *buffer; /* must stay until the request is done */
	uint32_t bytes;
	int64_t offset;
	uint64_t tag; /* comes back with the result */
};

struct mc_ring_done {
	uint64_t tag;
	int result; /* bytes, or a negative errno */
};

/* depth: requests under way, at most; 1 to MC_RING_DEPTH_MAX. MC_NOHW where the kernel has none or this
 * process may not use it (a container's filter, a setting of the machine). */
int mc_ring_new(struct mc_ring **out, unsigned depth, struct mc_err *err);
/* Waits for what is under way: the kernel would write to its buffers later. NULL is fine. */
void mc_ring_free(struct mc_ring *r);

/* Queued and not taken yet. */
unsigned mc_ring_under_way(const struct mc_ring *r);
/* Fewer than depth are under way. */
void mc_ring_queue(struct mc_ring *r, const struct mc_ring_request *q);
/* Hand over what is queued and wait until `least` results can be taken (at most as many as are under way); a
 * signal ends the wait early, without error. */
int mc_ring_wait(struct mc_ring *r, unsigned least, struct mc_err *err);
/* The next result; false: none yet. */
bool mc_ring_take(struct mc_ring *r, struct mc_ring_done *out);

#endif
