/*
 * Transports against what they are made of, side by side: in each round every way moves the same bytes once,
 * in turn, so that all see the same load of the machine; a ratio is the median of the rounds' ratios. Both
 * ends are processes of this machine, all memory has been touched, and what is moved walks over all of it, so
 * that little is found in caches. Beside ratios of time there are ratios of processor time, of both processes
 * together: on a machine that does other things, too, they are the steadier ones.
 *
 *     bench_transport [ROUNDS [LARGEST_MiB [SMALLEST_KiB]]]
 *
 * Shared memory against memcpy, the better of one thread and two (it has a copier, and who waits for a batch
 * copies, too), bar 80 %; TCP over loopback against plain sockets, the better of one stream and several, bar
 * 90 %. Zero-copy (MSG_ZEROCOPY, writes only) is for people: over loopback the kernel copies all the same.
 */
#define _GNU_SOURCE /* clock_getcpuclockid */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "raw_streams.h"
#include "transport/engine.h"
#include "transport/sock.h"

enum {
	LANES = 4,
	ROUNDS_MAX = 99,
	PER_SAMPLE = 16 << 20, /* bytes that one sample moves at least, by repeating */
	REPEATS_MAX = 200,
};

enum way { COPY, COPY_2, SHM_64K, SHM_1M, RAW_1, RAW_N, RAW_ZERO, TCP_64K, TCP_1M, WAYS };

static const char *const way_names[WAYS] = {"memcpy", "memcpy x2",  "shm/64K", "shm/1M", "raw 1",
					    "raw 4",  "raw 1 zero", "tcp/64K", "tcp/1M"};

struct told {
	char address[MC_ENGINE_ADDRESS];
	int port;
};

/* Half of a copy, in a thread of its own. */
struct half {
	pthread_t thread;
	pthread_barrier_t begin, end;
	uint8_t *to;
	const uint8_t *from;
	size_t bytes; /* 0: it ends */
};

static void *copy_half(void *arg);

struct bench {
	struct mc_memory remote, local;
	struct told told;
	struct mc_engine *engine[WAYS]; /* NULL: none */
	uint32_t peer[WAYS];
	struct raw *raw[WAYS];
	pid_t child;
	clockid_t child_clock;
	struct half half;
	size_t at; /* where the next one goes */
};

