/* Random scenarios and traces for clusters. */
#ifndef MC_TESTS_CLUSTER_RANDOM_H
#define MC_TESTS_CLUSTER_RANDOM_H

#include "cluster_fixture.h"

#include "base/str.h"
#include "kv/evict.h"
#include "sched/policy.h"

/* A trace of sessions: turns share the prefix of their session, and all sessions the first blocks; some go on
 * from an earlier prompt and its answer. */
static inline void add_sessions(struct setup *u, uint64_t seed, int n)
{
	uint64_t r = seed;
	mc_time at = 0;

	for (int i = 0; i < n; i++) {
		uint64_t name[2] = {draw(&r, 8), 1000 + (uint64_t)i};

		at += draw(&r, 3) ? 0 : (mc_time)draw(&r, 400000000);
		if (i > 20 && !draw(&r, 4)) {
			add_turn(u, at, i - 1 - (int64_t)draw(&r, 20), (uint32_t)draw(&r, 50),
				 (uint32_t)draw(&r, 90));
			continue;
		}
		add(u, at, 1 + (uint32_t)draw(&r, draw(&r, 5) ? 800 : 6000),
		    (uint32_t)draw(&r, draw(&r, 3) ? 6 : 90), name, (uint32_t)draw(&r, 40));
	}
}

static inline void random_scenario(struct setup *u, uint64_t *r)
{
	uint64_t policies = 0;
	static const char *const decode[] = {"least-loaded", "random", "round-robin"};
	static const char *const pool[] = {"prefill", "global", "local", "off"};
	uint64_t evictors = 0;
	static const char *const ssd_write[] = {"never", "evict", "through"};
	int64_t group = 1 + (int64_t)draw(r, 3);

	while (mc_evictors_names[evictors])
		evictors++;
	while (mc_policies_names[policies])
		policies++;
	setup_set(u, "run.check=true");
	setup_set(u, "run.sample=100ms");
	setup_set(u, "conductor.policy=%s", mc_policies_names[draw(r, policies)]);
	setup_set(u, "conductor.decode_policy=%s", decode[draw(r, 3)]);
	setup_set(u, "conductor.balancing_threshold=%g", 1 + (double)draw(r, 4) / 2);
	setup_set(u, "cluster.prefill_group=%d", (int)group);
	setup_set(u, "cluster.prefill=%d", (int)(group * (1 + (int64_t)draw(r, 5))));
	setup_set(u, "cluster.decode=%d", 1 + (int)draw(r, 4));
	setup_set(u, "cluster.prefill_chunk=%d", 100 + (int)draw(r, 1000));
	setup_set(u, "cluster.max_batch=%d", (int)draw(r, 2) * 4);
	setup_set(u, "cluster.stream=%s", draw(r, 2) ? "after" : "layerwise");
	setup_set(u, "kv.dram_tokens=%d", 100 + (int)draw(r, 2) * 20000 + (int)draw(r, 3000));
	setup_set(u, "kv.pool=%s", pool[draw(r, 4)]);
	setup_set(u, "kv.decode_share=%g", (double)draw(r, 3) / 2);
	setup_set(u, "kv.evict=%s", mc_evictors_names[draw(r, evictors)]);
	setup_set(u, "kv.ssd_write=%s", ssd_write[draw(r, 3)]);
	setup_set(u, "kv.ssd_tokens=%d", 200 + (int)draw(r, 2) * 9000);
	setup_set(u, "kv.ssd_staging_bytes=%d", draw(r, 3) ? 10000000 : 300000);
	u->cost.ssd_read_bytes_per_s = draw(r, 2) ? 1e8 : 1e7;
	u->cost.ssd_write_bytes_per_s = draw(r, 2) ? 5e7 : 1e6;
	u->cost.ssd_latency_s = 1e-4;
	setup_set(u, "kv.ssd_evict=%s", mc_evictors_names[draw(r, evictors)]);
	setup_set(u, "conductor.replicas=%d", (int)draw(r, 4));
	setup_set(u, "conductor.replica_heat=%d", 1 + (int)draw(r, 4));
	setup_set(u, "conductor.replica_interval=%dms", 200 + (int)draw(r, 2000));
	setup_set(u, "conductor.replica_transfers=%d", 1 + (int)draw(r, 4));
	u->cost.net_bytes_per_s = draw(r, 2) ? 1e9 : 1e7;
	u->cost.vram_kv_tokens = 6200 + (int64_t)draw(r, 20000);
}

