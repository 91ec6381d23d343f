/*
 * Decode attention: one new token of each sequence over its paged KV, grouped queries, online softmax.
 *
 *     q, out [seqs][heads][head_dim] 16-bit; pages: kernels/kv_layout.h; sums in f32
 *
 * Operations: 4 heads head_dim a token (two products), and one exponential a token and head. Bytes: 4
 * kv_heads head_dim a token (K and V, 2 bytes each, read once for all heads of a group), and q, out once. So
 * `group` operations a byte, 1 to 16, where an A800 does 156 and an H200 206 before its matrix units are the
 * limit: bound by memory, for every group, if matrix units do the products. (Without them an A800 has 9.6
 * operations a byte, of which group 8 would take 8 before anything is converted.)
 *
 * The heads of a group are the 16 rows of m16n8k16, zeros where there are fewer; half of the softmax is left
 * out up to group 8. Each of the four warps of a block works for itself on every fourth step of 16 tokens,
 * with a ring of its own in shared memory (16 KiB: two steps of head_dim 128, or four of 64), so that nothing
 * waits for a barrier of the block until the end, where the four are merged. The context of a sequence is
 * cut into splits (flash-decoding), so that few long requests fill the device: blocks [split][kv head][seq];
 * partial sums (maximum, sum, output) go to scratch, and a second kernel merges them in the order of the
 * splits. So results don't depend on timing. A sequence in one split is written at once.
 *
 * What is in the way of the limit, an SM of an A800 (2.04 TB/s / 108 SMs: 13.4 bytes a cycle of 1.41 GHz; an
 * H200: 20 a cycle of 1.8 GHz):
 * - Latency. 0.6 to 0.8 us times that rate wants 11 to 15 KB in flight on an SM, 25 to 29 KB on an H200; the
 *   rings of the two blocks that fit an A800's SM hold 128 KiB, of the three on an H200's 192 KiB, and a slot
 *   is filled again as soon as its products are made. Even one block an SM, as in a last wave, is enough.
 * - A step of head_dim 128 is 8 KiB, 610 cycles of the SM's share of bandwidth (H200: 400). It takes 32
 *   matrix instructions (64 cycles of the SM's units), 16 matrix loads and the writing of the tile (64 + 64
 *   cycles of shared memory), 256 exponentials (16), and 380 to 430 instructions of a warp as compiled (94 to
 *   106 cycles of four schedulers): a third of it at most, and all of these overlap between warps. 168
 *   registers at most, none spilled.
 * - Splits cost 8 (group head_dim) bytes each, written and read in L2, to 512 head_dim bytes or more of KV
 *   each: below 2 % at 1024 tokens a split and group 8.
 * These are counts; times on a device have not been measured.
 *
 * Source: FlashAttention-2 (arXiv 2307.08691), Flash-Decoding (Dao, Haziza, Massa, Sizov, 2023), online
 * softmax (arXiv 1805.02867), paging (arXiv 2309.06180).
 */
#include <assert.h>
#include <math.h>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/splits.h"
#include "kernels/cuda/tile.cuh"

enum {
	STEP = MC_SPLIT_TOKENS, /* tokens: rows of a tile */
	WARPS = MC_SPLIT_WARPS,
	THREADS = 32 * WARPS,
	RING_BYTES = 16 * 1024, /* of a warp */
	MERGE_THREADS = 256,
};

/* Slots of a warp's ring: a step's K and V. */
template <int D> static __device__ constexpr int slots(void)
{
	return RING_BYTES / (2 * STEP * 2 * D);
}

struct job {
	struct mc_kv_source kv;
	const void *q;
	void *out;
	const int32_t *context;
	float *part;    /* [seqs][heads][splits][D]: sums of exp2(score - max) V */
	float2 *weight; /* [seqs][heads][splits]: max of scores, sum of exp2(score - max) */
	int heads, group, q_stride, out_stride;
	int splits, split_steps;
	float scale; /* to scores of base 2 */
};

/* A warp's steps, first, first + WARPS, ..., on their way into its ring. */
struct feed {
	unsigned char *ring; /* [slots][2: K, V] tiles */
	const int32_t *table;
	const unsigned char *base; /* as mc_kv_step wants it */
	int first, count, tokens;  /* tokens: of the sequence */
	const unsigned char
	    *ahead; /* where the K of this lane's step is, of the 32 that are looked up at once */
	const unsigned char *at; /* where the K of the step begun last is */
};

