/*
 * vidur, all_reduce.csv and send_recv.csv: the same columns, told apart by the file's name. Every rank has a
 * row; rows that cross nodes (devices_per_node below num_workers) are left out. ms.
 */
#include <string.h>

#include "fit/import.h"

enum { WORKERS, PER_NODE, RANK, BYTES, MEDIAN, STD };

static const char *const columns[] = {"num_workers", "devices_per_node", "rank", "size_bytes",
				      "median_ms",   "std_ms",           NULL};

static void row(struct mc_import *im)
{
	const char *file = strrchr(im->table.in.name, '/');
	bool reduce, send;
	struct mc_op_point p = {0};
	double ms = mc_import_real(im, MEDIAN), std = mc_import_real(im, STD);

	file = file ? file + 1 : im->table.in.name;
	reduce = strstr(file, "all_reduce");
	send = strstr(file, "send_recv");
	if (reduce == send) {
		mc_import_bad(
		    im, WORKERS,
		    "a file with all_reduce or send_recv in its name, which says what was measured");
		return;
	}
	if (mc_import_int(im, PER_NODE) < mc_import_int(im, WORKERS)) {
		mc_import_skip(im, "crosses nodes");
		return;
	}
	p.op = reduce ? MC_OP_ALL_REDUCE : MC_OP_SEND_RECV;
	p.dim[MC_DIM_BYTES] = mc_import_int(im, BYTES);
	if (reduce)
		p.dim[MC_DIM_RANKS] = mc_import_int(im, WORKERS);
	mc_import_add(im, &p, ms * 1e-3, mc_import_spread_ratio(std, ms));
}

const struct mc_importer mc_importer_vidur_collective = {
    .name = "vidur-collective",
    .help = "vidur all_reduce.csv and send_recv.csv, inside a node",
    .columns = columns,
    .row = row,
};
