/* The CPU's table: arguments are checked, then queued. */
#include <assert.h>

#include "kernels/cpu/cpu.h"

static void copy(struct mc_stream *s, const struct mc_copy *a)
{
	mc_copy_check(a);
	mc_cpu_stream_do(s, mc_cpu_copy, a, sizeof *a);
}

static void fill(struct mc_stream *s, void *p, int byte, size_t bytes)
{
	struct mc_cpu_fill a = {p, byte, bytes};

	mc_cpu_stream_do(s, mc_cpu_fill, &a, sizeof a);
}

static void gemm(struct mc_stream *s, const struct mc_gemm *a)
{
	mc_gemm_check(a);
	assert(a->dtype == MC_F32);
	mc_cpu_stream_do(s, mc_cpu_gemm, a, sizeof *a);
}

static void norm(struct mc_stream *s, const struct mc_norm *a)
{
	mc_norm_check(a);
	assert(a->dtype == MC_F32);
	mc_cpu_stream_do(s, mc_cpu_norm, a, sizeof *a);
}

static void rope(struct mc_stream *s, const struct mc_rope *a)
{
	mc_rope_check(a);
	assert(a->dtype == MC_F32);
	mc_cpu_stream_do(s, mc_cpu_rope, a, sizeof *a);
}

static void swiglu(struct mc_stream *s, const struct mc_swiglu *a)
{
	mc_swiglu_check(a);
	assert(a->dtype == MC_F32);
	mc_cpu_stream_do(s, mc_cpu_swiglu, a, sizeof *a);
}

static void embed(struct mc_stream *s, const struct mc_embed *a)
{
	mc_embed_check(a);
	assert(a->dtype == MC_F32);
	mc_cpu_stream_do(s, mc_cpu_embed, a, sizeof *a);
}

static void sample(struct mc_stream *s, const struct mc_sample *a)
{
	mc_sample_check(a);
	mc_cpu_stream_do(s, mc_cpu_sample, a, sizeof *a);
}

static void kv_scatter(struct mc_stream *s, const struct mc_kv_rows *a)
{
	mc_kv_rows_check(a);
	assert(a->pages.layout.dtype == MC_F32);
	mc_cpu_stream_do(s, mc_cpu_scatter, a, sizeof *a);
}

static void kv_gather(struct mc_stream *s, const struct mc_kv_rows *a)
{
	mc_kv_rows_check(a);
	assert(a->pages.layout.dtype == MC_F32);
	mc_cpu_stream_do(s, mc_cpu_gather, a, sizeof *a);
}

static void attention_prefill(struct mc_stream *s, const struct mc_attention *a)
{
	mc_attention_check(a);
	assert(a->pages.layout.dtype == MC_F32);
	mc_cpu_stream_do(s, mc_cpu_attention_prefill, a, sizeof *a);
}

static void attention_decode(struct mc_stream *s, const struct mc_attention *a)
{
	mc_attention_check(a);
	assert(a->pages.layout.dtype == MC_F32 && a->batch.rows == a->batch.seqs);
	mc_cpu_stream_do(s, mc_cpu_attention_decode, a, sizeof *a);
}

const struct mc_backend mc_backend_cpu = {
    .name = "cpu",
    .summary = "threads of this machine, in f32",
    .dtypes = 1u << MC_F32,
    .count = mc_cpu_count,
    .device_open = mc_cpu_device_open,
    .device_close = mc_cpu_device_close,
    .device_info = mc_cpu_device_info,
    .peer_enable = mc_cpu_peer_enable,
    .alloc = mc_cpu_alloc,
    .release = mc_cpu_release,
    .stream_open = mc_cpu_stream_open,
    .stream_close = mc_cpu_stream_close,
    .stream_sync = mc_cpu_stream_sync,
    .event_open = mc_cpu_event_open,
    .event_close = mc_cpu_event_close,
    .event_record = mc_cpu_event_record,
    .event_wait = mc_cpu_event_wait,
    .event_done = mc_cpu_event_done,
    .event_seconds = mc_cpu_event_seconds,
    .copy = copy,
    .fill = fill,
    .gemm = gemm,
    .norm = norm,
    .rope = rope,
    .swiglu = swiglu,
    .embed = embed,
    .sample = sample,
    .kv_scatter = kv_scatter,
    .kv_gather = kv_gather,
    .attention_scratch = mc_cpu_attention_scratch,
    .attention_prefill = attention_prefill,
    .attention_decode = attention_decode,
    .comm_open = mc_cpu_comm_open,
    .comm_close = mc_cpu_comm_close,
    .all_reduce = mc_cpu_all_reduce,
};
