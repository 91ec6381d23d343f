/* A small model on a backend of the rig, and steps of it that are waited for. Failures fail the test. */
#ifndef MC_TESTS_KERNELS_LLAMA_RIG_H
#define MC_TESTS_KERNELS_LLAMA_RIG_H

#include "kernels/llama.h"
#include "tests/kernels/naive_llama.h"

enum { LLAMA_BLOCK = 16, LLAMA_BLOCKS = 40, LLAMA_TOKENS = 160, LLAMA_SEQS = 6, LLAMA_ROWS = 160 };

struct llama_rig {
	const struct mc_backend *be;
	enum mc_dtype dtype;
	struct mc_llama_shape shape;
	struct mc_llama *m;
};

/* What llama_open asks for: pair i of the rig, limits as above. */
void llama_want(int i, const struct mc_llama_shape *s, int ranks, struct mc_llama_want *out);
/* Weights from the seed; the KV pools hold NaN. */
void llama_open(struct llama_rig *l, int i, const struct mc_llama_shape *s, int ranks, uint64_t seed);
void llama_close(struct llama_rig *l);
/* False: this machine hasn't so many devices, and isn't the CPU's (where one can be opened many times). */
bool llama_has_ranks(int i, int ranks);

/* Run and wait; logits (malloc'd, NULL without rows) in the order of seq[].row. The tokens too, if token
 * isn't NULL. */
float *llama_step(struct llama_rig *l, struct mc_llama_step *step, int32_t *token);
/* One sequence. */
float *llama_one(struct llama_rig *l, const struct mc_llama_seq *seq);

/* The shape "tiny". */
const struct mc_llama_shape *llama_tiny(void);
/* n new tokens of a prompt, after `context` of them, in blocks of LLAMA_BLOCK; logits of all. */
struct mc_llama_seq llama_seq(const int32_t *token, int context, int n, const int32_t *block);
/* A prompt: n tokens. */
void llama_prompt(const struct mc_llama_shape *s, uint64_t seed, int32_t *token, int n);
/* Logits of the naive forward pass after each of n tokens, malloc'd. */
double *llama_naive(const struct llama_rig *l, uint64_t seed, const int32_t *token, int n);
/* Root of the mean square. */
double llama_rms(const double *x, size_t n);

/*
 * How far logits may be from exact ones, absolutely, where those have the root mean square rms.
 *
 * On the way through a layer numbers are rounded to the format at 11 places (2 norms, qkv, rope, softmax,
 * attention, o, 2 sums with the residual, gate and up, SwiGLU, down, less where one covers another), in the
 * end at 2 more. Each is off by at most u = epsilon / 2 relatively, u / sqrt(3) in the mean square,
 * independently; what a layer adds is as large as what it gets, so its part grows less than twofold. A logit
 * is a sum over a whole row, so its relative error is the root of the sum of squares; 5 standard deviations
 * of that hold for all of some ten thousand. In f32 the sums themselves (up to 192 products) are off by as
 * much as some roundings.
 */
double llama_bound(const struct llama_rig *l, double rms);

#endif
