/* What the parts of the program kernels/bench share. One family of operators a file, bench_NAME.c. */
#ifndef MC_KERNELS_BENCH_H
#define MC_KERNELS_BENCH_H

#include "kernels/llama_shape.h"
#include "kernels/work.h"

enum { MC_BENCH_LIST = 16 };

struct mc_bench_list {
	int n;
	int at[MC_BENCH_LIST];
};

struct mc_bench_options {
	const struct mc_backend *backend;
	const struct mc_llama_shape *model;
	unsigned ops; /* bit i: mc_bench_ops[i] */
	enum mc_dtype dtype;
	int64_t device, threads, ranks, block_tokens, repeat;
	double seconds;   /* of measuring a case, at most */
	double precision; /* stop earlier once the median is known that well, relatively */
	int64_t memory;   /* bytes of operands */
	int64_t cache;    /* bytes that the device's caches may hold */
	struct mc_bench_list tokens, prefix, batch, context;
	struct mc_bench_list model_tokens, model_context; /* of whole steps */
	bool csv;
	bool cpu_clock; /* the processor time of one thread, not wall time */
};

/* Parses the command line. True: go on. False: leave with *rc, all was said. */
bool mc_bench_args(int argc, char **argv, struct mc_bench_options *o, int *rc);

/* What was measured of one case. */
struct mc_bench_result {
	double seconds;    /* median of one run */
	double spread;     /* half of the 95 % confidence interval of the median, relative to it */
	int samples, runs; /* runs a sample */
	double plain;      /* the plain library call beside it, median; 0: there is none */
	double of_plain;   /* median of plain / ours, of neighbours in time */
};

struct mc_bench;

/* One operator in one shape. Its operands are there `copies` times, taken in turn, so that they come from
 * memory. */
struct mc_bench_case {
	const char *op;
	char shape[80];
	struct mc_work work;
	size_t bytes;    /* memory of one set of operands */
	size_t shared;   /* of what all sets share */
	size_t arg_size; /* of an operator's arguments */
	void (*once)(struct mc_bench *b, const void *arg);
	void (*wait)(struct mc_bench *b, const void *arg);  /* for what once queued; NULL: the stream */
	void (*plain)(struct mc_bench *b, const void *arg); /* the same by a plain library call, or NULL */
	bool by_wall;                                       /* the host's clock rather than the device's */
	/* Filled by begin. */
	int copies;
	char *args;  /* [copies][arg_size] */
	bool cached; /* all copies together are less than twice the caches */
	/* What is looked at afterwards, of the first copy: finite numbers, or tokens below out_tokens. */
	const void *out;
	size_t out_n;
	enum mc_dtype out_dtype;
	int out_tokens;
};

/* Lowest figures of those that have a bar. */
struct mc_bench_bar {
	double worst; /* ratio, or seconds */
	char at[80];
	int cases;
};

struct mc_bench {
	const struct mc_bench_options *o;
	const struct mc_backend *be;
	struct mc_llama_shape rank; /* what a rank computes, as a model of its own */
	struct mc_device *dev;
	struct mc_stream *s;
	struct mc_event *from, *to;
	struct mc_device_info info;
	bool host;               /* the CPU: memory and library are the host's */
	struct mc_limits limits; /* the floor's */
	double product_flops, plain_flops, read_bandwidth, copy_bandwidth; /* measured */
	/* Memory for operands: one piece, given out anew for each case. */
	char *arena;
	size_t arena_bytes, used;
	unsigned long sum; /* of what was read, so that it is */
	void *pattern[3];  /* random numbers of each format, on the host */
	/* A first pass only counts the cases, and the memory that they need. */
	bool planning;
	size_t need;
	int cases, done, skipped;
	bool failed;
	struct mc_err err;
	struct mc_bench_bar gemm_bar, decode_bar, prefill_bar;
};

struct mc_bench_op {
	const char *name, *summary;
	void (*run)(struct mc_bench *b);
};
extern const struct mc_bench_op mc_bench_ops[]; /* NULL name at the end */

