/*
 * aiconfigurator, custom_allreduce_perf: the engines' own all-reduce kernels inside a node; message_size is
 * elements of 2 bytes; ms. Rows launched one by one (kernel_source ends in _eager: some 0.04 ms of launching
 * in each) are left out unless --where kernel_source=... asks for them: engines launch decode from graphs.
 */
#include <string.h>

#include "fit/import.h"

enum { KERNEL, GPUS, SIZE, MS };

static const char *const columns[] = {"kernel_source", "num_gpus", "message_size", "latency_ms", NULL};

static void row(struct mc_import *im)
{
	const char *kernel = mc_import_text(im, KERNEL), *last = strrchr(kernel, '_');
	struct mc_op_point p = {.op = MC_OP_ALL_REDUCE};

	if (last && !strcmp(last, "_eager") && !mc_import_chosen(im, KERNEL)) {
		mc_import_skip(im, "launched eagerly (--where kernel_source=NAME reads them)");
		return;
	}
	p.dim[MC_DIM_BYTES] = 2 * mc_import_int(im, SIZE);
	p.dim[MC_DIM_RANKS] = mc_import_int(im, GPUS);
	mc_import_add(im, &p, mc_import_real(im, MS) * 1e-3, -1);
}

const struct mc_importer mc_importer_aic_custom_allreduce = {
    .name = "aic-custom-allreduce",
    .help = "aiconfigurator custom_allreduce_perf: all_reduce",
    .columns = columns,
    .row = row,
};
