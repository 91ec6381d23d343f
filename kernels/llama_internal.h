/* Between the parts of llama*.c. */
#ifndef MC_KERNELS_LLAMA_INTERNAL_H
#define MC_KERNELS_LLAMA_INTERNAL_H

#include "kernels/llama.h"

/* Steps whose metadata may be on their way at once. */
enum { MC_LLAMA_SLOTS = 2 };

/* Of a layer, shares of a rank: matrices that read the same rows are one. */
struct mc_llama_layer {
	void *attention_norm; /* [hidden] */
	void *qkv;            /* [(heads + 2 kv_heads) head_dim][hidden] */
	void *o;              /* [hidden][heads head_dim] */
	void *ffn_norm;       /* [hidden] */
	void *gate_up;        /* [2 ffn][hidden] */
	void *down;           /* [hidden][ffn] */
};

struct mc_llama_rank {
	struct mc_device *device;
	struct mc_stream *stream;
	struct mc_event *uploaded[MC_LLAMA_SLOTS];
	struct mc_event *made;     /* this rank's share of the logits */
	struct mc_event *gathered; /* rank 0: all shares were fetched */

	void *weights; /* one piece, cut into: */
	struct mc_llama_layer *layer;
	void *embed, *norm, *head;

	void *pool; /* KV */

	void *workspace; /* one piece, cut into: */
	float *cos_sin;  /* [max_tokens][head_dim] */
	void *residual;  /* [max_rows][hidden] */
	void *x;         /* [max_rows][hidden]: what a norm makes, then what is to be added */
	void *wide;      /* qkv and attention's output, then gate and up and SwiGLU's */
	void *scratch;   /* attention's */
	void *picked[2]; /* [max_logits][hidden]: rows of x and of the residual */
	float *share;    /* [max_logits][vocab / ranks], if ranks > 1 */
	float *logits;   /* [max_logits][vocab], rank 0 */
	int32_t *token;  /* [max_logits], rank 0 */
	char *meta;      /* struct mc_llama_plan says where what is */
	size_t scratch_bytes;
};

struct mc_llama {
	struct mc_llama_want want;
	struct mc_llama_shape rank_shape;
	struct mc_kv_layout layout;
	const struct mc_backend *be;
	struct mc_comm *comm;               /* if ranks > 1 */
	char *pinned;                       /* rank 0's: [slots] metadata, then [slots][max_logits] tokens */
	size_t meta_bytes;                  /* of a slot */
	int slot;                           /* of the next step */
	const struct mc_llama_hooks *hooks; /* of the step that is queued now */
	int layer;                          /* where that is; -1: outside of them */
	int *order;                         /* [max_seqs]: sequences of a step, decodes first */
	struct mc_llama_rank rank[MC_LLAMA_RANKS];
};

/* One ragged batch: bytes from the start of the metadata to each array, and what the host must know. */
struct mc_llama_batch {
	int seqs, rows, max_rows, max_tokens;
	size_t row_start, context, row_seq, position, table;
};

/* A step as it is run. The rows of decodes (one new token) come first. */
struct mc_llama_plan {
	struct mc_llama_batch all, decode, prefill;
	int table_stride;
	int picks; /* rows whose logits are wanted */
	size_t token, pick, temperature, seed;
	size_t bytes;
	int from, to;
	int slot;
	const struct mc_llama_hooks *hooks;
};

/* The most bytes of metadata that a step within the limits has. */
size_t mc_llama_meta_bytes(const struct mc_llama_want *want);
/* Queue what a plan says; its metadata are on every rank. */
void mc_llama_run(struct mc_llama *m, const struct mc_llama_plan *p);
/* Read a rank's share of the weights. */
int mc_llama_load(struct mc_llama *m, int rank, const struct mc_weights *w, struct mc_err *err);

#endif
