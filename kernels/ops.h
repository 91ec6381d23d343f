/*
 * The operators of a LLaMA-family layer, as arguments: what every backend's table takes (kernels/backend.h).
 *
 * Matrices are row-major; a stride (elements from one row to the next) stands beside each that may be part of
 * a wider one. Pointers are to the device's memory, unless "host" is said; they are aligned to 16 bytes, and
 * so are rows (a stride times the size of an element is a multiple of 16 bytes; MC_F32 logits, too). What is
 * read and what is written must not overlap unless said. Sums are made in f32 (or wider) and rounded once to
 * the format of the output. The structures are copied when an operator is queued; what they point to must
 * stay.
 *
 * mc_X_check: assert that the arguments hold what is said here (a wrong shape is a bug of the caller); each
 * backend calls it.
 */
#ifndef MC_KERNELS_OPS_H
#define MC_KERNELS_OPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/kv_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[m][n] = x[m][k] w[n][k]^T, plus y before if accumulate. w's rows are outputs, as in checkpoint files. k,
 * n multiples of 8. */
struct mc_gemm {
	const void *x; /* [m][k] */
	const void *w; /* [n][k], contiguous */
	void *y;       /* [m][n], of out_dtype: dtype, or MC_F32 */
	int m, n, k;   /* m from 0 */
	int x_stride, y_stride;
	enum mc_dtype dtype, out_dtype;
	bool accumulate;
};

/*
 * y = x / sqrt(mean(x^2) + eps) * weight, for each row (RMSNorm, arXiv 1910.07467).
 * With a residual: residual += x first (rounded to dtype), and y is the norm of that sum; x may be NULL then
 * (adds nothing). y may be x.
 */
struct mc_norm {
	const void *x;      /* [rows][hidden] */
	void *residual;     /* [rows][hidden], or NULL */
	const void *weight; /* [hidden] */
	void *y;            /* [rows][hidden] */
	int rows, hidden;   /* hidden a multiple of 8; rows are contiguous */
	float eps;
	enum mc_dtype dtype;
};

/*
 * Rotary embedding in place (arXiv 2104.09864), pairs (i, i + head_dim / 2), as checkpoints in Hugging Face's
 * layout want it: (a, b) becomes (a cos - b sin, b cos + a sin). The first `heads` heads of each row are
 * turned (queries, then keys).
 */
struct mc_rope {
	void *x;                 /* [rows][heads][head_dim] */
	const int32_t *position; /* [rows], each below the rows of cos_sin */
	const float *cos_sin;    /* [positions][head_dim]: head_dim / 2 cosines, then as many sines */
	int rows, heads, head_dim, stride;
	enum mc_dtype dtype;
};

/* y = silu(gate) * up, for each element; silu(g) = g / (1 + exp(-g)) (SwiGLU, arXiv 2002.05202). */
struct mc_swiglu {
	const void *gate_up; /* [rows][2][ffn]: gate, then up; contiguous */
	void *y;             /* [rows][ffn] */
	int rows, ffn;       /* ffn a multiple of 8 */
	enum mc_dtype dtype;
};

/* y[i] = table[id[i]]: token embeddings; also picks the rows whose logits are wanted. */
struct mc_embed {
	const void *table; /* [table_rows][width], contiguous */
	const int32_t *id; /* [rows]; one outside 0 .. table_rows - 1 gives a row of zeros */
	void *y;           /* [rows][width] */
	int rows, width, table_rows;
	enum mc_dtype dtype;
};

/*
 * The next token of each row. Temperature 0: the largest logit. Above: drawn from softmax(logit /
 * temperature) by Gumbel's maximum, argmax(logit / temperature - log(-log(u))), where u comes from
 * mc_sample_uniform(seed, token) and the scores from mc_sample_score in both backends, so that a seed gives
 * the same token everywhere (but for logits that differ by rounding). Ties: the lowest token. NaN is never
 * chosen; a row without any number above -infinity gives -1.
 */
struct mc_sample {
	const float *logits;      /* [rows][vocab], f32 */
	const float *temperature; /* [rows], >= 0 */
	const uint64_t *seed;     /* [rows], a new one for each request and step */
	int32_t *token;           /* [rows], out */
	int rows, vocab, stride;
};

/* Limits of a batch. */
enum {
	MC_BATCH_SEQS = 65535,     /* at most: one side of a grid of blocks on a GPU */
	MC_BATCH_ROWS = 1 << 22,   /* of one sequence */
	MC_BATCH_TOKENS = 1 << 30, /* of one sequence */
};

