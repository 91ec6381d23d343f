/*
 * Tiles of 16-bit numbers in shared memory, as the attention kernels use them: filled from paged KV by
 * asynchronous copies, read as fragments of matrix instructions.
 *
 * A tile has rows of D numbers (64 or 128), cut into chunks of 16 bytes. Chunk c of row r lies at place
 * c ^ (r % 8) of its row, so that what a matrix load or a copy touches at once (eight rows of one chunk, or
 * one row's chunks in order) falls on all 32 banks once. Tiles start at multiples of 128 bytes; rows that are
 * named as the first of a fragment are multiples of 16.
 *
 * KV comes in steps of 16 tokens, the smallest block: a step never spans two blocks, and its K (or V) of one
 * head is 32 D contiguous bytes (kernels/kv_layout.h). A warp copies one step.
 */
#ifndef MC_KERNELS_CUDA_TILE_CUH
#define MC_KERNELS_CUDA_TILE_CUH

#include "kernels/cuda/ptx.cuh"
#include "kernels/ops.h"

/* Bytes from the start of a tile to a chunk. */
template <int D> static __device__ inline int mc_tile_at(int row, int chunk)
{
	return row * 2 * D + ((chunk ^ (row & 7)) << 4);
}

/* n / d for 0 <= n < 2^26, 1 <= d <= 32, as a product with d's inverse, 2^31 / d rounded up: too large by
 * less than n d / 2^31 < 1 of a d-th, and so exact. */
static inline uint32_t mc_inverse(int d)
{
	return (uint32_t)(((UINT64_C(1) << 31) + (uint32_t)d - 1) / (uint32_t)d);
}

static __device__ inline int mc_divide(int n, uint32_t inverse)
{
	return (int)((uint64_t)(2 * (uint32_t)n) * inverse >> 32);
}

/* The pages of one layer, as kernels take them. */
struct mc_kv_source {
	const unsigned char *layer; /* the layer's part of block 0 */
	size_t block_bytes, tile_bytes;
	size_t v_offset; /* from a head's K to its V */
	const int32_t *table;
	int table_stride, block_steps;
	uint32_t inverse; /* of block_steps */
};

static inline struct mc_kv_source mc_kv_source_of(const struct mc_pages *p)
{
	struct mc_kv_source s;

	s.layer = (const unsigned char *)p->pool + mc_kv_layer_offset(&p->layout, 0, p->layer);
	s.block_bytes = mc_kv_block_bytes(&p->layout);
	s.tile_bytes = mc_kv_tile_bytes(&p->layout);
	s.v_offset = mc_kv_tile_offset(&p->layout, 1, 0);
	s.table = p->table;
	s.table_stride = p->table_stride;
	s.block_steps = p->layout.block_tokens / 16;
	s.inverse = mc_inverse(s.block_steps);
	return s;
}

/* Where the K of tokens 16 step .. + 15 of a sequence begins (step < 2^26); table: the sequence's row; base:
 * s->layer plus head * s->tile_bytes. */
template <int D>
static __device__ inline const unsigned char *mc_kv_step(const struct mc_kv_source *s, const int32_t *table,
							 const unsigned char *base, int step)
{
	int block = mc_divide(step, s->inverse), within = step - block * s->block_steps;

	return base + (size_t)table[block] * s->block_bytes + within * (32 * D);
}

/* Warp: start copying 16 rows from contiguous memory to rows first .. first + 15 of a tile; zeros for those
 * from `valid` (any number) on, which are not read. */
template <int D>
static __device__ inline void mc_tile_copy16(unsigned char *tile, int first, const unsigned char *from,
					     int valid)
{
	constexpr int CHUNKS = D / 8, ROWS = 32 / CHUNKS;
	int lane = mc_opaque((int)threadIdx.x % 32);

#pragma unroll
	for (int i = 0; i < 16 / ROWS; i++) {
		int row = i * ROWS + lane / CHUNKS;

		mc_cp_async16(tile + mc_tile_at<D>(first + row, lane % CHUNKS), from + i * 512 + lane * 16,
			      row < valid);
	}
}

/*
 * A warp reads 16 rows of two chunks, four 8x8 matrices, at once. Which lane names which row decides their
 * order; `at`, bytes from a block's start, is the lane's part of the address, the same for all blocks.
 * Down: first chunk (rows 0 .. 7, 8 .. 15), then the second: operand a (Q, P); read transposed, operands b of
 * two instructions that take the rows as their 16 and a chunk each as their columns (V in P V).
 * Across: rows 0 .. 7 (both chunks), then 8 .. 15: operands b of two instructions that take eight rows each
 * as their columns (K in Q K^T).
 */
template <int D> static __device__ inline int mc_tile_down(int lane)
{
	return mc_tile_at<D>(lane % 16, lane / 16);
}

template <int D> static __device__ inline int mc_tile_across(int lane)
{
	return mc_tile_at<D>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
}

/* Warp: rows `row` .. + 15, columns 16 k .. + 15 of a tile. */
template <int D>
static __device__ inline void mc_tile_read(uint32_t r[4], const unsigned char *tile, int row, int k, int at)
{
	mc_ldmatrix_x4(r, tile + row * 2 * D + (at ^ (k << 5)));
}

/* Warp: the same, each 8x8 matrix transposed. */
template <int D>
static __device__ inline void mc_tile_read_trans(uint32_t r[4], const unsigned char *tile, int row, int k,
						 int at)
{
	mc_ldmatrix_x4_trans(r, tile + row * 2 * D + (at ^ (k << 5)));
}

#endif
