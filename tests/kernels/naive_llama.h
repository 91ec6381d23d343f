/* A forward pass of a LLaMA as its papers write it down, in double precision, without a cache, pages, batches
 * or fused matrices: what the kernels' model must agree with. */
#ifndef MC_TESTS_KERNELS_NAIVE_LLAMA_H
#define MC_TESTS_KERNELS_NAIVE_LLAMA_H

#include "kernels/llama_shape.h"
#include "kernels/weights.h"

struct naive_llama;

/* Weights rounded to the format, then everything in double. */
struct naive_llama *naive_llama_new(const struct mc_llama_shape *s, const struct mc_weights *w,
				    enum mc_dtype t);
void naive_llama_free(struct naive_llama *m);
/* logits [n][vocab]: after each of the tokens. */
void naive_llama_forward(const struct naive_llama *m, const int32_t *token, int n, double *logits);

#endif
