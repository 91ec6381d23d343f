/*
 * One case: its operands in memory, repeated until the median is known, its output looked at.
 *
 * A sample is as many runs as take a millisecond, so that the clock and the launch count for little, each on
 * the next copy of the operands; all copies together are twice the caches, or else the case is marked.
 * Samples go on until the 95 % confidence interval of their median (by order statistics) is within the
 * precision asked for, or the time is up. Where a plain library call stands beside it, the two take turns
 * sample by sample: both see the same disturbances.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "kernels/bench.h"

enum {
	COPIES = 4096,
	SAMPLES = 4096,
	FEWEST = 5,
	PATTERN = 1 << 20, /* numbers */
	LOOKED_AT = 1 << 18,
};
static const double sample_s = 1e-3, pause_s = 0.02;

double mc_bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double mc_bench_clock(const struct mc_bench *b)
{
	struct timespec t;

	clock_gettime(b->o->cpu_clock ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

uint32_t mc_bench_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state ^ *state >> 29) >> 32);
}

/* A million random numbers of a format: the sum of four uniform ones has about the shape and the spread of
 * N(0, 1).
 */
static const char *pattern(struct mc_bench *b, enum mc_dtype t)
{
	uint64_t state = 1;

	if (!b->pattern[t]) {
		b->pattern[t] = malloc((size_t)PATTERN * mc_dtype_bytes(t));
		for (size_t i = 0; b->pattern[t] && i < PATTERN; i++) {
			float sum = 0;

			for (int j = 0; j < 4; j++)
				sum += (float)mc_bench_random(&state) * 0x1p-32f;
			mc_dtype_put(t, b->pattern[t], i, (sum - 2) * 1.732f);
		}
	}
	return b->pattern[t];
}

