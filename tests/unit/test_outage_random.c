/* Random faults on random scenarios: no request is lost, nothing stays pinned, and the invariants hold. */
#include "cluster_random.h"

#include "base/str.h"

static void add_event(struct mc_str *s, const struct setup *u, uint64_t *r)
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

static void add_faults(struct setup *u, uint64_t *r)
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

/* What happened in all rounds together: every way was gone. */
struct sums {
	uint64_t outcome[4], retried, no_instance;
	struct mc_outages o;
	double resent;
};

static void count(struct sums *s, const struct setup *u, const struct mc_result *r)
{
	uint64_t retried = 0;

	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];

		s->outcome[row->outcome]++;
		s->no_instance += row->outcome == MC_REJECTED && row->refusal == MC_REFUSED_NO_INSTANCE;
		retried += row->retries;
		ck_assert_int_le(row->retries, u->s.faults.retries);
		ck_assert(row->outcome != MC_FAILED || row->retries == u->s.faults.retries);
		ck_assert(row->outcome != MC_UNFINISHED); /* there is always a NIC to come */
		if (row->outcome == MC_COMPLETED)
			ck_assert(row->end >= row->prefill_end && row->prefill_start >= row->decided &&
				  (row->output < 2 || row->handover_end >= row->prefill_end));
	}
	ck_assert_uint_ge(r->outages.restarts + r->outages.moves, retried);
	s->retried += retried;
	s->o.nodes += r->outages.nodes;
	s->o.nics += r->outages.nics;
	s->o.lost_blocks += r->outages.lost_blocks;
	s->o.restarts += r->outages.restarts;
	s->o.moves += r->outages.moves;
	s->o.failed_fetches += r->outages.failed_fetches;
	s->o.lost_prefill += r->outages.lost_prefill;
	s->o.lost_tokens += r->outages.lost_tokens;
	s->resent += r->resent_bytes;
}

START_TEST(no_request_is_lost)
{
	uint64_t rnd = 99;
	struct sums s = {0};

	for (int round = 0; round < 150; round++) {
		struct setup u;
		struct mc_result a, b;

		setup_init(&u, 16);
		random_scenario(&u, &rnd);
		add_faults(&u, &rnd);
		add_sessions(&u, rnd, 10 + (int)draw(&rnd, 150));
		setup_run(&u, &a);
		count(&s, &u, &a);
		setup_set(&u, "run.fast_forward=%s", round % 2 ? "true" : "false");
		setup_run(&u, &b);
		same_rows(&a, &b);
		ck_assert_mem_eq(&a.outages, &b.outages, sizeof a.outages);
		ck_assert(round % 2 == 0 || a.events == b.events);
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
	ck_assert(s.outcome[MC_COMPLETED] > 1000 && s.outcome[MC_FAILED] > 10 && s.no_instance > 10);
	ck_assert(s.o.nodes > 100 && s.o.nics > 100 && s.o.lost_blocks > 1000);
	ck_assert(s.o.restarts > 100 && s.o.moves > 20 && s.o.failed_fetches > 5 && s.retried > 100);
	ck_assert(s.o.lost_prefill > MC_NS_PER_S && s.o.lost_tokens > 100 && s.resent > 1000);
}
END_TEST

/* A run cut off anywhere, while nodes are away and transfers wait. */
START_TEST(cut_off_anywhere)
{
	uint64_t rnd = 5;

	for (int round = 0; round < 60; round++) {
		struct setup u;
		struct mc_result whole, cut;

		setup_init(&u, 16);
		random_scenario(&u, &rnd);
		add_faults(&u, &rnd);
		add_sessions(&u, rnd, 10 + (int)draw(&rnd, 100));
		setup_run(&u, &whole);
		setup_set(&u, "run.until=%lldns", (long long)(1 + draw(&rnd, (uint64_t)whole.end)));
		setup_run(&u, &cut);
		for (int64_t i = 0; i < cut.n_rows; i++)
			ck_assert_int_eq(cut.row[i].outcome == MC_COMPLETED,
					 whole.row[i].outcome == MC_COMPLETED &&
					     whole.row[i].end <= u.s.run.until);
		mc_result_fini(&whole);
		mc_result_fini(&cut);
		setup_fini(&u);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("outage_random");
	TCase *t = tcase_create("outage_random");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, no_request_is_lost);
	tcase_add_test(t, cut_off_anywhere);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
