/* What kernels/bench prints: text for people, or CSV; progress and what was left out go to stderr. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "kernels/bench.h"

static const char *const legend[] = {
    "",
    "time: median of a run; +-: half of its 95 % confidence interval, relative to it",
    "floor: the least time, from the operations and bytes that it can't do without; limit: floor / time",
    "  *: the floor is of bytes, and all operands together, or all of a kind, are less than twice the",
    "     caches: it may be faster than memory, above 100 %",
    "  above 100 % without *: peak and bandwidth were measured while the machine did other work",
    "GFLOP/s, GB/s: those operations and bytes / time",
    "plain: the time of a plain CBLAS call of the same shape (decode attention on one thread: of a plain",
    "  read of as many bytes), taken in turn with ours, / our time: above 100 % ours is faster",
    NULL,
};

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

void mc_bench_print_head(const struct mc_bench *b)
{
	const struct mc_llama_shape *m = b->o->model;
	FILE *f = b->o->csv ? stderr : stdout;
	char flops[MC_UNITS_TEXT], rate[MC_UNITS_TEXT], copy[MC_UNITS_TEXT];

	clear_progress();
	fprintf(f, "backend %s: %s, %d %s\n", b->be->name, b->info.name, b->info.units,
		b->host ? "threads" : "multiprocessors");
	if (b->info.software[0])
		fprintf(f, "software %s\n", b->info.software);
	fprintf(f, "model %s, tensor parallel %d, %s, KV blocks of %d tokens\n", m->name, (int)b->o->ranks,
		mc_dtype_name(b->o->dtype), (int)b->o->block_tokens);
	if (b->info.matrix_flops > 0)
		fprintf(f, "data sheet: %s, %s\n", mc_units_format_flops(b->info.matrix_flops, flops),
			mc_units_format_rate(b->info.bandwidth, rate));
	fprintf(f, "measured: product %s, ", mc_units_format_flops(b->product_flops, flops));
	if (b->plain_flops > 0)
		fprintf(f, "plain CBLAS's %s, ", mc_units_format_flops(b->plain_flops, flops));
	if (b->read_bandwidth > 0)
		fprintf(f, "read %s, ", mc_units_format_rate(b->read_bandwidth, rate));
	fprintf(f, "copy %s (read and written)\n", mc_units_format_rate(b->copy_bandwidth, copy));
	fprintf(f, "floor: the larger of operations / (%s) and bytes / (%s)\n",
		mc_units_format_flops(b->limits.flops, flops),
		mc_units_format_rate(b->limits.bandwidth, rate));
	if (b->o->csv)
		puts("op,shape,dtype,copies,samples,runs,seconds,spread,floor_s,of_limit,bound,flops,bytes,"
		     "gflop_per_s,"
		     "gb_per_s,plain_s,of_plain,cached");
	else
		printf("\n%-18s %-38s %11s %6s %11s %6s  %9s %8s %8s\n", "operator", "shape", "time", "+-",
		       "floor", "limit", "GFLOP/s", "GB/s", "plain");
	fflush(stdout);
}

static void csv(const struct mc_bench *b, const struct mc_bench_case *c, const struct mc_bench_result *r)
{
	double floor = mc_work_floor(&c->work, &b->limits);
	char spread[24] = ""; /* one sample says nothing of it */

	if (r->samples > 1)
		snprintf(spread, sizeof spread, "%.4g", r->spread);
	printf("%s,\"%s\",%s,%d,%d,%d,%.6g,%s,%.6g,%.4g,%s,%.10g,%.10g,%.5g,%.5g,", c->op, c->shape,
	       mc_dtype_name(b->o->dtype), c->copies, r->samples, r->runs, r->seconds, spread, floor,
	       floor / r->seconds, mc_work_memory_bound(&c->work, &b->limits) ? "memory" : "compute",
	       c->work.flops, c->work.bytes, c->work.flops / r->seconds * 1e-9,
	       c->work.bytes / r->seconds * 1e-9);
	if (r->plain > 0)
		printf("%.6g,%.4g,%d\n", r->plain, r->of_plain, c->cached);
	else
		printf(",,%d\n", c->cached);
}

void mc_bench_print_case(const struct mc_bench *b, const struct mc_bench_case *c,
			 const struct mc_bench_result *r)
{
	double floor = mc_work_floor(&c->work, &b->limits);
	bool marked = c->cached && mc_work_memory_bound(&c->work, &b->limits);
	char time[MC_UNITS_TEXT], least[MC_UNITS_TEXT], spread[24] = "-"; /* one sample says nothing of it */

	clear_progress();
	if (b->o->csv) {
		csv(b, c, r);
	} else {
		if (r->samples > 1)
			snprintf(spread, sizeof spread, "%.1f%%", 100 * r->spread);
		printf("%-18s %-38s %11s %6s %11s %5.1f%%%c %9.1f %8.2f", c->op, c->shape,
		       mc_units_format_time(mc_time_from_s(r->seconds), time), spread,
		       mc_units_format_time(mc_time_from_s(floor), least), 100 * floor / r->seconds,
		       marked ? '*' : ' ', c->work.flops / r->seconds * 1e-9,
		       c->work.bytes / r->seconds * 1e-9);
		if (r->plain > 0)
			printf(" %7.1f%%", 100 * r->of_plain);
		putchar('\n');
	}
	fflush(stdout);
}

void mc_bench_print_skipped(const struct mc_bench *b, const struct mc_bench_case *c, const char *why)
{
	FILE *f = b->o->csv ? stderr : stdout;

	clear_progress();
	fprintf(f, "%-18s %-38s left out: %s\n", c->op, c->shape, why);
}

void mc_bench_print_measuring(const struct mc_bench *b)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s: measuring what the device can do", b->info.name);
}

void mc_bench_print_progress(const struct mc_bench *b, const struct mc_bench_case *c)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K[%d/%d] %s %s", b->done + b->skipped + 1, b->cases, c->op, c->shape);
}

static void bar(FILE *f, const char *what, const struct mc_bench_bar *r, double least)
{
	if (r->cases > 0)
		fprintf(f, "bar: %s: expected %.0f %% or more; lowest of %d: %.1f %% (%s)\n", what,
			100 * least, r->cases, 100 * r->worst, r->at);
}

void mc_bench_print_table_end(const struct mc_bench *b)
{
	FILE *f = b->o->csv ? stderr : stdout;
	const struct mc_bench_bar *p = &b->prefill_bar;

	clear_progress();
	for (int i = 0; !b->o->csv && legend[i]; i++)
		puts(legend[i]);
	bar(f, "gemm beside a plain CBLAS call", &b->gemm_bar, 0.8);
	bar(f, "decode attention's bytes/s beside the bandwidth", &b->decode_bar, b->host ? 0.7 : 0.8);
	if (p->cases > 0)
		fprintf(f,
			"bar: prefill of 512 tokens, small-24.6m, one thread: expected less than 324 ms; "
			"%.1f ms\n",
			1000 * p->worst);
	fflush(stdout);
}

void mc_bench_print_end(const struct mc_bench *b)
{
	clear_progress();
	if (mc_bench_stopped())
		fprintf(stderr, "kernels/bench: interrupted: %d of %d cases\n", b->done + b->skipped,
			b->cases);
}
