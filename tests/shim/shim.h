/*
 * CUDA on the CPU, for tests: what the parts of the shim share. It runs the sources of kernels/cuda as they
 * are, and tries to show the faults that a GPU would show only sometimes:
 *
 * - The threads of a block are fibers that switch at barriers and warp operations, in an order that a seed
 *   decides (MC_SHIM_SEED): forward, backward, shuffled; one warp far ahead of the others, or all in step.
 * - Shared memory is NaN when a block starts; behind the dynamic part is a guard. Asynchronous copies to
 *   shared memory happen at the wait that covers them, and their target is NaN until then.
 * - Barriers must be reached by all live threads of a block at one place, warp operations by all lanes of
 *   their mask; else the kernel, the block and the threads are named, and the device fails for good
 *   (cudaErrorLaunchFailure; cudaGetErrorString says the same words).
 * - Streams are queues that run only when something waits for them, in an order that the seed decides within
 *   what streams and events allow. So a missing wait for an event reads old data.
 * - Limits of sm_80 are checked at each launch. Memory, streams and events that are left at exit are
 *   reported, and the exit status is 1 then.
 *
 * It doesn't show races inside a warp between two operations of it, and says nothing about speed. One lock
 * around everything: kernels run in the thread that waits.
 *
 * MC_SHIM_DEVICES (2), MC_SHIM_SEED (1), MC_SHIM_DRIVER (13000), MC_SHIM_FAULT ("KIND:N:ERROR": the N-th
 * alloc, launch, copy, stream, event or gemm from now on gives that error).
 */
#ifndef MC_SHIM_H
#define MC_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SHIM_WARP = 32, SHIM_MAX_THREADS = 1024, SHIM_MAX_DEVICES = 8, SHIM_SLOTS = 4 };

/* shim_fiber.c: stacks to switch between. */
struct shim_fiber {
	void *sp;
	unsigned char *stack; /* lowest byte; NULL for the one that the host's thread runs on */
	size_t bytes;
	void *fake; /* ASan's */
};

void shim_fiber_init(struct shim_fiber *, void (*entry)(void));
void shim_fiber_fini(struct shim_fiber *); /* its stack goes back; the fiber need not have ended */
/* Of the running fiber: is there too little left? */
bool shim_fiber_overrun(const struct shim_fiber *);
/* to: another one. last: `from` never runs again. */
void shim_fiber_switch(struct shim_fiber *from, struct shim_fiber *to, bool last);
void shim_fiber_entered(void); /* first in `entry` */

/* A place in a kernel's source. */
struct shim_site {
	const char *what, *file;
	int line;
};

enum shim_state { SHIM_READY, SHIM_BARRIER, SHIM_LANES, SHIM_ENDED };

struct shim_async {
	void *to;
	const void *from; /* NULL: zeros */
	unsigned group;
};

struct shim_block;

struct shim_thread {
	struct uint3 idx;
	struct shim_block *block;
	int at, lane, warp;
	enum shim_state state;
	const struct shim_site *site; /* where it waits */
	struct shim_fiber fiber;
	struct shim_async *async; /* copies under way, oldest first */
	int asyncs, async_room;
	unsigned group; /* of copies started now */
};

/* Called by the lane that comes last: x[lane] is what each lane of `mask` brought. */
typedef void shim_warp_work(void *const x[SHIM_WARP], unsigned mask);

struct shim_slot {
	unsigned mask, arrived;
	shim_warp_work *work;
};

struct shim_warp {
	unsigned live;
	struct shim_slot slot[SHIM_SLOTS];
	void *x[SHIM_WARP];
};

enum shim_result { SHIM_DONE, SHIM_STALLED, SHIM_FAILED };

/* shim_block.c: the threads of one block. */
struct shim_block {
	struct shim_block *next;
	struct uint3 idx;
	struct dim3 dim, grid;
	void (*call)(void *args);
	void *args;
	const struct shim_site *kernel;
	unsigned char *dynamic; /* shared memory */
	size_t dynamic_bytes;
	unsigned char *statics; /* of a block that isn't running now */
	struct shim_thread *thread;
	struct shim_warp *warp;
	int *order, *ready; /* `ready` is a ring; both of `threads` */
	int threads, live, arrived, ready_head, readies, spins;
	bool ahead;      /* who is ready again goes first */
	bool progressed; /* since it stalled */
	bool failed;
};

struct shim_shape {
	struct dim3 grid, block;
	size_t shared;
};

struct shim_block *shim_block_new(const struct shim_shape *, const struct shim_site *kernel, uint64_t number);
void shim_block_free(struct shim_block *);
/* Until all of it waits for something outside (mc_spin), or ended, or failed. */
enum shim_result shim_block_run(struct shim_block *);

/* The running thread; what kernels call. */
extern struct shim_thread *shim_now;
void shim_barrier(const struct shim_site *);
__attribute__((noreturn)) void shim_trap(void);
void shim_warp_do(unsigned mask, shim_warp_work *, void *x, const struct shim_site *);
void shim_spin(void);
void shim_progress(void);
void shim_async_copy(void *to, const void *from, bool valid);
void shim_async_commit(void);
void shim_async_wait(unsigned left);
/* Fail, naming the place, unless p is in shared memory and aligned. */
void shim_check_shared(const void *p, size_t bytes, const char *what);

