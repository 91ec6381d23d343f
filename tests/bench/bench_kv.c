/*
 * bench_kv [POOLS...]: what the KV pools cost a block reference, on conversations that return to their pool
 * most of the time: find, match on 8 candidate pools, lease, commit, release; and one hot run held by
 * 1,000 pools. Load and pools grow together (12,031 requests of some 30 blocks on 8 pools of 5,859; beyond
 * 100 pools half of that a pool), so the figures grow with misses of the processor's caches alone. Medians
 * over batches of the last quarter, when the pools are full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/vec.h"
#include "kv/pool.h"

enum {
	CAPACITY = 5859, /* 3 M tokens in blocks of 512 */
	REQUESTS = 1504, /* a pool: 12,031 on 8 */
	MAX = 250,
	BATCH = 512, /* requests generated ahead, outside the timing */
	CANDIDATES = 8,
	FLYING = 4, /* leases held at once, a pool */
	ALIVE = 64, /* conversations that may go on, a pool */
};

enum phase { TRAIL, MATCH, ACQUIRE, COMMIT, RELEASE, PHASES };

struct conversation {
	uint64_t seed;
	uint32_t blocks;
};

struct request {
	uint32_t pool, n;
	uint64_t id[MAX];
};

struct bench {
	uint32_t pools;
	uint64_t rng, refs, all, hits;
	struct mc_tree *tree;
	struct mc_pool **pool;
	struct mc_lease *flying;
	struct conversation *alive;
	struct request *batch;
	double ns[PHASES];         /* of this batch, then per block */
	double *per_block[PHASES]; /* of every batch */
	size_t batches;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint32_t below(struct bench *b, uint32_t n)
{
	return (uint32_t)(mc_hash_u64(b->rng++) % n);
}

/* A new conversation or the next turn of one: 2 blocks of one of 16 system prompts, then its own. */
static void request_make(struct bench *b, struct request *r)
{
	struct conversation *c = &b->alive[below(b, ALIVE * b->pools)];
	uint64_t at;

	if (c->blocks >= MAX - 30 || !c->seed || below(b, 100) < 45)
		*c = (struct conversation){.seed = ++b->rng, .blocks = 2};
	c->blocks += 1 + below(b, 8) * below(b, 8);
	if (c->blocks > MAX)
		c->blocks = MAX;
	r->n = c->blocks;
	r->pool = below(b, 10) ? (uint32_t)(mc_hash_u64(c->seed) % b->pools) : below(b, b->pools);
	at = c->seed % 16;
	for (uint32_t i = 0; i < r->n; i++)
		r->id[i] = at = mc_hash_pair(at, i < 2 ? 0 : c->seed);
}

static void request_run(struct bench *b, const struct request *r, uint64_t seq)
{
	struct mc_pool *pool = b->pool[r->pool];
	struct mc_lease *flying = &b->flying[seq % (FLYING * (uint64_t)b->pools)], lease;
	struct mc_step way[MAX];
	uint32_t steps, best = 0;
	double t[PHASES + 1];

	t[TRAIL] = now_ns();
	steps = mc_tree_trail(b->tree, r->id, r->n, way);
	t[MATCH] = now_ns();
	for (uint32_t k = 0; k < CANDIDATES; k++) {
		uint32_t m = mc_tree_match(b->tree, way, steps, (r->pool + k) % b->pools);

		best = m > best ? m : best;
	}
	t[ACQUIRE] = now_ns();
	lease = mc_pool_acquire(pool, r->id, r->n);
	t[COMMIT] = now_ns();
	mc_pool_commit(pool, &lease, 0, lease.held);
	t[RELEASE] = now_ns();
	if (flying->held) {
		uint32_t owner = flying[FLYING * (uint64_t)b->pools].tail;

		mc_pool_release(b->pool[owner], flying);
	}
	t[PHASES] = now_ns();
	*flying = lease;
	flying[FLYING * (uint64_t)b->pools].tail = r->pool;
	b->refs += r->n;
	b->hits += best;
	for (int p = 0; p < PHASES; p++)
		b->ns[p] += t[p + 1] - t[p];
}

static uint64_t batch_run(struct bench *b, uint64_t seq)
{
	for (uint32_t i = 0; i < BATCH; i++)
		request_make(b, &b->batch[i]);
	b->refs = 0;
	for (int p = 0; p < PHASES; p++)
		b->ns[p] = 0;
	for (uint32_t i = 0; i < BATCH; i++)
		request_run(b, &b->batch[i], seq++);
	for (int p = 0; p < PHASES; p++)
		b->per_block[p][b->batches] = b->ns[p] / (double)b->refs;
	b->batches++;
	b->all += b->refs;
	return seq;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of batches: a machine that does other work as well disturbs only some. */
static double median(double *at, size_t n)
{
	qsort(at, n, sizeof *at, compare);
	return at[n / 2];
}

static void run(uint32_t pools)
{
	static const char *const name[] = {"trail", "match", "acquire", "commit", "release"};
	uint64_t requests = (uint64_t)pools * (pools > 100 ? REQUESTS / 2 : REQUESTS), seq = 0;
	struct bench b = {.pools = pools, .tree = mc_tree_new()};
	double start = now_ns(), total = 0;

	b.pool = mc_xcalloc(pools, sizeof *b.pool);
	b.flying = mc_xcalloc(2 * FLYING * (size_t)pools, sizeof *b.flying);
	b.alive = mc_xcalloc(ALIVE * (size_t)pools, sizeof *b.alive);
	b.batch = mc_xcalloc(BATCH, sizeof *b.batch);
	for (uint32_t i = 0; i < pools; i++)
		b.pool[i] = mc_pool_new(b.tree, i, CAPACITY, mc_evictor_find("lru"));
	printf("%u pools of %d: set up in %.2f ms\n", pools, CAPACITY, (now_ns() - start) / 1e6);
	for (int p = 0; p < PHASES; p++)
		b.per_block[p] = mc_xcalloc(requests / BATCH + 1, sizeof(double));
	while (seq < requests)
		seq = batch_run(&b, seq);
	for (int p = 0; p < PHASES; p++) {
		double ns = median(b.per_block[p] + b.batches * 3 / 4, b.batches / 4);

		printf("  %-8s %6.1f ns a block\n", name[p], ns);
		free(b.per_block[p]);
		total += ns;
	}
	printf("  %-8s %6.1f ns a block\n", "total", total);
	printf("  %.0f %% of %llu blocks of %llu requests hit\n", 100.0 * (double)b.hits / (double)b.all,
	       (unsigned long long)b.all, (unsigned long long)seq);
	start = now_ns();
	for (uint32_t i = 0; i < pools; i++)
		mc_pool_free(b.pool[i]);
	mc_tree_free(b.tree);
	printf("  freed in %.2f ms\n", (now_ns() - start) / 1e6);
	free(b.pool);
	free(b.flying);
	free(b.alive);
	free(b.batch);
}

/* One chain of ten blocks held by `nodes` pools of ten, given up and taken again by one after the other. */
static void hot_run(uint32_t nodes)
{
	struct mc_tree *tree = mc_tree_new();
	struct mc_pool **pool = mc_xcalloc(nodes, sizeof *pool);
	uint64_t hot[10], other[10];
	uint32_t rounds = 300000;
	double start;

	for (uint64_t i = 0; i < 10; i++) {
		hot[i] = mc_hash_u64(i);
		other[i] = mc_hash_u64(100 + i);
	}
	for (uint32_t i = 0; i < nodes; i++)
		pool[i] = mc_pool_new(tree, i, 10, mc_evictor_find("lru"));
	start = now_ns();
	for (uint32_t i = 0; i < rounds; i++) { /* each pool takes turns between the two chains */
		uint32_t node = (uint32_t)(mc_hash_u64(i) % nodes);
		struct mc_lease l = mc_pool_acquire(pool[node], i & 1 ? hot : other, 10);

		mc_pool_commit(pool[node], &l, 0, 10);
		mc_pool_release(pool[node], &l);
	}
	printf("a run on up to %u nodes: %.0f ns to lease, commit and release\n", nodes,
	       (now_ns() - start) / rounds);
	for (uint32_t i = 0; i < nodes; i++)
		mc_pool_free(pool[i]);
	mc_tree_free(tree);
	free(pool);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run((uint32_t)strtoul(argv[i], NULL, 10));
	if (argc == 1) {
		run(8);
		run(800);
	}
	hot_run(8);
	hot_run(1000);
	return 0;
}
