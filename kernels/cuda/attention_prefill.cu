/*
 * Prefill attention over paged KV, causal, with a cached prefix, grouped queries: FlashAttention-2 (arXiv
 * 2307.08691, algorithm 1, and its split of rows between warps) on tensor cores of sm_80.
 *     q, out [rows][heads][D], K and V in pages (kernels/kv_layout.h), 16-bit; D is 64 or 128.
 *
 * The rows of a sequence that one KV head serves are its new tokens times the query heads of the group, row =
 * token * group + head, so that K and V are read once for the group. A block takes 128 of these rows, a warp
 * 32, and walks over the tokens that they see in tiles of 64: S = Q K^T, softmax with a running maximum and
 * sum (f32, base 2), P rounded to 16 bits, O += P V; nothing of the size of S leaves the registers. Tiles of
 * K and V come in turn into a ring of three by asynchronous copies, two ahead of what is computed. Tiles
 * beyond the last row's token are not visited, and only those that some row of a warp sees in part are
 * masked. Tokens that no row of the block sees are zeros in shared memory and not read. The blocks of a head
 * start together, the longest first, and walk the same tiles from the first on, so that the L2 cache serves
 * most of them.
 *
 * Operations: 4 D for each query head and pair of new token and token that it sees: context + (n + 1) / 2 on
 * average. Bytes: q and out once (2 D each for a row), K and V once for each block of rows from L2: 128
 * operations a byte; from memory once for a head, if L2 holds what its blocks are at.
 * Limit on an A800: 312 TFLOP/s; memory (2 TB/s) is one only below 153 rows, and L2 would have to give 2.4
 * TB/s to keep up with the peak.
 * Distance, reasoned and not measured: of a tile a warp issues, for D = 128, 256 matrix instructions of 8
 * cycles (2048), and beside them 80 matrix loads (62 % of what shared memory gives in that time), 68
 * exponentials (544 cycles of their unit), about 340 f32 operations (680 cycles of theirs) and 200 others, no
 * spills (255 registers). A warp alone can't overlap its softmax with its products: 2048 of some 2900 cycles,
 * 70 %; two blocks a multiprocessor (80 KiB each) fill each other's gaps. D = 64 has as many exponentials for
 * half the products: 1024 of some 1800 cycles. The diagonal costs (128 / group + 64) / 2 tokens a row beyond
 * those that count. FlashAttention-2 reports up to 73 % of an A100's peak with tiles of this shape. On sm_90
 * these instructions reach two thirds of the peak at best, and FlashAttention-2 35 % (arXiv 2407.08608, which
 * shows what wgmma and TMA are for). Rows that fill too few multiprocessors: prefill_splits.cuh.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/prefill_splits.cuh"
#include "kernels/cuda/tile.cuh"

#include <assert.h>
#include <float.h>

enum { WARPS = 4, THREADS = 32 * WARPS, ROWS = MC_PREFILL_ROWS, KEYS = 16 * WARPS };

static const float LOG2_E = 1.44269504f;

struct arguments {
	struct mc_kv_source kv;
	const int32_t *row_start, *context;
	const void *q;
	void *out;
	int q_stride, out_stride;
	int group;
	uint32_t inverse; /* of group */
	float scale;      /* of logits, to base 2; above 0 */
	int sign;         /* of the scale that was asked for */
	struct mc_prefill_splits splits;
	uint32_t splits_inverse; /* of splits.count */
};

/* What a block works on: rows first .. first + ROWS - 1 of the rows (new tokens x group) of one sequence and
 * KV head. */
struct part {
	int row_start, context;
	int first, rows; /* rows: of the sequence */
	int keys;        /* tokens that the last row of the part sees, up to the end of the split */
	int split, key;  /* first token of the split */
};

/* 16 times the number of the warp, worked out where it is used: registers are dear. */
static __device__ inline int warp16(void)
{
	return mc_opaque((int)threadIdx.x) / 32 * 16;
}

/* What a warp holds of its 32 rows: fragments m = 0, 1 of 16 rows; a lane has rows lane / 4 and + 8 of each.
 */
