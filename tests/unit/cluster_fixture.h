/* A cluster for tests: a scenario with round costs, and a trace made by hand. */
#ifndef MC_TESTS_CLUSTER_FIXTURE_H
#define MC_TESTS_CLUSTER_FIXTURE_H

#include <stdarg.h>
#include <string.h>

#include "cluster/cluster.h"
#include "fixture.h"
#include "unit.h"

struct setup {
	struct mc_scenario s;
	struct mc_conf conf;
	struct mc_cost cost;
	struct mc_trace trace;
};

static inline void setup_init(struct setup *u, int64_t block_tokens)
{
	ck_assert_int_eq(mc_conf_init(&u->conf, mc_scenario_fields, &u->s, NULL), 0);
	u->cost = plain_cost();
	mc_trace_init(&u->trace, block_tokens);
}

static inline void setup_set(struct setup *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline void setup_set(struct setup *u, const char *fmt, ...)
{
	char text[2000];
	struct mc_err err = {0};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	ck_assert_msg(mc_conf_set(&u->conf, text, &err) == 0, "%s: %s", text, err.text);
}

static inline void setup_fini(struct setup *u)
{
	mc_conf_fini(&u->conf);
	mc_trace_fini(&u->trace);
}

static inline int setup_try(struct setup *u, struct mc_result *r, struct mc_err *err)
{
	struct mc_cluster_hooks hooks = {0};
	struct mc_cluster_setup setup = {&u->s, &u->cost, &u->trace, &hooks};

	return mc_cluster_run(&setup, r, err);
}

static inline void setup_run(struct setup *u, struct mc_result *r)
{
	struct mc_err err = {0};
	char text[800];

	ck_assert_msg(setup_try(u, r, &err) == 0, "%s", mc_err_format(&err, text, sizeof text));
}

/* Add a prompt of n tokens whose blocks are named by `name`; the leading `shared` ones by `prefix`. */
static inline void add(struct setup *u, mc_time at, uint32_t n, uint32_t out, const uint64_t name[2],
		       uint32_t shared)
{
	uint64_t id[512],
	    blocks = (n + (uint64_t)u->trace.block_tokens - 1) / (uint64_t)u->trace.block_tokens;

	for (uint64_t b = 0; b < blocks; b++)
		id[b] = mc_hash_pair(b < shared ? name[0] : name[1], b);
	mc_trace_push(&u->trace, at, n, out, id);
}

/* Add a prompt that goes on from an earlier one and its answer by `more` tokens. */
static inline void add_turn(struct setup *u, mc_time at, int64_t parent, uint32_t more, uint32_t out)
{
	struct mc_trace *t = &u->trace;
	uint32_t n = t->input[parent] + t->output[parent] + more, size = (uint32_t)t->block_tokens;
	uint64_t id[512];

	ck_assert_uint_le(n, 512 * size);
	for (uint32_t b = 0; b < (n + size - 1) / size; b++)
		id[b] = b < t->input[parent] / size ? t->block[t->first[parent] + b]
						    : mc_hash_pair(0x7ab1e + (uint64_t)t->n, b);
	mc_trace_push(t, at, n, out, id);
	mc_trace_set_parent(t, parent);
}

#endif
