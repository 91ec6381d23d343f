/* Nodes that change between prefill and decode: the policy, and what the cluster makes of it. */
#include "cluster_random.h"

#include "sched/roles.h"

/* A view of idle instances, of which some are given work. */
static void view_init(struct mc_view *v, const struct mc_cost *cost, uint32_t prefill, uint32_t decode)
{
	mc_view_init(v, prefill, decode);
	v->cost = cost;
	v->now = MC_NS_PER_S;
}

static void busy(struct mc_view *v, uint32_t instances, mc_time wait)
{
	for (uint32_t i = 0; i < instances; i++)
		mc_view_prefill_set(v, i, v->now + wait);
}

/* Fill the VRAM of all decode instances to a share. */
static void fill(struct mc_view *v, double share)
{
	struct mc_prompt p = {.tokens = (uint32_t)(share * (double)v->cost->vram_kv_tokens), .max_tokens = 1};

	for (uint32_t i = 0; i < v->n_decode; i++)
		mc_view_decode_announce(v, i, &p, 1);
}

static enum mc_roles_move decide(const struct mc_view *v, double threshold, double hysteresis,
				 uint32_t to_prefill, uint32_t to_decode)
{
	struct mc_roles r = {.params = {10 * MC_NS_PER_S, 0, threshold, hysteresis}};
	struct mc_roles_coming coming = {to_prefill, to_decode};

	for (int i = 0; i < 3; i++)
		mc_roles_look(&r, v);
	return mc_roles_decide(&r, v, &coming);
}

START_TEST(policy)
{
	struct mc_cost cost = plain_cost();
	struct mc_view v;

	cost.vram_kv_tokens = 100000;
	view_init(&v, &cost, 4, 4);
	ck_assert_double_eq(mc_roles_prefill_load(&v, MC_NS_PER_S), 0);
	ck_assert_int_eq(decide(&v, 0.8, 0, 0, 0), MC_ROLES_STAY); /* nothing to do */
	busy(&v, 3, MC_NS_PER_S);
	ck_assert_double_eq(mc_roles_prefill_load(&v, 10 * MC_NS_PER_S), 0.75);
	ck_assert_double_eq(mc_roles_prefill_load(&v, MC_NS_PER_S / 2), 1.5);
	ck_assert_int_eq(decide(&v, 0.8, 0, 0, 0), MC_ROLES_STAY); /* not asked for */
	ck_assert_int_eq(decide(&v, 0.7, 0, 0, 0), MC_ROLES_TO_PREFILL);
	ck_assert_int_eq(decide(&v, 0.7, 0, 1, 0), MC_ROLES_STAY); /* 0.6 with the one that comes */
	busy(&v, 4, 20 * MC_NS_PER_S);                             /* load 2: 1.6 with five nodes */
	fill(&v, 0.9);                                             /* 1.2 with three */
	ck_assert_int_eq(decide(&v, 0.8, 0.39, 0, 0), MC_ROLES_TO_PREFILL);
	ck_assert_int_eq(decide(&v, 0.8, 0.41, 0, 0), MC_ROLES_STAY);
	ck_assert_int_eq(decide(&v, 0.8, 0.41, 0, 1), MC_ROLES_TO_PREFILL); /* 0.9 again: a node comes */
	busy(&v, 4, 0);
	ck_assert_int_eq(decide(&v, 0.8, 0.1, 0, 0), MC_ROLES_TO_DECODE);
	mc_view_down(&v, 1, true);
	mc_view_down(&v, 2, true);
	mc_view_down(&v, 3, true);
	ck_assert_int_eq(decide(&v, 0.8, 0.1, 0, 0), MC_ROLES_STAY); /* the last one stays */
	mc_view_fini(&v);
}
END_TEST

static void switching(struct setup *u, int prefill, int decode, int switchable)
{
	setup_init(u, 16);
	setup_set(u, "run.check=true");
	setup_set(u, "run.sample=1s");
	setup_set(u, "cluster.prefill=%d", prefill);
	setup_set(u, "cluster.decode=%d", decode);
	setup_set(u, "roles.policy=load");
	setup_set(u, "roles.switchable=%d", switchable);
	setup_set(u, "roles.interval=1s");
}

