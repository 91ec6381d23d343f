/* Transfers over a fabric: cases by hand, whose times are exact. Random ones are in test_fabric_random.c. */
#include "fabric_world.h"

/* 1 GB over 100 GB/s, lumped and not; two links and one flow, or four NICs each. */
START_TEST(alone)
{
	for (int fine = 0; fine < 2; fine++) {
		struct mc_fabric_params p = defaults();
		struct world w;

		p.nic_faults = fine;
		setup(&w, &four, 2, p);
		ck_assert_int_eq(mc_fabric_grain(w.f), fine ? MC_FABRIC_NIC : MC_FABRIC_ENDPOINT);
		ck_assert_uint_eq(mc_fabric_links(w.f), fine ? 16 : 4);
		start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB, .startup = 10000});
		ck_assert_double_eq(mc_fabric_room_out(w.f, 0), 100 * GB);
		run(&w, MS);
		ck_assert_double_eq_tol(mc_fabric_rate_out(w.f, 0), 100 * GB, 1);
		ck_assert_double_eq(mc_fabric_rate_out(w.f, 1), 0);
		ck_assert_uint_eq(mc_fabric_sends(w.f, 0), 1);
		ck_assert_uint_eq(mc_fabric_receives(w.f, 1), 1);
		ck_assert_uint_eq(mc_fabric_receives(w.f, 0), 0);
		run(&w, MC_TIME_MAX);
		ck_assert_int_eq(w.end[0], 10 * MS + 10000);
		ck_assert_double_eq(mc_fabric_bytes_in(w.f, 1), GB);
		ck_assert_uint_eq(mc_fabric_sends(w.f, 0), 0);
		teardown(&w);
	}
}
END_TEST

/* Five to one: 20 GB/s each. A sender to three, and what is left of the receiver for another one. */
START_TEST(incast_and_congested_sender)
{
	for (int fine = 0; fine < 2; fine++) {
		struct mc_fabric_params p = defaults();
		struct world w;

		p.nic_faults = fine;
		setup(&w, &four, 6, p);
		for (unsigned i = 0; i < 5; i++)
			start(&w, i, i, 5, (struct mc_transfer_spec){.bytes = GB});
		run(&w, MC_TIME_MAX);
		for (unsigned i = 0; i < 5; i++)
			ck_assert_int_eq(w.end[i], 50 * MS);
		teardown(&w);
		setup(&w, &four, 6, p);
		for (unsigned i = 0; i < 3; i++)
			start(&w, i, 0, i + 1, (struct mc_transfer_spec){.bytes = 2 * GB});
		start(&w, 3, 4, 3, (struct mc_transfer_spec){.bytes = 2 * GB});
		run(&w, MC_TIME_MAX);
		/* The other one has two thirds of the receiver until 30 ms. */
		ck_assert_int_eq(w.end[3], 30 * MS);
		for (unsigned i = 0; i < 3; i++)
			ck_assert_int_eq(w.end[i], 60 * MS);
		teardown(&w);
	}
}
END_TEST

/* Racks of two nodes, 4:1: 50 GB/s up. Two cross it at 25 GB/s each, one inside the rack has the rest. */
START_TEST(oversubscribed_spine)
{
	for (int fine = 0; fine < 2; fine++) {
		struct mc_fabric_params p = defaults();
		struct world w;

		p.nic_faults = fine;
		p.rack_nodes = 2;
		p.oversubscription = 4;
		setup(&w, &four, 4, p);
		start(&w, 0, 0, 2, (struct mc_transfer_spec){.bytes = GB});
		start(&w, 1, 1, 3, (struct mc_transfer_spec){.bytes = GB});
		start(&w, 2, 0, 1, (struct mc_transfer_spec){.bytes = 3 * GB});
		run(&w, MC_TIME_MAX);
		ck_assert_int_eq(w.end[0], 40 * MS);
		ck_assert_int_eq(w.end[1], 40 * MS);
		ck_assert_int_eq(w.end[2], 40 * MS);
		ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "rack0.up")), 2 * GB);
		ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "rack1.down")),
				    2 * GB);
		ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "rack1.up")), 0);
		teardown(&w);
		/* Dealt: 0 and 2 share a rack. */
		p.rack_dealt = true;
		setup(&w, &four, 4, p);
		start(&w, 0, 0, 2, (struct mc_transfer_spec){.bytes = GB});
		start(&w, 1, 1, 2, (struct mc_transfer_spec){.bytes = 2 * GB});
		run(&w, MC_TIME_MAX);
		ck_assert_int_eq(w.end[0], 20 * MS);
		ck_assert_int_eq(w.end[1], 40 * MS);
		teardown(&w);
	}
}
END_TEST

