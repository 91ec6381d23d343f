/* Simulated transfers take what the closed form says: one alone, and many at once to and from several peers.
 */
#include "fabric_world.h"

#include "fixture.h"
#include "hw/nettime.h"

/* uniform in [0, 1) */
static double part(uint64_t *state)
{
	return (double)draw(state, 1u << 30) / (1u << 30);
}

struct machine {
	struct mc_nettime t;
	double nic[8];
	struct mc_node node;
	struct mc_fabric_params p;
};

static void draw_machine(struct machine *m, uint64_t *state, bool nics)
{
	unsigned n = 1 + (unsigned)draw(state, 4);

	*m = (struct machine){.p = defaults()};
	m->t = (struct mc_nettime){.startup_s = 1e-6 * (double)draw(state, 100000),
				   .request_s = draw(state, 4) ? 1e-3 * part(state) : 0,
				   .slice_s = draw(state, 4) ? 1e-4 * part(state) : 0,
				   .slice_bytes = (double)(1 + draw(state, 1 << 20)),
				   .peer_loss = draw(state, 3) ? 0.4 * part(state) : 0,
				   .nics = n,
				   .nic_bytes_per_s = 1e9 + 24e9 * part(state)};
	for (unsigned i = 0; i < n; i++)
		m->nic[i] = m->t.nic_bytes_per_s;
	m->node = (struct mc_node){.nics = n, .sockets = 1, .switches = 1, .nic_bytes_per_s = m->nic};
	if (draw(state, 2) == 0)
		m->node.host_bytes_per_s = m->t.node_bytes_per_s =
		    n * m->t.nic_bytes_per_s * (0.3 + part(state));
	m->p.use.memory.place = MC_MEMORY_SOCKET;
	m->p.slice_bytes = m->t.slice_bytes;
	m->p.slice_s = m->t.slice_s;
	m->p.request_s = m->t.request_s;
	m->p.peer_loss = m->t.peer_loss;
	m->t.duplex = m->p.duplex = draw(state, 3) ? 1 + part(state) : 2 * (double)draw(state, 2);
	m->p.grain = nics ? MC_FABRIC_NIC : MC_FABRIC_AUTO;
}

/* requests to or from each of some peers, all equal and at once: all end when the closed form says. */
static void together(struct machine *m, uint64_t *state, bool to_one)
{
	bool both = draw(state, 2);
	unsigned peers = 1 + (unsigned)draw(state, 5), each = 1 + (unsigned)draw(state, 3), n = 0;
	struct mc_nettime_load l = {.bytes = floor(exp(log(64) + part(state) * log(3e10 / 64))),
				    .peers = peers,
				    .requests = peers * each,
				    .opposite = both ? peers * each : 0};
	struct mc_transfer_spec spec = {.bytes = l.bytes, .startup = mc_time_from_s(m->t.startup_s)};
	struct mc_err err = {0};
	struct world w;
	double want;

	setup(&w, &m->node, 7, m->p);
	for (unsigned k = 0; k < each; k++)
		for (unsigned i = 0; i < peers; i++) {
			start(&w, n++, to_one ? 1 + i : 0, to_one ? 0 : 1 + i, spec);
			if (both)
				start(&w, n++, to_one ? 0 : 1 + i, to_one ? 1 + i : 0, spec);
		}
	while (mc_loop_step(&w.loop))
		if (mc_fabric_check(w.f, &err))
			ck_abort_msg("%s", err.text);
	want = mc_nettime_s(&m->t, &l);
	for (unsigned i = 0; i < n; i++) {
		double took = mc_time_to_s(w.end[i]);

		ck_assert_int_eq(w.done[i], 1);
		ck_assert_msg(fabs(took - want) <= 1e-9 * want + 4e-9,
			      "%.12g s of %g bytes, %g from %g peers: %.12g s", took, l.bytes, l.requests,
			      l.peers, want);
	}
	teardown(&w);
}

START_TEST(simulated_as_said)
{
	uint64_t state = 5;

	for (int i = 0; i < 600; i++) {
		struct machine m;

		draw_machine(&m, &state, i % 2);
		together(&m, &state, i / 2 % 2);
	}
}
END_TEST