static inline void add_event(struct mc_str *s, const struct setup *u, uint64_t *r)
{
	static const char *const what[] = {"node_down", "node_down", "nic_down", "link_slow", "ssd_slow"};
	uint64_t k = draw(r, strcmp(u->s.kv.ssd_write, "never") && strcmp(u->s.kv.pool, "off") ? 5 : 4);
	uint32_t n = (uint32_t)(u->s.cluster.prefill / u->s.cluster.prefill_group);
	bool prefill = k == 4 || draw(r, 2);
	uint32_t node = (uint32_t)draw(r, prefill ? n : (uint64_t)u->s.cluster.decode);

	/* Spells of a component do not overlap: each begins in a second of its own and is shorter. */
	mc_str_printf(s, "%s{\"at\": %d.%03d, \"for\": %d.%03d, \"what\": \"%s\", \"node\": \"%s%u\"",
		      s->n > 1 ? "," : "", (int)s->n / 40, (int)draw(r, 500), 0, 1 + (int)draw(r, 400),
		      what[k], prefill ? "prefill" : "decode", node);
	if (k == 2)
		mc_str_printf(s, ", \"nic\": %d", (int)draw(r, 2));
	if (k > 2)
		mc_str_printf(s, ", \"factor\": 0.%d", 1 + (int)draw(r, 9));
	mc_str_printf(s, "}");
}

static inline void add_faults(struct setup *u, uint64_t *r)
{
	struct mc_str s = {0};

	mc_str_printf(&s, "[");
	for (uint64_t n = draw(r, 20); n-- > 0;)
		add_event(&s, u, r);
	mc_str_printf(&s, "]");
	setup_set(u, "faults.events=%s", mc_str_text(&s));
	mc_str_fini(&s);
	if (draw(r, 2)) {
		setup_set(u, "faults.node_mtbf=%dms", 500 + (int)draw(r, 20000));
		setup_set(u, "faults.node_mttr=%dms", 10 + (int)draw(r, 3000));
	}
	if (draw(r, 2)) {
		setup_set(u, "faults.nic_mtbf=%dms", 500 + (int)draw(r, 20000));
		setup_set(u, "faults.nic_mttr=%dms", 10 + (int)draw(r, 1000));
	}
	setup_set(u, "faults.detect=%dms", (int)(draw(r, 3) * draw(r, 400)));
	setup_set(u, "faults.retries=%d", (int)draw(r, 6));
	setup_set(u, "net.slice=%d", 100 + (int)draw(r, 20000));
	if (draw(r, 3) == 0) {
		u->cost.net_request_s = 1e-6 * (double)draw(r, 2000);
		u->cost.net_slice_s = 1e-9 * (double)draw(r, 2000);
		u->cost.net_peer_loss = 1e-3 * (double)draw(r, 300);
		u->cost.net_duplex = 1 + 1e-3 * (double)draw(r, 1000);
	}
	setup_set(u, "net.failover=%dms", (int)draw(r, 20));
	if (draw(r, 2)) { /* fetches that take their time */
		setup_set(u, "conductor.policy=kvcache-centric");
		setup_set(u, "conductor.balancing_threshold=1");
		setup_set(u, "kv.pool=%s", draw(r, 2) ? "prefill" : "global");
		setup_set(u, "kv.dram_tokens=20000");
		u->cost.net_bytes_per_s = 3e7;
	}
	u->cost.nics = (struct mc_nics){.n = 2, .sockets = 1, .switches = 1};
	u->cost.nics.bytes_per_s[0] = u->cost.nics.bytes_per_s[1] = u->cost.net_bytes_per_s / 2;
}

static inline void same_rows(const struct mc_result *a, const struct mc_result *b)
{
	ck_assert_int_eq(a->n_rows, b->n_rows);
	for (int64_t i = 0; i < a->n_rows; i++) {
		ck_assert_int_eq(a->row[i].end, b->row[i].end);
		ck_assert_int_eq(a->row[i].prefill_end, b->row[i].prefill_end);
		ck_assert_int_eq(a->row[i].tbt, b->row[i].tbt);
		ck_assert_uint_eq(a->row[i].prefill, b->row[i].prefill);
		ck_assert_uint_eq(a->row[i].local_hit, b->row[i].local_hit);
		ck_assert_uint_eq(a->row[i].remote_hit, b->row[i].remote_hit);
		ck_assert_uint_eq(a->row[i].ssd_hit, b->row[i].ssd_hit);
	}
}

/* Cut off at a random time, it has completed what it completes by then when it is not. */
static inline void cut_anywhere(struct setup *u, uint64_t *r)
{
	struct mc_result whole, cut;

	setup_run(u, &whole);
	setup_set(u, "run.until=%lldns", (long long)(1 + draw(r, (uint64_t)whole.end)));
	setup_run(u, &cut);
	for (int64_t i = 0; i < cut.n_rows; i++)
		ck_assert_int_eq(cut.row[i].outcome == MC_COMPLETED,
				 whole.row[i].outcome == MC_COMPLETED && whole.row[i].end <= u->s.run.until);
	mc_result_fini(&whole);
	mc_result_fini(&cut);
}

#endif