/* Memory on socket 0, 10 GB/s to the other socket: half of it goes there. Preferred NICs: 50 GB/s. */
START_TEST(across_sockets)
{
	struct mc_node node = four;
	struct mc_fabric_params p = defaults();
	struct world w;

	node.socket_bytes_per_s = 10 * GB;
	p.use.memory = (struct mc_memory){MC_MEMORY_SOCKET, 0};
	setup(&w, &node, 2, p);
	ck_assert_int_eq(mc_fabric_grain(w.f), MC_FABRIC_NIC);
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 50 * MS);
	ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "p0.socket0")), GB / 2);
	ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "p1.socket1")), GB / 2);
	/* From a GPU, to a GPU: its own switch, over no interconnect, but only two NICs. */
	teardown(&w);
	p.use.preferred = true;
	setup(&w, &node, 2, p);
	ck_assert_int_eq(mc_fabric_grain(w.f), MC_FABRIC_ENDPOINT);
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 20 * MS);
	teardown(&w);
	/* Striped: a quarter of it leaves each socket. */
	p = defaults();
	setup(&w, &node, 2, p);
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 25 * MS);
	teardown(&w);
}
END_TEST

/* Striped memory to GPU 5 of eight, preferred NICs: the sender has eight, the GPU two of 25 GB/s. */
START_TEST(memories_of_its_own)
{
	static const struct mc_node hgx = {
	    .nics = 8, .gpus = 8, .sockets = 2, .switches = 4, .nic_bytes_per_s = nic};
	struct mc_fabric_params p = defaults();
	struct world w;

	p.use.preferred = true;
	p.grain = MC_FABRIC_NIC;
	setup(&w, &hgx, 2, p);
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB, .to_memory = {MC_MEMORY_GPU, 5}});
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 20 * MS);
	ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "p0.nic6.out")), GB / 8);
	ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "p1.nic4.in")), GB / 2);
	ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "p1.nic3.in")), 0);
	teardown(&w);
}
END_TEST

/* A host that does 40 GB/s; a slice of 1 MB costs a NIC 10 us beside its 40 us. */
START_TEST(ceiling_and_slices)
{
	for (int fine = 0; fine < 2; fine++) {
		struct mc_node node = four;
		struct mc_fabric_params p = defaults();
		struct world w;

		node.host_bytes_per_s = 40 * GB;
		p.nic_faults = fine;
		setup(&w, &node, 2, p);
		start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
		run(&w, MC_TIME_MAX);
		ck_assert_int_eq(w.end[0], 25 * MS);
		ck_assert_double_eq(mc_fabric_room_out(w.f, 0), 40 * GB);
		teardown(&w);
		p.slice_bytes = 1e6;
		p.slice_s = 10e-6;
		setup(&w, &four, 2, p);
		start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
		run(&w, MC_TIME_MAX);
		ck_assert_int_eq(w.end[0], 12 * MS + MS / 2);
		teardown(&w);
	}
}
END_TEST

