/* The command line of kernels/bench: one table drives parsing, ranges and --help. */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "config.h"
#include "kernels/bench.h"

enum kind {
	IS_HELP,
	IS_VERSION,
	IS_LIST,
	IS_BACKEND,
	IS_OPS,
	IS_MODEL,
	IS_DTYPE,
	IS_FORMAT,
	IS_CLOCK,
	IS_WHOLE,  /* int64_t within [min, max] */
	IS_WHOLES, /* list of them */
	IS_REAL,
	IS_BYTES,
};

struct row {
	const char *name;
	enum kind kind;
	size_t at; /* in struct mc_bench_options */
	double min, max;
	const char *arg, *help;
};

#define AT(field) offsetof(struct mc_bench_options, field)
#define LARGEST   1048576

static const struct row rows[] = {
    {"backend", IS_BACKEND, 0, 0, 0, "NAME", "what computes (see --list); default: cpu"},
    {"device", IS_WHOLE, AT(device), 0, 63, "N", "which of its devices; default: 0"},
    {"threads", IS_WHOLE, AT(threads), 1, 1024, "N", "CPU: threads that compute; default: all there are"},
    {"op", IS_OPS, 0, 0, 0, "NAME[,NAME]...", "operators (see --list); default: all"},
    {"model", IS_MODEL, 0, 0, 0, "NAME",
     "whose shapes (see --list); default: small-24.6m, on a GPU llama3-8b"},
    {"tp", IS_WHOLE, AT(ranks), 1, 8, "N", "tensor parallel degree: shapes of one of N ranks; default: 1"},
    {"dtype", IS_DTYPE, 0, 0, 0, "f32|bf16|f16", "number format; default: the backend's first"},
    {"tokens", IS_WHOLES, AT(tokens), 1, LARGEST, "N[,N]...",
     "new tokens of a prefill; default: 512,2048,8192; whole model: 128,512,1024"},
    {"prefix", IS_WHOLES, AT(prefix), 0, LARGEST, "N[,N]...", "tokens cached before them; default: 0,8192"},
    {"batch", IS_WHOLES, AT(batch), 1, 4096, "N[,N]...", "sequences of a decode step; default: 1,8,32,64"},
    {"context", IS_WHOLES, AT(context), 1, LARGEST, "N[,N]...",
     "tokens of each sequence; default: 1024,8192,32768; whole model: 128"},
    {"block-tokens", IS_WHOLE, AT(block_tokens), 16, 512, "N",
     "tokens of a KV block, 16 to 512 by 16; default: 512"},
    {"seconds", IS_REAL, AT(seconds), 1e-4, 3600, "S",
     "measure each case for S seconds at most; default: 0.5"},
    {"precision", IS_REAL, AT(precision), 0, 1, "R",
     "stop before, once the median is known so well, relative to it (95 %); default: 0.01"},
    {"repeat", IS_WHOLE, AT(repeat), 1, 1000000, "N",
     "take N samples of each case instead, however long that is"},
    {"memory", IS_BYTES, AT(memory), 1 << 20, 1e15, "BYTES",
     "of operands at most; default: half of what is free, on a CPU 4 GB at most"},
    {"cache", IS_BYTES, AT(cache), 1 << 16, 1e12, "BYTES",
     "size of the caches, which operands exceed twice; default: the last level's, 128 MiB at most"},
    {"clock", IS_CLOCK, 0, 0, 0, "wall|cpu",
     "cpu: processor time, for a busy machine (needs --threads 1); default: wall"},
    {"format", IS_FORMAT, 0, 0, 0, "text|csv", "default: text"},
    {"list", IS_LIST, 0, 0, 0, NULL, "operators, backends and models"},
    {"help", IS_HELP, 0, 0, 0, NULL, "this"},
    {"version", IS_VERSION, 0, 0, 0, NULL, "which one this is"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char prefix[] = "kernels/bench: ";

/* NULL-terminated. */
static void op_names(const char **out)
{
	size_t n = 0;

	for (; mc_bench_ops[n].name; n++)
		out[n] = mc_bench_ops[n].name;
	out[n] = NULL;
}

static void usage(void)
{
	puts("Usage: kernels/bench [OPTION]...\n"
	     "Times the operators of a backend, each beside the least time that the device's peak and "
	     "bandwidth allow.\n");
	for (int i = 0; i < ROWS; i++) {
		char left[48];

		snprintf(left, sizeof left, "--%s%s%s", rows[i].name, rows[i].arg ? " " : "",
			 rows[i].arg ? rows[i].arg : "");
		printf("  %-24s %s\n", left, rows[i].help);
	}
	puts("\nExit status: 0; 1: a result was not finite, or it was interrupted, or could not print; 2: "
	     "wrong use;\n77: no such hardware.");
}

static void list(void)
{
	puts("operators");
	for (const struct mc_bench_op *p = mc_bench_ops; p->name; p++)
		printf("  %-20s %s\n", p->name, p->summary);
	puts("backends");
	for (size_t i = 0; mc_backends[i]; i++)
		printf("  %-20s %s\n", mc_backends[i]->name, mc_backends[i]->summary);
	puts("models");
	for (const struct mc_llama_shape *m = mc_llama_shapes; m->name; m++)
		printf("  %-20s %d layers, hidden %d, %d heads, %d KV heads of %d, FFN %d, vocabulary %d, "
		       "positions %d\n",
		       m->name, m->layers, m->hidden, m->heads, m->kv_heads, m->head_dim, m->ffn, m->vocab,
		       m->max_position);
}

static bool misused(const char *option, const char *why)
{
	fprintf(stderr, "%s--%s: %s\n", prefix, option, why);
	return false;
}

static bool number(const struct row *r, const char *text, double *out)
{
	struct mc_err err = {0};
	int64_t v = 0;
	char why[160];
	int rc = r->kind == IS_REAL    ? mc_units_real(text, out, &err)
		 : r->kind == IS_BYTES ? mc_units_bytes(text, &v, &err)
				       : mc_units_count(text, &v, &err);

	if (rc)
		return misused(r->name, err.text);
	if (r->kind != IS_REAL)
		*out = (double)v;
	if (*out >= r->min && *out <= r->max)
		return true;
	snprintf(why, sizeof why, "%.40s is out of range; expected %.10g to %.10g", text, r->min, r->max);
	return misused(r->name, why);
}

/* text up to the next comma; moves *rest beyond it. NULL at the end. */
static char *word(char **rest)
{
	return *rest ? strsep(rest, ",") : NULL;
}

static bool numbers(const struct row *r, char *text, struct mc_bench_list *out)
{
	char *w;
	double v = 0;

	out->n = 0;
	while ((w = word(&text))) {
		if (!number(r, w, &v))
			return false;
		if (out->n == MC_BENCH_LIST)
			return misused(r->name, "too many numbers; expected 16 at most");
		out->at[out->n++] = (int)v;
	}
	return true;
}

static bool unknown(const char *option, const char *what, const char *const *names)
{
	const char *near = mc_suggest(what, names);
	char why[256];

	snprintf(why, sizeof why, "unknown name \"%.80s\"%s%s%s; --list names them", what,
		 near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	return misused(option, why);
}

static bool ops(const struct row *r, char *text, unsigned *out)
{
	const char *names[32];
	char *w;

	op_names(names);
	*out = 0;
	while ((w = word(&text))) {
		int i = 0;

		while (names[i] && strcmp(names[i], w) != 0)
			i++;
		if (!names[i])
			return unknown(r->name, w, names);
		*out |= 1u << i;
	}
	return true;
}

/* One of a few words: its place, or -1 after saying what they are. */
static int choice(const struct row *r, const char *text, const char *const *words)
{
	char why[160];

	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], text))
			return i;
	snprintf(why, sizeof why, "%.40s: expected %s", text, r->arg);
	misused(r->name, why);
	return -1;
}