template <int D> static __device__ inline unsigned char *feed_tile(const struct feed *f, int i, int part)
{
	return f->ring + (i % slots<D>() * 2 + part) * (STEP * 2 * D);
}

/* Tokens of step i, or more. */
static __device__ inline int feed_valid(const struct feed *f, int i)
{
	return f->tokens - (f->first + i * WARPS) * STEP;
}

/* Begin to copy K of step i (each in order). A group is committed for every call, so that waits can count. */
template <int D> static __device__ inline void feed_k(struct feed *f, const struct mc_kv_source *kv, int i)
{
	int lane = (int)threadIdx.x % 32;

	if (i < f->count) {
		if (i % 32 == 0) {
			f->ahead = f->base;
			if (i + lane < f->count)
				f->ahead =
				    mc_kv_step<D>(kv, f->table, f->base, f->first + (i + lane) * WARPS);
		}
		f->at = (const unsigned char *)(uintptr_t)__shfl_sync(
		    0xffffffffu, (unsigned long long)(uintptr_t)f->ahead, i % 32);
		mc_tile_copy16<D>(feed_tile<D>(f, i, 0), 0, f->at, feed_valid(f, i));
	}
	mc_cp_async_commit();
}

/* Begin to copy V of step i, after its K. */
template <int D> static __device__ inline void feed_v(struct feed *f, const struct mc_kv_source *kv, int i)
{
	if (i < f->count)
		mc_tile_copy16<D>(feed_tile<D>(f, i, 1), 0, f->at + kv->v_offset, feed_valid(f, i));
	mc_cp_async_commit();
}

/* What a warp holds of one group of heads: with g = lane / 4, rows g and (HALVES 2) g + 8. */
template <int D, int HALVES> struct state {
	uint32_t q[D / 16][4];
	float acc[D / 8][4];
	float max[HALVES], sum[HALVES]; /* sum: of this lane's tokens only */
};