/* An SSD of 5 GB/s, of 2 GB/s for writes: a remote read shares it with a local one; a write is slower. */
START_TEST(links_of_the_owner)
{
	struct world w;
	uint32_t device, write;

	setup(&w, &four, 2, defaults());
	device = mc_fabric_link_add(w.f, "p0.ssd", 5 * GB);
	write = mc_fabric_link_add(w.f, "p0.ssd.write", 2 * GB);
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB, .extra = {device}, .n_extra = 1});
	start(&w, 1, 0, 0, (struct mc_transfer_spec){.bytes = GB, .extra = {device}, .n_extra = 1});
	ck_assert_uint_eq(mc_fabric_sends(w.f, 0), 1);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 400 * MS);
	ck_assert_int_eq(w.end[1], 400 * MS);
	ck_assert_double_eq(mc_fabric_bytes_in(w.f, 0), 0);
	start(&w, 2, 1, 0, (struct mc_transfer_spec){.bytes = GB, .extra = {device, write}, .n_extra = 2});
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[2], 900 * MS);
	ck_assert_double_eq(mc_fabric_link_bytes(w.f, device), 3 * GB);
	ck_assert_double_eq(mc_fabric_link_bytes(w.f, write), GB);
	/* A slow device; and a local read fails with its node. */
	start(&w, 3, 0, 0, (struct mc_transfer_spec){.bytes = GB, .extra = {device}, .n_extra = 1});
	scale(&w, "p0.ssd", 0.1);
	run(&w, 1900 * MS);
	ck_assert_double_eq_tol(mc_fabric_link_bytes(w.f, device), 3.5 * GB, 10);
	mc_fabric_endpoint_set(w.f, 0, false);
	ck_assert_int_eq(w.failed[3], 1);
	teardown(&w);
}
END_TEST

/* A group of two nodes, in two racks of one node each, sends to one node: the racks are half full each. */
START_TEST(groups)
{
	struct mc_fabric_endpoint e[] = {{"group", 2, &four}, {"one", 1, &four}, {"two", 1, &four}};
	static const char *const coarse[] = {"group.out", "group.node1.out", "group.node1.nic3.out"};
	char name[64];

	for (int kind = 0; kind < 3; kind++) {
		struct mc_fabric_params p = defaults();
		struct world w = {0};

		p.rack_nodes = kind ? 1 : 0;
		p.nic_faults = kind == 2;
		mc_loop_init(&w.loop);
		w.f = mc_fabric_new(&w.loop, &p, e, 3);
		ck_assert_int_eq(mc_fabric_grain(w.f), MC_FABRIC_ENDPOINT + kind);
		ck_assert_uint_ne(mc_fabric_link_find(w.f, coarse[kind]), MC_FABRIC_NONE);
		ck_assert_uint_eq(mc_fabric_link_find(w.f, "group.in.out"), MC_FABRIC_NONE);
		for (uint32_t l = 0; l < mc_fabric_links(w.f); l++)
			ck_assert_uint_eq(
			    mc_fabric_link_find(w.f, mc_fabric_link_name(w.f, l, name, sizeof name)), l);
		start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
		start(&w, 1, 0, 2, (struct mc_transfer_spec){.bytes = GB});
		run(&w, MC_TIME_MAX);
		ck_assert_int_eq(w.end[0], 10 * MS);
		ck_assert_int_eq(w.end[1], 10 * MS);
		start(&w, 2, 1, 0, (struct mc_transfer_spec){.bytes = GB});
		run(&w, MC_TIME_MAX);
		ck_assert_int_eq(w.end[2], 20 * MS);
		if (kind)
			ck_assert_double_eq(mc_fabric_link_bytes(w.f, mc_fabric_link_find(w.f, "rack0.up")),
					    GB);
		teardown(&w);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fabric");
	TCase *t = tcase_create("fabric");

	tcase_add_test(t, alone);
	tcase_add_test(t, incast_and_congested_sender);
	tcase_add_test(t, oversubscribed_spine);
	tcase_add_test(t, across_sockets);
	tcase_add_test(t, memories_of_its_own);
	tcase_add_test(t, ceiling_and_slices);
	tcase_add_test(t, links_of_the_owner);
	tcase_add_test(t, groups);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
