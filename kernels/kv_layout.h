/*
 * The layout of a paged KV pool, stated once: attention, scatter and gather, and transfers between nodes all
 * use it.
 *
 *     pool [blocks][layers][2: K, V][kv_heads][block_tokens][head_dim]      (row-major, no padding)
 *
 * A block holds block_tokens tokens of one request (all layers), is one contiguous piece of memory, and so
 * one transfer; the part of one layer is contiguous in it, too, so that prefill can send or load it layer by
 * layer (paper section 5.2). Within a layer, the K (or V) of one head is a [block_tokens][head_dim] tile:
 * what an attention kernel reads is a run of whole rows. With tensor parallelism each rank has a pool of its
 * own with its kv_heads (source of paging: vLLM, arXiv 2309.06180).
 */
#ifndef MC_KERNELS_KV_LAYOUT_H
#define MC_KERNELS_KV_LAYOUT_H

#include "kernels/dtype.h"

struct mc_kv_layout {
	int layers;
	int kv_heads;     /* of this rank */
	int block_tokens; /* a multiple of 16, 16 to 512 */
	int head_dim;     /* 64 or 128 */
	enum mc_dtype dtype;
};

/* Bytes of the [block_tokens][head_dim] tile of one head's K or V. */
static inline MC_HD size_t mc_kv_tile_bytes(const struct mc_kv_layout *l)
{
	return (size_t)l->block_tokens * (size_t)l->head_dim * mc_dtype_bytes(l->dtype);
}

/* Bytes of one layer's part of a block, K and V of all heads. */
static inline MC_HD size_t mc_kv_layer_bytes(const struct mc_kv_layout *l)
{
	return 2 * (size_t)l->kv_heads * mc_kv_tile_bytes(l);
}

/* Bytes of a block. */
static inline MC_HD size_t mc_kv_block_bytes(const struct mc_kv_layout *l)
{
	return (size_t)l->layers * mc_kv_layer_bytes(l);
}

/* Bytes from the start of the pool to the layer's part of a block. */
static inline MC_HD size_t mc_kv_layer_offset(const struct mc_kv_layout *l, int block, int layer)
{
	return (size_t)block * mc_kv_block_bytes(l) + (size_t)layer * mc_kv_layer_bytes(l);
}

/* Bytes from the start of a layer's part of a block to the tile of a head: of K (part 0) or V (part 1). */
static inline MC_HD size_t mc_kv_tile_offset(const struct mc_kv_layout *l, int part, int head)
{
	return ((size_t)part * (size_t)l->kv_heads + (size_t)head) * mc_kv_tile_bytes(l);
}

#endif