/*
 * A ragged batch: each sequence has `context` tokens in its KV pages already, and brings new ones (at least
 * one), whose rows follow each other. A prefill brings a chunk, a decode one token.
 */
struct mc_batch {
	int seqs, rows; /* rows: new tokens of all sequences */
	int max_rows;   /* host: most new tokens of one sequence, below MC_BATCH_ROWS */
	int max_tokens; /* host: most tokens of one sequence, context and new ones, below MC_BATCH_TOKENS */
	const int32_t
	    *row_start;          /* [seqs + 1]: rows of sequence s are row_start[s] .. row_start[s + 1] - 1 */
	const int32_t *context;  /* [seqs]: tokens before the new ones */
	const int32_t *row_seq;  /* [rows]: the sequence of a row */
	const int32_t *position; /* [rows]: context[seq] + row - row_start[seq] */
};

/* The pages of a batch in one layer. Block i of sequence s holds its tokens i * block_tokens and up. */
struct mc_pages {
	void *pool; /* layout: kernels/kv_layout.h */
	struct mc_kv_layout layout;
	int blocks;           /* of the pool */
	int layer;            /* which one is meant */
	const int32_t *table; /* [seqs][table_stride]: number of a block in the pool; what is beyond the
				 sequence is not read */
	int table_stride;
};

/* Write the K and V of new tokens to their pages, or (gather) read them from there. */
struct mc_kv_rows {
	struct mc_pages pages;
	struct mc_batch batch;
	void *k, *v; /* [rows][kv_heads][head_dim], of layout.dtype; read by scatter, written by gather */
	int stride;
};

/*
 * Causal attention of the new tokens over their sequence's pages, grouped queries (arXiv 2305.13245): query
 * head h reads KV head h / (heads / kv_heads). K and V of the new tokens are in the pages already. out[r][h]
 * = sum over t <= position[r] of softmax_t(scale q[r][h] . K[t]) V[t]
 */
struct mc_attention {
	struct mc_pages pages;
	struct mc_batch batch;
	const void *q; /* [rows][heads][head_dim], of layout.dtype */
	void *out;     /* [rows][heads][head_dim], the same */
	int heads;     /* heads / kv_heads is 1 .. 16 */
	int q_stride, out_stride;
	float scale;
	void *scratch; /* as many bytes as the table's attention_scratch says; may be NULL if that is 0 */
};

/* Bytes between any two memories that the device reaches: device, its peers, host. Contiguous: rows = 1. */
struct mc_copy {
	void *to;
	const void *from;
	size_t bytes; /* of a row */
	size_t rows;
	size_t to_pitch,
	    from_pitch; /* bytes from a row to the next, at least `bytes`; ignored with one row */
};

void mc_gemm_check(const struct mc_gemm *);
void mc_norm_check(const struct mc_norm *);
void mc_rope_check(const struct mc_rope *);
void mc_swiglu_check(const struct mc_swiglu *);
void mc_embed_check(const struct mc_embed *);
void mc_sample_check(const struct mc_sample *);
void mc_kv_rows_check(const struct mc_kv_rows *);
void mc_attention_check(const struct mc_attention *);
void mc_copy_check(const struct mc_copy *);

/* Uniform in (0, 1), from a hash of both (SplitMix64's finaliser): 23 bits and a half step, so that neither
 * end occurs. */
static inline MC_HD float mc_sample_uniform(uint64_t seed, int token)
{
	uint64_t z = seed + ((uint64_t)(uint32_t)token + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return ((float)(uint32_t)(z >> 41) + 0.5f) * 0x1p-23f;
}

/*
 * What a token scores, its row's largest logit being `most` (above -infinity; NaN left out), temperature
 * above 0: the highest wins. Taken relative to `most`, so that neither large logits nor a low temperature
 * drown the noise or overflow. The noise is from -2.82 to 16.64, so whoever lies 20 below `most` loses
 * against that without a look at it: -infinity, as for a logit of NaN or -infinity.
 */
static inline MC_HD float mc_sample_score(float logit, float most, float temperature, uint64_t seed,
					  int token)
{
	float gap = logit == most ? 0 : (logit - most) / temperature;

	if (!(gap > -20))
		return -INFINITY;
	return gap - logf(-logf(mc_sample_uniform(seed, token)));
}

#ifdef __cplusplus
}
#endif
#endif