/* By hand: 4 NICs of 1 GB/s, slices of 1 MB that cost 1 ms each, 2 ms for a request. */
START_TEST(by_hand)
{
	const struct mc_nettime t = {.startup_s = 0.5,
				     .request_s = 2e-3,
				     .slice_s = 1e-3,
				     .slice_bytes = 1e6,
				     .peer_loss = 0.1,
				     .nics = 4,
				     .nic_bytes_per_s = 1e9};
	struct mc_nettime capped = t;
	struct mc_op_point p = {.op = MC_OP_NET_READ};
	struct mc_nettime_load l;

	ck_assert_double_eq_tol(mc_nettime_own_s(&t, &(struct mc_nettime_load){.bytes = 4e9, .peers = 1}),
				1 + 1 + 0.5e-3, 1e-12);
	/* Three slices, the third begun. */
	ck_assert_double_eq_tol(
	    mc_nettime_own_s(&t, &(struct mc_nettime_load){.bytes = 2000001, .nics = 1, .peers = 1}),
	    2.000001e-3 + 3e-3 + 2e-3, 1e-12);
	ck_assert_double_eq_tol(
	    mc_nettime_s(&t,
			 &(struct mc_nettime_load){.bytes = 4e9, .slice = 1e9, .requests = 6, .peers = 3}),
	    0.5 + 6 * 1.2 * (1 + 1e-3 + 0.5e-3), 1e-12);
	ck_assert_double_eq_tol(mc_nettime_bytes_per_s(&t), 2e9, 1e-3);
	capped.node_bytes_per_s = 1e9;
	ck_assert_double_eq_tol(mc_nettime_bytes_per_s(&capped), 1e9, 1e-3);
	p.dim[MC_DIM_BYTES] = 1000000;
	p.dim[MC_DIM_DEPTH] = 4;
	p.dim[MC_DIM_SLICE] = 500000;
	p.dim[MC_DIM_PEERS] = 2;
	p.dim[MC_DIM_NICS] = 2;
	ck_assert_double_eq_tol(mc_nettime_point_s(&t, &p), 0.5 + 8 * 1.1 * (1e-3 + 2e-3 + 2e-3) / 2, 1e-12);
	p.op = MC_OP_NET_BOTH;
	mc_nettime_load_of(&l, &p);
	ck_assert_double_eq(l.requests, 4);
	ck_assert_double_eq_tol(mc_nettime_point_s(&t, &p), 0.5 + 4 * 1.1 * 2.5e-3, 1e-12);
	ck_assert_double_eq(l.opposite, 4);
	capped = t;
	capped.duplex = 1.25;
	ck_assert_double_eq_tol(mc_nettime_point_s(&capped, &p), 0.5 + 8 * 2.5e-3 / 1.25, 1e-12);
	capped.duplex = 1.9; /* the loss by peers is more than that */
	ck_assert_double_eq_tol(mc_nettime_point_s(&capped, &p), 0.5 + 4 * 1.1 * 2.5e-3, 1e-12);
}
END_TEST

/* A profile without the keys: what its transfers took before. */
START_TEST(of_a_profile)
{
	struct mc_profile p = {.nics = 2,
			       .nic_bytes_per_s = 25e9,
			       .nic_list = (char *)"20GB/s, 40GB/s",
			       .net_efficiency = 0.5,
			       .net_startup_s = 1e-4,
			       .net_slice_bytes = 65536,
			       .gpus = 1,
			       .sockets = 1,
			       .pcie_switches = 1};
	struct mc_nettime_load l = {.bytes = 3e9, .requests = 1, .peers = 1};
	struct mc_nettime t;

	mc_nettime_init(&t, &p);
	ck_assert_double_eq_tol(mc_nettime_s(&t, &l), 1e-4 + 0.1, 1e-12);
	p.host_nic_bytes_per_s = 10e9;
	p.net_slice_s = 1e-5;
	p.net_request_s = 1e-3;
	p.net_peer_loss = 0.25;
	mc_nettime_init(&t, &p);
	ck_assert_double_eq(t.nic_bytes_per_s, 15e9);
	ck_assert_double_eq(t.node_bytes_per_s, 10e9);
	ck_assert_double_eq(t.peer_loss, 0.25);
	l.requests = l.peers = 2;
	ck_assert_double_eq_tol(mc_nettime_own_s(&t, &l), 1.25 * (3e9 / 9.1216e9 + 0.5e-3), 1e-4);
	ck_assert_double_eq_tol(mc_nettime_s(&t, &l), 1e-4 + 2 * mc_nettime_own_s(&t, &l), 1e-12);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nettime");
	TCase *t = tcase_create("nettime");

	tcase_add_test(t, simulated_as_said);
	tcase_add_test(t, by_hand);
	tcase_add_test(t, of_a_profile);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