/* Warp operations. x: of each lane. */
enum shim_order { SHIM_XOR, SHIM_DOWN, SHIM_UP, SHIM_FROM };
struct shim_shuffle {
	uint64_t value, got;
	int arg, width;
	enum shim_order order;
};
struct shim_ballot {
	unsigned bit, got;
};
struct shim_matrix {
	const void *row;
	uint32_t *r;
};
struct shim_mma {
	float *c;
	const uint32_t *a;
	uint32_t b[2];
};
shim_warp_work shim_work_sync, shim_work_shuffle, shim_work_ballot, shim_work_ldmatrix,
    shim_work_ldmatrix_trans, shim_work_mma_bf16, shim_work_mma_f16;

/* Fails the running block, from inside a kernel; doesn't return. */
__attribute__((format(printf, 1, 2), noreturn)) void shim_fail(const char *format, ...);
/* Fails a device for good. */
__attribute__((format(printf, 2, 3))) void shim_device_fail(int device, const char *format, ...);

/* shim_memory.c: does all of this lie in one live allocation of a device or pinned memory? */
bool shim_memory_has(const void *p, size_t bytes);
bool shim_memory_touches(const void *p); /* is p itself in any? */
int shim_memory_left(void);              /* what was never freed; says so on stderr */

/* shim_launch.c: kernels that were queued. */
struct shim_kernel {
	const void *function;
	void (*call)(void *args);
	const void *args;
	size_t arg_bytes;
	const struct shim_site *site;
};
void shim_launch(const struct shim_kernel *, const struct shim_shape *, cudaStream_t);

struct shim_grid;
struct shim_grid *shim_grid_new(const struct shim_kernel *, const struct shim_shape *);
void shim_grid_free(struct shim_grid *);
/* Until all blocks ended, or all that can be on the device together wait for something outside. */
enum shim_result shim_grid_run(struct shim_grid *, bool *progressed);
const struct shim_site *shim_grid_site(const struct shim_grid *);

/* shim_queue.c: streams as queues of operations. */
enum shim_op_kind { SHIM_OP_GRID, SHIM_OP_CALL, SHIM_OP_COPY, SHIM_OP_RECORD, SHIM_OP_WAIT };
struct shim_op {
	struct shim_op *next;
	enum shim_op_kind kind;
	struct shim_grid *grid;
	void (*call)(void *args); /* args behind this structure */
	unsigned char *to;
	const unsigned char *from; /* NULL: `byte` */
	size_t bytes, rows, to_pitch, from_pitch;
	int byte;
	struct CUevent_st *event;
	uint64_t seq; /* the recording of the event that is meant */
};

struct CUstream_st {
	struct CUstream_st *next;
	int device;
	struct shim_op *first, **last;
};

struct CUevent_st {
	struct CUevent_st *next;
	int device;
	bool timed, closed;
	int uses;                   /* by operations */
	uint64_t recorded, done;    /* how many times: queued, happened */
	struct CUstream_st *stream; /* where it was recorded last */
	double seconds;
};

/* A copy of *op (and of bytes behind it) at the end of the stream. */
void shim_queue(cudaStream_t, const struct shim_op *op, const void *args, size_t arg_bytes);
/* Queues host code that stands for a kernel of a library. */
cudaError_t shim_queue_call(cudaStream_t, void (*call)(void *args), const void *args, size_t bytes);
/* Run what was queued until the stream is empty; the event happened; the device (-1: all) has nothing left.
 */
cudaError_t shim_drain_stream(cudaStream_t);
cudaError_t shim_drain_event(cudaEvent_t);
cudaError_t shim_drain_device(int device);
void shim_step(void);              /* one operation of any stream */
int shim_running(void);            /* the device whose kernel runs */
void shim_event_drop(cudaEvent_t); /* frees it if nobody needs it any more */
bool shim_stream_valid(cudaStream_t);
extern struct CUstream_st *shim_streams;

/* shim_stream.c */
int shim_handles_left(void); /* of cuBLAS */
int shim_streams_left(void); /* streams and events that were never destroyed; says so on stderr */

/* shim_runtime.c */
enum shim_fault { SHIM_ALLOC, SHIM_LAUNCH, SHIM_COPY, SHIM_STREAM, SHIM_EVENT, SHIM_GEMM, SHIM_FAULTS };
/* The n-th (from 1) from now on gives that error; n 0: none does. */
void shim_fault_set(enum shim_fault, int n, int error);
int shim_fault(enum shim_fault); /* 0 if not now */
void shim_seed(uint64_t);
uint64_t shim_random(void);
uint32_t shim_below(uint32_t n);
void shim_lock(void);
void shim_unlock(void);
int shim_device(void); /* the current one */
int shim_devices(void);
cudaError_t shim_ready(void);         /* is there a driver, a device, and has it not failed? */
cudaError_t shim_return(cudaError_t); /* remembers an error for cudaGetLastError */
cudaError_t shim_device_error(int device);
/* cudaFuncSetAttribute's word for that kernel on that device. */
size_t shim_dynamic_limit(const void *function, int device);
/* Leaks are forgotten: for tests of what leaks. */
void shim_forgive(void);

/* One lock around a call of the API, whose error is remembered. */
#define SHIM_LOCKED(call)                                                                                    \
	({                                                                                                   \
		cudaError_t rc_locked;                                                                       \
		shim_lock();                                                                                 \
		rc_locked = shim_return(call);                                                               \
		shim_unlock();                                                                               \
		rc_locked;                                                                                   \
	})

enum { SHIM_UNITS = 16, SHIM_SHARED = 49152, SHIM_SHARED_OPTIN = 166912 };

#ifdef __cplusplus
}
#endif
#endif
