/*
 * A whole model of the LLaMA family on a backend: weights, paged KV, and steps. A step is one iteration of a
 * serving engine: a ragged batch of prefill chunks and decode tokens, each continuing a sequence whose KV is
 * in pages that the caller names. Blocks are the caller's to hand out, to move in and to move out.
 *
 * Layer: norm, qkv, rope, KV to the pages, attention, o, [all-reduce], residual + norm, gate and up, SwiGLU,
 * down, [all-reduce]; the residual is added within the next norm. With tensor parallelism (ranks > 1) each
 * rank has a device, a stream and a KV pool of its own, and its share of heads, ffn and vocabulary (arXiv
 * 1909.08053, section 3); KV heads are held several times where there are fewer than ranks. Embeddings are on
 * every rank; logits are gathered on rank 0.
 *
 * Everything of a step is queued on one compute stream a rank; nothing waits for the device, nothing is
 * allocated. So a step may be queued while the one before runs. All ranks are queued by the calling thread.
 */
#ifndef MC_KERNELS_LLAMA_H
#define MC_KERNELS_LLAMA_H

#include "kernels/backend.h"
#include "kernels/llama_shape.h"
#include "kernels/weights.h"

enum { MC_LLAMA_RANKS = 8 };

struct mc_llama_want {
	const struct mc_backend *backend;
	struct mc_llama_shape shape;
	enum mc_dtype dtype; /* of weights, activations, KV */
	int ranks;
	int device[MC_LLAMA_RANKS]; /* index of each rank's */
	int threads;                /* CPU: of each rank, as mc_device_want has it */
	int block_tokens, blocks;   /* of the KV pool, of each rank */
	/* Limits, from which the workspace is made: of a step, new tokens and sequences and rows of logits;
	 * of a sequence, tokens. */
	int max_rows, max_seqs, max_logits, max_tokens;
};

/* Of one rank's device. */
struct mc_llama_bytes {
	size_t weights, kv, workspace;
};

enum mc_llama_logits {
	MC_LLAMA_NONE,
	MC_LLAMA_LAST, /* after the last of the new tokens */
	MC_LLAMA_ALL,  /* after each of them */
};

/* Sequences of a step share no block that one of them writes. */
struct mc_llama_seq {
	const int32_t *token; /* host: new ones */
	int tokens;           /* how many, at least 1 */
	int context;          /* tokens before them, whose KV is in the blocks */
	const int32_t *block; /* host: numbers of the blocks, for context and new tokens */
	int blocks;           /* how many stand there */
	enum mc_llama_logits logits;
	float temperature; /* of the sampled token; 0: the most likely one */
	uint64_t seed;     /* of the request; every position draws with its own number from it */
	int row;           /* out: its first row of logits, -1: none */
};

/* An operator that a step queued. */
enum mc_llama_op {
	MC_LLAMA_OP_COPY, /* of metadata or results; arguments: struct mc_copy; the others: that of ops.h */
	MC_LLAMA_OP_EMBED,
	MC_LLAMA_OP_PICK, /* of rows whose logits are wanted: struct mc_embed */
	MC_LLAMA_OP_NORM,
	MC_LLAMA_OP_GEMM,
	MC_LLAMA_OP_ROPE,
	MC_LLAMA_OP_KV_SCATTER,
	MC_LLAMA_OP_ATTENTION_PREFILL,
	MC_LLAMA_OP_ATTENTION_DECODE,
	MC_LLAMA_OP_SWIGLU,
	MC_LLAMA_OP_SAMPLE,
	MC_LLAMA_OP_ALL_REDUCE, /* of all ranks: struct mc_all_reduce */
};

struct mc_llama_call {
	enum mc_llama_op op;
	int rank, layer;       /* layer -1: before or after them */
	const void *arguments; /* until the hook returns */
	struct mc_stream *stream;
};

/*
 * Called while a rank's layer is queued. need: before anything that is queued then touches the layer's pages;
 * the place to make the stream wait until cached KV is there. ready: after everything that writes them in
 * this step; the place to record an event from which they can be sent. queued: right after each operator was
 * queued (on a CPU: done); the place to time it, or to keep its arguments. Any may be NULL.
 */
struct mc_llama_hooks {
	void (*need)(void *arg, int rank, int layer, struct mc_stream *s);
	void (*ready)(void *arg, int rank, int layer, struct mc_stream *s);
	void (*queued)(void *arg, const struct mc_llama_call *call);
	void *arg;
};

struct mc_llama_step {
	struct mc_llama_seq *seq;
	int seqs;
	struct mc_llama_hooks hooks;
	/* Layers from .. to - 1 only; 0, 0: all. The embedding belongs to layer 0, norm and logits to the
	 * last one. A part that starts later works on what the step before left (so times of single layers
	 * want a whole step first: zeros are no fair load). */
	int from, to;
};

struct mc_llama_result {
	int rows;             /* of logits, in the order of the seq's `row` */
	const float *logits;  /* device of rank 0: [rows][vocab], until the next step */
	const int32_t *token; /* host: [rows], sampled; readable once synced, until the step after the next */
};

struct mc_llama;

/* The sizes that open will ask of the device (backend's device 0 is opened for a moment). */
int mc_llama_measure(const struct mc_llama_want *want, struct mc_llama_bytes *out, struct mc_err *err);
/* MC_USAGE: a shape that the operators or the ranks don't take, a format that the backend hasn't, impossible
 * limits. The weights are read, not kept. */
int mc_llama_open(struct mc_llama **out, const struct mc_llama_want *want, const struct mc_weights *w,
		  struct mc_err *err);
/* NULL is fine. */
void mc_llama_close(struct mc_llama *m);

/* Queue a step. MC_USAGE: it is above the limits, or names tokens or blocks that don't exist; nothing is
 * queued then. out may be NULL. */
int mc_llama_step(struct mc_llama *m, struct mc_llama_step *step, struct mc_llama_result *out,
		  struct mc_err *err);
/* Wait for all that is queued; its first error. */
int mc_llama_sync(struct mc_llama *m, struct mc_err *err);

/* Of a rank; they live as long as the model. */
struct mc_device *mc_llama_device(const struct mc_llama *m, int rank);
struct mc_stream *mc_llama_stream(const struct mc_llama *m, int rank);
/* The KV pool, want.blocks blocks of *layout, zeros at first. */
void *mc_llama_pool(const struct mc_llama *m, int rank, struct mc_kv_layout *layout);

#endif
