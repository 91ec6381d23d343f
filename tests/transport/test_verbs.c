/* The verbs transport on a device that fails when it is told to (fakeverbs.h). */
#include "verbs_world.h"

START_TEST(bytes_arrive)
{
	struct world *w = open_world();

	for (int round = 0; round < 20; round++) {
		post(w);
		collect(w, 5000);
		ck_assert_uint_eq(count(w, MC_WIRE_OK), SLICES);
		check_bytes(w);
		for (size_t i = 0; i < BYTES; i += 97)
			w->mem_a[i] ^= (uint8_t)(round + 1);
	}
	ck_assert_int_gt(__atomic_load_n(&w->woken, __ATOMIC_RELAXED), 0);
	close_world(w);
}
END_TEST

/* Each call of the library fails, `_i + 1` times in a row: whatever happens has an end, nothing is left, and
 * what is called done is. */
START_TEST(every_call_fails)
{
	for (int n = 1;; n++) {
		struct world *w = calloc(1, sizeof *w);
		struct mc_err err = {0};
		int rc;

		fake_reset();
		fake_fail(n, _i + 1);
		rc = try_open(w, &err);
		ck_assert_msg(!rc == !err.rc, "call %d: %d, '%s'", n, rc, err.text);
		if (!rc) {
			post(w);
			collect(w, 5000);
			ck_assert_msg(w->n == SLICES, "call %d: %zu of %d slices ended", n, w->n, SLICES);
			check_bytes(w);
		}
		rc = fake_calls() < n;
		close_world(w);
		if (rc)
			break;
	}
}
END_TEST

/* One operation ends so; the others of the connection are lost with it. */
START_TEST(wrong_status)
{
	static const enum ibv_wc_status status[] = {IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR,
						    IBV_WC_RETRY_EXC_ERR,  IBV_WC_LOC_PROT_ERR,
						    IBV_WC_REM_OP_ERR,     IBV_WC_GENERAL_ERR};
	struct world *w = open_world();

	for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
		fake_status(status[i], 1);
		post(w);
		collect(w, 5000);
		ck_assert_uint_eq(w->n, SLICES);
		ck_assert_uint_eq(count(w, MC_WIRE_REFUSED), i < 1);
		ck_assert_uint_ge(count(w, MC_WIRE_LOST), 1);
		check_bytes(w);
		post(w); /* what is broken stays so */
		collect(w, 5000);
		ck_assert_uint_eq(count(w, MC_WIRE_LOST), SLICES);
		all_well(w);
	}
	close_world(w);
}
END_TEST

START_TEST(lost_completion)
{
	struct world *w = open_world();

	fake_lose(1);
	post(w);
	for (int i = 0; i < 100 && w->n < SLICES - 1; i++)
		collect(w, 50);
	ck_assert_uint_eq(w->n, SLICES - 1);
	check_bytes(w);
	all_well(w);
	close_world(w);
}
END_TEST

/* What was on its way when the endpoint was taken down, or fenced off by the peer, never arrives. */
START_TEST(late_bytes)
{
	struct world *w = open_world();
	uint8_t *a = malloc(BYTES), *b = malloc(BYTES);

	fake_hold(true);
	post(w);
	nap();
	memcpy(a, w->mem_a, BYTES);
	memcpy(b, w->mem_b, BYTES);
	if (_i) {
		ck_assert_int_eq(t->fence(w->b, w->next_id, NULL), 0);
		ck_assert_int_eq(t->fence(w->b, w->next_id, NULL), 0);
		fake_hold(false);
		collect(w, 5000);
		ck_assert_uint_eq(count(w, MC_WIRE_LOST), SLICES);
	} else {
		t->disconnect(w->ep);
		w->ep = NULL;
		fake_hold(false);
	}
	ck_assert(!memcmp(a, w->mem_a, BYTES) && !memcmp(b, w->mem_b, BYTES));
	free(a);
	free(b);
	all_well(w);
	close_world(w);
}
END_TEST

static void until_up(struct mc_port *p, bool up)
{
	int64_t until = mc_clock_ns() + MS(5000);

	while (t->up(p) != up && mc_clock_ns() < until)
		nap();
	ck_assert_int_eq(t->up(p), up);
}

/* A link goes down and up; a device goes, telling or not, and comes back: with the same keys. */
START_TEST(device_goes)
{
	struct world *w = open_world();

	for (int side = 0; side < 2; side++) {
		struct mc_port *p = side ? w->b : w->a;
		struct mc_err err = {0};

		fake_hold(true);
		post(w);
		nap();
		if (_i)
			fake_device(side, false, _i == 1);
		else
			fake_link(side, false);
		until_up(p, false);
		if (_i ||
		    side) /* its own port's link takes the endpoints with it, whatever the device does */
			fake_hold(false);
		collect(w, 5000);
		ck_assert_uint_eq(count(w, MC_WIRE_LOST), SLICES);
		fake_hold(false);
		t->disconnect(w->ep);
		w->ep = NULL;
		ck_assert_int_ne(join(w, &err), 0);
		ck_assert_int_eq(err.rc, MC_FAIL);
		if (_i)
			fake_device(side, true, true);
		else
			fake_link(side, true);
		until_up(p, true);
		all_well(w);
	}
	close_world(w);
}
END_TEST

START_TEST(a_queue_pair_fails)
{
	struct world *w = open_world();

	fake_hold(true);
	post(w);
	fake_guest_event(1);
	collect(w, 5000);
	ck_assert_uint_eq(count(w, MC_WIRE_LOST), SLICES);
	fake_hold(false);
	all_well(w);
	close_world(w);
}
END_TEST

/* What left the device before its queue pair was destroyed arrives at the peer, but not after the fence. */
START_TEST(later_bytes)
{
	struct world *w = open_world();
	uint8_t *b = malloc(BYTES);

	fake_chaos(&(struct fake_chaos){.late = 1000, .slow_us = 1000000}, 1);
	post(w);
	nap();
	t->disconnect(w->ep);
	w->ep = NULL;
	ck_assert_int_eq(t->fence(w->b, w->next_id, NULL), 0);
	memcpy(b, w->mem_b, BYTES);
	usleep(20000);
	ck_assert(!memcmp(b, w->mem_b, BYTES));
	fake_chaos(NULL, 0);
	free(b);
	all_well(w);
	close_world(w);
}
END_TEST

/* What was on its way would never be told; the device says so. */
START_TEST(completions_overrun)
{
	struct world *w = open_world();

	fake_hold(true);
	post(w);
	fake_overrun(0);
	collect(w, 5000);
	ck_assert_uint_eq(count(w, MC_WIRE_LOST), SLICES);
	fake_hold(false);
	all_well(w);
	close_world(w);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("verbs");
	TCase *c = tcase_create("fake");

	tcase_add_test(c, bytes_arrive);
	tcase_add_loop_test(c, every_call_fails, 0, 2);
	tcase_add_test(c, wrong_status);
	tcase_add_test(c, lost_completion);
	tcase_add_loop_test(c, late_bytes, 0, 2);
	tcase_add_loop_test(c, device_goes, 0, 3);
	tcase_add_test(c, a_queue_pair_fails);
	tcase_add_test(c, completions_overrun);
	tcase_add_test(c, later_bytes);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
