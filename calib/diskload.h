/*
 * A load on a disk: requests of one size to a file (calib/diskfile.h), so many under way all the time, each
 * verified. Offsets are multiples of the size, in a random order in which none comes twice before all came
 * once, or one after the other.
 */
#ifndef MC_CALIB_DISKLOAD_H
#define MC_CALIB_DISKLOAD_H

#include <signal.h>

#include "calib/diskfile.h"
#include "calib/measure.h"

struct mc_diskload_want {
	bool write, in_order;
	size_t bytes;   /* of a request, a multiple of MC_DISK_BLOCK */
	unsigned depth; /* at most requests in the file */
	uint64_t seed;
	const volatile sig_atomic_t *stop; /* set: no more requests; NULL: never */
};

struct mc_diskload;

/* file must outlive it. MC_NOHW: no io_uring (calib/ring.h). *out is NULL on errors. */
int mc_diskload_new(struct mc_diskload **out, struct mc_diskfile *file, const struct mc_diskload_want *want,
		    struct mc_err *err);
/* Waits for what is under way. NULL is fine. */
void mc_diskload_free(struct mc_diskload *l);

/*
 * Go on until at least window_s have passed and at least one request was done, or stopped. *seconds: for a
 * request at that rate, from the last call's end on; at depth 1 without what this side does between two.
 * MC_FAIL: the disk failed, or did not keep what was written.
 */
int mc_diskload_go(struct mc_diskload *l, double window_s, double *seconds, struct mc_err *err);
/* Wait for what is under way, then look at every byte of the last requests, of writes by reading them. */
int mc_diskload_verify(struct mc_diskload *l, struct mc_err *err);

/* Since it began: requests done; share of the time in which this side waited for the disk: near 0, the
 * processor was the limit. */
int64_t mc_diskload_requests(const struct mc_diskload *l);
double mc_diskload_waiting(const struct mc_diskload *l);
/* How long each request took, in order of their ends; the load's, until it goes on. Depth 1 only, else empty.
 */
struct mc_calib_series *mc_diskload_latencies(struct mc_diskload *l);

#endif
