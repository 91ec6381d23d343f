/* Transfers over a fabric: cases by hand, whose times are exact. Random ones are in test_fabric_random.c. */
#include "unit.h"

#include <math.h>

#include "net/fabric.h"

#define MS MC_NS_PER_MS
#define GB 1e9

static const double nic[8] = {25 * GB, 25 * GB, 25 * GB, 25 * GB, 25 * GB, 25 * GB, 25 * GB, 25 * GB};
static const struct mc_node four = {.nics = 4, .sockets = 2, .switches = 2, .nic_bytes_per_s = nic};

struct world {
	struct mc_loop loop;
	struct mc_fabric *f;
	mc_time end[16];
	int done[16], failed[16];
	uint32_t id[16];
};

struct token {
	struct world *w;
	unsigned n;
};
static struct token token[16];

static struct mc_fabric_params defaults(void)
{
	return (struct mc_fabric_params){.event_kind = 3,
					 .use = {{MC_MEMORY_STRIPED, 0}, false},
					 .slice_bytes = 1,
					 .failover = MS,
					 .oversubscription = 1};
}

static void setup(struct world *w, const struct mc_node *node, uint32_t n, struct mc_fabric_params params)
{
	static const char *const name[] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"};
	struct mc_fabric_endpoint e[8];

	*w = (struct world){0};
	for (uint32_t i = 0; i < n; i++)
		e[i] = (struct mc_fabric_endpoint){name[i], 1, node};
	mc_loop_init(&w->loop);
	w->f = mc_fabric_new(&w->loop, &params, e, n);
}

static void teardown(struct world *w)
{
	mc_fabric_free(w->f);
	mc_loop_fini(&w->loop);
}

static void done(void *arg, uint32_t transfer)
{
	struct token *t = arg;

	ck_assert_uint_eq(t->w->id[t->n], transfer);
	t->w->end[t->n] = t->w->loop.now;
	t->w->done[t->n]++;
}

static void failed(void *arg, uint32_t transfer)
{
	struct token *t = arg;

	ck_assert_uint_eq(t->w->id[t->n], transfer);
	t->w->end[t->n] = t->w->loop.now;
	t->w->failed[t->n]++;
}

static void start(struct world *w, unsigned n, uint32_t from, uint32_t to, struct mc_transfer_spec spec)
{
	spec.from = from;
	spec.to = to;
	spec.done = done;
	spec.failed = failed;
	spec.arg = &token[n];
	token[n] = (struct token){w, n};
	w->id[n] = mc_fabric_start(w->f, &spec);
	ck_assert_int_eq(w->done[n] + w->failed[n], 0);
}

static void nop(struct mc_loop *loop, struct mc_event *ev)
{
	(void)loop;
	(void)ev;
}

static void run(struct world *w, mc_time until)
{
	struct mc_err err = {0};
	struct mc_event alarm;

	mc_event_init(&alarm, UINT16_MAX - 1, nop);
	if (until < MC_TIME_MAX)
		mc_loop_at(&w->loop, &alarm, until);
	mc_loop_run(&w->loop, until);
	ck_assert_msg(mc_fabric_check(w->f, &err) == 0, "%s", err.text);
}

static void scale(struct world *w, const char *link, double factor)
{
	uint32_t l = mc_fabric_link_find(w->f, link);

	ck_assert_msg(l != MC_FABRIC_NONE, "%s", link);
	mc_fabric_link_scale(w->f, l, factor);
}

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
	tcase_add_test(t, nic_lost);
	tcase_add_test(t, two_nics_lost);
	tcase_add_test(t, no_nic_alive);
	tcase_add_test(t, streams_go_on);
	tcase_add_test(t, endpoint_lost);
	tcase_add_test(t, cancelled_while_failing);
	tcase_add_test(t, cancelled);
	tcase_add_test(t, links_of_the_owner);
	tcase_add_test(t, slow_link);
	tcase_add_test(t, groups);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
