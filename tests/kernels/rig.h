/*
 * What the tests of the kernels stand on: every backend of the table, in every number format that it takes,
 * with arrays between guards, outputs poisoned. The same test programs run on the CPU, on a GPU where one is,
 * and (tests/shim) on the CUDA sources compiled for the CPU. MC_BACKEND=NAME leaves the others out.
 *
 *     tcase_add_loop_test(tc, f, 0, rig_count());     in the test: rig_open(&r, _i); ... rig_close(&r);
 */
#ifndef MC_TESTS_KERNELS_RIG_H
#define MC_TESTS_KERNELS_RIG_H

#include "kernels/backend.h"

struct rig_array;

struct rig {
	const struct mc_backend *be;
	enum mc_dtype dtype;
	struct mc_device *dev;
	struct mc_stream *s; /* compute */
	struct rig_array *arrays;
};

/* Pairs of backend and format that can be opened here; 0 is possible (MC_BACKEND, or a build whose only
 * backend has no device). */
int rig_count(void);
const char *rig_name(int i); /* "cpu f32" */
void rig_open(struct rig *r, int i);
/* Checks all guards, frees all arrays, closes. */
void rig_close(struct rig *r);

/* Device arrays that live until rig_close. n numbers of a format, rounded to it: */
void *rig_put(struct rig *r, enum mc_dtype t, const float *x, size_t n);
/* Bytes as they are (indices, seeds). */
void *rig_put_bytes(struct rig *r, const void *x, size_t bytes);
/* All bits set: a NaN in every format, and -1. */
void *rig_blank(struct rig *r, size_t bytes);

/* Wait for the stream (an error fails the test), check all guards, fetch. */
void rig_sync(struct rig *r);
void rig_get(struct rig *r, enum mc_dtype t, const void *p, float *x, size_t n);
void rig_get_bytes(struct rig *r, const void *p, void *x, size_t bytes);

/* Deterministic random numbers, not the product's. */
struct rig_random {
	uint64_t state;
};
uint32_t rig_below(struct rig_random *g, uint32_t n); /* 0 .. n - 1 */
float rig_normal(struct rig_random *g);               /* about N(0, 1) */
float rig_rounded(enum mc_dtype t, float x);          /* to the format and back */
/* malloc'd: n normal numbers times scale, rounded to the format, so that host and device hold the same ones.
 */
float *rig_normals(struct rig_random *g, enum mc_dtype t, size_t n, float scale);

/* Fail, naming the place, unless |got - want| <= bound (NaN fails). */
void rig_close_to(double got, double want, double bound, const char *what, size_t at);

#endif
