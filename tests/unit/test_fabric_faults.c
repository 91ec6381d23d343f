/* NICs, endpoints and links that fail in mid-transfer: cases by hand, whose times are exact. */
#include "fabric_world.h"

/*
 * 1 GB over four NICs; one fails at 4 ms, when each has sent 0.1 of its 0.25 GB. At 5 ms its 0.15 GB go over
 * the other three of the sender, which have 0.125 GB left: 0.175 GB each, 7 ms. With slices of 64 MB, 36 MB
 * of its 100 MB are lost: 12 MB more a NIC, 0.48 ms.
 */
START_TEST(nic_lost)
{
	for (int sliced = 0; sliced < 2; sliced++) {
		struct mc_fabric_params p = defaults();
		struct world w;

		p.nic_faults = true;
		p.slice_bytes = sliced ? 64e6 : 1;
		setup(&w, &four, 2, p);
		start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
		run(&w, 4 * MS);
		mc_fabric_nic_set(w.f, 0, 0, false);
		ck_assert(!mc_fabric_nic_up(w.f, 0, 0));
		ck_assert_double_eq(mc_fabric_room_out(w.f, 0), 75 * GB);
		run(&w, 4 * MS + 1);
		ck_assert_double_eq_tol(mc_fabric_rate_out(w.f, 0), 75 * GB, 10);
		run(&w, MC_TIME_MAX);
		/* Pieces are whole bytes: it may end a nanosecond later. */
		ck_assert_int_le(llabs(w.end[0] - (sliced ? 12480000 : 12 * MS)), 2);
		ck_assert_double_eq_tol(mc_fabric_resent(w.f), sliced ? 36e6 : 0, 1);
		ck_assert_double_eq_tol(mc_fabric_bytes_in(w.f, 1), sliced ? 1.036 * GB : GB, 1);
		teardown(&w);
	}
}
END_TEST

/* The receiver's NIC, and again while it waits: the second one's bytes start their wait later. */
START_TEST(two_nics_lost)
{
	struct mc_fabric_params p = defaults();
	struct world w;

	p.nic_faults = true;
	setup(&w, &four, 2, p);
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, 4 * MS);
	mc_fabric_nic_set(w.f, 1, 0, false);
	run(&w, 4 * MS + MS / 2);
	mc_fabric_nic_set(w.f, 1, 1, false);
	run(&w, MC_TIME_MAX);
	/* Two NICs receive without a pause: 0.4 GB by 4 ms, 2 x 12.5 MB and 12.5 MB of NIC 1 by 4.5 ms, the
	 * rest at 50 GB/s. */
	ck_assert_int_le(llabs(w.end[0] - (4500000 + 11250000)), 2);
	ck_assert_int_eq(w.done[0], 1);
	teardown(&w);
}
END_TEST

/* All NICs of the sender are lost at 4 ms, one comes up at 20 ms: 0.6 GB at 25 GB/s. A new one waits, too. */
START_TEST(no_nic_alive)
{
	struct mc_fabric_params p = defaults();
	struct world w;

	p.nic_faults = true;
	setup(&w, &four, 3, p);
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, 4 * MS);
	for (uint32_t i = 0; i < 4; i++)
		mc_fabric_nic_set(w.f, 0, i, false);
	run(&w, 10 * MS);
	ck_assert_double_eq(mc_fabric_rate_out(w.f, 0), 0);
	start(&w, 1, 2, 0, (struct mc_transfer_spec){.bytes = 0});
	start(&w, 2, 2, 0, (struct mc_transfer_spec){.bytes = 0.5 * GB, .startup = MS});
	run(&w, 20 * MS);
	ck_assert_int_eq(w.done[0] + w.done[1] + w.done[2], 0);
	ck_assert_uint_eq(mc_fabric_sends(w.f, 2), 2);
	mc_fabric_nic_set(w.f, 0, 2, true);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 44 * MS);
	ck_assert_int_eq(w.end[1], 20 * MS);
	ck_assert_int_eq(w.end[2], 40 * MS);
	teardown(&w);
}
END_TEST

/*
 * Streaming: 1 GB over 20 ms, 12.5 GB/s a NIC. A NIC is lost at 4 ms; at 5 ms 12.5 MB of its bytes have piled
 * up, which the others, at half of their speed, take beside the rest. The tail of 0.1 GB comes at 20 ms over
 * three NICs.
 */
START_TEST(streams_go_on)
{
	for (int tail = 0; tail < 2; tail++) {
		struct mc_fabric_params p = defaults();
		struct world w;

		p.nic_faults = true;
		setup(&w, &four, 2, p);
		start(&w, 0, 0, 1,
		      (struct mc_transfer_spec){
			  .bytes = (1 + 0.1 * tail) * GB, .tail = 0.1 * GB * tail, .produce_end = 20 * MS});
		run(&w, 4 * MS);
		ck_assert_double_eq_tol(mc_fabric_rate_out(w.f, 0), 50 * GB, 1);
		mc_fabric_nic_set(w.f, 0, 3, false);
		run(&w, 4500000);
		ck_assert_double_eq_tol(mc_fabric_rate_out(w.f, 0), 37.5 * GB, 1);
		run(&w, 5 * MS);
		ck_assert_double_gt(mc_fabric_rate_out(w.f, 0), 60 * GB);
		run(&w, 10 * MS);
		ck_assert_double_eq_tol(mc_fabric_rate_out(w.f, 0), 50 * GB, 10);
		ck_assert_double_eq_tol(mc_fabric_bytes_in(w.f, 1), 0.5 * GB, 1);
		run(&w, MC_TIME_MAX);
		ck_assert_int_eq(w.done[0], 1);
		if (tail)
			ck_assert_int_le(llabs(w.end[0] - 21333333), 2);
		else
			ck_assert_int_eq(w.end[0], 20 * MS);
		teardown(&w);
	}
}
END_TEST

