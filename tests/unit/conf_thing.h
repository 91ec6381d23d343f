/* A struct with a field of each type, for the tests of conf/. */
#ifndef MC_TESTS_CONF_THING_H
#define MC_TESTS_CONF_THING_H

#include <math.h>
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "base/time.h"
#include "conf/field.h"

struct thing {
	bool on;
	int64_t seed, tokens, bytes;
	double ratio, rate, flops;
	mc_time ttft, until;
	char *path, *policy;
	json_t *model, *extra, *events;
};

static const char *const *policies(void)
{
	static const char *const list[] = {"kvcache-centric", "random", "round-robin", NULL};

	return list;
}

#define AT(m) offsetof(struct thing, m)
static const struct mc_field fields[] = {
    {"on", MC_F_BOOL, AT(on), "false", 0, 0, "", "a switch", NULL},
    {"seed", MC_F_INT, AT(seed), "1", 0, 1e18, "", "seed of all random streams", NULL},
    {"kv.tokens", MC_F_COUNT, AT(tokens), "3M", 1, 1e12, "tokens", "room", NULL},
    {"kv.bytes", MC_F_BYTES, AT(bytes), "64KiB", 0, 0, "B", "bytes", NULL},
    {"kv.deep.ratio", MC_F_REAL, AT(ratio), "0.5", 0, 1, "", "share", NULL},
    {"net.rate", MC_F_RATE, AT(rate), "800Gbps", 1, 1e15, "B/s", "link", NULL},
    {"net.flops", MC_F_FLOPS, AT(flops), "312TFLOPS", 1, INFINITY, "FLOP/s", "peak", NULL},
    {"slo.ttft", MC_F_TIME, AT(ttft), "30s", 0, 1e6, "s", "objective of TTFT", NULL},
    {"run.until", MC_F_TIME, AT(until), "inf", 0, INFINITY, "s", "end", NULL},
    {"trace.path", MC_F_STRING, AT(path), NULL, 0, 0, "", "the trace", NULL},
    {"policy", MC_F_CHOICE, AT(policy), "random", 0, 0, "", "policy", policies},
    {"model", MC_F_JSON, AT(model), "llama3-70b", 0, 0, "", "shape", NULL},
    {"extra", MC_F_JSON, AT(extra), "", 0, 0, "", "free", NULL},
    {"events", MC_F_LIST, AT(events), "", 0, 0, "", "a list", NULL},
    {0},
};

static inline void start(struct mc_conf *c, struct thing *t)
{
	struct mc_err e = {0};

	memset(t, 0x5a, sizeof *t);
	ck_assert_msg(mc_conf_init(c, fields, t, &e) == 0, "%s %s", e.key, e.text);
}

#endif
