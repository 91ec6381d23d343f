/*
 * Hits of every eviction policy on the published traces, found through MOONCAKE_DATA, equal to those of
 * tests/unit/evict_oracle.h, and none above belady's. By hand, for any trace and capacities:
 *
 *     tests/unit/test_evict_traces FILE 1000 100000
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "evict_oracle.h"
#include "kv/replay.h"
#include "trace/reader.h"

static int n, bad;

static void result(bool good, const char *text)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++n, text);
	bad += !good;
}

static void compare(const struct mc_trace *t, const char *name, uint32_t capacity)
{
	struct mc_trace_numbers numbers;
	struct mc_replay bound;
	char text[256];

	mc_trace_numbers_init(&numbers, t);
	mc_replay_run(t, mc_evictor_find("belady"), capacity, &bound);
	for (int i = 0; mc_evictors[i]; i++) {
		struct mc_replay r;
		uint64_t hits[2];

		if (!oracle_run(mc_evictors[i]->name, t, &numbers, capacity, hits)) {
			printf("# evict_oracle.h has no %s\n", mc_evictors[i]->name);
			result(false, mc_evictors[i]->name);
			continue;
		}
		mc_replay_run(t, mc_evictors[i], capacity, &r);
		if (r.hit_blocks != hits[0] || r.hit_tokens != hits[1])
			printf("# expected %" PRIu64 " blocks, %" PRIu64 " tokens\n", hits[0], hits[1]);
		snprintf(text, sizeof text,
			 "%.99s, pool of %" PRIu32 ", %s: %" PRIu64 " blocks, %" PRIu64 " tokens", name,
			 capacity, mc_evictors[i]->name, r.hit_blocks, r.hit_tokens);
		result(r.hit_blocks == hits[0] && r.hit_tokens == hits[1] && r.hit_blocks <= bound.hit_blocks,
		       text);
	}
	mc_trace_numbers_fini(&numbers);
}

static bool read_trace(struct mc_trace *t, const char *path)
{
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	struct mc_err err = {0};

	p.path = path;
	if (!mc_trace_read(t, &p, &err))
		return true;
	printf("# %s: %s\n", path, err.text);
	result(false, path);
	return false;
}

/* All of a trace fits into the last. */
static const struct {
	const char *name;
	uint32_t capacity[12];
} published[] = {
    {"mooncake_trace_1000", {1, 10, 100, 1000, 2000, 5000, 10000}},
    {"synthetic_trace", {1, 100, 1000, 2000, 5000, 10000, 20000, 50000}},
    {"conversation_trace", {100, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000}},
};

static void check_published(const char *data)
{
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		struct mc_trace t;
		char path[1024];

		snprintf(path, sizeof path, "%s/mooncake/%s.jsonl.zst", data, published[i].name);
		if (access(path, R_OK))
			snprintf(path, sizeof path, "%s/mooncake/%s.jsonl", data, published[i].name);
		if (access(path, R_OK)) {
			printf("ok %d - %s # SKIP MOONCAKE_DATA has none\n", ++n, published[i].name);
			continue;
		}
#ifdef __SANITIZE_ADDRESS__
		if (i) { /* slow, and the first shows what sanitizers can */
			printf("ok %d - %s # SKIP sanitizers\n", ++n, published[i].name);
			continue;
		}
#endif
		if (!read_trace(&t, path))
			continue;
		for (const uint32_t *c = published[i].capacity; *c; c++)
			compare(&t, published[i].name, *c);
		mc_trace_fini(&t);
	}
}

int main(int argc, char **argv)
{
	const char *data = getenv("MOONCAKE_DATA");
	struct mc_trace t;

	if (argc > 1 && read_trace(&t, argv[1])) {
		for (int i = 2; i < argc; i++)
			compare(&t, argv[1], (uint32_t)atoi(argv[i]));
		mc_trace_fini(&t);
	} else if (argc < 2) {
		check_published(data ? data : "");
	}
	printf("1..%d\n", n);
	return bad > 0;
}