template <int D> struct state {
	float o[2][D / 8][4];
	float top[2][2]; /* largest logit up to now, base 2 */
	float sum[2][2]; /* of this lane's columns */
};

/* False if there is no such part. The last ones, which see most, come first. */
static __device__ inline bool part_of(struct part *p, const struct arguments *a)
{
	int seq = (int)blockIdx.z, i = mc_divide((int)blockIdx.x, a->splits_inverse), parts;

	p->row_start = a->row_start[seq];
	p->context = a->context[seq];
	p->rows = (a->row_start[seq + 1] - p->row_start) * a->group;
	parts = (p->rows + ROWS - 1) / ROWS;
	p->first = (parts - 1 - i) * ROWS;
	if (p->first < 0)
		return false;
	p->split = (int)blockIdx.x - i * a->splits.count;
	p->key = p->split * a->splits.keys;
	p->keys = p->context + mc_divide(min(p->first + ROWS, p->rows) - 1, a->inverse) + 1;
	p->keys = min(p->keys, p->key + a->splits.keys);
	return p->key < p->keys;
}

/* Elements from the start of q or out to chunk 0 of a row of the sequence. */
template <int D>
static __device__ inline int64_t row_at(const struct arguments *a, const struct part *p, int row, int stride)
{
	int token = mc_divide(row, a->inverse);

	return (int64_t)(p->row_start + token) * stride +
	       ((int)blockIdx.y * a->group + row - token * a->group) * D;
}

/* Warp: start copying its 32 rows of q; zeros for those that aren't there. */
template <class T, int D>
static __device__ inline void copy_q(unsigned char *tile, const struct arguments *a, const struct part *p)
{
	constexpr int CHUNKS = D / 8;
	int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;

	for (int i = lane / CHUNKS; i < 32; i += 32 / CHUNKS) {
		int r = warp * 32 + i, row = p->first + r;
		bool valid = row < p->rows;
		const T *from =
		    (const T *)a->q + row_at<D>(a, p, valid ? row : 0, a->q_stride) + lane % CHUNKS * 8;

		mc_cp_async16(tile + mc_tile_at<D>(r, lane % CHUNKS), from, valid);
	}
}

/* Warp: its rows of q, there already, times a sign (0 or -1), so that the largest score has the largest logit
 * with any scale. */
template <int D> static __device__ inline void turn_q(unsigned char *tile, int sign)
{
	uint32_t *q = (uint32_t *)(tile + 2 * warp16() * 2 * D);

	__syncwarp();
	for (int i = (int)threadIdx.x % 32; i < 32 * D / 2; i += 32)
		q[i] = sign ? q[i] ^ 0x80008000u : 0;
}

template <int D> static __device__ inline void start(struct state<D> &st)
{
#pragma unroll
	for (int m = 0; m < 2; m++) {
#pragma unroll
		for (int h = 0; h < 2; h++) {
			st.top[m][h] = -FLT_MAX;
			st.sum[m][h] = 0;
		}
#pragma unroll
		for (int n = 0; n < D / 8; n++)
			st.o[m][n][0] = st.o[m][n][1] = st.o[m][n][2] = st.o[m][n][3] = 0;
	}
}

/* s = Q K^T for a warp's 32 rows and the tile's keys. */
template <class T, int D>
static __device__ inline void scores(float s[2][KEYS / 8][4], const unsigned char *q, const unsigned char *k)
{
	int lane = mc_opaque((int)threadIdx.x % 32), row = 2 * warp16();
	int down = mc_tile_down<D>(lane), across = mc_tile_across<D>(lane);

#pragma unroll
	for (int m = 0; m < 2; m++)
#pragma unroll
		for (int n = 0; n < KEYS / 8; n++)
			s[m][n][0] = s[m][n][1] = s[m][n][2] = s[m][n][3] = 0;
#pragma unroll
	for (int i = 0; i < D / 16; i++) {
		uint32_t x[2][4];

		mc_tile_read<D>(x[0], q, row, i, down);
		mc_tile_read<D>(x[1], q, row + 16, i, down);
#pragma unroll
		for (int n = 0; n < KEYS / 16; n++) {
			uint32_t y[4];

			mc_tile_read<D>(y, k, 16 * n, i, across);
#pragma unroll
			for (int m = 0; m < 2; m++) {
				mc_mma_16x8x16<T>(s[m][2 * n], x[m], y[0], y[1]);
				mc_mma_16x8x16<T>(s[m][2 * n + 1], x[m], y[2], y[3]);
			}
		}
	}
}

