/* Between the parts of safetensors*.c. */
#ifndef MC_KERNELS_SAFETENSORS_INTERNAL_H
#define MC_KERNELS_SAFETENSORS_INTERNAL_H

#include "base/vec.h"
#include "kernels/safetensors.h"

struct mc_st_file {
	char *path;
	void *map; /* the whole file */
	size_t bytes;
};

struct mc_safetensors {
	struct {
		MC_VEC(struct mc_st_file *)
	} files;
	struct {
		MC_VEC(struct mc_tensor)
	} tensors; /* names are owned */
};

/* Map a file and add its tensors, in the order of the header. */
int mc_st_file_add(struct mc_safetensors *f, const char *path, struct mc_err *err);
/* All files that an index names. */
int mc_st_index_add(struct mc_safetensors *f, const char *path, struct mc_err *err);
/* Bits of an element, 0: no format of that name. *name becomes a constant one. */
int mc_st_format(const char **name);

#endif