void mc_bench_copy(struct mc_bench *b);
void mc_bench_all_reduce(struct mc_bench *b);
void mc_bench_gemm(struct mc_bench *b);
void mc_bench_norm(struct mc_bench *b);
void mc_bench_rope(struct mc_bench *b);
void mc_bench_swiglu(struct mc_bench *b);
void mc_bench_embed(struct mc_bench *b);
void mc_bench_sample(struct mc_bench *b);
void mc_bench_kv_scatter(struct mc_bench *b);
void mc_bench_kv_gather(struct mc_bench *b);
void mc_bench_attention_prefill(struct mc_bench *b);
void mc_bench_attention_decode(struct mc_bench *b);
void mc_bench_model(struct mc_bench *b);

/* The device: opened (0, or MC_NOHW, MC_USAGE, MC_FAIL with b->err), its memory taken, its limits measured.
 */
int mc_bench_open(struct mc_bench *b);
int mc_bench_memory(struct mc_bench *b);
void mc_bench_measure_limits(struct mc_bench *b);
void mc_bench_close(struct mc_bench *b);
/* On the host, one thread: read it all, and do nothing with it. */
void mc_bench_plain_read(struct mc_bench *b, const void *p, size_t bytes);
/* sgemm of plain CBLAS on all of the device's threads. */
void mc_bench_plain_gemm(struct mc_bench *b, const struct mc_gemm *a);

/* A case: false when it is only counted, left out (too large, too long) or the user has had enough. */
bool mc_bench_begin(struct mc_bench *b, struct mc_bench_case *c);
/* Leave it out, and say why. */
void mc_bench_skip(struct mc_bench *b, const struct mc_bench_case *c, const char *why);
/* So many bytes are touched before the first of them is met again. */
bool mc_bench_cached(const struct mc_bench *b, double bytes);
/* Queue random numbers (of the program's format) to any place on the device. */
void mc_bench_fill(struct mc_bench *b, struct mc_stream *s, char *to, size_t bytes);
/* Room of the arena: with random numbers (about N(0, 1)), with indices, or with whatever is there. */
void *mc_bench_numbers(struct mc_bench *b, size_t n, enum mc_dtype t);
void *mc_bench_bytes(struct mc_bench *b, const void *host, size_t bytes);
void *mc_bench_room(struct mc_bench *b, size_t bytes);
/* Bytes of the arena that so many numbers, or bytes, take. */
size_t mc_bench_room_of(size_t bytes);
/* Time it, look at its output, print its line. Ends the case. No samples in *r: it failed. */
void mc_bench_end(struct mc_bench *b, struct mc_bench_case *c, struct mc_bench_result *r);
/* A figure that has a bar: the worst is kept. */
void mc_bench_bar(struct mc_bench_bar *bar, double ratio, const char *at);
/* f for each number of rows that there can be: sequences that decode, tokens of prefills. */
void mc_bench_each_rows(struct mc_bench *b, void (*f)(struct mc_bench *b, int rows));

/* Ctrl-C was pressed. */
bool mc_bench_stopped(void);
double mc_bench_now(void); /* seconds of a steady clock */
/* What is timed on the host: wall time; or what this thread computed, whatever else the machine does. */
double mc_bench_clock(const struct mc_bench *b);
uint32_t mc_bench_random(uint64_t *state);

void mc_bench_print_head(const struct mc_bench *b);
void mc_bench_print_case(const struct mc_bench *b, const struct mc_bench_case *c,
			 const struct mc_bench_result *r);
void mc_bench_print_skipped(const struct mc_bench *b, const struct mc_bench_case *c, const char *why);
void mc_bench_print_measuring(const struct mc_bench *b);
void mc_bench_print_progress(const struct mc_bench *b, const struct mc_bench_case *c);
/* After the last case: what the columns mean, and the bars. */
void mc_bench_print_table_end(const struct mc_bench *b);
/* After all: whether it was interrupted. */
void mc_bench_print_end(const struct mc_bench *b);

#endif