static void must(int rc, const struct mc_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static struct mc_engine *open_engine(const char *const *transports, uint32_t slice)
{
	struct mc_engine_port port[2] = {{0}};
	struct mc_engine_want w;
	struct mc_engine *e;
	struct mc_err err = {0};

	mc_engine_defaults(&w);
	must(mc_token_set(&w.token, "the token of a benchmark", &err), &err);
	for (; transports[w.ports]; w.ports++) {
		port[w.ports].transport = mc_transport_find(transports[w.ports], &err);
		port[w.ports].name = "";
	}
	w.port = port;
	w.slice_bytes = slice;
	w.lanes = strcmp(transports[0], "tcp") ? 1 : LANES;
	must(mc_engine_open(&e, &w, &err), &err);
	return e;
}

static void run_owner(struct bench *b, int to)
{
	const char *const both[] = {"shm", "tcp", NULL};
	struct mc_engine *e = open_engine(both, 64 << 10);
	struct mc_err err = {0};

	must(mc_engine_register(e, &b->remote, MC_ACCESS_READ | MC_ACCESS_WRITE, &err), &err);
	snprintf(b->told.address, sizeof b->told.address, "%s", mc_engine_address(e));
	b->told.port = raw_serve(b->remote.base);
	if (write(to, &b->told, sizeof b->told) == sizeof b->told)
		pause();
	exit(1);
}

static void open_all(struct bench *b, size_t bytes)
{
	static const struct {
		const char *transport;
		uint32_t slice;
	} engines[WAYS] = {[SHM_64K] = {"shm", 64 << 10},
			   [SHM_1M] = {"shm", 1 << 20},
			   [TCP_64K] = {"tcp", 64 << 10},
			   [TCP_1M] = {"tcp", 1 << 20}};
	struct mc_err err = {0};
	int fd[2];

	must(mc_memory_alloc(&b->remote, bytes, "cpu:0", &err), &err);
	must(mc_memory_alloc(&b->local, bytes, "cpu:0", &err), &err);
	memset(b->remote.base, 1, bytes);
	memset(b->local.base, 2, bytes);
	if (pipe(fd) || (b->child = fork()) < 0) {
		perror("fork");
		exit(1);
	}
	if (!b->child)
		run_owner(b, fd[1]);
	if (read(fd[0], &b->told, sizeof b->told) != sizeof b->told)
		exit(1);
	for (int w = 0; w < WAYS; w++) {
		const char *const one[] = {engines[w].transport, NULL};

		if (!engines[w].transport)
			continue;
		b->engine[w] = open_engine(one, engines[w].slice);
		must(mc_engine_register(b->engine[w], &b->local, 0, &err), &err);
		must(mc_engine_connect(b->engine[w], b->told.address, &b->peer[w], &err), &err);
	}
	pthread_barrier_init(&b->half.begin, NULL, 2);
	pthread_barrier_init(&b->half.end, NULL, 2);
	if (pthread_create(&b->half.thread, NULL, copy_half, &b->half))
		exit(1);
	if (clock_getcpuclockid(b->child, &b->child_clock))
		exit(1);
	b->raw[RAW_1] = raw_open(b->told.port, 1, false);
	b->raw[RAW_N] = raw_open(b->told.port, LANES, false);
	b->raw[RAW_ZERO] = raw_open(b->told.port, 1, true);
}

static void close_all(struct bench *b)
{
	for (int w = 0; w < WAYS; w++) {
		mc_engine_close(b->engine[w]);
		if (b->raw[w])
			raw_close(b->raw[w]);
	}
	b->half.bytes = 0;
	pthread_barrier_wait(&b->half.begin);
	pthread_join(b->half.thread, NULL);
	pthread_barrier_destroy(&b->half.begin);
	pthread_barrier_destroy(&b->half.end);
	kill(b->child, SIGKILL);
	waitpid(b->child, NULL, 0);
	mc_memory_free(&b->local);
	mc_memory_free(&b->remote);
}

static void by_engine(struct bench *b, enum way w, bool write, size_t bytes)
{
	struct mc_request r = {.op = write ? MC_OP_WRITE : MC_OP_READ,
			       .peer = b->peer[w],
			       .local = (uint8_t *)b->local.base + b->at,
			       .remote = (uintptr_t)b->remote.base + b->at,
			       .bytes = bytes};
	struct mc_batch_status s;
	struct mc_err err = {0};
	uint64_t batch;

	must(mc_engine_submit(b->engine[w], &r, 1, &batch, &err), &err);
	must(mc_engine_wait(b->engine[w], batch, -1, &s, &err), &err);
	must(s.state != MC_BATCH_DONE, &s.err);
	must(mc_engine_free(b->engine[w], batch, &err), &err);
}

static void *copy_half(void *arg)
{
	struct half *h = arg;

	for (;;) {
		pthread_barrier_wait(&h->begin);
		if (!h->bytes)
			return NULL;
		memcpy(h->to, h->from, h->bytes);
		pthread_barrier_wait(&h->end);
	}
}

static void copy_by_two(struct half *h, uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t n = bytes / 2;

	h->to = to + n;
	h->from = from + n;
	h->bytes = bytes - n;
	pthread_barrier_wait(&h->begin);
	memcpy(to, from, n);
	pthread_barrier_wait(&h->end);
}

static void once(struct bench *b, enum way w, bool write, size_t bytes)
{
	uint8_t *local = (uint8_t *)b->local.base + b->at, *remote = (uint8_t *)b->remote.base + b->at;

	if (w == COPY)
		memcpy(write ? remote : local, write ? local : remote, bytes);
	else if (w == COPY_2)
		copy_by_two(&b->half, write ? remote : local, write ? local : remote, bytes);
	else if (b->raw[w])
		raw_do(b->raw[w], &(struct raw_job){write, local, b->at, bytes});
	else
		by_engine(b, w, write, bytes);
}

/* Seconds of one: of time, and of processors. */
struct seconds {
	double wall, cpu;
};

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct seconds now(const struct bench *b)
{
	return (struct seconds){clock_s(CLOCK_MONOTONIC),
				clock_s(CLOCK_PROCESS_CPUTIME_ID) + clock_s(b->child_clock)};
}

static struct seconds sample(struct bench *b, enum way w, bool write, size_t bytes)
{
	size_t n = PER_SAMPLE / bytes, step = (bytes + 4095) / 4096 * 4096;
	struct seconds begin, end;

	n = n < 1 ? 1 : n > REPEATS_MAX ? REPEATS_MAX : n;
	begin = now(b);
	for (size_t i = 0; i < n; i++) {
		b->at = b->at + step + bytes <= b->local.bytes ? b->at + step : 0;
		once(b, w, write, bytes);
	}
	end = now(b);
	return (struct seconds){(end.wall - begin.wall) / (double)n, (end.cpu - begin.cpu) / (double)n};
}

/* A mapping's pages, too, are touched once: in a guest that may take far longer than copying them. */
static void touch_all(struct bench *b)
{
	b->at = 0;
	for (int w = 0; w < WAYS; w++)
		for (int write = 0; write < 2 && b->engine[w]; write++)
			by_engine(b, (enum way)w, write, b->local.bytes);
}

/* Every way moves what it should. */
static void verify(struct bench *b, enum way w, bool write, size_t bytes)
{
	uint8_t *from = write ? b->local.base : b->remote.base;
	uint8_t *to = write ? b->remote.base : b->local.base;

	b->at = 0;
	memset(from, 0x40 + (int)w, bytes);
	memset(to, 0, bytes);
	once(b, w, write, bytes);
	if (memcmp(from, to, bytes) != 0) {
		fprintf(stderr, "%s of %zu bytes moved something else\n", way_names[w], bytes);
		exit(1);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *v, int n)
{
	double s[ROUNDS_MAX];

	memcpy(s, v, (size_t)n * sizeof *s);
	qsort(s, (size_t)n, sizeof *s, by_value);
	return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

/* Of each way, by round. */
struct table {
	int rounds;
	double wall[WAYS][ROUNDS_MAX], cpu[WAYS][ROUNDS_MAX];
};

/* How fast w is, of another, by the rounds: 1: as fast. */
static double against(const struct table *t, bool cpu, enum way w, enum way other)
{
	double v[ROUNDS_MAX];

	for (int i = 0; i < t->rounds; i++)
		v[i] = cpu ? t->cpu[other][i] / t->cpu[w][i] : t->wall[other][i] / t->wall[w][i];
	return median(v, t->rounds);
}

static void ratios(const struct table *t, bool cpu)
{
	static const enum way of[] = {SHM_64K, SHM_1M, TCP_64K, TCP_1M};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		double r = against(t, cpu, of[i], i < 2 ? COPY : RAW_1);
		double several = against(t, cpu, of[i], i < 2 ? COPY_2 : RAW_N);

		printf("  %5.2f", r < several ? r : several);
	}
}

static void row(struct bench *b, bool write, size_t bytes, struct table *t)
{
	for (int w = 0; w < WAYS; w++)
		if (w != RAW_ZERO || write)
			verify(b, (enum way)w, write, bytes);
	for (int i = 0; i < t->rounds; i++)
		for (int w = 0; w < WAYS; w++) {
			struct seconds s = {1, 1};

			if (w != RAW_ZERO || write)
				s = sample(b, (enum way)w, write, bytes);
			t->wall[w][i] = s.wall;
			t->cpu[w][i] = s.cpu;
		}
	printf("%-5s %10zu", write ? "write" : "read", bytes);
	for (int w = 0; w < WAYS; w++) {
		double s = median(t->wall[w], t->rounds);

		if (w == RAW_ZERO && !write)
			printf(" %10s", "-");
		else if (bytes < 65536)
			printf(" %7.1f us", s * 1e6);
		else
			printf(" %10.2f", (double)bytes / s * 1e-9);
	}
	ratios(t, false);
	printf("  |");
	ratios(t, true);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {64,      512,     4096,     64 << 10, 256 << 10,
				       1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
	int rounds = argc > 1 ? atoi(argv[1]) : 9;
	size_t largest = (size_t)(argc > 2 ? atoi(argv[2]) : 256) << 20;
	size_t smallest = (size_t)(argc > 3 ? atoi(argv[3]) : 0) << 10;
	static struct table t;
	struct bench b = {0};

	if (rounds < 1 || rounds > ROUNDS_MAX || !largest) {
		fprintf(stderr,
			"usage: bench_transport [ROUNDS [LARGEST_MiB [SMALLEST_KiB]]]; at most %d rounds\n",
			ROUNDS_MAX);
		return 2;
	}
	open_all(&b, largest);
	touch_all(&b);
	printf("GB/s (us below 64 KiB), and ratios: shm to the better memcpy (bar 0.80), tcp to the better "
	       "raw (bar "
	       "0.90)\n");
	printf("%-5s %10s", "", "bytes");
	for (int w = 0; w < WAYS; w++)
		printf(" %10s", way_names[w]);
	for (int i = 0; i < 2; i++)
		printf("%s  %5s  %5s  %5s  %5s", i ? "  |" : "", "s/64K", "s/1M", "t/64K", "t/1M");
	printf("\n");
	t.rounds = rounds;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest; i++)
		for (int write = 0; write < 2 && sizes[i] >= smallest; write++)
			row(&b, write, sizes[i], &t);
	close_all(&b);
	return 0;
}
