/*
 * The device of kernels/bench and what it can do at most.
 *
 * CPU: measured. Peak: a large plain cblas_sgemm on as many threads, or the backend's own, if that is faster.
 * Bandwidth: a loop that sums up more than the caches hold, each thread its part; copies by memcpy likewise
 * (read and written); the larger is the floor's.
 * GPU: from its data sheet where the backend knows it, beside a large product and a large copy that are
 * measured through the table.
 */
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "kernels/bench.h"

enum { SGEMM = 1536, PASSES = 7, SUMS = 8, AHEAD = 64 };

int mc_bench_open(struct mc_bench *b)
{
	struct mc_device_want want = {.index = (int)b->o->device, .threads = (int)b->o->threads};
	int n = 0, rc;

	b->be = b->o->backend;
	mc_llama_rank_shape(b->o->model, (int)b->o->ranks, &b->rank);
	b->host = !strcmp(b->be->name, "cpu");
	if ((rc = b->be->count(&n, &b->err)))
		return rc;
	if (n == 0)
		return mc_err_set(&b->err, MC_NOHW, "no device found");
	if (b->o->device >= n || b->o->device + b->o->ranks > n)
		return mc_err_set(&b->err, MC_USAGE, "--device %d, --tp %d: there are %d devices",
				  (int)b->o->device, (int)b->o->ranks, n);
	if ((rc = b->be->device_open(&b->dev, &want, &b->err)) ||
	    (rc = b->be->stream_open(&b->s, b->dev, MC_COMPUTE, &b->err)) ||
	    (rc = b->be->event_open(&b->from, b->dev, &b->err)) ||
	    (rc = b->be->event_open(&b->to, b->dev, &b->err)))
		return rc;
	b->be->device_info(b->dev, &b->info);
	return MC_OK;
}

void mc_bench_close(struct mc_bench *b)
{
	if (b->dev) {
		b->be->release(b->dev, MC_DEVICE, b->arena);
		b->be->event_close(b->from);
		b->be->event_close(b->to);
		b->be->stream_close(b->s);
		b->be->device_close(b->dev);
	}
	for (int t = 0; t < 3; t++)
		free(b->pattern[t]);
}

int mc_bench_memory(struct mc_bench *b)
{
	b->need = mc_bench_room_of(b->need);
	b->arena = b->be->alloc(b->dev, MC_DEVICE, b->need, &b->err);
	b->arena_bytes = b->arena ? b->need : 0;
	return b->arena ? MC_OK : b->err.rc;
}

static void use_threads(int n)
{
#ifdef HAVE_OPENBLAS_SET_NUM_THREADS
	openblas_set_num_threads(n);
#else
	(void)n;
#endif
}

void mc_bench_plain_gemm(struct mc_bench *b, const struct mc_gemm *a)
{
	use_threads(b->info.units);
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, a->m, a->n, a->k, 1, a->x, a->x_stride, a->w,
		    a->k, a->accumulate ? 1 : 0, a->y, a->y_stride);
	/* The backend has threads of its own. */
	use_threads(1);
}

typedef unsigned long vec __attribute__((vector_size(64)));

/* A thread's part of a pass over memory. */
struct part {
	const struct mc_bench *b;
	pthread_barrier_t *go;
	char *from, *to; /* to: NULL when only read */
	size_t bytes;
	double start, end;
	unsigned long sum;
};

static inline __attribute__((always_inline)) unsigned long sum(const char *p, size_t bytes)
{
	const vec *v = (const vec *)p;
	size_t n = bytes / sizeof *v / SUMS;
	vec s[SUMS] = {{0}};
	unsigned long all = 0;

	for (size_t i = 0; i < n; i++)
		for (int j = 0; j < SUMS; j++) {
			__builtin_prefetch(&v[i * SUMS + (size_t)j + AHEAD]);
			s[j] += v[i * SUMS + (size_t)j];
		}
	for (int j = 0; j < SUMS; j++)
		all += s[j][0] + s[j][1] + s[j][2] + s[j][3] + s[j][4] + s[j][5] + s[j][6] + s[j][7];
	return all;
}

/* The widest loads reach furthest. */
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

void mc_bench_plain_read(struct mc_bench *b, const void *p, size_t bytes)
{
	b->sum += sum_up(p, bytes);
}

static void *pass(void *arg)
{
	struct part *p = arg;

	pthread_barrier_wait(p->go);
	p->start = mc_bench_clock(p->b);
	if (p->to)
		memcpy(p->to, p->from, p->bytes);
	else
		p->sum = sum_up(p->from, p->bytes);
	p->end = mc_bench_clock(p->b);
	return NULL;
}

