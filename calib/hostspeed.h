/*
 * What this machine's processors can do at most, measured: the bounds that a fit of samples of the CPU
 * backend holds times against, and the hardware section of a profile.
 *
 * Peak: the fastest of large products of the backend. Bandwidth: small models live in caches, so the bound of
 * operators is that of a read within the first-level cache; that of memory stands beside it. A machine that
 * others slowed down just then shows in samples that are faster: the bounds are raised to those.
 */
#ifndef MC_CALIB_HOSTSPEED_H
#define MC_CALIB_HOSTSPEED_H

#include "hw/opsamples.h"
#include "kernels/backend.h"

struct mc_calib_hostspeed {
	double flops;              /* operations/s, all threads */
	double cache_bytes_per_s;  /* read by all threads, 16 KiB each */
	double memory_bytes_per_s; /* the same, of more than the caches hold */
	double memory_bytes;       /* of the machine */
	int threads;
};

int mc_calib_hostspeed(struct mc_calib_hostspeed *h, const struct mc_backend *b, int threads,
		       struct mc_err *err);
/* Raise the bounds to what samples did. */
void mc_calib_hostspeed_raise(struct mc_calib_hostspeed *h, const struct mc_opsamples *s);
/* A profile of it, without any measured times, to `path`. */
int mc_calib_hostspeed_write(const struct mc_calib_hostspeed *h, const char *device, const char *path,
			     struct mc_err *err);

#endif
