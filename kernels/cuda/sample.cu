/*
 * Sampling: the next token of each row of logits [rows][vocab] (f32, with a stride), greedy at temperature 0,
 * else by Gumbel's maximum (softmax without a sum; kernels/ops.h). One block a row.
 *
 * Bytes: 4 a logit at temperature 0: bound by memory (4 loads of 16 bytes under way a thread, 64 KiB a
 * block). Drawing reads the row a second time, from the L2 cache if the rows at work fit there: first the
 * largest logit, then the scores relative to it (about 15 operations a logit for those too far below to win,
 * 70, with hash and logarithms, for the others, so that a flat row is bound by arithmetic). A batch that
 * hasn't a row for each multiprocessor leaves the others idle: 128 Ki logits take one about 10 us greedily,
 * against a decode step's milliseconds. Speed on a GPU: not measured.
 *
 * The maximum and its lowest token don't depend on the order in which they are found.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch.h"

enum { WARP = 32, MOST = 1024, AHEAD = 4, NONE = 0x7fffffff };

struct best {
	float score;
	int token;
};

static __device__ inline struct best better(struct best a, struct best b)
{
	return b.score > a.score || (b.score == a.score && b.token < a.token) ? b : a;
}

static __device__ inline struct best warp_best(struct best x)
{
#pragma unroll
	for (int d = WARP / 2; d; d /= 2) {
		struct best y;

		y.score = __shfl_xor_sync(0xffffffffu, x.score, d);
		y.token = __shfl_xor_sync(0xffffffffu, x.token, d);
		x = better(x, y);
	}
	return x;
}

/* Of the block, in all its threads. */
static __device__ inline struct best block_best(struct best x)
{
	__shared__ struct best part[MOST / WARP];
	int lane = threadIdx.x % WARP;
	struct best none = {-INFINITY, NONE};

	x = warp_best(x);
	__syncthreads(); /* what it held before was read */
	if (lane == 0)
		part[threadIdx.x / WARP] = x;
	__syncthreads();
	return warp_best(lane < (int)blockDim.x / WARP ? part[lane] : none);
}

/* What a token scores: its logit, or with noise. */
struct plain {
	__device__ float operator()(float logit, int token) const
	{
		(void)token;
		return logit;
	}
};

struct drawn {
	float most, temperature;
	uint64_t seed;

	__device__ float operator()(float logit, int token) const
	{
		return mc_sample_score(logit, most, temperature, seed, token);
	}
};

/* Four neighbours from `token`, which is above that of *mine. A NaN is never better, nor is -infinity. */
template <class Score>
static __device__ inline void take4(const float4 &v, int token, const Score &score, struct best *mine)
{
	float x[4] = {v.x, v.y, v.z, v.w};

#pragma unroll
	for (int j = 0; j < 4; j++) {
		float y = score(x[j], token + j);

		if (y > mine->score)
			*mine = {y, token + j};
	}
}

/* The block's best of a row. */
template <class Score>
static __device__ inline struct best row_best(const float *logits, int vocab, const Score &score)
{
	struct best mine = {-INFINITY, NONE};
	const float4 *four = (const float4 *)logits;
	int whole = vocab / 4, step = blockDim.x, i = threadIdx.x, last = whole * 4 + threadIdx.x;

	for (; i < whole - (AHEAD - 1) * step; i += AHEAD * step) {
		float4 v[AHEAD];
#pragma unroll
		for (int j = 0; j < AHEAD; j++)
			v[j] = four[i + j * step];
#pragma unroll
		for (int j = 0; j < AHEAD; j++)
			take4(v[j], (i + j * step) * 4, score, &mine);
	}
	for (; i < whole; i += step)
		take4(four[i], i * 4, score, &mine);
	if (last < vocab) { /* the row's end, up to three */
		float y = score(logits[last], last);

		if (y > mine.score)
			mine = {y, last};
	}
	return block_best(mine);
}

static __global__ void sample(struct mc_sample a)
{
	int row = blockIdx.x;
	const float *logits = a.logits + (int64_t)row * a.stride;
	float temperature = a.temperature[row];
	struct best top = row_best(logits, a.vocab, plain());

	if (temperature > 0 && top.token != NONE) {
		struct drawn score = {top.score, temperature, a.seed[row]};

		top = row_best(logits, a.vocab, score);
	}
	if (threadIdx.x == 0)
		a.token[row] = top.token == NONE ? -1 : top.token;
}

int mc_cuda_sample(struct CUstream_st *s, const struct mc_sample *a)
{
	int threads = mc_ceil_div(mc_ceil_div(a->vocab, 4), WARP) * WARP;

	if (a->rows == 0)
		return 0;
	MC_LAUNCH(sample, dim3(a->rows), dim3(threads < MOST ? threads : MOST), 0, s, *a);
	return mc_cuda_launched();
}
