/*
 * Reads of an array of NVMe drives through io_uring: value_bytes each, queue_depth of them under way in each
 * of threads, GiB/s. Only the raw array is a disk's; the rest is what a store makes of it.
 */
#include <string.h>

#include "fit/import.h"

enum { CASE, DEPTH, THREADS, BYTES, RATE };

static const char *const columns[] = {"case",        "queue_depth",      "threads",
				      "value_bytes", "throughput_GiBps", NULL};

static void row(struct mc_import *im)
{
	struct mc_op_point p = {.op = MC_OP_DISK_READ};
	double rate = mc_import_real(im, RATE) * 0x1p30;

	if (strcmp(mc_import_text(im, CASE), "fio_raw_array")) {
		mc_import_skip(im, "not of the raw array at a known depth");
		return;
	}
	if (!(rate > 0)) {
		mc_import_bad(im, RATE, "a rate above 0");
		return;
	}
	p.dim[MC_DIM_BYTES] = mc_import_int(im, BYTES);
	p.dim[MC_DIM_DEPTH] = mc_import_int(im, DEPTH) * mc_import_int(im, THREADS);
	mc_import_add(im, &p, (double)p.dim[MC_DIM_BYTES] / rate, -1);
}

const struct mc_importer mc_importer_nvme_uring_read = {
    .name = "nvme-uring-read",
    .help = "io_uring reads of an NVMe array: disk_read",
    .columns = columns,
    .row = row,
};
