/*
 * All-reduce of local GPUs through each other's memory, in place: buffer[count] of each of R ranks ends as
 * the sum of all, 16-bit, summed in f32 in the order of the ranks and rounded once, so that all ranks hold
 * the same bytes. One kernel a rank; the kernels meet by flags in peers' memory, the host does nothing
 * between.
 *
 * Two algorithms, by the bytes n of a buffer; operations of both: R - 1 additions an element.
 *   One shot, up to 2 MiB / R (comm.c): each rank stores its buffer into a slot in each peer's memory, sets a
 *     flag there, and when the flags of all have come sums what lies in its own memory. A rank sends and
 *     receives (R - 1) n bytes; its own memory moves n + (R - 1) n in, R n out, n in. Time: about a launch +
 * one way of a store and a flag (1-2 us over NVLink) + (R - 1) n / link. Nothing is asked for over the link:
 * an answer would take as long again. Two shots, above: rank r loads part r of all buffers, sums it, and
 * stores it to part r of all buffers. Only rank r touches part r, so no memory is needed beside the buffers.
 * A rank sends and receives 2 (R - 1) / R n bytes, the least that is possible. Time: about a launch + two
 * meetings and an answer (5 us) + 2 (R - 1) / R n / link. They break even where (R - 1)(1 - 2 / R) n / link
 * is the 3-4 us more: 8 ranks on links of 200 GB/s a way (A800): 130 KiB; 4 ranks: 500 KiB; 2 ranks: never.
 * Not measured: no two GPUs were at hand. Limit: NVLink. 36 blocks of 512 threads with R loads of 16 bytes
 * each have 2.3 MB of R = 8 under way, more than the 0.6 MB that 300 GB/s times 2 us needs, and leave most
 * multiprocessors to others.
 *
 * A block waits for the same block of the other ranks: all of a grid must be resident at once, which 36
 * blocks are on any device of sm_80 or higher, whatever else runs and ends there.
 *
 * Why consecutive calls are safe. Flags hold the number of the meeting (epoch), which only grows, so they are
 * never cleared. Two shots: after the second meeting no peer touches my buffer any more. One shot: slots
 * alternate between two sets. When I store into a peer's set again, two one-shot calls later, I have left the
 * call between, so the peer had begun it, so its kernel before that (the last reader of the set) had ended.
 *
 * Source: the idea is that of the custom all-reduce of TensorRT-LLM and vLLM (peer memory, flags, one and two
 * shots by size); storing instead of loading in the first follows the low-latency protocols of NCCL.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.cuh"

enum { THREADS = 512, RANKS = MC_REDUCE_RANKS };

/* About a minute: longer than any peer's work queued before, so it is lost. Its error is told by its own
 * device; here the kernel fails, and no program waits for ever. */
static constexpr unsigned patience = 1u << 26;

/* All threads of this block, in all ranks: what each wrote before is seen by all after. */
static __device__ void meet(const mc_cuda_reduce &a, uint32_t epoch)
{
	int peer = (int)threadIdx.x, mine = (int)blockIdx.x * RANKS;

	__syncthreads();
	if (peer < a.ranks) {
		unsigned looks = 0;

		mc_flag_store(&a.flag[peer][mine + a.rank], epoch);
		/* A peer may be at its next meeting already. */
		while ((int32_t)(mc_flag_load(&a.flag[a.rank][mine + peer]) - epoch) < 0) {
			if (++looks == patience)
				mc_trap();
			mc_spin();
		}
	}
	__syncthreads();
}

/* Sum of raw[0 .. ranks - 1], eight numbers each, in that order. */
template <class T> static __device__ inline uint4 sum8(const uint4 *raw, int ranks)
{
	mc_eight<T> sum = mc_load8(reinterpret_cast<const T *>(raw));
	uint4 r;

#pragma unroll
	for (int src = 1; src < RANKS; src++)
		if (src < ranks) {
			mc_eight<T> x = mc_load8(reinterpret_cast<const T *>(raw + src));

#pragma unroll
			for (int j = 0; j < 8; j++)
				sum.v[j] += x.v[j];
		}
	mc_store8(reinterpret_cast<T *>(&r), sum);
	return r;
}

/* The d-th peer after this rank: each starts with another one, so that no link is asked by all at once. */
static __device__ inline int peer_after(const mc_cuda_reduce &a, int d)
{
	int peer = a.rank + d;

	return peer < a.ranks ? peer : peer - a.ranks;
}

template <class T> static __global__ void one_shot(const mc_cuda_reduce a)
{
	uint4 *own = static_cast<uint4 *>(a.buffer[a.rank]), *slots = static_cast<uint4 *>(a.slots[a.rank]);
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
		step = (int64_t)gridDim.x * blockDim.x;

	for (int64_t i = first; i < a.chunks; i += step) {
		uint4 v = own[i];

		for (int d = 1; d < a.ranks; d++)
			static_cast<uint4 *>(a.slots[peer_after(a, d)])[a.rank * a.slot_chunks + i] = v;
	}
	meet(a, a.epoch);
	/* Each thread reads of its own buffer what it read above, before it writes it. */
	for (int64_t i = first; i < a.chunks; i += step) {
		uint4 raw[RANKS];

#pragma unroll
		for (int src = 0; src < RANKS; src++)
			if (src < a.ranks)
				raw[src] = src == a.rank ? own[i] : slots[src * a.slot_chunks + i];
		own[i] = sum8<T>(raw, a.ranks);
	}
}

template <class T> static __global__ void two_shot(const mc_cuda_reduce a)
{
	int64_t part = (a.chunks + a.ranks - 1) / a.ranks, from = a.rank * part, to = from + part;
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
		step = (int64_t)gridDim.x * blockDim.x;

	if (to > a.chunks)
		to = a.chunks;
	/* Buffers hold what is to be summed, and no earlier work of a peer reads its own any more. */
	meet(a, a.epoch);
	for (int64_t i = from + first; i < to; i += step) {
		uint4 raw[RANKS], sum;

#pragma unroll
		for (int src = 0; src < RANKS; src++)
			if (src < a.ranks)
				raw[src] = static_cast<const uint4 *>(a.buffer[src])[i];
		sum = sum8<T>(raw, a.ranks);
		for (int d = 0; d < a.ranks; d++)
			static_cast<uint4 *>(a.buffer[peer_after(a, d)])[i] = sum;
	}
	meet(a, a.epoch + 1);
}

template <class T> static int launch(cudaStream_t s, const mc_cuda_reduce *a)
{
	auto kernel = a->slot_chunks ? one_shot<T> : two_shot<T>;
	int64_t work = a->slot_chunks ? a->chunks : (a->chunks + a->ranks - 1) / a->ranks;
	int64_t blocks = (work + THREADS - 1) / THREADS;
	/* A warp at least, which has a thread for each rank's flag. */
	int threads = work < THREADS ? mc_ceil_div(work < 1 ? 1 : (int)work, 32) * 32 : (int)THREADS;

	blocks = blocks < 1 ? 1 : blocks < a->blocks ? blocks : a->blocks;
	MC_LAUNCH(kernel, dim3((unsigned)blocks), dim3((unsigned)threads), 0, s, *a);
	return mc_cuda_launched();
}

int mc_cuda_all_reduce(struct CUstream_st *s, const struct mc_cuda_reduce *a)
{
	return a->dtype == MC_BF16 ? launch<mc_bf16>(s, a) : launch<mc_f16>(s, a);
}
