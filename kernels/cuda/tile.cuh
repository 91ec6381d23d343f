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

/* The pages of one layer, as kernels take them. */
struct mc_kv_source {
	const unsigned char *layer; /* the layer's part of block 0 */
	size_t block_bytes, tile_bytes;
	size_t v_offset; /* from a head's K to its V */
	const int32_t *table;
	int table_stride, block_steps;
	uint32_t inverse; /* of block_steps: 2^31 / block_steps, rounded up */
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
	s.inverse = (uint32_t)(((UINT64_C(1) << 31) + (uint32_t)s.block_steps - 1) / (uint32_t)s.block_steps);
	return s;
}

/*
 * Where the K of tokens 16 step .. + 15 of a sequence begins; table: the sequence's row; base: s->layer plus
 * head * s->tile_bytes. The division by block_steps is exact for step < 2^26: it's a product with a rounded
 * inverse, too large by less than step * block_steps / 2^31 < 1 / block_steps.
 */
template <int D>
static __device__ inline const unsigned char *mc_kv_step(const struct mc_kv_source *s, const int32_t *table,
							 const unsigned char *base, int step)
{
	uint32_t block = (uint32_t)((uint64_t)(2 * (uint32_t)step) * s->inverse >> 32);
	uint32_t within = (uint32_t)step - block * (uint32_t)s->block_steps;

	return base + (size_t)table[block] * s->block_bytes + within * (32 * D);
}

/* Warp: start copying 16 rows from contiguous memory to rows first .. first + 15 of a tile; zeros for those
 * from `valid` (any number) on, which are not read. */
template <int D>
static __device__ inline void mc_tile_copy16(unsigned char *tile, int first, const unsigned char *from,
					     int valid)
{
	constexpr int CHUNKS = D / 8, ROWS = 32 / CHUNKS;
	int lane = (int)threadIdx.x % 32;

#pragma unroll
	for (int i = 0; i < 16 / ROWS; i++) {
		int row = i * ROWS + lane / CHUNKS;

		mc_cp_async16(tile + mc_tile_at<D>(first + row, lane % CHUNKS), from + i * 512 + lane * 16,
			      row < valid);
	}
}

/* Warp: rows `row` .. + 15, columns 16 k .. + 15 of a tile, as the operand a of a matrix instruction. */
template <int D>
static __device__ inline void mc_tile_a(uint32_t a[4], const unsigned char *tile, int row, int k)
{
	int lane = (int)threadIdx.x % 32;

	mc_ldmatrix_x4(a, tile + (row + lane % 16) * 2 * D + (((2 * k) ^ (lane / 16) ^ (lane % 8)) << 4));
}

/*
 * Warp: operands b of two instructions, c[16][8] += a b, from a tile whose rows are b's columns (K in Q K^T):
 * b[0], b[1] for rows `row` .. + 7, b[2], b[3] for row + 8 .. + 15; columns 16 k .. + 15 of the tile are b's
 * rows.
 */
template <int D>
static __device__ inline void mc_tile_b(uint32_t b[4], const unsigned char *tile, int row, int k)
{
	int lane = (int)threadIdx.x % 32;
	int r = row + lane % 8 + lane / 16 * 8;

	mc_ldmatrix_x4(b, tile + r * 2 * D + (((2 * k) ^ (lane / 8 % 2) ^ (lane % 8)) << 4));
}

/*
 * Warp: the same from a tile whose rows are b's rows (V in P V): rows `row` .. + 15; b[0], b[1] for columns
 * 16 n .. + 7, b[2], b[3] for 16 n + 8 .. + 15.
 */
template <int D>
static __device__ inline void mc_tile_b_trans(uint32_t b[4], const unsigned char *tile, int row, int n)
{
	int lane = (int)threadIdx.x % 32;

	mc_ldmatrix_x4_trans(b,
			     tile + (row + lane % 16) * 2 * D + (((2 * n) ^ (lane / 16) ^ (lane % 8)) << 4));
}

#endif
