/*
 * K and V of new tokens to their pages (scatter) and back (gather): rows [rows][kv_heads][head_dim] with a
 * stride, pages as in kernels/kv_layout.h, 16-bit; bytes are moved as they are. Source of paging: vLLM, arXiv
 * 2309.06180.
 *
 * Operations: none but indices. Bytes: 8 kv_heads head_dim a row (K and V, each read and written), 12 for
 * where it goes. Bound by memory.
 *
 * A thread moves 16 bytes; the head_dim / 8 threads of one head's K or V move 128 or 256 bytes that lie
 * together on both sides, and tokens that follow each other lie so in a page, too: whole sectors everywhere.
 * Full occupancy is 32 KiB in flight on a multiprocessor, three times what its share of the bandwidth needs.
 * A row is dealt to as many threads as it has pieces, up to 256, narrow rows share a block. Speed on a GPU:
 * not measured.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"

enum { THREADS = 256 };

/* Sizes in pieces of 16 bytes. */
struct cut {
	int per_head;        /* of a head's K or V of one token */
	int per_part;        /* of all heads' */
	int stride;          /* from row to row of k and v */
	int row_threads;     /* threads of a row */
	int64_t layer;       /* from the start of a block to the layer's part of it */
	int64_t block, tile; /* of a block, and of one head's K or V in it */
};

/* Where piece i of a row's K and V (K first) lies in the layer's part of a block, token t of the block. */
static __device__ inline int64_t in_block(const struct cut &c, int i, int t)
{
	return (int64_t)(i / c.per_head) * c.tile + t * c.per_head + i % c.per_head;
}

template <bool GATHER> static __global__ void move_rows(struct mc_kv_rows a, struct cut c)
{
	int row = blockIdx.x * (blockDim.x / c.row_threads) + threadIdx.x / c.row_threads;

	if (row >= a.batch.rows)
		return;
	int position = a.batch.position[row], tokens = a.pages.layout.block_tokens;
	const int32_t *table = a.pages.table + (int64_t)a.batch.row_seq[row] * a.pages.table_stride;
	uint4 *page = (uint4 *)a.pages.pool + table[position / tokens] * c.block + c.layer;
	uint4 *k = (uint4 *)a.k + (int64_t)row * c.stride, *v = (uint4 *)a.v + (int64_t)row * c.stride;

	for (int i = threadIdx.x % c.row_threads; i < 2 * c.per_part; i += c.row_threads) {
		uint4 *mine = i < c.per_part ? k + i : v + (i - c.per_part);
		uint4 *paged = page + in_block(c, i, position % tokens);

		if (GATHER)
			*mine = *paged;
		else
			*paged = *mine;
	}
}

template <bool GATHER> static int launch(cudaStream_t s, const struct mc_kv_rows *a)
{
	const struct mc_kv_layout *l = &a->pages.layout;
	struct cut c;
	auto kernel = move_rows<GATHER>;

	if (a->batch.rows == 0)
		return 0;
	c.per_head = l->head_dim / 8;
	c.per_part = l->kv_heads * c.per_head;
	c.stride = a->stride / 8;
	c.row_threads = 2 * c.per_part < THREADS ? 2 * c.per_part : THREADS;
	c.layer = (int64_t)mc_kv_layer_offset(l, 0, a->pages.layer) / 16;
	c.block = (int64_t)mc_kv_block_bytes(l) / 16;
	c.tile = (int64_t)mc_kv_tile_bytes(l) / 16;
	int rows = THREADS / c.row_threads; /* of a block */

	MC_LAUNCH(kernel, dim3(mc_ceil_div(a->batch.rows, rows)), dim3(rows * c.row_threads), 0, s, *a, c);
	return mc_cuda_launched();
}

int mc_cuda_kv_scatter(struct CUstream_st *s, const struct mc_kv_rows *a)
{
	return launch<false>(s, a);
}

int mc_cuda_kv_gather(struct CUstream_st *s, const struct mc_kv_rows *a)
{
	return launch<true>(s, a);
}
