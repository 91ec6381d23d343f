/*
 * kernels/bench: times the operators of a backend, each beside the least time that the device's peak and
 * bandwidth allow. It prints figures and judges none.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/bench.h"

/* In the order in which they are timed. */
const struct mc_bench_op mc_bench_ops[] = {
    {"copy", "KV blocks within the device, from and to pinned host memory", mc_bench_copy},
    {"gemm", "matrix products of a layer and of the logits", mc_bench_gemm},
    {"norm", "RMSNorm with the residual", mc_bench_norm},
    {"rope", "rotary embedding of queries and keys", mc_bench_rope},
    {"swiglu", "SwiGLU of the feed-forward network", mc_bench_swiglu},
    {"embed", "token embeddings", mc_bench_embed},
    {"sample", "the next token, greedy and drawn", mc_bench_sample},
    {"kv_scatter", "K and V of new tokens to their pages", mc_bench_kv_scatter},
    {"kv_gather", "K and V of tokens from their pages", mc_bench_kv_gather},
    {"attention_prefill", "attention of a prefill, with and without a cached prefix",
     mc_bench_attention_prefill},
    {"attention_decode", "attention of a decode step", mc_bench_attention_decode},
    {"all_reduce", "sum over the ranks (--tp 2 or more)", mc_bench_all_reduce},
    {"model", "whole steps of the model: prefill, decode", mc_bench_model},
    {NULL, NULL, NULL},
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

bool mc_bench_stopped(void)
{
	return stopped;
}

static void run_all(struct mc_bench *b)
{
	for (int i = 0; mc_bench_ops[i].name; i++)
		if (b->o->ops >> i & 1)
			mc_bench_ops[i].run(b);
}

/* What was not given. A virtual machine may report the caches of a whole package: so much as one core hardly
 * has. */
static void defaults(struct mc_bench *b, struct mc_bench_options *o)
{
	double free_bytes = (double)b->info.memory_bytes;
	long cache = 0;

#ifdef _SC_LEVEL3_CACHE_SIZE
	cache = b->host ? sysconf(_SC_LEVEL3_CACHE_SIZE) : 0;
#endif
#ifdef _SC_AVPHYS_PAGES
	if (b->host)
		free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
#endif
	if (!o->cache)
		o->cache = cache > 0 && cache < 128 << 20 ? cache : 128 << 20;
	if (!o->memory) {
		o->memory = (int64_t)(free_bytes / 2);
		if (b->host && (o->memory > 4000000000 || o->memory <= 0))
			o->memory = 4000000000;
	}
}

/* Memory that the limits are measured in: more than the caches hold. */
static size_t limits_need(const struct mc_bench_options *o)
{
	return (size_t)(4 * o->cache < o->memory ? 4 * o->cache : o->memory);
}

static int measure(struct mc_bench *b, struct mc_bench_options *o)
{
	int rc = mc_bench_open(b);

	if (rc)
		return rc;
	defaults(b, o);
	b->planning = true;
	run_all(b);
	b->planning = false;
	assert(b->need <= (size_t)o->memory);
	if (b->need < limits_need(o))
		b->need = limits_need(o);
	if (b->failed || (rc = mc_bench_memory(b)))
		return rc ? rc : b->err.rc;
	mc_bench_print_measuring(b);
	mc_bench_measure_limits(b);
	if (!b->failed && !stopped) {
		mc_bench_print_head(b);
		run_all(b);
		mc_bench_print_table_end(b);
	}
	mc_bench_print_end(b);
	return b->failed ? b->err.rc ? b->err.rc : MC_FAIL : stopped ? MC_FAIL : MC_OK;
}

/* rc, unless what was said did not arrive. */
static int printed(int rc)
{
	if ((!fflush(stdout) && !ferror(stdout)) || rc)
		return rc;
	perror("kernels/bench: standard output");
	return MC_FAIL;
}

int main(int argc, char **argv)
{
	struct sigaction on_stop = {.sa_handler = stop};
	struct mc_bench_options o;
	struct mc_bench b = {.o = &o};
	char text[1024];
	int rc;

	if (!mc_bench_args(argc, argv, &o, &rc))
		return printed(rc);
	sigaction(SIGINT, &on_stop, NULL);
	sigaction(SIGTERM, &on_stop, NULL);
	rc = measure(&b, &o);
	if (b.err.rc)
		fprintf(stderr, "kernels/bench: %s: %s\n", o.backend->name,
			mc_err_format(&b.err, text, sizeof text));
	mc_bench_close(&b);
	return printed(rc);
}
