/* The cluster's network: single hand-overs by closed form, and NICs one by one against NICs as one link. */
#include "cluster_fixture.h"

#include <math.h>

#include "cluster/metrics.h"

/* A request of 1,000 tokens, whose 1 MB of KV is sent after prefill: 0.1 ms of start-up, then at `rate`. */
static void hand_over_takes(struct setup *u, double rate, struct mc_result *r)
{
	const uint64_t name[2] = {1, 2};
	mc_time want = 100000 + mc_time_from_s(1e6 / rate);

	setup_set(u, "run.check=true");
	setup_set(u, "cluster.stream=after");
	add(u, 0, 1000, 5, name, 0);
	setup_run(u, r);
	ck_assert_int_eq(r->row[0].outcome, MC_COMPLETED);
	ck_assert_int_le(llabs(r->row[0].handover_end - r->row[0].prefill_end - want), 2);
}

static uint32_t link_named(const struct mc_result *r, const char *name)
{
	for (uint32_t l = 0; l < r->n_links; l++)
		if (!strcmp(r->link_name[l], name))
			return l;
	ck_abort_msg("no link %s", name);
	return 0;
}

/* Two and two nodes in racks of two, 4:1. Filled, KV crosses the spine; dealt, both nodes share a rack. */
START_TEST(racks)
{
	for (int dealt = 0; dealt < 2; dealt++) {
		struct setup u;
		struct mc_result r;
		struct mc_metrics m;
		double ratio;

		setup_init(&u, 16);
		setup_set(&u, "cluster.prefill=2");
		setup_set(&u, "cluster.decode=2");
		setup_set(&u, "net.rack_nodes=2");
		setup_set(&u, "net.oversubscription=4");
		setup_set(&u, "net.rack_order=%s", dealt ? "dealt" : "filled");
		/* A rack of 20 MB/s has 5 MB/s up. */
		hand_over_takes(&u, dealt ? 1e7 : 5e6, &r);
		ck_assert_uint_eq(r.n_rack_links, 4);
		ck_assert_uint_eq(r.rack_link, link_named(&r, "rack0.up"));
		ck_assert_double_eq(r.link_bytes[link_named(&r, "rack0.up")], dealt ? 0 : 1e6);
		ck_assert_double_eq(r.link_bytes[link_named(&r, "rack1.down")], dealt ? 0 : 1e6);
		ck_assert_double_eq(r.link_bytes[link_named(&r, "prefill0.out")], 1e6);
		ck_assert_double_eq(r.link_capacity[link_named(&r, "rack1.up")], 5e6);
		mc_metrics_compute(&u.s, &u.cost, &r, &m);
		ratio = 1e6 / (5e6 * mc_time_to_s(r.end));
		ck_assert_double_eq_tol(m.busiest_rack_ratio, dealt ? 0 : ratio, 1e-12);
		ck_assert_str_eq(r.link_name[m.busiest_link], dealt ? "prefill0.out" : "rack0.up");
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

static void four_nics(struct setup *u)
{
	u->cost.nics = (struct mc_nics){
	    .n = 4, .gpus = 8, .sockets = 2, .switches = 2, .bytes_per_s = {2.5e6, 2.5e6, 2.5e6, 2.5e6}};
}

START_TEST(inside_of_a_node)
{
	static const struct {
		const char *set[3];
		double socket, rate;
		const char *link;
	} cases[] = {
	    {{"net.detail=auto"}, 0, 1e7, "prefill0.out"},
	    {{"net.detail=nic"}, 0, 1e7, "prefill0.nic3.out"},
	    {{"net.memory=one-socket", "net.nics=preferred"}, 0, 5e6, "prefill0.out"},
	    {{"net.memory=one-socket", "net.nics=preferred", "net.detail=nic"}, 0, 5e6, "prefill0.nic1.out"},
	    /* Half of it crosses the sockets at 1 MB/s. */
	    {{"net.memory=one-socket"}, 1e6, 2e6, "prefill0.socket0"},
	    /* A quarter leaves each socket; 5 MB/s is enough for both directions, 1 MB/s isn't. */
	    {{"net.memory=striped"}, 5e6, 1e7, "prefill0.out"},
	    {{"net.memory=striped"}, 1e6, 4e6, "prefill0.socket1"},
	    /* 1,000 B take a NIC 0.4 ms and 0.1 ms more. */
	    {{"net.slice=1000", "net.slice_cost=100us"}, 0, 8e6, "prefill0.out"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct setup u;
		struct mc_result r;

		setup_init(&u, 16);
		four_nics(&u);
		u.cost.nics.socket_bytes_per_s = cases[i].socket;
		for (int k = 0; k < 3 && cases[i].set[k]; k++)
			setup_set(&u, "%s", cases[i].set[k]);
		hand_over_takes(&u, cases[i].rate, &r);
		ck_assert_double_gt(r.link_bytes[link_named(&r, cases[i].link)], 0);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* The scenario's bandwidths over the cost model's: of a node, and of its host. */
START_TEST(bandwidths)
{
	struct mc_cost c = plain_cost();

	c.nics = (struct mc_nics){.n = 4,
				  .bytes_per_s = {1e6, 2e6, 3e6, 4e6},
				  .host_bytes_per_s = 5e6,
				  .switches = 2,
				  .switch_bytes_per_s = 4e6,
				  .socket_bytes_per_s = 1e6};
	ck_assert_double_eq(mc_nics_bytes_per_s(&c.nics), 5e6);
	mc_cost_set_host_bandwidth(&c, 9e6);
	ck_assert_double_eq(c.net_bytes_per_s, 8e6);
	mc_cost_set_bandwidth(&c, 20e6);
	ck_assert_double_eq(c.net_bytes_per_s, 20e6);
	ck_assert_double_eq(c.nics.bytes_per_s[3], 8e6);
	ck_assert_double_eq(mc_nics_bytes_per_s(&c.nics), 20e6);
	mc_cost_set_host_bandwidth(&c, 3e6);
	ck_assert_double_eq(c.net_bytes_per_s, 3e6);
	ck_assert_double_eq(c.hop_s_per_token, 100 / 3e6);
}
END_TEST

/*
 * FAST'25, figure 12: 40 GB between two nodes, at 87 GB/s on 4 x 200 Gbps and 190 GB/s on 8 x 400 Gbps. Nodes
 * of the latter kind reach 118 to 226 GB/s from host memory elsewhere, which the host's ceiling can be set
 * to.
 */
START_TEST(figure_12)
{
	static const struct {
		const char *profile, *host;
		double rate;
	} cases[] = {{"a800-x8", NULL, 87e9},
		     {"h100-x8-analytic", NULL, 190e9},
		     {"h100-x8-analytic", "118.4GB/s", 118.4e9},
		     {"h100-x8-analytic", "226GB/s", 226e9}};
	const uint64_t name[2] = {1, 2};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mc_profile p;
		struct setup u;
		struct mc_result r;
		double rate;

		setup_init(&u, 512);
		ck_assert_int_eq(mc_profile_load(&p, cases[i].profile, NULL), 0);
		ck_assert_int_eq(mc_cost_init(&u.cost, &p, mc_shape_find("llama3-70b"), NULL, NULL), 0);
		if (cases[i].host) {
			setup_set(&u, "net.host_bandwidth=%s", cases[i].host);
			mc_cost_set_host_bandwidth(&u.cost, u.s.net.host_bandwidth);
		}
		setup_set(&u, "cluster.stream=after");
		add(&u, 0, 122070, 2, name, 0); /* 327,680 B each */
		setup_run(&u, &r);
		rate = r.handover_bytes / mc_time_to_s(r.row[0].handover_end - r.row[0].prefill_end);
		ck_assert_double_eq_tol(r.handover_bytes, 40e9, 1e6);
		ck_assert_double_eq_tol(rate, cases[i].rate, 1e-3 * rate);
		mc_result_fini(&r);
		setup_fini(&u);
		mc_profile_fini(&p);
	}
}
END_TEST

static void crowd(struct setup *u)
{
	uint64_t state = 1;

	for (int i = 0; i < 80; i++) {
		uint32_t tokens = 400 + (uint32_t)draw(&state, 600);
		uint64_t name[2] = {1 + draw(&state, 2), 100 + (uint64_t)i};

		add(u, i * 15 * MC_NS_PER_MS, tokens, 2 + (uint32_t)draw(&state, 20), name, 20);
	}
}

/* Groups, racks, fetches and hand-overs: single NICs give the times of lumped ones. */
START_TEST(fine_is_coarse)
{
	for (int spine = 0; spine < 2; spine++) {
		struct setup u;
		struct mc_result coarse, fine;
		uint32_t links;

		setup_init(&u, 16);
		four_nics(&u);
		mc_cost_set_bandwidth(&u.cost, 1e8);
		setup_set(&u, "run.check=true");
		setup_set(&u, "cluster.prefill=6");
		setup_set(&u, "cluster.prefill_group=2");
		setup_set(&u, "cluster.decode=3");
		setup_set(&u, "net.rack_nodes=%d", spine ? 3 : 0);
		setup_set(&u, "net.oversubscription=3");
		setup_set(&u, "net.rack_order=dealt");
		crowd(&u);
		setup_run(&u, &coarse);
		setup_set(&u, "net.detail=nic");
		setup_run(&u, &fine);
		links = spine ? 2 * 9 + 2 * 3 : 2 * 6;
		ck_assert_uint_eq(coarse.n_net_links, links);
		ck_assert_uint_eq(fine.n_net_links, 2 * 4 * 9 + (spine ? 6 : 0));
		ck_assert_double_gt(fine.fetched_bytes, 5e5);
		for (int64_t i = 0; i < fine.n_rows; i++) {
			ck_assert_uint_eq(coarse.row[i].prefill, fine.row[i].prefill);
			ck_assert_int_le(llabs(coarse.row[i].handover_end - fine.row[i].handover_end), 4);
		}
		mc_result_fini(&coarse);
		mc_result_fini(&fine);
		setup_fini(&u);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cluster_net");
	TCase *t = tcase_create("cluster_net");

	tcase_add_test(t, racks);
	tcase_add_test(t, inside_of_a_node);
	tcase_add_test(t, bandwidths);
	tcase_add_test(t, figure_12);
	tcase_add_test(t, fine_is_coarse);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
