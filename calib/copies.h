/*
 * Copies of one size, timed: within host memory, or between it and devices, all of which copy at once. Source
 * and target move through pools larger than caches, so that memory is what is measured; the last copy is
 * looked at.
 */
#ifndef MC_CALIB_COPIES_H
#define MC_CALIB_COPIES_H

#include <stddef.h>

#include "calib/measure.h"
#include "hw/operator.h"
#include "kernels/backend.h"

enum { MC_COPIES_DEVICES = 16 };

struct mc_copies {
	const struct mc_backend *backend;
	int devices;
	size_t pool; /* bytes of each end, of each device */
	struct mc_device *device[MC_COPIES_DEVICES];
	struct mc_stream *stream[MC_COPIES_DEVICES];
	char *near[MC_COPIES_DEVICES];     /* device memory; NULL where the two below are both ends */
	char *pinned[MC_COPIES_DEVICES];   /* MC_PINNED */
	char *pageable[MC_COPIES_DEVICES]; /* plain */
};

struct mc_copies_want {
	const struct mc_backend *backend;
	int devices; /* the first so many */
	int threads; /* of a CPU; 0: all */
	size_t pool; /* bytes of each end */
};

/* *c is _fini's whether this succeeds or not. */
int mc_copies_init(struct mc_copies *c, const struct mc_copies_want *want, struct mc_err *err);
void mc_copies_fini(struct mc_copies *c);

struct mc_copies_task {
	enum mc_op op; /* MC_OP_COPY_...; HOST: from plain to pinned memory, by the device's threads */
	size_t bytes;  /* at most the pool's */
	struct mc_calib_goal goal;
};

/* Seconds of a copy on each device, while all copy. MC_FAIL: what arrived is not what was sent. */
int mc_copies_measure(struct mc_copies *c, const struct mc_copies_task *task, struct mc_calib_result *out,
		      struct mc_err *err);

#endif