/* Bytes/s that n threads read (or, copying, read and write) together, in one pass. */
static double pass_rate(struct mc_bench *b, int n, bool copying)
{
	size_t each = b->arena_bytes / (size_t)n / (copying ? 2 : 1) / 4096 * 4096;
	struct part *p = calloc((size_t)n, sizeof *p);
	pthread_t *t = calloc((size_t)n, sizeof *t);
	pthread_barrier_t go;
	double start = INFINITY, end = 0;
	int started = 0;

	if (p && t && !pthread_barrier_init(&go, NULL, (unsigned)n)) {
		for (int i = 0; i < n; i++) {
			char *from = b->arena + (size_t)i * each * (copying ? 2 : 1);

			p[i] = (struct part){.b = b,
					     .go = &go,
					     .from = from,
					     .to = copying ? from + each : NULL,
					     .bytes = each};
			if (i > 0 && !pthread_create(&t[i], NULL, pass, &p[i]))
				started++;
		}
		if (started == n - 1) {
			pass(&p[0]);
			for (int i = 1; i < n; i++)
				pthread_join(t[i], NULL);
			for (int i = 0; i < n; i++) {
				start = fmin(start, p[i].start);
				end = fmax(end, p[i].end);
			}
			pthread_barrier_destroy(&go);
		} else
			b->failed = true;
	}
	free(p);
	free(t);
	return end > start ? (double)each * n * (copying ? 2 : 1) / (end - start) : 0;
}

static double best_rate(struct mc_bench *b, bool copying)
{
	double best = 0;

	for (int i = 0; i < PASSES && !mc_bench_stopped(); i++)
		best = fmax(best, pass_rate(b, b->info.units, copying));
	return best;
}

/* Operations/s of a large product: the backend's own, or plain CBLAS. */
static double product_rate(struct mc_bench *b, int size, bool plain)
{
	enum mc_dtype t = b->o->dtype;
	size_t n = (size_t)size * (size_t)size;
	struct mc_gemm a = {
	    .m = size, .n = size, .k = size, .x_stride = size, .y_stride = size, .dtype = t, .out_dtype = t};
	double best = 0;

	b->used = 0;
	a.x = mc_bench_numbers(b, n, t);
	a.w = mc_bench_numbers(b, n, t);
	a.y = mc_bench_room(b, n * mc_dtype_bytes(t));
	for (int i = 0; i < PASSES && !b->failed && !mc_bench_stopped(); i++) {
		double from, seconds;

		b->failed |= b->be->stream_sync(b->s, &b->err) != 0;
		from = mc_bench_clock(b);
		b->be->event_record(b->from, b->s);
		if (plain)
			mc_bench_plain_gemm(b, &a);
		else
			b->be->gemm(b->s, &a);
		b->be->event_record(b->to, b->s);
		b->failed |= b->be->stream_sync(b->s, &b->err) != 0;
		seconds = b->host ? mc_bench_clock(b) - from : b->be->event_seconds(b->from, b->to);
		best = fmax(best, 2 * (double)n * size / seconds);
	}
	return best;
}

/* Bytes/s read and written by a large copy within the device. */
static double copy_rate(struct mc_bench *b)
{
	struct mc_copy c = {
	    .to = b->arena, .from = b->arena + b->arena_bytes / 2, .bytes = b->arena_bytes / 2, .rows = 1};
	double best = 0;

	for (int i = 0; i < PASSES && !b->failed && !mc_bench_stopped(); i++) {
		b->be->event_record(b->from, b->s);
		b->be->copy(b->s, &c);
		b->be->event_record(b->to, b->s);
		b->failed |= b->be->stream_sync(b->s, &b->err) != 0;
		best = fmax(best, 2 * (double)c.bytes / b->be->event_seconds(b->from, b->to));
	}
	return best;
}

void mc_bench_measure_limits(struct mc_bench *b)
{
	size_t three = (b->arena_bytes / 3 - 256) / mc_dtype_bytes(b->o->dtype);
	int size = b->host ? SGEMM : 8192;

	/* As large as the memory allows. */
	while ((size_t)size * (size_t)size > three)
		size /= 2;
	b->product_flops = product_rate(b, size, false);
	if (b->host) {
		b->plain_flops = product_rate(b, size, true);
		b->used = 0;
		mc_bench_numbers(b, b->arena_bytes / 4, MC_F32);
		b->read_bandwidth = best_rate(b, false);
		b->copy_bandwidth = best_rate(b, true);
		b->limits = (struct mc_limits){fmax(b->product_flops, b->plain_flops),
					       fmax(b->read_bandwidth, b->copy_bandwidth)};
		return;
	}
	b->copy_bandwidth = copy_rate(b);
	b->limits.flops = b->info.matrix_flops > 0 ? b->info.matrix_flops : b->product_flops;
	b->limits.bandwidth = b->info.bandwidth > 0 ? b->info.bandwidth : b->copy_bandwidth;
}
