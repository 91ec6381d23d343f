/*
 * Embedding: y[i] = table[id[i]], zeros for an id outside of the table.   table [table_rows][width], y
 * [rows][width], 16-bit; bytes are moved as they are.
 *
 * Operations: none. Bytes: 4 an element (read, written), 4 a row for its id. Bound by memory.
 *
 * A thread moves up to four pieces of 16 bytes, all under way before the first is stored; neighbours in a
 * warp move neighbouring pieces; a row wider than what a block moves so is split over blocks. Speed on a GPU:
 * not measured.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"

enum { THREADS = 256, EACH = 4 };

static __global__ void embed(struct mc_embed a, int pieces)
{
	int id = a.id[blockIdx.x], first = blockIdx.y * EACH * blockDim.x + threadIdx.x;
	const uint4 *from = (const uint4 *)a.table + (int64_t)id * pieces;
	uint4 *to = (uint4 *)a.y + (int64_t)blockIdx.x * pieces;
	bool inside = id >= 0 && id < a.table_rows;
	uint4 v[EACH];

#pragma unroll
	for (int j = 0; j < EACH; j++) {
		int at = first + j * blockDim.x;

		v[j] = make_uint4(0, 0, 0, 0);
		if (inside && at < pieces)
			v[j] = from[at];
	}
#pragma unroll
	for (int j = 0; j < EACH; j++) {
		int at = first + j * blockDim.x;

		if (at < pieces)
			to[at] = v[j];
	}
}

int mc_cuda_embed(struct CUstream_st *s, const struct mc_embed *a)
{
	int pieces = a->width / 8, threads = mc_ceil_div(mc_ceil_div(pieces, EACH), 32) * 32;

	if (a->rows == 0)
		return 0;
	threads = threads < THREADS ? threads : THREADS;
	MC_LAUNCH(embed, dim3(a->rows, mc_ceil_div(pieces, EACH * threads)), dim3(threads), 0, s, *a, pieces);
	return mc_cuda_launched();
}
