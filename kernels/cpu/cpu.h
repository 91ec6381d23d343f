/*
 * What the files of the CPU backend share. A device is a team of threads with the best vector instructions
 * of the machine; its memory is the process's. A compute stream does its work at once in the thread that
 * queues it (and the team); a copy stream has a thread with a queue, which is a team of one.
 *
 * An operator is a function of a team and its arguments (struct mc_NAME, checked before).
 */
#ifndef MC_KERNELS_CPU_CPU_H
#define MC_KERNELS_CPU_CPU_H

#include "kernels/backend.h"
#include "kernels/cpu/pool.h"
#include "kernels/cpu/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	MC_CPU_DEVICES = 8, /* so that one process can be all ranks of a tensor-parallel group */
	MC_CPU_THREADS = 1024,
	MC_CPU_SCRATCH = 96 * 1024, /* floats for each thread */
};

struct mc_cpu_team {
	struct mc_cpu_pool *pool;
	const struct mc_cpu_vec *vec;
	float *scratch; /* [threads][MC_CPU_SCRATCH] */
};

int mc_cpu_team_init(struct mc_cpu_team *t, int threads, struct mc_err *err);
void mc_cpu_team_fini(struct mc_cpu_team *t);
/* Other vectors than the best (for tests), and CBLAS, if they need it, kept to the thread that calls it. */
void mc_cpu_team_use(struct mc_cpu_team *t, const struct mc_cpu_vec *v);
/* How many threads are worth waking for that many elements (or bytes, operations) of which `each` keep one
 * busy for some microseconds. */
int mc_cpu_team_threads(const struct mc_cpu_team *t, size_t amount, size_t each);

static inline float *mc_cpu_team_scratch(const struct mc_cpu_team *t, int thread)
{
	return t->scratch + (size_t)thread * MC_CPU_SCRATCH;
}

struct mc_device {
	int index;
	struct mc_cpu_team team;
};

int mc_cpu_count(int *n, struct mc_err *err);
int mc_cpu_device_open(struct mc_device **out, const struct mc_device_want *want, struct mc_err *err);
void mc_cpu_device_close(struct mc_device *d);
void mc_cpu_device_info(struct mc_device *d, struct mc_device_info *out);
int mc_cpu_peer_enable(struct mc_device *d, struct mc_device *peer, struct mc_err *err);
void *mc_cpu_alloc(struct mc_device *d, enum mc_place place, size_t bytes, struct mc_err *err);
void mc_cpu_release(struct mc_device *d, enum mc_place place, void *p);

typedef void mc_cpu_operator(struct mc_cpu_team *t, const void *arguments);

int mc_cpu_stream_open(struct mc_stream **out, struct mc_device *d, enum mc_stream_kind kind,
		       struct mc_err *err);
void mc_cpu_stream_close(struct mc_stream *s);
int mc_cpu_stream_sync(struct mc_stream *s, struct mc_err *err);
/* Queue an operator with a copy of its arguments. */
void mc_cpu_stream_do(struct mc_stream *s, mc_cpu_operator *f, const void *arguments, size_t bytes);

int mc_cpu_event_open(struct mc_event **out, struct mc_device *d, struct mc_err *err);
void mc_cpu_event_close(struct mc_event *e);
void mc_cpu_event_record(struct mc_event *e, struct mc_stream *s);
void mc_cpu_event_wait(struct mc_event *e, struct mc_stream *s);
int mc_cpu_event_done(struct mc_event *e);
double mc_cpu_event_seconds(struct mc_event *from, struct mc_event *to);

struct mc_cpu_fill {
	void *p;
	int byte;
	size_t bytes;
};

mc_cpu_operator mc_cpu_copy;              /* struct mc_copy */
mc_cpu_operator mc_cpu_fill;              /* struct mc_cpu_fill */
mc_cpu_operator mc_cpu_gemm;              /* struct mc_gemm */
mc_cpu_operator mc_cpu_norm;              /* struct mc_norm */
mc_cpu_operator mc_cpu_rope;              /* struct mc_rope */
mc_cpu_operator mc_cpu_swiglu;            /* struct mc_swiglu */
mc_cpu_operator mc_cpu_embed;             /* struct mc_embed */
mc_cpu_operator mc_cpu_sample;            /* struct mc_sample */
mc_cpu_operator mc_cpu_scatter;           /* struct mc_kv_rows */
mc_cpu_operator mc_cpu_gather;            /* struct mc_kv_rows */
mc_cpu_operator mc_cpu_attention_prefill; /* struct mc_attention */
mc_cpu_operator mc_cpu_attention_decode;  /* struct mc_attention */
size_t mc_cpu_attention_scratch(struct mc_device *d, const struct mc_attention *a);

int mc_cpu_comm_open(struct mc_comm **out, struct mc_device *const *d, int ranks, size_t max_bytes,
		     struct mc_err *err);
void mc_cpu_comm_close(struct mc_comm *c);
void mc_cpu_all_reduce(struct mc_comm *c, const struct mc_all_reduce *a);

#ifdef __cplusplus
}
#endif
#endif