/* Take away what a row doesn't see of the keys from `key` on. What a row sees is worked out anew, as it is
 * wanted in few tiles and would take registers in all. */
static __device__ inline void mask(float s[2][KEYS / 8][4], const struct arguments *a, int key)
{
	struct part p;
	part_of(&p, a);
	int row = p.first + 2 * warp16() + (int)threadIdx.x % 32 / 4;

#pragma unroll
	for (int m = 0; m < 2; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			int last = p.context + mc_divide(min(row + 16 * m + 8 * h, p.rows - 1), a->inverse);
			int seen = last - key - (int)threadIdx.x % 4 * 2;

#pragma unroll
			for (int n = 0; n < KEYS / 8; n++) {
				if (8 * n > seen)
					s[m][n][2 * h] = -INFINITY;
				if (8 * n + 1 > seen)
					s[m][n][2 * h + 1] = -INFINITY;
			}
		}
}

/*
 * s becomes exp2(s scale - top), with the largest logit up to now; what was summed is brought to it. The
 * first tile has a key that the row sees, so that top is a logit from then on. top is rounded once and then
 * subtracted as it is, so that its rounding falls out of the quotient however large it is.
 */
template <int D>
static __device__ inline void soften(float s[2][KEYS / 8][4], struct state<D> &st, float scale)
{
#pragma unroll
	for (int m = 0; m < 2; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			float most = -INFINITY, top, shrink, sum;

#pragma unroll
			for (int n = 0; n < KEYS / 8; n++)
				most = fmaxf(most, fmaxf(s[m][n][2 * h], s[m][n][2 * h + 1]));
			most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
			most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
			top = fmaxf(st.top[m][h], most * scale);
			shrink = mc_exp2(st.top[m][h] - top);
			sum = 0;
#pragma unroll
			for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
				for (int j = 2 * h; j < 2 * h + 2; j++) {
					s[m][n][j] = mc_exp2(fmaf(s[m][n][j], scale, -top));
					sum += s[m][n][j];
				}
#pragma unroll
			for (int n = 0; n < D / 8; n++) {
				st.o[m][n][2 * h] *= shrink;
				st.o[m][n][2 * h + 1] *= shrink;
			}
			st.top[m][h] = top;
			st.sum[m][h] = st.sum[m][h] * shrink + sum;
		}
}

/* o += P V: the fragments of P, rounded, are those of the scores as they lie. */
template <class T, int D>
static __device__ inline void weigh(struct state<D> &st, const float s[2][KEYS / 8][4],
				    const unsigned char *v)
{
	int down = mc_tile_down<D>(mc_opaque((int)threadIdx.x % 32));

#pragma unroll
	for (int i = 0; i < KEYS / 16; i++) {
		uint32_t x[2][4];

#pragma unroll
		for (int m = 0; m < 2; m++)
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const float *f = &s[m][2 * i + j / 2][j % 2 * 2];

				x[m][j] = mc_pack2<T>(f[0], f[1]);
			}
#pragma unroll
		for (int n = 0; n < D / 16; n++) {
			uint32_t y[4];

			mc_tile_read_trans<D>(y, v, 16 * i, n, down);
#pragma unroll
			for (int m = 0; m < 2; m++) {
				mc_mma_16x8x16<T>(st.o[m][2 * n], x[m], y[0], y[1]);
				mc_mma_16x8x16<T>(st.o[m][2 * n + 1], x[m], y[2], y[3]);
			}
		}
	}
}