START_TEST(endpoint_lost)
{
	struct world w;
	uint32_t first;

	setup(&w, &four, 4, defaults());
	for (unsigned i = 0; i < 3; i++) /* 0 -> 1, 1 -> 2, 2 -> 3 */
		start(&w, i, i, i + 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, 5 * MS);
	mc_fabric_endpoint_set(w.f, 1, false);
	ck_assert(!mc_fabric_endpoint_up(w.f, 1));
	ck_assert_int_eq(w.failed[0], 1);
	ck_assert_int_eq(w.failed[1], 1);
	ck_assert_uint_eq(mc_fabric_sends(w.f, 0), 0);
	ck_assert_uint_eq(mc_fabric_receives(w.f, 2), 0);
	start(&w, 3, 1, 0, (struct mc_transfer_spec){.bytes = GB});
	ck_assert_double_eq(mc_fabric_cancel(w.f, w.id[3]), 0);
	start(&w, 4, 3, 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, 5 * MS);
	ck_assert_int_eq(w.failed[4], 1);
	mc_fabric_endpoint_set(w.f, 1, true);
	start(&w, 5, 1, 0, (struct mc_transfer_spec){.bytes = GB});
	first = w.id[5];
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[2], 10 * MS);
	ck_assert_int_eq(w.end[5], 15 * MS);
	for (unsigned i = 0; i < 6; i++)
		ck_assert_int_eq(w.done[i] + w.failed[i], i != 3);
	ck_assert_double_eq_tol(mc_fabric_bytes_in(w.f, 1), GB / 2, 1);
	/* Ids are free again, and no slot is lost. */
	for (unsigned i = 0; i < 200; i++)
		ck_assert_uint_lt(mc_fabric_start(w.f, &(struct mc_transfer_spec){.to = 1, .bytes = 0}), 256);
	run(&w, MC_TIME_MAX);
	ck_assert_uint_lt(first, 64);
	teardown(&w);
}
END_TEST

/* The owner, told of a failed transfer, gives up another one of the same loss: it isn't told of that. */
static void failed_cancels(void *arg, uint32_t transfer)
{
	struct world *w = arg;

	w->failed[0]++;
	for (unsigned i = 0; i < 3; i++)
		if (w->id[i] != transfer)
			mc_fabric_cancel(w->f, w->id[i]);
}

START_TEST(cancelled_while_failing)
{
	struct mc_transfer_spec spec = {.to = 1, .bytes = GB, .failed = failed_cancels};
	struct world w;

	setup(&w, &four, 2, defaults());
	spec.arg = &w;
	for (unsigned i = 0; i < 3; i++)
		w.id[i] = mc_fabric_start(w.f, &spec);
	run(&w, MS);
	mc_fabric_endpoint_set(w.f, 0, false);
	ck_assert_int_eq(w.failed[0], 1);
	run(&w, MC_TIME_MAX);
	teardown(&w);
}
END_TEST

START_TEST(cancelled)
{
	struct mc_fabric_params p = defaults();
	struct world w;

	p.nic_faults = true;
	setup(&w, &four, 2, p);
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
	start(&w, 1, 0, 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, 10 * MS);
	ck_assert_double_eq_tol(mc_fabric_cancel(w.f, w.id[0]), GB / 2, 8);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[1], 15 * MS);
	ck_assert_int_eq(w.done[0], 0);
	teardown(&w);
}
END_TEST

/* Half speed from 5 ms on, full again at 10 ms. */
START_TEST(slow_link)
{
	struct world w;

	setup(&w, &four, 2, defaults());
	start(&w, 0, 0, 1, (struct mc_transfer_spec){.bytes = GB});
	run(&w, 5 * MS);
	scale(&w, "p0.out", 0.5);
	ck_assert_double_eq(mc_fabric_room_out(w.f, 0), 50 * GB);
	run(&w, 10 * MS);
	scale(&w, "p0.out", 1);
	run(&w, MC_TIME_MAX);
	ck_assert_int_eq(w.end[0], 12 * MS + MS / 2);
	teardown(&w);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fabric_faults");
	TCase *t = tcase_create("fabric_faults");

	tcase_add_test(t, nic_lost);
	tcase_add_test(t, two_nics_lost);
	tcase_add_test(t, no_nic_alive);
	tcase_add_test(t, streams_go_on);
	tcase_add_test(t, endpoint_lost);
	tcase_add_test(t, cancelled_while_failing);
	tcase_add_test(t, cancelled);
	tcase_add_test(t, slow_link);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
