/*
 * Random ragged batches over paged KV for the tests of attention, scatter and gather: block tables are
 * permuted, and all that no kernel may read is poison: other layers, blocks of nobody, tokens after a
 * sequence's last (NaN), table entries after its last block (far outside of the pool).
 */
#ifndef MC_TESTS_KERNELS_PAGED_BATCH_H
#define MC_TESTS_KERNELS_PAGED_BATCH_H

#include "tests/kernels/rig.h"

struct paged_want {
	int kv_heads, group, head_dim, block_tokens; /* group: query heads of a KV head */
	int seqs;
	const int *context; /* [seqs]: tokens before; NULL: none anywhere */
	const int *fresh;   /* [seqs]: new tokens, at least 1; NULL: one everywhere */
	float q_scale;      /* queries are N(0, 1) times this; K and V are N(0, 1) */
	bool fresh_absent;  /* pages of the new tokens are poison yet: before a scatter */
};

struct paged_batch {
	struct paged_want want; /* without its arrays */
	int heads, rows;
	size_t *token_start;                               /* [seqs + 1]: tokens of sequences before */
	int32_t *row_start, *context, *row_seq, *position; /* as struct mc_batch says */
	float *q;                                          /* [rows][heads][head_dim] */
	float *k, *v;                                      /* [token_start[seqs]][kv_heads][head_dim] */
	float *pool;                                       /* what the device's pool was filled with */
	int32_t *table;                                    /* [seqs][table_stride] */
	size_t pool_count;                                 /* numbers in the pool */
	/* What operators take; of the device. */
	struct mc_pages pages;
	struct mc_batch batch;
};

void paged_batch_init(struct paged_batch *b, struct rig *r, struct rig_random *g, const struct paged_want *w);
/* The host's arrays; the device's live until rig_close. */
void paged_batch_fini(struct paged_batch *b);

/* Index in the pool of the first of head_dim numbers of K (part 0) or V (part 1). */
size_t paged_batch_at(const struct paged_batch *b, int part, int seq, int token, int head);

/* Rows of `width` numbers on the device, `stride` apart, the gaps poisoned; and the rows fetched again, after
 * a look that the gaps still are. width 0 of x NULL: all poison. */
void *paged_put_rows(struct rig *r, const float *x, size_t rows, size_t width, size_t stride);
void paged_get_rows(struct rig *r, const void *p, float *x, size_t rows, size_t width, size_t stride);

/* Run one attention of the table (or NULL's: decode where every sequence has one new token) with poisoned
 * scratch and output; out [rows][heads][head_dim]. */
typedef void paged_operator(struct mc_stream *s, const struct mc_attention *a);
void paged_attention(struct paged_batch *b, struct rig *r, paged_operator *op, float scale, float *out);

#endif
