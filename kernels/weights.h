/*
 * Where a model's weights come from: a seed, or safetensors files. Both give parts of tensors by name, into
 * the caller's host memory, in the format that it wants, so that a rank reads its share only and nobody holds
 * a model twice.
 */
#ifndef MC_KERNELS_WEIGHTS_H
#define MC_KERNELS_WEIGHTS_H

#include "kernels/llama_shape.h"

/* Rows `row` .. row + rows - 1 and columns `col` .. col + cols - 1 of a tensor (of a vector: rows 1, row 0).
 */
struct mc_weights_part {
	const struct mc_llama_tensor *tensor;
	int row, rows, col, cols;
	enum mc_dtype dtype; /* of to */
	void *to;            /* [rows][cols] */
};

struct mc_weights;

/*
 * Numbers made from (seed, name of the tensor, place in it) alone, so that a share, or another format, holds
 * the same ones (rounded). Matrices, embeddings too: uniform with the variance 1 / columns, so that a product
 * with a vector of ones' size has that size again; vectors (norms): uniform from 0.9 to 1.1.
 */
void mc_weights_seeded(struct mc_weights **out, uint64_t seed);

/* Files that mc_safetensors_open takes, checked to hold exactly the tensors of the shape, of its sizes, as
 * F32, BF16 or F16 (MC_USAGE; names of missing and of unknown ones are told). Passed over: tables of rotary
 * frequencies, and the output matrix where the shape says that it is tied. */
int mc_weights_files(struct mc_weights **out, const char *path, const struct mc_llama_shape *s,
		     struct mc_err *err);

/* The part is within the tensor, and the tensor one of the shape (asserted). */
void mc_weights_get(const struct mc_weights *w, const struct mc_weights_part *part);
void mc_weights_close(struct mc_weights *w);

#endif