static bool model(const struct row *r, const char *text, struct mc_bench_options *o)
{
	const char *names[32] = {0};

	for (int i = 0; mc_llama_shapes[i].name; i++)
		names[i] = mc_llama_shapes[i].name;
	o->model = mc_llama_shape_find(text, NULL);
	return o->model || unknown(r->name, text, names);
}

static bool found(const struct mc_err *err, const char *option, const void *what)
{
	return what || misused(option, err->text);
}

static bool take(const struct row *r, char *text, struct mc_bench_options *o)
{
	static const char *const dtypes[] = {"f32", "bf16", "f16", NULL},
				 *const formats[] = {"text", "csv", NULL},
				 *const clocks[] = {"wall", "cpu", NULL};
	struct mc_err err = {0};
	void *at = (char *)o + r->at;
	double v = 0;
	int i;

	switch (r->kind) {
	case IS_BACKEND:
		return found(&err, r->name, o->backend = mc_backend_find(text, &err));
	case IS_MODEL:
		return model(r, text, o);
	case IS_OPS:
		return ops(r, text, &o->ops);
	case IS_DTYPE:
		o->dtype = (enum mc_dtype)(i = choice(r, text, dtypes));
		return i >= 0;
	case IS_FORMAT:
		i = choice(r, text, formats);
		o->csv = i == 1;
		return i >= 0;
	case IS_CLOCK:
		i = choice(r, text, clocks);
		o->cpu_clock = i == 1;
		return i >= 0;
	case IS_WHOLES:
		return numbers(r, text, at);
	case IS_WHOLE:
	case IS_BYTES:
		if (!number(r, text, &v))
			return false;
		*(int64_t *)at = (int64_t)v;
		return true;
	case IS_REAL:
		return number(r, text, at);
	default:
		return true;
	}
}

