/*
 * aiconfigurator, gemm_perf: C[m,n] = A[m,k] x B[k,n] on one GPU, ms.
 */
#include "fit/import.h"

enum { M, N, K, MS };

static const char *const columns[] = {"m", "n", "k", "latency_ms", NULL};

static void row(struct mc_import *im)
{
	struct mc_op_point p = {.op = MC_OP_GEMM};

	p.dim[MC_DIM_ROWS] = mc_import_int(im, M);
	p.dim[MC_DIM_N] = mc_import_int(im, N);
	p.dim[MC_DIM_K] = mc_import_int(im, K);
	mc_import_add(im, &p, mc_import_real(im, MS) * 1e-3, -1);
}

const struct mc_importer mc_importer_aic_gemm = {
    .name = "aic-gemm",
    .help = "aiconfigurator gemm_perf: gemm",
    .columns = columns,
    .row = row,
};
