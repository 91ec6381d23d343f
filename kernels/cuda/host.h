/*
 * The host side of the CUDA backend, private to kernels/cuda/: what its objects hold, and how CUDA's errors
 * become the project's. No header of CUDA is needed to read it.
 *
 * Every function that calls CUDA for an object makes the object's device the thread's current one first, so
 * that one thread may use objects of several devices in any order.
 */
#ifndef MC_KERNELS_CUDA_HOST_H
#define MC_KERNELS_CUDA_HOST_H

#include "kernels/backend.h"

struct CUstream_st;
struct CUevent_st;
struct cublasContext;
struct mc_cuda_blas;

struct mc_device {
	int index;        /* as CUDA counts */
	int units;        /* multiprocessors */
	int major, minor; /* compute capability */
	struct mc_cuda_blas *blas;
};

/* A stream's cuBLAS handle and workspace are its own: what one stream computes doesn't depend on others. */
struct mc_stream {
	struct mc_device *dev;
	struct CUstream_st *cu;
	struct cublasContext *blas; /* made when the first product is queued, or with a compute stream */
	void *workspace;            /* of blas */
	const char *last;           /* the operator queued last, for words about errors that come later */
	struct mc_err err;          /* the first error since the last sync; rc 0: none */
};

struct mc_event {
	struct mc_device *dev;
	struct CUevent_st *cu;
};

/* errors.c */
/* 0 if code (a cudaError_t) is 0; else CUDA's own memory of it is cleared, *err filled, and MC_NOHW (no
 * driver, no device) or MC_FAIL returned. what: what was being done. */
int mc_cuda_error(int code, struct mc_err *err, const char *what);
/* Make d current. Fails only where the device is lost, and then whatever is called next says so. */
void mc_cuda_use(const struct mc_device *d);
/* An operator was queued with that result: keep the first error. */
void mc_cuda_queued(struct mc_stream *s, const char *op, int code);
/* The same for an error that is not CUDA's runtime's, in words. */
void mc_cuda_queue_failed(struct mc_stream *s, const char *op, const char *why);

/* device.c: the members of struct mc_backend of these names. */
int mc_cuda_count(int *n, struct mc_err *err);
int mc_cuda_device_open(struct mc_device **out, const struct mc_device_want *want, struct mc_err *err);
void mc_cuda_device_close(struct mc_device *d);
void mc_cuda_device_info(struct mc_device *d, struct mc_device_info *out);
int mc_cuda_peer_enable(struct mc_device *d, struct mc_device *peer, struct mc_err *err);
void *mc_cuda_alloc(struct mc_device *d, enum mc_place place, size_t bytes, struct mc_err *err);
void mc_cuda_release(struct mc_device *d, enum mc_place place, void *p);

/* stream.c */
int mc_cuda_stream_open(struct mc_stream **out, struct mc_device *d, enum mc_stream_kind kind,
			struct mc_err *err);
void mc_cuda_stream_close(struct mc_stream *s);
int mc_cuda_stream_sync(struct mc_stream *s, struct mc_err *err);
int mc_cuda_event_open(struct mc_event **out, struct mc_device *d, struct mc_err *err);
void mc_cuda_event_close(struct mc_event *e);
void mc_cuda_event_record(struct mc_event *e, struct mc_stream *s);
void mc_cuda_event_wait(struct mc_event *e, struct mc_stream *s);
int mc_cuda_event_done(struct mc_event *e);
double mc_cuda_event_seconds(struct mc_event *from, struct mc_event *to);
void mc_cuda_copy(struct mc_stream *s, const struct mc_copy *a);
void mc_cuda_fill(struct mc_stream *s, void *p, int byte, size_t bytes);

/* gemm.c */
/* The stream's cuBLAS, made ready if it isn't; its device is current. */
int mc_cuda_blas_open(struct mc_stream *s, struct mc_err *err);
void mc_cuda_blas_close(struct mc_stream *s);
void mc_cuda_gemm(struct mc_stream *s, const struct mc_gemm *a);

/* comm.c */
int mc_cuda_comm_open(struct mc_comm **out, struct mc_device *const *d, int ranks, size_t max_bytes,
		      struct mc_err *err);
void mc_cuda_comm_close(struct mc_comm *c);
void mc_cuda_comm_all_reduce(struct mc_comm *c, const struct mc_all_reduce *a);

#endif
