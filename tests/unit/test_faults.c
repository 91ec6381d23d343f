/* The schedule of faults: what is read, and what rates and causes that overlap make of it. */
#include "cluster_fixture.h"

#include <math.h>

#include "cluster/faults.h"
#include "kv/evict.h"

static struct mc_faults_shape shape(const struct setup *u, uint32_t nics)
{
	uint32_t group = (uint32_t)u->s.cluster.prefill_group;

	return (struct mc_faults_shape){(uint32_t)u->s.cluster.prefill / group, (uint32_t)u->s.cluster.decode,
					group, nics};
}

static struct mc_faults *schedule(const struct setup *u, uint32_t nics)
{
	struct mc_faults_shape s = shape(u, nics);
	struct mc_faults *f;
	struct mc_err err = {0};

	ck_assert_msg(!mc_faults_new(&u->s, &s, &f, &err), "%s: %s", err.key, err.text);
	return f;
}

static void expect(struct mc_faults *f, double at_s, enum mc_fault_what what, uint32_t node, bool begins)
{
	struct mc_fault x;

	ck_assert(mc_faults_next(f, &x));
	ck_assert_int_eq(x.at, mc_time_from_s(at_s));
	ck_assert_int_eq(x.what, what);
	ck_assert_uint_eq(x.node, node);
	ck_assert_int_eq(x.begins, begins);
}

/* Given in any order; a repair ends what is down for good. */
START_TEST(events_in_order_of_time)
{
	struct setup u;
	struct mc_faults *f;
	struct mc_fault x;

	setup_init(&u, 16);
	setup_set(&u, "cluster.prefill=4");
	setup_set(&u, "cluster.decode=2");
	setup_set(
	    &u, "faults.events=["
		"{\"at\": \"50s\", \"what\": \"node_up\", \"node\": \"decode1\"},"
		"{\"at\": 10, \"what\": \"node_down\", \"node\": \"decode1\"},"
		"{\"at\": 10, \"what\": \"nic_down\", \"node\": \"prefill3\", \"nic\": 1, \"for\": \"5s\"},"
		"{\"at\": 60, \"what\": \"node_down\", \"node\": \"decode1\", \"for\": 1},"
		"{\"at\": 12, \"what\": \"link_slow\", \"node\": \"prefill0\", \"factor\": 0.25, \"for\": 8},"
		"{\"at\": 14, \"what\": \"link_slow\", \"link\": \"rack0.up\", \"factor\": 0.5},"
		"{\"at\": 70, \"what\": \"ssd_slow\", \"node\": \"prefill0\", \"factor\": 1}]");
	ck_assert(mc_faults_any(&u.s) && mc_faults_of_nics(&u.s));
	f = schedule(&u, 4);
	expect(f, 10, MC_FAULT_NODE, 5, true);
	ck_assert(mc_faults_next(f, &x));
	ck_assert(x.what == MC_FAULT_NIC && x.node == 3 && x.nic == 1 && x.event == 2);
	ck_assert(mc_faults_next(f, &x));
	ck_assert(x.what == MC_FAULT_LINK && x.node == 0 && x.nic == MC_NONE && x.event == 4 && x.begins);
	ck_assert_double_eq(x.factor, 0.25);
	ck_assert(mc_faults_next(f, &x));
	ck_assert(x.what == MC_FAULT_LINK && x.node == MC_NONE && x.event == 5);
	ck_assert_str_eq(x.link, "rack0.up");
	expect(f, 15, MC_FAULT_NIC, 3, false);
	expect(f, 20, MC_FAULT_LINK, 0, false);
	expect(f, 50, MC_FAULT_NODE, 5, false);
	expect(f, 60, MC_FAULT_NODE, 5, true);
	expect(f, 61, MC_FAULT_NODE, 5, false);
	expect(f, 70, MC_FAULT_SSD, 0, true);
	ck_assert(!mc_faults_next(f, &x));
	ck_assert(!mc_faults_next(f, &x));
	mc_faults_free(f);
	setup_set(&u, "faults.events=[{\"at\": 1, \"what\": \"node_down\", \"node\": \"prefill0\"}]");
	ck_assert(!mc_faults_of_nics(&u.s));
	setup_set(&u, "faults.events=");
	ck_assert(!mc_faults_any(&u.s));
	mc_faults_free(NULL);
	setup_fini(&u);
}
END_TEST

