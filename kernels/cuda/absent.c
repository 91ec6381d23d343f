/* What stands for CUDA in a build without it. */
#include "kernels/backend.h"

static int count(int *n, struct mc_err *err)
{
	*n = 0;
	return mc_err_set(
	    err, MC_NOHW,
	    "built without CUDA; expected the CUDA toolkit when it was configured (--with-cuda=DIR)");
}

static int device_open(struct mc_device **out, const struct mc_device_want *want, struct mc_err *err)
{
	int n;

	(void)want;
	*out = NULL;
	return count(&n, err);
}

const struct mc_backend mc_backend_cuda = {
    .name = "cuda",
    .summary = "NVIDIA GPUs (this build has no CUDA)",
    .count = count,
    .device_open = device_open,
};
