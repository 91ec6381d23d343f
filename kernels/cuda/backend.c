/* The CUDA backend's table; operators that are one kernel each are queued from here. */
#include <assert.h>

#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"

/* An operator that is mc_cuda_NAME(stream, arguments) of launch.h; format: of its 16-bit arrays. */
#define OPERATOR(name, arguments, format)                                                                    \
	static void name(struct mc_stream *s, const struct arguments *a)                                     \
	{                                                                                                    \
		arguments##_check(a);                                                                        \
		assert((format) == MC_BF16 || (format) == MC_F16);                                           \
		mc_cuda_use(s->dev);                                                                         \
		mc_cuda_queued(s, #name, mc_cuda_##name(s->cu, a));                                          \
	}

OPERATOR(norm, mc_norm, a->dtype)
OPERATOR(rope, mc_rope, a->dtype)
OPERATOR(swiglu, mc_swiglu, a->dtype)
OPERATOR(embed, mc_embed, a->dtype)
OPERATOR(sample, mc_sample, MC_BF16) /* logits are f32 */
OPERATOR(kv_scatter, mc_kv_rows, a->pages.layout.dtype)
OPERATOR(kv_gather, mc_kv_rows, a->pages.layout.dtype)

static size_t attention_scratch(struct mc_device *d, const struct mc_attention *a)
{
	size_t prefill = mc_cuda_attention_prefill_scratch(a, d->units);
	size_t decode = mc_cuda_attention_decode_scratch(a, d->units);

	return prefill > decode ? prefill : decode;
}

static void attention_prefill(struct mc_stream *s, const struct mc_attention *a)
{
	mc_attention_check(a);
	assert(a->pages.layout.dtype == MC_BF16 || a->pages.layout.dtype == MC_F16);
	mc_cuda_use(s->dev);
	mc_cuda_queued(s, "attention_prefill", mc_cuda_attention_prefill(s->cu, a, s->dev->units));
}

static void attention_decode(struct mc_stream *s, const struct mc_attention *a)
{
	mc_attention_check(a);
	assert(a->pages.layout.dtype == MC_BF16 || a->pages.layout.dtype == MC_F16);
	assert(a->batch.rows == a->batch.seqs);
	mc_cuda_use(s->dev);
	mc_cuda_queued(s, "attention_decode", mc_cuda_attention_decode(s->cu, a, s->dev->units));
}

const struct mc_backend mc_backend_cuda = {
    .name = "cuda",
    .summary = "NVIDIA GPUs of compute capability 8.0 and higher, in bf16 and f16",
    .dtypes = 1u << MC_BF16 | 1u << MC_F16,
    .count = mc_cuda_count,
    .device_open = mc_cuda_device_open,
    .device_close = mc_cuda_device_close,
    .device_info = mc_cuda_device_info,
    .peer_enable = mc_cuda_peer_enable,
    .alloc = mc_cuda_alloc,
    .release = mc_cuda_release,
    .stream_open = mc_cuda_stream_open,
    .stream_close = mc_cuda_stream_close,
    .stream_sync = mc_cuda_stream_sync,
    .event_open = mc_cuda_event_open,
    .event_close = mc_cuda_event_close,
    .event_record = mc_cuda_event_record,
    .event_wait = mc_cuda_event_wait,
    .event_done = mc_cuda_event_done,
    .event_seconds = mc_cuda_event_seconds,
    .copy = mc_cuda_copy,
    .fill = mc_cuda_fill,
    .gemm = mc_cuda_gemm,
    .norm = norm,
    .rope = rope,
    .swiglu = swiglu,
    .embed = embed,
    .sample = sample,
    .kv_scatter = kv_scatter,
    .kv_gather = kv_gather,
    .attention_scratch = attention_scratch,
    .attention_prefill = attention_prefill,
    .attention_decode = attention_decode,
    .comm_open = mc_cuda_comm_open,
    .comm_close = mc_cuda_comm_close,
    .all_reduce = mc_cuda_comm_all_reduce,
};
