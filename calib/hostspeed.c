#include "calib/hostspeed.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/units.h"
#include "base/vec.h"
#include "calib/measure.h"
#include "calib/session.h"

enum { SIZE = 1024, PASSES = 8, SUMS = 16, NEAR = 16 << 10, FAR = 64 << 20 };
/* A bound must not be broken by a processor that clocks up: a tenth above what was seen. */
static const double margin = 1.1;

static double clock_s(void)
{
	return mc_calib_clock.wall(mc_calib_clock.arg);
}

struct reader {
	pthread_barrier_t *go;
	char *buffer;
	size_t bytes; /* read so much of it, */
	int times;    /* so often */
	double from, to;
	unsigned long sum;
};

typedef unsigned long vec __attribute__((vector_size(64), aligned(64)));

static inline __attribute__((always_inline)) unsigned long sum(const char *p, size_t bytes)
{
	const vec *v = (const vec *)(const void *)p;
	vec s[SUMS] = {{0}};
	unsigned long all = 0;

	for (size_t i = 0; i + SUMS <= bytes / sizeof *v; i += SUMS)
		for (size_t j = 0; j < SUMS; j++)
			s[j] += v[i + j];
	for (int j = 0; j < SUMS; j++)
		all += s[j][0] ^ s[j][7];
	return all;
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static unsigned long sum_512(const char *p, size_t bytes)
{
	return sum(p, bytes);
}

__attribute__((target("avx2"))) static unsigned long sum_256(const char *p, size_t bytes)
{
	return sum(p, bytes);
}

static unsigned long sum_up(const char *p, size_t bytes)
{
	if (__builtin_cpu_supports("avx512f"))
		return sum_512(p, bytes);
	return __builtin_cpu_supports("avx2") ? sum_256(p, bytes) : sum(p, bytes);
}
#else
static unsigned long sum_up(const char *p, size_t bytes)
{
	return sum(p, bytes);
}
#endif

static void *read_all(void *arg)
{
	struct reader *r = arg;

	pthread_barrier_wait(r->go);
	r->from = clock_s();
	for (int i = 0; i < r->times; i++) {
		r->sum += sum_up(r->buffer, r->bytes);
		__asm__ volatile("" ::: "memory"); /* read it again */
	}
	r->to = clock_s();
	return NULL;
}

/* Bytes/s of n threads together in one pass. */
static double pass(struct reader *r, int n)
{
	pthread_t *t = mc_xcalloc((size_t)n, sizeof *t);
	pthread_barrier_t go;
	double from = INFINITY, to = 0, bytes = 0;
	int started = 1;

	pthread_barrier_init(&go, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		r[i].go = &go;
	while (started < n && !pthread_create(&t[started], NULL, read_all, &r[started]))
		started++;
	if (started < n)
		abort(); /* others wait at the barrier; the backend has started as many before */
	read_all(&r[0]);
	for (int i = 0; i < n; i++) {
		if (i)
			pthread_join(t[i], NULL);
		from = fmin(from, r[i].from);
		to = fmax(to, r[i].to);
		bytes += (double)r[i].bytes * r[i].times;
	}
	pthread_barrier_destroy(&go);
	free(t);
	return to > from ? bytes / (to - from) : 0;
}

static void reads(struct mc_calib_hostspeed *h, char *memory)
{
	struct reader *r = mc_xcalloc((size_t)h->threads, sizeof *r);

	for (int near = 0; near < 2; near++)
		for (int i = 0; i < PASSES; i++) {
			double rate;

			for (int k = 0; k < h->threads; k++)
				r[k] = (struct reader){.buffer = memory + (size_t)k * FAR,
						       .bytes = near ? NEAR : FAR,
						       .times = near ? FAR / NEAR : 1};
			rate = pass(r, h->threads);
			if (near)
				h->cache_bytes_per_s = fmax(h->cache_bytes_per_s, rate);
			else
				h->memory_bytes_per_s = fmax(h->memory_bytes_per_s, rate);
		}
	free(r);
}

/* Products of numbers between -1 and 1. */
static int products(struct mc_calib_hostspeed *h, const struct mc_backend *b, struct mc_device *d,
		    float *memory, struct mc_err *err)
{
	const size_t n = (size_t)SIZE * SIZE;
	struct mc_gemm a = {.x = memory,
			    .w = memory + n,
			    .y = memory + 2 * n,
			    .m = SIZE,
			    .n = SIZE,
			    .k = SIZE,
			    .x_stride = SIZE,
			    .y_stride = SIZE};
	struct mc_stream *s;
	int rc = b->stream_open(&s, d, MC_COMPUTE, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < 2 * n; i++)
		memory[i] = (float)(mc_hash_u64(i) >> 40) * 0x1p-23f - 1;
	for (int i = 0; i < PASSES && !rc; i++) {
		double from = clock_s();

		b->gemm(s, &a);
		rc = b->stream_sync(s, err);
		h->flops = fmax(h->flops, 2 * (double)n * SIZE / (clock_s() - from));
	}
	b->stream_close(s);
	return rc;
}

int mc_calib_hostspeed(struct mc_calib_hostspeed *h, const struct mc_backend *b, int threads,
		       struct mc_err *err)
{
	struct mc_device_want want = {.threads = threads};
	struct mc_device_info info;
	struct mc_device *d;
	char *memory;
	int rc = b->device_open(&d, &want, err);

	*h = (struct mc_calib_hostspeed){0};
	if (rc)
		return rc;
	b->device_info(d, &info);
	h->threads = info.units;
	h->memory_bytes = (double)info.memory_bytes;
	memory = b->alloc(d, MC_DEVICE, (size_t)h->threads * FAR, err);
	rc = memory ? products(h, b, d, (float *)(void *)memory, err) : err->rc;
	if (!rc)
		reads(h, memory);
	b->release(d, MC_DEVICE, memory);
	b->device_close(d);
	return rc;
}

void mc_calib_hostspeed_raise(struct mc_calib_hostspeed *h, const struct mc_opsamples *s)
{
	double e = (double)mc_opsamples_element_bytes(s->dtype);

	for (size_t i = 0; i < s->n; i++) {
		const struct mc_opsample *p = &s->at[i];

		if (p->flag[0])
			continue;
		h->flops = fmax(h->flops, mc_op_flops(&p->point) / p->seconds);
		h->cache_bytes_per_s = fmax(h->cache_bytes_per_s, mc_op_bytes(&p->point, e) / p->seconds);
	}
}

int mc_calib_hostspeed_write(const struct mc_calib_hostspeed *h, const char *device, const char *path,
			     struct mc_err *err)
{
	char source[768], today[16], text[3][MC_UNITS_TEXT];
	struct mc_file f;
	json_t *o;
	int rc = mc_file_create(&f, path, err);

	if (rc)
		return rc;
	mc_calib_today(today);
	snprintf(
	    source, sizeof source,
	    "measured by mooncake-calib on %s, %d threads: peak: the fastest of %d products of %d x %d x %d "
	    "in f32, or an operator that was faster (%s); memory_bandwidth: reads within the first-level "
	    "cache, or an operator that was faster (%s), as operators of small "
	    "models find their data in caches; from memory it is %s; both with a tenth added, as bounds; "
	    "vram and dram: the machine's memory, half each. Not measured: the network card and copies "
	    "to a device, which a CPU has none of (the rate of memory)",
	    device, h->threads, PASSES, SIZE, SIZE, SIZE, mc_units_format_flops(h->flops, text[0]),
	    mc_units_format_rate(h->cache_bytes_per_s, text[1]),
	    mc_units_format_rate(h->memory_bytes_per_s, text[2]));
	o = json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:i, s:s},"
		      " s:{s:s, s:f, s:f, s:f, s:f, s:{s:i, s:i, s:i}}}",
		      "schema", "1.0", "name", "cpu", "date", today, "source", "mooncake-calib cpu",
		      "hardware", "source", source, "gpus", 1, "peak", h->flops * margin, "memory_bandwidth",
		      h->cache_bytes_per_s * margin, "vram", h->memory_bytes / 2, "dram", h->memory_bytes / 2,
		      "h2d_bandwidth", h->memory_bytes_per_s, "nics", 1, "nic_bandwidth", "10Gbps",
		      "analytic", "source", "assumed: half of the peaks; nothing but operators was measured",
		      "flops_efficiency", 0.5, "attention_efficiency", 0.5, "memory_efficiency", 0.5,
		      "launch_s_per_layer", 1e-5, "trust", "prompt_max", 131072, "context_max", 131072,
		      "batch_max", 1024);
	json_dumpf(o, f.fp, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	fputc('\n', f.fp);
	json_decref(o);
	return mc_file_commit(&f, err);
}