size_t mc_bench_room_of(size_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

void *mc_bench_room(struct mc_bench *b, size_t bytes)
{
	char *p = b->arena + b->used;

	b->used += mc_bench_room_of(bytes);
	if (b->used > b->arena_bytes) {
		/* A case that asks for more than it announced. */
		mc_err_set(&b->err, MC_FAIL, "operands of %zu bytes do not fit into %zu", b->used,
			   b->arena_bytes);
		b->failed = true;
		b->used = b->arena_bytes;
		return b->arena;
	}
	return p;
}

/* Queue n numbers of a format to a place on the device. */
static void fill(struct mc_bench *b, struct mc_stream *s, char *to, size_t bytes, enum mc_dtype t)
{
	size_t chunk = PATTERN * mc_dtype_bytes(t);
	const char *from = pattern(b, t);

	for (size_t at = 0; from && !b->failed && at < bytes; at += chunk) {
		struct mc_copy c = {
		    .to = to + at, .from = from, .bytes = bytes - at < chunk ? bytes - at : chunk, .rows = 1};

		b->be->copy(s, &c);
	}
}

void mc_bench_fill(struct mc_bench *b, struct mc_stream *s, char *to, size_t bytes)
{
	fill(b, s, to, bytes, b->o->dtype);
}

void *mc_bench_numbers(struct mc_bench *b, size_t n, enum mc_dtype t)
{
	char *p = mc_bench_room(b, n * mc_dtype_bytes(t));

	fill(b, b->s, p, n * mc_dtype_bytes(t), t);
	return p;
}

void *mc_bench_bytes(struct mc_bench *b, const void *host, size_t bytes)
{
	struct mc_copy c = {.to = mc_bench_room(b, bytes), .from = host, .bytes = bytes, .rows = 1};
	void *p = c.to;

	if (!b->failed)
		b->be->copy(b->s, &c);
	/* The host's array may go. */
	b->failed |= b->be->stream_sync(b->s, &b->err) != 0;
	return p;
}

/* A case that would take too long, or too much memory: why, or NULL. */
static const char *too_much(const struct mc_bench *b, const struct mc_bench_case *c)
{
	static char why[128];
	char has[MC_UNITS_TEXT], may[MC_UNITS_TEXT];
	double floor = mc_work_floor(&c->work, &b->limits);

	if (c->bytes + c->shared > (size_t)b->o->memory) {
		snprintf(why, sizeof why, "needs %s, more than %s (--memory)",
			 mc_units_format_bytes((double)(c->bytes + c->shared), has),
			 mc_units_format_bytes((double)b->o->memory, may));
		return why;
	}
	if (!b->planning && !b->o->repeat && floor > 10 * b->o->seconds) {
		snprintf(why, sizeof why, "one run takes %s or more (--seconds)",
			 mc_units_format_time(mc_time_from_s(floor), has));
		return why;
	}
	return NULL;
}

/* So many copies that they are twice the caches, as far as there is memory. */
static int copies(const struct mc_bench *b, const struct mc_bench_case *c)
{
	double want = ceil(2 * (double)b->o->cache / (double)c->bytes),
	       may = floor((double)(b->o->memory - (int64_t)c->shared) / (double)c->bytes);

	return (int)fmax(1, fmin(fmin(want, may), COPIES));
}

bool mc_bench_cached(const struct mc_bench *b, double bytes)
{
	return bytes < 2 * (double)b->o->cache;
}

void mc_bench_skip(struct mc_bench *b, const struct mc_bench_case *c, const char *why)
{
	if (b->planning) {
		b->cases++;
		return;
	}
	b->skipped++;
	mc_bench_print_skipped(b, c, why);
}

bool mc_bench_begin(struct mc_bench *b, struct mc_bench_case *c)
{
	const char *why = too_much(b, c);

	if (b->failed || mc_bench_stopped())
		return false;
	c->copies = why ? 0 : copies(b, c);
	c->cached = mc_bench_cached(b, c->copies * fmin((double)c->bytes, c->work.bytes));
	if (b->planning) {
		size_t need = why ? 0 : (size_t)c->copies * c->bytes + c->shared;

		b->cases++;
		b->need = need > b->need ? need : b->need;
		return false;
	}
	if (why) {
		mc_bench_skip(b, c, why);
		return false;
	}
	mc_bench_print_progress(b, c);
	b->used = 0;
	c->args = calloc((size_t)c->copies, c->arg_size);
	if (!c->args) {
		b->failed = true;
		mc_err_set(&b->err, MC_FAIL, "no memory");
		return false;
	}
	return true;
}

/* Seconds of n runs, from copy *at on. */
static double sample(struct mc_bench *b, const struct mc_bench_case *c, bool plain, int n, int *at)
{
	void (*once)(struct mc_bench *, const void *) = plain ? c->plain : c->once;
	bool host = plain || c->by_wall || b->o->cpu_clock;
	double from;

	from = mc_bench_clock(b);
	if (!host)
		b->be->event_record(b->from, b->s);
	for (int i = 0; i < n; i++) {
		once(b, c->args + (size_t)*at * c->arg_size);
		*at = (*at + 1) % c->copies;
	}
	if (!host)
		b->be->event_record(b->to, b->s);
	if (c->wait && !plain)
		c->wait(b, c->args);
	else
		b->failed |= b->be->stream_sync(b->s, &b->err) != 0;
	return b->failed ? 0 : host ? mc_bench_clock(b) - from : b->be->event_seconds(b->from, b->to);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of n samples (sorted here), and half of its 95 % confidence interval relative to it. */
static double median(double *x, int n, double *spread)
{
	double half = 0.98 * sqrt(n), m;
	int low, high;

	qsort(x, (size_t)n, sizeof *x, ascending);
	m = (x[(n - 1) / 2] + x[n / 2]) / 2;
	low = (int)fmax(0, floor(n / 2.0 - half - 0.5));
	high = (int)fmin(n - 1, ceil(n / 2.0 + half - 0.5));
	*spread = m > 0 ? (x[high] - x[low]) / 2 / m : 0;
	return m;
}

struct samples {
	double ours[SAMPLES], plain[SAMPLES], of_plain[SAMPLES], sorted[SAMPLES];
	int n;
};

/* Enough samples? */
static bool enough(const struct mc_bench *b, struct samples *s, double since, struct mc_bench_result *r)
{
	memcpy(s->sorted, s->ours, (size_t)s->n * sizeof *s->sorted);
	r->seconds = median(s->sorted, s->n, &r->spread);
	r->samples = s->n;
	if (b->failed || mc_bench_stopped() || s->n == SAMPLES)
		return true;
	if (b->o->repeat)
		return s->n >= b->o->repeat;
	if (s->n >= 2 * FEWEST && r->spread <= b->o->precision)
		return true;
	return mc_bench_now() - since >= b->o->seconds &&
	       (s->n >= FEWEST || r->seconds * r->runs > b->o->seconds);
}

/* Threads of a library that spins for a while after its work would be in the way of the next sample. */
static void pause_between(const struct mc_bench *b)
{
	struct timespec t = {0, (long)(pause_s * 1e9)};

	if (b->info.units > 1)
		nanosleep(&t, NULL);
}

static void repeat(struct mc_bench *b, const struct mc_bench_case *c, struct samples *s,
		   struct mc_bench_result *r)
{
	double since = mc_bench_now(), plain_spread;
	int at = 0, plain_at = c->copies / 2;

	do {
		if (c->plain) {
			pause_between(b);
			s->plain[s->n] = sample(b, c, true, r->runs, &plain_at) / r->runs;
			pause_between(b);
		}
		s->ours[s->n] = sample(b, c, false, r->runs, &at) / r->runs;
		s->of_plain[s->n] = s->plain[s->n] / s->ours[s->n];
		s->n++;
	} while (!enough(b, s, since, r));
	if (!c->plain)
		return;
	r->plain = median(s->plain, s->n, &plain_spread);
	r->of_plain = median(s->of_plain, s->n, &plain_spread);
}

/* Are the numbers (or the tokens) that it wrote there, and finite? */
static bool fine(struct mc_bench *b, const struct mc_bench_case *c)
{
	size_t n = c->out_n < LOOKED_AT ? c->out_n : LOOKED_AT,
	       e = c->out_tokens ? sizeof(int32_t) : mc_dtype_bytes(c->out_dtype);
	char *host = malloc(n * e + 1);
	struct mc_copy get = {.to = host, .from = c->out, .bytes = n * e, .rows = 1};
	bool good = host != NULL;

	if (host) {
		b->be->copy(b->s, &get);
		b->failed |= b->be->stream_sync(b->s, &b->err) != 0;
	}
	for (size_t i = 0; good && !b->failed && i < n; i++)
		good = c->out_tokens ? ((uint32_t *)host)[i] < (uint32_t)c->out_tokens
				     : isfinite(mc_dtype_get(c->out_dtype, host, i));
	free(host);
	return good;
}

/* Runs a sample: as many as take a millisecond, from the time of a few. */
static int runs(struct mc_bench *b, const struct mc_bench_case *c)
{
	double enough_s = fmin(sample_s, b->o->seconds / FEWEST), t = 0;
	int n = 1, at = 0;

	for (; n < 1 << 20; n *= 4) {
		t = sample(b, c, false, n, &at);
		if (b->failed || t >= enough_s / 8)
			break;
	}
	return b->failed || t <= 0 ? 1 : (int)fmax(1, ceil(n * enough_s / t));
}

void mc_bench_end(struct mc_bench *b, struct mc_bench_case *c, struct mc_bench_result *r)
{
	struct samples *s = calloc(1, sizeof *s);
	int at = 0;

	*r = (struct mc_bench_result){.runs = 1};
	if (!s) {
		b->failed = true;
		mc_err_set(&b->err, MC_FAIL, "no memory");
	}
	if (!b->failed) {
		r->runs = runs(b, c);
		if (c->plain)
			sample(b, c, true, 1, &at);
		repeat(b, c, s, r);
	}
	if (!b->failed && c->out && !fine(b, c)) {
		b->failed = true;
		mc_err_set(&b->err, MC_FAIL, "%s %s: the result is not finite", c->op, c->shape);
	}
	if (b->failed)
		r->samples = 0;
	else {
		b->done++;
		mc_bench_print_case(b, c, r);
	}
	free(s);
	free(c->args);
	c->args = NULL;
}

void mc_bench_bar(struct mc_bench_bar *bar, double ratio, const char *at)
{
	if (bar->cases++ > 0 && bar->worst <= ratio)
		return;
	bar->worst = ratio;
	snprintf(bar->at, sizeof bar->at, "%s", at);
}

void mc_bench_each_rows(struct mc_bench *b, void (*f)(struct mc_bench *b, int rows))
{
	for (int i = 0; i < b->o->batch.n; i++)
		f(b, b->o->batch.at[i]);
	for (int i = 0; i < b->o->tokens.n; i++)
		f(b, b->o->tokens.at[i]);
}