static void unknown_option(const char *text)
{
	const char *names[ROWS + 1] = {0}, *near = NULL;

	for (int i = 0; i < ROWS; i++)
		names[i] = rows[i].name;
	if (!strncmp(text, "--", 2))
		near = mc_suggest(text + 2, names);
	fprintf(stderr, "%sunknown option '%s'", prefix, text);
	if (near)
		fprintf(stderr, "; did you mean '--%s'?\n", near);
	else
		fputs("; see kernels/bench --help\n", stderr);
}

/* In the number format that was asked for? */
static bool computed(const struct mc_bench_options *o)
{
	char why[96];
	size_t n = 0;

	if (o->backend->dtypes >> o->dtype & 1)
		return true;
	n += (size_t)snprintf(why, sizeof why, "%s: backend %s computes in", mc_dtype_name(o->dtype),
			      o->backend->name);
	for (int d = MC_F32; d <= MC_F16; d++)
		if (o->backend->dtypes >> d & 1)
			n +=
			    (size_t)snprintf(why + n, sizeof why - n, " %s", mc_dtype_name((enum mc_dtype)d));
	return misused("dtype", why);
}

/* What depends on several options, or was not given. */
static bool complete(struct mc_bench_options *o, bool dtype_given)
{
	struct mc_err err = {0};
	bool host = !strcmp(o->backend->name, "cpu");

	if (!o->model)
		o->model = mc_llama_shape_find(host ? "small-24.6m" : "llama3-8b", &err);
	if (!o->model)
		return misused("model", err.text);
	if (mc_llama_ranks_check(o->model, (int)o->ranks, &err))
		return misused("tp", err.text);
	if (o->block_tokens % 16)
		return misused("block-tokens", "expected a multiple of 16, up to 512");
	o->model_tokens = o->tokens.n ? o->tokens : (struct mc_bench_list){3, {128, 512, 1024}};
	o->model_context = o->context.n ? o->context : (struct mc_bench_list){1, {128}};
	if (!o->tokens.n)
		o->tokens = (struct mc_bench_list){3, {512, 2048, 8192}};
	if (!o->context.n)
		o->context = (struct mc_bench_list){3, {1024, 8192, 32768}};
	if (o->cpu_clock && (!host || o->threads != 1))
		return misused("clock", "cpu: expected --backend cpu and --threads 1");
	for (int d = MC_F16; !dtype_given && d >= MC_F32; d--)
		if (o->backend->dtypes >> d & 1)
			o->dtype = (enum mc_dtype)d;
	/* A backend that is not built in has no formats: its absence is said later. */
	return !dtype_given || !o->backend->dtypes || computed(o);
}

static bool options(int argc, char **argv, struct mc_bench_options *o)
{
	struct option longs[ROWS + 1] = {{0}};
	bool dtype_given = false;
	int i;

	for (i = 0; i < ROWS; i++)
		longs[i] = (struct option){rows[i].name, rows[i].arg ? required_argument : no_argument, NULL,
					   1000 + i};
	opterr = 0;
	while ((i = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (i == ':') {
			fprintf(stderr, "%soption '%s' needs a value\n", prefix, argv[optind - 1]);
			return false;
		}
		if (i < 1000) {
			unknown_option(argv[optind - 1]);
			return false;
		}
		if (!take(&rows[i - 1000], optarg, o))
			return false;
		dtype_given |= rows[i - 1000].kind == IS_DTYPE;
	}
	if (optind < argc) {
		fprintf(stderr, "%sunexpected argument '%s'; see kernels/bench --help\n", prefix,
			argv[optind]);
		return false;
	}
	return complete(o, dtype_given);
}

/* The only option that begins as text does, as getopt_long takes it; or NULL. */
static const struct row *begins(const char *text)
{
	const struct row *found = NULL;

	for (int i = 0; i < ROWS && !strncmp(text, "--", 2) && text[2]; i++) {
		if (strncmp(rows[i].name, text + 2, strlen(text + 2)) != 0)
			continue;
		if (found)
			return NULL;
		found = &rows[i];
	}
	return found;
}

/* --help, --version and --list come before everything else. */
static bool asked(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct row *r = begins(argv[i]);

		if ((r && r->kind == IS_HELP) || !strcmp(argv[i], "-h"))
			usage();
		else if ((r && r->kind == IS_VERSION) || !strcmp(argv[i], "-V"))
			puts("kernels/bench of " PACKAGE_NAME " " PACKAGE_VERSION);
		else if (r && r->kind == IS_LIST)
			list();
		else
			continue;
		return true;
	}
	return false;
}

bool mc_bench_args(int argc, char **argv, struct mc_bench_options *o, int *rc)
{
	struct mc_err err = {0};

	*o = (struct mc_bench_options){.backend = mc_backend_find("cpu", &err),
				       .ops = ~0u,
				       .ranks = 1,
				       .block_tokens = 512,
				       .seconds = 0.5,
				       .precision = 0.01,
				       .prefix = {2, {0, 8192}},
				       .batch = {4, {1, 8, 32, 64}}};
	if (asked(argc, argv)) {
		*rc = MC_OK;
		return false;
	}
	*rc = MC_USAGE;
	return options(argc, argv, o);
}