template <int D, int HALVES>
static __device__ inline void state_init(struct state<D, HALVES> *s, const uint16_t *q, int group)
{
	int lane = (int)threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;

#pragma unroll
	for (int h = 0; h < HALVES; h++) {
		s->max[h] = -INFINITY;
		s->sum[h] = 0;
	}
#pragma unroll
	for (int k = 0; k < D / 16; k++) {
#pragma unroll
		for (int i = 0; i < 4; i++) {
			int r = row + i % 2 * 8;

			s->q[k][i] = 0;
			if (i % 2 < HALVES && r < group)
				s->q[k][i] = *(const uint32_t *)(q + r * D + k * 16 + i / 2 * 8 + column);
		}
	}
#pragma unroll
	for (int n = 0; n < D / 8; n++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			s->acc[n][i] = 0;
}

/* Scores of a step, [row][2 x 8 tokens], from the warp's tile of K. */
template <class T, int D, int HALVES>
static __device__ inline void scores(const struct state<D, HALVES> *s, const unsigned char *tile,
				     float c[2][4])
{
	int across = mc_tile_across<D>((int)threadIdx.x % 32);

#pragma unroll
	for (int i = 0; i < 8; i++)
		c[i / 4][i % 4] = 0;
#pragma unroll
	for (int k = 0; k < D / 16; k++) {
		uint32_t b[4];

		mc_tile_read<D>(b, tile, 0, k, across);
		mc_mma_16x8x16<T>(c[0], s->q[k], b[0], b[1]);
		mc_mma_16x8x16<T>(c[1], s->q[k], b[2], b[3]);
	}
}

/*
 * Scores become exponentials of 16 bits, p, the operand a of the product with V; sums so far are scaled down
 * to the new maximum. valid: tokens of the step that count, at least one.
 */
template <class T, int D, int HALVES>
static __device__ inline void soften(struct state<D, HALVES> *s, float c[2][4], uint32_t p[4], float scale,
				     int valid)
{
	int column = (int)threadIdx.x % 4 * 2;

	p[1] = p[3] = 0;
#pragma unroll
	for (int h = 0; h < HALVES; h++) {
		float x[4] = {c[0][2 * h], c[0][2 * h + 1], c[1][2 * h], c[1][2 * h + 1]};
		float max = s->max[h], shrink;

#pragma unroll
		for (int i = 0; i < 4; i++) {
			x[i] = column + i / 2 * 8 + i % 2 < valid ? x[i] * scale : -INFINITY;
			max = fmaxf(max, x[i]);
		}
		max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
		max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
		shrink = mc_exp2(s->max[h] - max);
		s->max[h] = max;
#pragma unroll
		for (int i = 0; i < 4; i++)
			x[i] = mc_exp2(x[i] - max);
		s->sum[h] = s->sum[h] * shrink + ((x[0] + x[1]) + (x[2] + x[3]));
		p[h] = mc_pack2<T>(x[0], x[1]);
		p[h + 2] = mc_pack2<T>(x[2], x[3]);
#pragma unroll
		for (int n = 0; n < D / 8; n++) {
			s->acc[n][2 * h] *= shrink;
			s->acc[n][2 * h + 1] *= shrink;
		}
	}
}

/* acc += p V, from the warp's tile of V. */
template <class T, int D, int HALVES>
static __device__ inline void weigh(struct state<D, HALVES> *s, const unsigned char *tile,
				    const uint32_t p[4])
{
	int down = mc_tile_down<D>((int)threadIdx.x % 32);

#pragma unroll
	for (int n = 0; n < D / 16; n++) {
		uint32_t b[4];

		mc_tile_read_trans<D>(b, tile, 0, n, down);
		mc_mma_16x8x16<T>(s->acc[2 * n], p, b[0], b[1]);
		mc_mma_16x8x16<T>(s->acc[2 * n + 1], p, b[2], b[3]);
	}
}

/* A warp through all its steps; nothing is under way after the last. */
template <class T, int D, int HALVES>
static __device__ inline void attend(struct state<D, HALVES> *s, struct feed *f,
				     const struct mc_kv_source *kv, float scale)
{
	constexpr int SLOTS = slots<D>(), UNDER_WAY = 2 * SLOTS - 1;

	for (int i = 0; i < f->count; i++) {
		float c[2][4];
		uint32_t p[4];

		mc_cp_async_wait<UNDER_WAY>();
		__syncwarp();
		scores<T, D, HALVES>(s, feed_tile<D>(f, i, 0), c);
		__syncwarp();
		feed_k<D>(f, kv, i + SLOTS);
		soften<T, D, HALVES>(s, c, p, scale, feed_valid(f, i));
		mc_cp_async_wait<UNDER_WAY>();
		__syncwarp();
		weigh<T, D, HALVES>(s, feed_tile<D>(f, i, 1), p);
		__syncwarp();
		feed_v<D>(f, kv, i + SLOTS);
	}
}

/* Rows of the warps' sums in shared memory are this far apart (floats): eight of them, two neighbours of each
 * of four lanes, fall on all banks once. */
template <int D> static __device__ constexpr int pitch(void)
{
	return D + 8;
}

/* The warp's state to its ring, and maximum and sum of each row. */
template <int D, int HALVES>
static __device__ inline void put_state(const struct state<D, HALVES> *s, float *ring, float2 *weight)
{
	int lane = (int)threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;

#pragma unroll
	for (int h = 0; h < HALVES; h++) {
		float sum = s->sum[h];

		sum += __shfl_xor_sync(0xffffffffu, sum, 1);
		sum += __shfl_xor_sync(0xffffffffu, sum, 2);
		if (column == 0)
			weight[row + 8 * h] = float2{s->max[h], sum};
#pragma unroll
		for (int n = 0; n < D / 8; n++)
			*(float2 *)(ring + (row + 8 * h) * pitch<D>() + n * 8 + column) =
			    float2{s->acc[n][2 * h], s->acc[n][2 * h + 1]};
	}
}

/* Merge the warps' sums; to the output if there is one split, else to scratch. */
template <class T, int D>
static __device__ inline void put_block(const struct job &j, const unsigned char *shared,
					const float2 weight[WARPS][16], bool alone)
{
	int seq = (int)blockIdx.z, head = (int)blockIdx.y * j.group, split = (int)blockIdx.x;

	for (int i = (int)threadIdx.x; i < j.group * D; i += THREADS) {
		int row = i / D, d = i % D;
		float max = -INFINITY, sum = 0, acc = 0;

		for (int w = 0; w < WARPS; w++)
			max = fmaxf(max, weight[w][row].x);
#pragma unroll
		for (int w = 0; w < WARPS; w++) {
			float by = mc_exp2(weight[w][row].x - max);

			sum += by * weight[w][row].y;
			acc += by * ((const float *)(shared + w * RING_BYTES))[row * pitch<D>() + d];
		}
		if (alone) {
			((T *)j.out)[(size_t)seq * (size_t)j.out_stride + (size_t)((head + row) * D + d)] =
			    mc_from_float<T>(acc / sum);
		} else {
			size_t at =
			    ((size_t)seq * (size_t)j.heads + (size_t)(head + row)) * (size_t)j.splits +
			    (size_t)split;

			j.part[at * D + (size_t)d] = acc;
			if (d == 0)
				j.weight[at] = float2{max, sum};
		}
	}
}

/* A split of a sequence for one KV head and its group. */
template <class T, int D, int HALVES>
static __global__ void __launch_bounds__(THREADS, 3) decode(struct job j)
{
	MC_DYNAMIC_SHARED(unsigned char, shared);
	static __shared__ float2 weight[WARPS][16];
	constexpr int SLOTS = slots<D>();
	int split = (int)blockIdx.x, head = (int)blockIdx.y, seq = (int)blockIdx.z;
	int warp = (int)threadIdx.x / 32;
	int tokens = j.context[seq] + 1, steps = (tokens + STEP - 1) / STEP;
	int first = split * j.split_steps, end = first + j.split_steps;

	if (first >= steps)
		return;
	if (end > steps)
		end = steps;
	struct feed f;
	f.ring = shared + warp * RING_BYTES;
	f.table = j.kv.table + (size_t)seq * (size_t)j.kv.table_stride;
	f.base = j.kv.layer + (size_t)head * j.kv.tile_bytes;
	f.first = first + warp;
	f.count = end > f.first ? (end - f.first + WARPS - 1) / WARPS : 0;
	f.tokens = tokens;
	f.ahead = f.at = f.base;
#pragma unroll
	for (int i = 0; i < SLOTS; i++) {
		feed_k<D>(&f, &j.kv, i);
		feed_v<D>(&f, &j.kv, i);
	}
	struct state<D, HALVES> s;
	state_init<D, HALVES>(
	    &s, (const uint16_t *)j.q + (size_t)seq * (size_t)j.q_stride + (size_t)(head * j.group) * D,
	    j.group);
	attend<T, D, HALVES>(&s, &f, &j.kv, j.scale);
	put_state<D, HALVES>(&s, (float *)f.ring, weight[warp]);
	__syncthreads();
	put_block<T, D>(j, shared, weight, steps <= j.split_steps);
}

/* Largest of the block's numbers, in all its threads. */
static __device__ inline float block_max(float x)
{
	static __shared__ float most[MERGE_THREADS / 32];

	x = mc_warp_max(x);
	if (threadIdx.x % 32 == 0)
		most[threadIdx.x / 32] = x;
	__syncthreads();
	for (int i = 0; i < MERGE_THREADS / 32; i++)
		x = fmaxf(x, most[i]);
	return x;
}

/* Block (head, seq): the splits of one head, four numbers of it a thread, every PARTS-th split. */
template <class T, int D> static __global__ void __launch_bounds__(MERGE_THREADS) merge(struct job j)
{
	constexpr int PARTS = MERGE_THREADS / (D / 4);
	static __shared__ float acc[PARTS][D], sum[PARTS];
	int head = (int)blockIdx.x, seq = (int)blockIdx.y, thread = (int)threadIdx.x;
	int part = thread / (D / 4), d = thread % (D / 4) * 4;
	int steps = (j.context[seq] + STEP) / STEP, splits = (steps + j.split_steps - 1) / j.split_steps;
	size_t at = ((size_t)seq * (size_t)j.heads + (size_t)head) * (size_t)j.splits;
	float4 a = {0, 0, 0, 0};
	float max = -INFINITY, total = 0;

	if (splits == 1)
		return;
	for (int i = thread; i < splits; i += MERGE_THREADS)
		max = fmaxf(max, j.weight[at + (size_t)i].x);
	max = block_max(max);
#pragma unroll 4
	for (int i = part; i < splits; i += PARTS) {
		float2 w = j.weight[at + (size_t)i];
		float4 x = *(const float4 *)(j.part + (at + (size_t)i) * D + d);
		float by = mc_exp2(w.x - max);

		total += by * w.y;
		a.x += by * x.x;
		a.y += by * x.y;
		a.z += by * x.z;
		a.w += by * x.w;
	}
	*(float4 *)(acc[part] + d) = a;
	sum[part] = total;
	__syncthreads();
	if (thread >= D)
		return;
	float y = acc[0][thread];
	total = sum[0];
	for (int i = 1; i < PARTS; i++) {
		y += acc[i][thread];
		total += sum[i];
	}
	((T *)j.out)[(size_t)seq * (size_t)j.out_stride + (size_t)(head * D + thread)] =
	    mc_from_float<T>(y / total);
}

/* Bytes of the weights, before the partial sums, which are aligned to 16. */
static size_t weight_bytes(size_t splits, int heads)
{
	return (splits * (size_t)heads * sizeof(float2) + 15) / 16 * 16;
}

size_t mc_cuda_attention_decode_scratch(const struct mc_attention *a, int units)
{
	size_t splits = mc_splits_room(a, units);

	if (splits <= (size_t)a->batch.seqs)
		return 0;
	return weight_bytes(splits, a->heads) +
	       splits * (size_t)a->heads * (size_t)a->pages.layout.head_dim * sizeof(float);
}

template <class T, int D, int HALVES>
static int launch(cudaStream_t s, const struct mc_attention *a, int units)
{
	struct mc_splits splits = mc_splits_of(a, units);
	size_t room = (size_t)splits.count * (size_t)a->batch.seqs;
	dim3 grid((unsigned)splits.count, (unsigned)a->pages.layout.kv_heads, (unsigned)a->batch.seqs);
	auto kernel = decode<T, D, HALVES>;
	auto merger = merge<T, D>;
	struct job j;
	int rc;

	assert(splits.count == 1 || room <= mc_splits_room(a, units));
	j.kv = mc_kv_source_of(&a->pages);
	j.q = a->q;
	j.out = a->out;
	j.context = a->batch.context;
	j.weight = (float2 *)a->scratch;
	j.part =
	    (float *)((unsigned char *)a->scratch + (splits.count > 1 ? weight_bytes(room, a->heads) : 0));
	j.heads = a->heads;
	j.group = a->heads / a->pages.layout.kv_heads;
	j.q_stride = a->q_stride;
	j.out_stride = a->out_stride;
	j.splits = splits.count;
	j.split_steps = splits.steps;
	j.scale = a->scale * 1.44269504f;
	rc = (int)cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
				       WARPS * RING_BYTES);
	if (rc)
		return rc;
	MC_LAUNCH(kernel, grid, dim3(THREADS), WARPS * RING_BYTES, s, j);
	rc = mc_cuda_launched();
	if (rc || splits.count == 1)
		return rc;
	MC_LAUNCH(merger, dim3((unsigned)a->heads, (unsigned)a->batch.seqs), dim3(MERGE_THREADS), 0, s, j);
	return mc_cuda_launched();
}

template <class T> static int launch_shape(cudaStream_t s, const struct mc_attention *a, int units)
{
	bool small = a->heads / a->pages.layout.kv_heads <= 8;

	if (a->pages.layout.head_dim == 64)
		return small ? launch<T, 64, 1>(s, a, units) : launch<T, 64, 2>(s, a, units);
	return small ? launch<T, 128, 1>(s, a, units) : launch<T, 128, 2>(s, a, units);
}

int mc_cuda_attention_decode(struct CUstream_st *s, const struct mc_attention *a, int units)
{
	if (a->batch.seqs == 0)
		return 0;
	return a->pages.layout.dtype == MC_BF16 ? launch_shape<mc_bf16>(s, a, units)
						: launch_shape<mc_f16>(s, a, units);
}
