/*
 * Safetensors files, as Hugging Face publishes models in (https://github.com/huggingface/safetensors):
 *
 *     8 bytes        little-endian length of the header
 *     header         JSON: {"name": {"dtype": "BF16", "shape": [r, c], "data_offsets": [from, to]}, ...,
 *                    "__metadata__": {"key": "text"}}; offsets count from the end of the header
 *     data           little-endian, row-major, the tensors one after another
 *
 * Files come from anywhere, so everything is checked before anything is used: a header that is longer than
 * the file or than 100 MB, duplicate keys, unknown keys or formats, shapes that overflow or don't go with
 * their bytes, offsets that overlap, leave gaps, or leave the file. Such files are refused with file, tensor
 * and what was expected (MC_USAGE). Data are mapped, not read: opening costs no memory beyond the header. (A
 * file that another process cuts short while it is open kills the reader, as with every mapping.)
 */
#ifndef MC_KERNELS_SAFETENSORS_H
#define MC_KERNELS_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kernels/dtype.h"

enum { MC_TENSOR_DIMS = 8 };

struct mc_tensor {
	const char *name;
	const char *file;  /* path of the file that holds it */
	const char *dtype; /* the format's name, "F32", "BF16", "F16", "I64", ... */
	int number_bits;   /* of one element */
	int dims;
	int64_t size[MC_TENSOR_DIMS];
	int64_t count; /* elements */
	const void *data;
	size_t bytes;
};

struct mc_safetensors;

/*
 * path: a .safetensors file; an index (.json, with a "weight_map" from tensors to files beside it); or a
 * folder with model.safetensors.index.json or model.safetensors. What an index names must be in its files,
 * and the other way round. The caller closes *out (NULL is fine).
 */
int mc_safetensors_open(struct mc_safetensors **out, const char *path, struct mc_err *err);
void mc_safetensors_close(struct mc_safetensors *f);

size_t mc_safetensors_count(const struct mc_safetensors *f);
/* In the order of their names. All live until the close. */
const struct mc_tensor *mc_safetensors_at(const struct mc_safetensors *f, size_t i);
/* NULL: there is none. */
const struct mc_tensor *mc_safetensors_find(const struct mc_safetensors *f, const char *name);

/* n numbers from the first-th on, rounded to the format `to`. MC_USAGE if the tensor holds no F32, BF16, F16.
 * The range is within the tensor (asserted). */
int mc_tensor_get(const struct mc_tensor *t, int64_t first, int64_t n, enum mc_dtype to, void *out);

/* Write a file that appears whole or not at all. Of each tensor: name, dtype (F32, BF16 or F16), dims, size,
 * data. */
int mc_safetensors_write(const char *path, const struct mc_tensor *tensor, size_t n, struct mc_err *err);

#endif
