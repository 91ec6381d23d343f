/*
 * aiconfigurator, nccl_perf: collectives inside a node; message_size is elements of 2 bytes: read as bytes,
 * the 8-GPU all-reduce of an A100 would reach half of what NCCL is known to; ms.
 */
#include <string.h>

#include "fit/import.h"

enum { OP, GPUS, SIZE, MS };

static const char *const columns[] = {"op_name", "num_gpus", "message_size", "latency_ms", NULL};

static void row(struct mc_import *im)
{
	struct mc_op_point p = {.op = MC_OP_ALL_REDUCE};

	if (strcmp(mc_import_text(im, OP), "all_reduce")) {
		mc_import_skip(im, "a collective other than all_reduce");
		return;
	}
	p.dim[MC_DIM_BYTES] = 2 * mc_import_int(im, SIZE);
	p.dim[MC_DIM_RANKS] = mc_import_int(im, GPUS);
	mc_import_add(im, &p, mc_import_real(im, MS) * 1e-3, -1);
}

const struct mc_importer mc_importer_aic_nccl = {
    .name = "aic-nccl",
    .help = "aiconfigurator nccl_perf: all_reduce (message sizes are elements)",
    .columns = columns,
    .row = row,
};
