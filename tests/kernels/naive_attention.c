#include "tests/kernels/naive_attention.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 0x1p-24 /* largest relative error of one rounding in f32 */

/*
 * Roundings that reach one number, in UNITs. A score is a sum of head_dim products, each sum at most 16 deep
 * (8 vectors or matrix instructions, twice for hardware that cuts instead of rounding, or 4 more to add the
 * lanes): DOT times the sum of absolute products. The scale, a constant for base 2 and the difference from
 * the maximum each round a number about as large as the scores: SCORE times the largest of them. The
 * exponential function: EXP. What is summed over tokens: a step for each 16 tokens, some more for tiles and
 * splits.
 */
enum { DOT = 16, SCORE = 4, EXP = 16, SUM_BASE = 32, WIDTH_MAX = 128 };

struct one {
	const struct paged_batch *b;
	int seq, kv_head, tokens;
	double *p;     /* [tokens]: softmax */
	double *error; /* [tokens]: relative error of its exponential in f32, at most */
	double total;  /* sum of exp(score - max) */
};

static const float *kv_row(const struct one *o, const float *x, int t)
{
	return x +
	       ((o->b->token_start[o->seq] + (size_t)t) * (size_t)o->b->want.kv_heads + (size_t)o->kv_head) *
		   (size_t)o->b->want.head_dim;
}

static void softmax(struct one *o, const float *q, double scale)
{
	double max = -INFINITY, large = 0;

	for (int t = 0; t < o->tokens; t++) {
		const float *k = kv_row(o, o->b->k, t);
		double dot = 0, size = 0;

		for (int d = 0; d < o->b->want.head_dim; d++) {
			dot += (double)q[d] * k[d];
			size += fabs((double)q[d] * k[d]);
		}
		o->p[t] = dot * scale;
		o->error[t] = DOT * UNIT * size * fabs(scale);
		max = fmax(max, o->p[t]);
		large = fmax(large, fabs(o->p[t]));
	}
	o->total = 0;
	for (int t = 0; t < o->tokens; t++) {
		o->p[t] = exp(o->p[t] - max);
		o->error[t] += SCORE * UNIT * large + EXP * UNIT;
		o->total += o->p[t];
	}
	for (int t = 0; t < o->tokens; t++)
		o->p[t] /= o->total;
}

/*
 * out = sum of p[t] v[t]. What an exponential is off by moves the output by p (v - out) times that. Kernels
 * on 16-bit matrix units round each exponential to 16 bits before it meets v (the denominator keeps f32):
 * half an epsilon of p v; in f16 those below 2^-14 (of the largest, which is about 1) lose up to 2^-25.
 */
static void weigh(const struct one *o, enum mc_dtype dtype, double *out, double *bound, double *rms)
{
	double half = dtype == MC_F32 ? 0 : mc_dtype_epsilon(dtype) / 2, all = 0;
	double least = dtype == MC_F16 ? 0x1p-25 / o->total : 0;
	double size[WIDTH_MAX] = {0}, squares[WIDTH_MAX] = {0};
	int width = o->b->want.head_dim;

	for (int d = 0; d < width; d++)
		out[d] = bound[d] = 0;
	for (int t = 0; t < o->tokens; t++) {
		const float *v = kv_row(o, o->b->v, t);

		for (int d = 0; d < width; d++)
			out[d] += o->p[t] * v[d];
	}
	for (int t = 0; t < o->tokens; t++) {
		const float *v = kv_row(o, o->b->v, t);
		double p = o->p[t], off = p * o->error[t], cut = half * p + least;

		for (int d = 0; d < width; d++) {
			double e = off * fabs(v[d] - out[d]), h = cut * fabs(v[d]);

			size[d] += p * fabs(v[d]);
			bound[d] += e + h;
			squares[d] += e * e + h * h;
		}
	}
	for (int d = 0; d < width; d++) {
		double sums = size[d] * UNIT * (SUM_BASE + o->tokens / 16.0);
		double last = mc_dtype_epsilon(dtype) / 2 * fabs(out[d]) + (dtype == MC_F16 ? 0x1p-25 : 0);

		bound[d] += sums + last;
		all += squares[d] / 3 + sums * sums / 9 + last * last / 3;
	}
	*rms = 3 * sqrt(all / width);
}

void naive_attention_init(struct naive_attention *n, const struct paged_batch *b, float scale)
{
	size_t heads = (size_t)b->heads, width = (size_t)b->want.head_dim, rows = (size_t)b->rows;
	struct one o = {.b = b};

	n->b = b;
	n->out = malloc(rows * heads * width * sizeof *n->out + 1);
	n->bound = malloc(rows * heads * width * sizeof *n->bound + 1);
	n->rms = malloc(rows * heads * sizeof *n->rms + 1);
	o.p = malloc((size_t)b->batch.max_tokens * sizeof *o.p + 1);
	o.error = malloc((size_t)b->batch.max_tokens * sizeof *o.error + 1);
	for (size_t i = 0; i < rows * heads; i++) {
		o.seq = b->row_seq[i / heads];
		o.kv_head = (int)(i % heads) / b->want.group;
		o.tokens = b->position[i / heads] + 1;
		softmax(&o, b->q + i * width, scale);
		weigh(&o, b->pages.layout.dtype, n->out + i * width, n->bound + i * width, n->rms + i);
	}
	free(o.p);
	free(o.error);
}

void naive_attention_fini(struct naive_attention *n)
{
	free(n->out);
	free(n->bound);
	free(n->rms);
}

void naive_attention_check(const struct naive_attention *n, const float *got, const char *what)
{
	size_t heads = (size_t)n->b->heads, width = (size_t)n->b->want.head_dim;

	for (size_t i = 0; i < (size_t)n->b->rows * heads; i++) {
		size_t row = i / heads;
		int seq = n->b->row_seq[row];
		double square = 0;
		char where[160];

		snprintf(where, sizeof where,
			 "%s: sequence %d of %d, context %d, new token %d, head %zu of %zu (group %d), "
			 "block %d",
			 what, seq, n->b->want.seqs, n->b->context[seq], (int)row - n->b->row_start[seq],
			 i % heads, heads, n->b->want.group, n->b->want.block_tokens);
		for (size_t d = 0; d < width; d++) {
			double e = got[i * width + d] - n->out[i * width + d];

			rig_close_to(got[i * width + d], n->out[i * width + d], n->bound[i * width + d],
				     where, d);
			square += e * e;
		}
		ck_assert_msg(sqrt(square / (double)width) <= n->rms[i],
			      "%s: off by %.3g (root mean square), more than %.3g", where,
			      sqrt(square / (double)width), n->rms[i]);
	}
}