/* Warp: write its 32 rows, those that are there, through its own rows of the tile that held q. */
template <class T, int D>
static __device__ inline void finish(const struct state<D> &st, unsigned char *tile,
				     const struct arguments *a)
{
	constexpr int CHUNKS = D / 8;
	int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
	struct part p;

	part_of(&p, a);
	__syncwarp();
#pragma unroll
	for (int m = 0; m < 2; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			float sum = st.sum[m][h], part;
			int r = warp * 32 + m * 16 + h * 8 + lane / 4;

			sum += __shfl_xor_sync(0xffffffffu, sum, 1);
			sum += __shfl_xor_sync(0xffffffffu, sum, 2);
			part = sum > 0 ? 1 / sum : 0;
#pragma unroll
			for (int n = 0; n < CHUNKS; n++)
				*(uint32_t *)(tile + mc_tile_at<D>(r, n) + lane % 4 * 4) =
				    mc_pack2<T>(st.o[m][n][2 * h] * part, st.o[m][n][2 * h + 1] * part);
		}
	__syncwarp();
	for (int i = lane / CHUNKS; i < 32; i += 32 / CHUNKS) {
		int r = warp * 32 + i, row = p.first + r;

		if (row < p.rows)
			*(uint4 *)((T *)a->out + row_at<D>(a, &p, row, a->out_stride) + lane % CHUNKS * 8) =
			    *(const uint4 *)(tile + mc_tile_at<D>(r, lane % CHUNKS));
	}
}

/* Warp: leave its rows to the merge. */
template <int D> static __device__ inline void put_split(const struct state<D> &st, const struct arguments *a)
{
	int lane = (int)threadIdx.x % 32;
	struct part p;

	part_of(&p, a);
#pragma unroll
	for (int m = 0; m < 2; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			int row = p.first + 2 * warp16() + m * 16 + h * 8 + lane / 4;
			int64_t at =
			    row_at<1>(a, &p, row, (int)gridDim.y * a->group) * a->splits.count + p.split;
			float sum = st.sum[m][h];

			sum += __shfl_xor_sync(0xffffffffu, sum, 1);
			sum += __shfl_xor_sync(0xffffffffu, sum, 2);
			if (row >= p.rows)
				continue;
			if (lane % 4 == 0)
				a->splits.weight[at] = float2{st.top[m][h], sum};
#pragma unroll
			for (int n = 0; n < D / 8; n++)
				*(float2 *)(a->splits.part + at * D + n * 8 + lane % 4 * 2) =
				    float2{st.o[m][n][2 * h], st.o[m][n][2 * h + 1]};
		}
}

/* Where the warp's 16 tokens of the KV tile from `key` on begin; somewhere, if there are none. */
template <int D>
static __device__ inline const unsigned char *kv_of(const struct arguments *a, int key, int keys)
{
	int token = key + warp16();
	const unsigned char *base = a->kv.layer + (size_t)mc_opaque((int)blockIdx.y) * a->kv.tile_bytes;
	const int32_t *table = a->kv.table + (size_t)mc_opaque((int)blockIdx.z) * (size_t)a->kv.table_stride;

	return token < keys ? mc_kv_step<D>(&a->kv, table, base, token / 16) : base;
}

/* The n-th tile after the one at x, of the ring of three that begins at `first`. */
template <int TILE, int FIRST> static __device__ inline int ring(int x, int n)
{
	x += n * TILE;
	return x >= FIRST + 3 * TILE ? x - 3 * TILE : x;
}

