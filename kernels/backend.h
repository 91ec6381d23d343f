/*
 * A compute backend: devices, memory, streams, events, copies, and the operators of kernels/ops.h, as one
 * table. The small model, the benchmarks and the live engine know nothing else of a device. Adding a backend
 * is one file that defines `const struct mc_backend mc_backend_NAME` and one line in local.mk.
 *
 * Streams are queues in CUDA's sense: what is queued on one runs in order, streams run beside each other,
 * events order them. Queuing doesn't wait for the work (a CPU's compute stream may do it at once). The first
 * error of a stream's work is kept and returned by sync; what was queued after it has no meaning. Functions
 * that return int give 0 or one of enum mc_rc with *err filled: MC_NOHW where the hardware (or the support
 * for it in this build) is absent, MC_FAIL where it refused. A table may be used by several threads, an
 * object of it by one at a time.
 */
#ifndef MC_KERNELS_BACKEND_H
#define MC_KERNELS_BACKEND_H

#include "base/err.h"
#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Defined by each backend. */
struct mc_device;
struct mc_stream;
struct mc_event;
struct mc_comm;

enum mc_place {
	MC_DEVICE, /* the device's memory */
	MC_PINNED, /* host memory that copies reach without staging, so that they overlap with compute */
};

enum mc_stream_kind {
	MC_COMPUTE, /* operators and copies */
	MC_COPY, /* copies, and whatever runs beside a compute stream: never done in the thread that queues it
		  */
};

struct mc_device_want {
	int index;   /* 0 .. count - 1 */
	int threads; /* CPU: threads that compute; 0: as many as the process may run on at once */
};

/* What is known of a device without measuring; 0 or empty where it isn't. */
struct mc_device_info {
	char name[128];      /* as the maker calls it */
	char software[256];  /* driver, runtime and libraries with their versions */
	int units;           /* multiprocessors, or threads that compute */
	size_t memory_bytes; /* of the device */
	double matrix_flops; /* peak of 16-bit matrix units, operations (2 for a multiply-add) a second */
	double bandwidth;    /* of its memory, bytes/s */
};

struct mc_all_reduce {
	struct mc_stream *const *stream; /* [ranks], one on each device, in the order of the communicator */
	void *const *buffer; /* [ranks], in place: each ends as the sum of all, the same bytes everywhere */
	size_t count;        /* elements, a multiple of 8 */
	enum mc_dtype dtype;
};

struct mc_backend {
	const char *name;
	const char *summary; /* one line for --help */
	unsigned dtypes;     /* bit 1 << enum mc_dtype: formats of its operators */

	/* How many devices there are. */
	int (*count)(int *n, struct mc_err *err);
	int (*device_open)(struct mc_device **out, const struct mc_device_want *want, struct mc_err *err);
	/* After everything else that belongs to it was closed. NULL is fine (here and in all that close). */
	void (*device_close)(struct mc_device *d);
	void (*device_info)(struct mc_device *d, struct mc_device_info *out);
	/* Let d's kernels and copies reach peer's memory directly, where the machine can (MC_NOHW: it can't;
	 * copies still work). */
	int (*peer_enable)(struct mc_device *d, struct mc_device *peer, struct mc_err *err);

	/* Memory, not initialised, aligned to 256 bytes; NULL with *err filled when there is none. */
	void *(*alloc)(struct mc_device *d, enum mc_place place, size_t bytes, struct mc_err *err);
	void (*release)(struct mc_device *d, enum mc_place place, void *p);

	int (*stream_open)(struct mc_stream **out, struct mc_device *d, enum mc_stream_kind kind,
			   struct mc_err *err);
	void (*stream_close)(struct mc_stream *s);
	/* Wait until all that was queued is done; its first error, which is forgotten then. */
	int (*stream_sync)(struct mc_stream *s, struct mc_err *err);
	int (*event_open)(struct mc_event **out, struct mc_device *d, struct mc_err *err);
	void (*event_close)(struct mc_event *e);
	/* The event happens when what s holds now is done. Recording again forgets the time before. */
	void (*event_record)(struct mc_event *e, struct mc_stream *s);
	/* What is queued on s from now on starts after e happened (at once, if it was never recorded). s may
	 * be another device's. */
	void (*event_wait)(struct mc_event *e, struct mc_stream *s);
	/* 1 if it happened (or was never recorded), 0 if not yet. */
	int (*event_done)(struct mc_event *e);
	/* Seconds of the device's clock from one to the other; both happened, on the same device. */
	double (*event_seconds)(struct mc_event *from, struct mc_event *to);

	/* Queued on a stream. */
	void (*copy)(struct mc_stream *s, const struct mc_copy *a);
	void (*fill)(struct mc_stream *s, void *p, int byte, size_t bytes);
	void (*gemm)(struct mc_stream *s, const struct mc_gemm *a);
	void (*norm)(struct mc_stream *s, const struct mc_norm *a);
	void (*rope)(struct mc_stream *s, const struct mc_rope *a);
	void (*swiglu)(struct mc_stream *s, const struct mc_swiglu *a);
	void (*embed)(struct mc_stream *s, const struct mc_embed *a);
	void (*sample)(struct mc_stream *s, const struct mc_sample *a);
	void (*kv_scatter)(struct mc_stream *s, const struct mc_kv_rows *a);
	void (*kv_gather)(struct mc_stream *s, const struct mc_kv_rows *a);
	/* Scratch that both attentions of such a batch need at most, from batch.seqs, rows, max_rows,
	 * max_tokens, heads and layout. */
	size_t (*attention_scratch)(struct mc_device *d, const struct mc_attention *a);
	/* Any number of new tokens. */
	void (*attention_prefill)(struct mc_stream *s, const struct mc_attention *a);
	/* One new token for each sequence (rows == seqs); split over the context, so that few long ones fill
	 * the device. */
	void (*attention_decode)(struct mc_stream *s, const struct mc_attention *a);

	/* Devices (1 to 8, each once) that reduce together, and can reach each other's memory (MC_NOHW: they
	 * can't); max_bytes of a buffer. The array is copied. Reductions of one communicator follow each
	 * other on each device: on one stream, or with events between. */
	int (*comm_open)(struct mc_comm **out, struct mc_device *const *d, int ranks, size_t max_bytes,
			 struct mc_err *err);
	void (*comm_close)(struct mc_comm *c);
	void (*all_reduce)(struct mc_comm *c, const struct mc_all_reduce *a);
};

/* All that there are, NULL at the end (generated from local.mk); CUDA is there in a build without it, too,
 * and says so. */
extern const struct mc_backend *const mc_backends[];
extern const char *const mc_backends_names[];

/* The one of that name, or NULL with *err filled (MC_USAGE). */
const struct mc_backend *mc_backend_find(const char *name, struct mc_err *err);

#ifdef __cplusplus
}
#endif
#endif