static const struct mc_sample *last(const struct mc_result *r)
{
	return &r->samples.at[r->samples.n - 1];
}

/* A load that is all prefill moves every node that may, each at its cost; what is left of the run they work.
 */
START_TEST(all_prefill)
{
	static const int costs[] = {0, 1, 7};

	for (size_t k = 0; k < sizeof costs / sizeof *costs; k++) {
		struct setup u;
		struct mc_result r;
		double nodes;

		switching(&u, 4, 4, 5); /* three of the decode nodes, two of the prefill nodes */
		setup_set(&u, "roles.cost=%ds", costs[k]);
		for (int i = 0; i < 20000; i++) {
			uint64_t name[2] = {1, 1000 + (uint64_t)i};

			add(&u, i * INT64_C(2000000), 2000, 1, name, 0);
		}
		setup_run(&u, &r);
		ck_assert_uint_eq(r.roles.switches, 3);
		ck_assert_double_eq_tol(r.roles.away_s, 3 * costs[k], 1e-9);
		ck_assert_double_eq(r.roles.drain_s, 0); /* they had nothing to do */
		ck_assert_uint_eq(last(&r)->prefill_nodes, 7);
		ck_assert_uint_eq(last(&r)->decode_nodes, 1);
		nodes = (r.roles.prefill_s + r.roles.decode_s + r.roles.away_s) / mc_time_to_s(r.end);
		ck_assert_double_eq_tol(nodes, 8, 1e-9); /* every node is somewhere */
		/* One at the end of the first second, one a second later, and so on. */
		ck_assert_double_eq_tol(r.roles.decode_s, mc_time_to_s(r.end) + 1 + 2 + 3, 1e-9);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* The other way: outputs so long that VRAM fills up. */
START_TEST(all_decode)
{
	struct setup u;
	struct mc_result r;

	switching(&u, 4, 2, 3);
	setup_set(&u, "roles.cost=2s");
	u.cost.vram_kv_tokens = 4000;
	for (int i = 0; i < 200; i++) {
		uint64_t name[2] = {1, 1000 + (uint64_t)i};

		add(&u, i * INT64_C(50000000), 16, 900, name, 0);
	}
	setup_run(&u, &r);
	ck_assert_uint_eq(r.roles.switches, 1);
	ck_assert_double_eq_tol(r.roles.away_s, 2, 1e-9);
	ck_assert_uint_eq(last(&r)->decode_nodes, 3);
	ck_assert_uint_eq(r.n_switchable, 3);
	/* decode1, decode0... in turn: two of the decode nodes would be all of them. */
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

/* A pool that never asks: the same as without. */
START_TEST(nobody_asks)
{
	uint64_t rnd = 17;

	for (int round = 0; round < 30; round++) {
		struct setup u;
		struct mc_result a, b;

		setup_init(&u, 16);
		random_scenario(&u, &rnd);
		setup_set(&u, "cluster.prefill_group=1");
		setup_set(&u, "kv.ssd_write=never");
		setup_set(&u, "cluster.prefill=%d", 2 + (int)draw(&rnd, 3));
		setup_set(&u, "cluster.decode=%d", 2 + (int)draw(&rnd, 3));
		add_sessions(&u, rnd, 10 + (int)draw(&rnd, 100));
		setup_run(&u, &a);
		setup_set(&u, "roles.policy=load");
		setup_set(&u, "roles.switchable=2");
		setup_set(&u, "roles.threshold=1000000");
		setup_run(&u, &b);
		same_rows(&a, &b);
		ck_assert_uint_eq(b.roles.switches, 0);
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
}
END_TEST

/* Nodes that change all the time, in random clusters: every request ends, and the invariants hold. */
static void restless(struct setup *u, uint64_t *rnd)
{
	int n = 1 + (int)draw(rnd, 5);

	setup_init(u, 16);
	random_scenario(u, rnd);
	setup_set(u, "cluster.prefill_group=1");
	setup_set(u, "kv.ssd_write=never");
	setup_set(u, "cluster.prefill=%d", n / 2 + 1 + (int)draw(rnd, 3));
	setup_set(u, "cluster.decode=%d", (n + 1) / 2 + 1 + (int)draw(rnd, 3));
	setup_set(u, "roles.policy=load");
	setup_set(u, "roles.switchable=%d", n);
	setup_set(u, "roles.cost=%dms", (int)(draw(rnd, 3) * draw(rnd, 500)));
	setup_set(u, "roles.interval=%dms", 16 + (int)draw(rnd, 400));
	setup_set(u, "roles.threshold=0.%d", (int)draw(rnd, 9));
	setup_set(u, "roles.hysteresis=0.0%d", (int)draw(rnd, 9));
	if (draw(rnd, 3) == 0)
		setup_set(u, "conductor.admission=predict");
	add_sessions(u, *rnd, 10 + (int)draw(rnd, 200));
}

START_TEST(restless_clusters)
{
	uint64_t rnd = 4, switches = 0, home = 0;
	double drained = 0;

	for (int round = 0; round < 200; round++) {
		struct setup u;
		struct mc_result a, b;

		restless(&u, &rnd);
		setup_run(&u, &a);
		for (int64_t i = 0; i < a.n_rows; i++) {
			const struct mc_row *row = &a.row[i];

			ck_assert(row->outcome == MC_COMPLETED || row->outcome == MC_REJECTED);
			home += row->prefill != MC_NONE && row->prefill >= (uint32_t)u.s.cluster.prefill;
		}
		ck_assert_double_eq_tol(
		    a.roles.prefill_s + a.roles.decode_s + a.roles.away_s,
		    mc_time_to_s(a.end) * (double)(u.s.cluster.prefill + u.s.cluster.decode), 1e-6);
		ck_assert_double_le(a.roles.away_s,
				    (double)a.roles.switches * mc_time_to_s(u.s.roles.cost) + 1e-9);
		switches += a.roles.switches;
		drained += a.roles.drain_s;
		setup_set(&u, "run.fast_forward=false");
		setup_run(&u, &b);
		same_rows(&a, &b);
		ck_assert_uint_eq(a.roles.switches, b.roles.switches);
		mc_result_fini(&a);
		mc_result_fini(&b);
		setup_fini(&u);
	}
	ck_assert(switches > 200 && home > 100 && drained > 10);
}
END_TEST

START_TEST(cut_off_anywhere)
{
	uint64_t rnd = 6;

	for (int round = 0; round < 60; round++) {
		struct setup u;

		restless(&u, &rnd);
		cut_anywhere(&u, &rnd);
		setup_fini(&u);
	}
}
END_TEST

START_TEST(refused)
{
	static const char *const with[][2] = {
	    {"cluster.coupled=8", "roles.policy"},       {"cluster.prefill_group=2", "roles.policy"},
	    {"kv.ssd_write=evict", "roles.policy"},      {"net.rack_nodes=4", "roles.policy"},
	    {"conductor.staleness=1s", "roles.policy"},  {"faults.node_mtbf=1h", "roles.policy"},
	    {"roles.switchable=16", "roles.switchable"}, {"roles.switchable=15", "roles.switchable"}};
	struct mc_err err;

	for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
		struct setup u;

		switching(&u, 8, 8, 4);
		setup_set(&u, "trace.path=x");
		err = (struct mc_err){0};
		ck_assert_int_eq(mc_scenario_check(&u.s, &err), 0);
		setup_set(&u, "%s", with[k][0]);
		ck_assert_int_eq(mc_scenario_check(&u.s, &err), MC_USAGE);
		ck_assert_str_eq(err.key, with[k][1]);
		setup_set(&u, "roles.policy=static");
		setup_set(&u, "cluster.coupled=0"); /* has more that it does not go with */
		ck_assert_int_eq(mc_scenario_check(&u.s, &err), 0);
		setup_fini(&u);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("roles");
	TCase *t = tcase_create("roles");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, policy);
	tcase_add_test(t, all_prefill);
	tcase_add_test(t, all_decode);
	tcase_add_test(t, nobody_asks);
	tcase_add_test(t, restless_clusters);
	tcase_add_test(t, cut_off_anywhere);
	tcase_add_test(t, refused);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