template <class T, int D>
static __global__ void __launch_bounds__(THREADS, 2) prefill(const struct arguments a)
{
	MC_DYNAMIC_SHARED(unsigned char, q);
	struct part p;
	struct state<D> st;

	if (!part_of(&p, &a))
		return;
	constexpr int TILE = KEYS * 2 * D, RING = ROWS * 2 * D;
	const unsigned char *next = kv_of<D>(&a, p.key, p.keys);
	int k = RING; /* bytes from q to the tile of K */

	copy_q<T, D>(q, &a, &p);
	mc_tile_copy16<D>(q + k, warp16(), next, p.keys - p.key - warp16());
	mc_cp_async_commit();
	mc_tile_copy16<D>(q + k + TILE, warp16(), next + a.kv.v_offset, p.keys - p.key - warp16());
	mc_cp_async_commit();
	next = kv_of<D>(&a, p.key + KEYS, p.keys);
	start(st);
	if (a.sign != 1) {
		mc_cp_async_wait<1>();
		turn_q<D>(q, a.sign);
	}
	int all_see =
	    p.context + mc_divide(min(p.first + 2 * warp16(), p.rows - 1), a.inverse); /* rows of the warp */
	for (int key = p.key; key < p.keys; key += KEYS) {
		float s[2][KEYS / 8][4];
		int left = p.keys - key - KEYS; /* after this tile */

		mc_cp_async_wait<1>(); /* K */
		__syncthreads();
		if (left > 0)
			mc_tile_copy16<D>(q + ring<TILE, RING>(k, 2), warp16(), next, left - warp16());
		mc_cp_async_commit();
		scores<T, D>(s, q, q + k);
		if (key + KEYS - 1 > all_see)
			mask(s, &a, key);
		soften<D>(s, st, a.scale);
		mc_cp_async_wait<1>(); /* V */
		__syncthreads();
		if (left > 0)
			mc_tile_copy16<D>(q + k, warp16(), next + a.kv.v_offset, left - warp16());
		mc_cp_async_commit();
		next = kv_of<D>(&a, key + 2 * KEYS, p.keys);
		weigh<T, D>(st, s, q + ring<TILE, RING>(k, 1));
		k = ring<TILE, RING>(k, 2);
	}
	if (a.splits.count > 1)
		put_split<D>(st, &a);
	else
		finish<T, D>(st, q, &a);
}

template <class T, int D> static int launch(cudaStream_t s, const struct mc_attention *a, int units)
{
	const struct mc_batch *b = &a->batch;
	int kv_heads = a->pages.layout.kv_heads, group = a->heads / kv_heads;
	int bytes = (ROWS + 3 * KEYS) * 2 * D, parts = mc_ceil_div(b->max_rows * group, ROWS);
	auto kernel = prefill<T, D>;
	auto merge = prefill_merge<T, D>;
	struct arguments x;
	cudaError_t rc;

	x.kv = mc_kv_source_of(&a->pages);
	x.row_start = b->row_start;
	x.context = b->context;
	x.q = a->q;
	x.out = a->out;
	x.q_stride = a->q_stride;
	x.out_stride = a->out_stride;
	x.group = group;
	x.inverse = mc_inverse(group);
	x.scale = a->scale == 0 ? 1 : fabsf(a->scale) * LOG2_E;
	x.sign = (a->scale > 0) - (a->scale < 0);
	x.splits = mc_prefill_splits_of(a, units);
	x.splits_inverse = mc_inverse(x.splits.count);
	assert(x.splits.count == 1 ||
	       (size_t)b->rows * (size_t)a->heads * (size_t)x.splits.count <= mc_prefill_room(a, units));
	rc = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
	if (rc != cudaSuccess)
		return (int)rc;
	MC_LAUNCH(kernel, dim3((unsigned)(parts * x.splits.count), (unsigned)kv_heads, (unsigned)b->seqs),
		  dim3(THREADS), bytes, s, x);
	if (x.splits.count > 1)
		MC_LAUNCH(merge, dim3((unsigned)mc_ceil_div(b->rows * a->heads, MC_PREFILL_THREADS / 32)),
			  dim3(MC_PREFILL_THREADS), 0, s, x.splits, b->position, (T *)a->out, b->rows,
			  a->heads, a->out_stride);
	return mc_cuda_launched();
}

size_t mc_cuda_attention_prefill_scratch(const struct mc_attention *a, int units)
{
	return mc_prefill_scratch(a, units);
}

int mc_cuda_attention_prefill(struct CUstream_st *s, const struct mc_attention *a, int units)
{
	bool bf16 = a->pages.layout.dtype == MC_BF16;

	if (!a->batch.seqs)
		return 0;
	if (a->pages.layout.head_dim == 64)
		return bf16 ? launch<mc_bf16, 64>(s, a, units) : launch<mc_f16, 64>(s, a, units);
	return bf16 ? launch<mc_bf16, 128>(s, a, units) : launch<mc_f16, 128>(s, a, units);
}