static const struct {
	const char *events, *key, *text;
} refused[] = {
    {"{\"at\": 1}", "[0].what", "required"},
    {"{\"what\": \"node_up\"}", "[0].at", "required"},
    {"{\"at\": -1, \"what\": \"node_up\"}", "[0].at", "out of range"},
    {"{\"at\": 1, \"what\": \"fire\"}", "[0].what", "unknown"},
    {"{\"at\": 1, \"what\": \"node_down\", \"speed\": 1}", "[0].speed", "unknown key"},
    {"{\"at\": 1, \"what\": \"node_down\", \"schema\": 1}", "[0].schema", "unknown key"},
    {"{\"at\": 1, \"what\": \"node_down\"}", "[0].node", "missing"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"prefill2\"}", "[0].node", "prefill0 to prefill1"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"decode01x\"}", "[0].node", "no instance"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"decode-1\"}", "[0].node", "no instance"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"decode4294967296\"}", "[0].node", "no instance"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"decode0\", \"nic\": 0}", "[0].nic", "no meaning"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"decode0\", \"factor\": 1}", "[0].factor",
     "no meaning"},
    {"{\"at\": 1, \"what\": \"node_down\", \"link\": \"decode0.in\"}", "[0].link", "no meaning"},
    {"{\"at\": 1, \"what\": \"nic_down\", \"node\": \"decode0\"}", "[0].nic", "missing"},
    {"{\"at\": 1, \"what\": \"link_slow\", \"node\": \"decode0\"}", "[0].factor", "missing"},
    {"{\"at\": 1, \"what\": \"link_slow\", \"factor\": 0.5}", "[0]", "no node or link"},
    {"{\"at\": 1, \"what\": \"link_slow\", \"factor\": 1.5, \"node\": \"decode0\"}", "[0].factor",
     "out of range"},
    {"{\"at\": 1, \"what\": \"link_slow\", \"factor\": 0.5, \"node\": \"decode0\", \"link\": \"x\"}",
     "[0].link", "beside"},
    {"{\"at\": 1, \"what\": \"link_slow\", \"factor\": 0.5, \"nic\": 0, \"link\": \"x\"}", "[0].nic",
     "no meaning"},
    {"{\"at\": 1, \"what\": \"ssd_slow\", \"node\": \"decode0\"}", "[0].factor", "missing"},
    {"{\"at\": 1, \"what\": \"node_up\", \"node\": \"decode0\", \"for\": 3}", "[0].for", "no meaning"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"decode0\", \"for\": 0}", "[0].for", "out of range"},
    {"{\"at\": 1, \"what\": \"node_up\", \"node\": \"decode0\"}", "[0]", "not down"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"decode0\", \"for\": 5},"
     "{\"at\": 3, \"what\": \"node_up\", \"node\": \"decode0\"}",
     "[1]", "not down"},
    {"{\"at\": 1, \"what\": \"node_down\", \"node\": \"decode0\", \"for\": 5},"
     "{\"at\": 3, \"what\": \"node_down\", \"node\": \"decode0\"}",
     "[1].at", "down already"},
    {"{\"at\": 7, \"what\": \"nic_down\", \"node\": \"decode0\", \"nic\": 2},"
     "{\"at\": 3, \"what\": \"nic_down\", \"node\": \"decode0\", \"nic\": 2}",
     "[0].at", "down already"},
};

START_TEST(bad_events)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct setup u;
		struct mc_err err = {0};
		char key[64];

		setup_init(&u, 16);
		setup_set(&u, "trace.path=x");
		setup_set(&u, "cluster.prefill=2");
		setup_set(&u, "cluster.decode=2");
		setup_set(&u, "faults.events=[%s]", refused[i].events);
		snprintf(key, sizeof key, "faults.events%s", refused[i].key);
		ck_assert_int_eq(mc_scenario_check(&u.s, &err), MC_USAGE);
		ck_assert_str_eq(err.key, key);
		ck_assert_msg(strstr(err.text, refused[i].text), "%s: '%s'", key, err.text);
		setup_fini(&u);
	}
}
END_TEST

START_TEST(nic_that_a_node_has_not)
{
	struct setup u;
	struct mc_faults *f;
	struct mc_err err = {0};
	struct mc_faults_shape s;

	setup_init(&u, 16);
	setup_set(&u, "cluster.prefill=4");
	setup_set(&u, "cluster.prefill_group=2");
	setup_set(&u,
		  "faults.events=[{\"at\": 1, \"what\": \"nic_down\", \"node\": \"prefill1\", \"nic\": 7}]");
	s = shape(&u, 4);
	ck_assert_int_eq(mc_faults_new(&u.s, &s, &f, &err), MC_OK); /* two nodes of four */
	mc_faults_free(f);
	s.nics = 3;
	ck_assert_int_eq(mc_faults_new(&u.s, &s, &f, &err), MC_USAGE);
	ck_assert_ptr_null(f);
	ck_assert_str_eq(err.key, "faults.events[0].nic");
	ck_assert_ptr_nonnull(strstr(err.text, "expected 0 to 5"));
	setup_fini(&u);
}
END_TEST

enum { NODES = 12, NICS = 2 };

/* Spells of every node and NIC up to a time, as seconds down; each component alternates. */
struct seen {
	double down[NODES], nic[NODES][NICS * 3];
	int failures[NODES];
	mc_time first[NODES];
};

static void look(struct setup *u, mc_time until, struct seen *seen)
{
	struct mc_faults *f = schedule(u, NICS);
	struct mc_fault x;
	bool down[NODES] = {0}, nic[NODES][NICS * 3] = {{0}};
	mc_time last = 0;

	memset(seen, 0, sizeof *seen);
	while (mc_faults_next(f, &x) && x.at < until) {
		bool *state = x.what == MC_FAULT_NODE ? &down[x.node] : &nic[x.node][x.nic];
		double *sum = x.what == MC_FAULT_NODE ? &seen->down[x.node] : &seen->nic[x.node][x.nic];

		ck_assert(x.at >= last && x.begins == !*state);
		last = x.at;
		*state = x.begins;
		*sum += (x.begins ? -1 : 1) * mc_time_to_s(x.at);
		if (x.what == MC_FAULT_NODE && x.begins && !seen->failures[x.node]++)
			seen->first[x.node] = x.at;
	}
	for (int i = 0; i < NODES; i++)
		seen->down[i] += down[i] ? mc_time_to_s(until) : 0;
	mc_faults_free(f);
}

/* A thousand failures of 100 s up and 25 s down: a fifth of the time, standard deviation about 3 % of it. */
START_TEST(rates)
{
	const mc_time until = 125000 * MC_NS_PER_S;
	struct setup u;
	struct seen a, b;

	setup_init(&u, 16);
	setup_set(&u, "cluster.prefill=2");
	setup_set(&u, "cluster.decode=1");
	setup_set(&u, "faults.node_mtbf=100s");
	setup_set(&u, "faults.node_mttr=25s");
	ck_assert(mc_faults_any(&u.s) && !mc_faults_of_nics(&u.s));
	look(&u, until, &a);
	for (int i = 0; i < 3; i++) {
		ck_assert(a.failures[i] > 870 && a.failures[i] < 1130);
		ck_assert(fabs(a.down[i] - 25000) < 25000 * 0.15);
	}
	ck_assert(a.first[0] != a.first[1] && a.first[0] != a.first[2] && a.first[1] != a.first[2]);
	/* Neither more nodes nor NICs that fail, nor another policy, change it; another seed does. */
	setup_set(&u, "cluster.prefill=5");
	setup_set(&u, "faults.nic_mtbf=300s");
	setup_set(&u, "conductor.policy=random");
	look(&u, until, &b);
	ck_assert_int_eq(a.first[0], b.first[0]);
	ck_assert_int_eq(a.first[2], b.first[5]);
	ck_assert_double_eq(a.down[1], b.down[1]);
	ck_assert_double_eq(a.down[2], b.down[5]);
	ck_assert(b.nic[0][0] != b.nic[0][1] && b.nic[0][0] != b.nic[1][0] && b.nic[0][0] != b.nic[5][0]);
	setup_set(&u, "seed=2");
	look(&u, until, &b);
	ck_assert(a.first[0] != b.first[0]);
	setup_fini(&u);
}
END_TEST

/* A group is down while any of its nodes is; so is a node that is also told to be. */
START_TEST(causes_overlap)
{
	const mc_time until = 20000 * MC_NS_PER_S;
	struct setup u;
	struct mc_faults *single, *both;
	struct mc_fault x = {0}, y = {0};
	int causes = 0, events = 0;
	bool more;

	setup_init(&u, 16);
	setup_set(&u, "cluster.prefill=3");
	setup_set(&u, "cluster.decode=1");
	setup_set(&u, "faults.node_mtbf=100s");
	setup_set(&u, "faults.node_mttr=60s");
	single = schedule(&u, 0);
	setup_set(&u, "cluster.prefill_group=3");
	setup_set(
	    &u,
	    "faults.events=[{\"at\": 5000, \"what\": \"node_down\", \"node\": \"prefill0\", \"for\": 3000}]");
	both = schedule(&u, 0);
	more = mc_faults_next(both, &y);
	while (mc_faults_next(single, &x) && x.at < until) {
		bool told = x.at >= 5000 * MC_NS_PER_S && x.at < 8000 * MC_NS_PER_S;

		while (more && y.at < x.at) { /* of the event alone */
			ck_assert(y.node != 0 || y.at == 5000 * MC_NS_PER_S || y.at == 8000 * MC_NS_PER_S);
			more = mc_faults_next(both, &y);
		}
		if (x.node == 3) { /* the decode node: as ever */
			ck_assert(y.at == x.at && y.node == 1 && y.begins == x.begins);
			more = mc_faults_next(both, &y);
			continue;
		}
		causes += x.begins ? 1 : -1;
		if (!told && causes == x.begins) {
			ck_assert(y.at == x.at && y.node == 0 && y.begins == x.begins);
			more = mc_faults_next(both, &y);
			events++;
		} else {
			ck_assert(y.at > x.at);
		}
	}
	ck_assert_int_gt(events, 50);
	mc_faults_free(single);
	mc_faults_free(both);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("faults");
	TCase *t = tcase_create("faults");

	tcase_add_test(t, events_in_order_of_time);
	tcase_add_test(t, bad_events);
	tcase_add_test(t, nic_that_a_node_has_not);
	tcase_add_test(t, rates);
	tcase_add_test(t, causes_overlap);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
