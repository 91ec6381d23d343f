/* The verbs transport and peers that ask for what they must not have. */
#include "verbs_world.h"

START_TEST(keys_that_no_longer_hold)
{
	struct world *w = open_world();
	struct mc_memory m = {.base = w->mem_b, .bytes = BYTES, .fd = -1};
	uint64_t old = w->key_b;

	if (_i)
		all_well(w); /* so that the endpoint knows what the key stood for */
	ck_assert_int_eq(t->memory_unregister(w->b, old, NULL), 0);
	ck_assert_int_eq(t->memory_unregister(w->b, old, NULL), MC_USAGE);
	/* The device gives the same number for the same memory again: the old key must not fit. */
	fake_same_key(1);
	ck_assert_int_eq(t->memory_register(w->b, &m, MC_ACCESS_READ, &w->key_b, NULL), 0);
	ck_assert_uint_ne(w->key_b, old);
	w->key_b = old;
	memset(w->mem_a, 1, BYTES);
	post(w);
	collect(w, 5000);
	ck_assert_uint_eq(count(w, MC_WIRE_OK), 0);
	ck_assert_uint_ge(count(w, MC_WIRE_REFUSED), 1);
	ck_assert_uint_eq(w->n, SLICES);
	close_world(w);
}
END_TEST

/* Memory that peers may read is not written. */
START_TEST(rights)
{
	struct world *w = open_world();
	struct mc_memory m = {.base = w->mem_b, .bytes = BYTES, .fd = -1};
	uint8_t *b = malloc(BYTES);

	memcpy(b, w->mem_b, BYTES);
	ck_assert_int_eq(t->memory_unregister(w->b, w->key_b, NULL), 0);
	ck_assert_int_eq(t->memory_register(w->b, &m, MC_ACCESS_READ, &w->key_b, NULL), 0);
	post(w);
	collect(w, 5000);
	ck_assert_uint_eq(w->n, SLICES);
	ck_assert_uint_ge(count(w, MC_WIRE_REFUSED), 1);
	ck_assert(!memcmp(b, w->mem_b, BYTES));
	free(b);
	close_world(w);
}
END_TEST

START_TEST(strangers)
{
	struct world *w = open_world();
	struct mc_port_want other = port_want(w, "fake0", "a token of somebody else");
	struct mc_connect_want want = {.address = t->port_address(w->b), .id = 99, .timeout_ns = MS(2000)};
	struct mc_endpoint *ep, *second;
	struct mc_port *p;
	struct mc_err err = {0};

	ck_assert_int_eq(t->port_open(&p, &other, NULL), 0);
	ck_assert_int_eq(t->connect(&ep, p, &want, &err), MC_FAIL);
	t->port_close(p);
	/* One id twice, and one more than the limit. */
	want.id = w->next_id;
	err.rc = 0;
	ck_assert_int_eq(t->connect(&ep, w->a, &want, &err), MC_FAIL);
	ck_assert_ptr_nonnull(strstr(err.text, "of that id"));
	want.id = 100;
	ck_assert_int_eq(t->connect(&second, w->a, &want, NULL), 0);
	want.id = 101;
	err.rc = 0;
	ck_assert_int_eq(t->connect(&ep, w->a, &want, &err), MC_FAIL);
	ck_assert_ptr_nonnull(strstr(err.text, "its limit"));
	t->disconnect(second);
	for (int i = 0; i < 1000 && t->connect(&ep, w->a, &want, NULL); i++)
		nap();
	t->disconnect(ep);
	close_world(w);
}
END_TEST

/* A peer with the token that talks nonsense: after the proof, and once it is let in. */
START_TEST(nonsense)
{
	struct world *w = open_world();
	struct mc_port_want own = port_want(w, "fake0", "a token of the tests");
	unsigned seed = 7;

	for (int i = 0; i < 100; i++) {
		int64_t deadline = mc_clock_ns() + MS(2000);
		uint8_t at[200];
		int fd, n = rand_r(&seed) % 200;

		ck_assert_int_eq(mc_sock_connect(&fd, t->port_address(w->b), NULL, deadline, NULL), 0);
		if (i % 4)
			ck_assert_int_eq(mc_auth_connect(fd, &own.token, MC_PURPOSE_VERBS, deadline, NULL),
					 0);
		for (int k = 0; k < n; k++)
			at[k] = (uint8_t)(rand_r(&seed) >> 8);
		at[0] = 1; /* the version */
		at[1] = 1 + i % 9;
		if (i % 2)
			mc_sock_send_message(fd, at, i % 3 ? 96 : (size_t)n, deadline, NULL);
		else
			mc_sock_send(fd, at, (size_t)n, deadline, NULL);
		close(fd);
	}
	all_well(w);
	close_world(w);
}
END_TEST

START_TEST(names)
{
	static const struct {
		const char *name;
		int rc;
	} c[] = {{"fake0", 0},
		 {"", 0},
		 {"fake1/1", 0},
		 {"fake1/1/1", 0},
		 {"fake0@127.0.0.1", 0},
		 {"fake0/1/0@127.0.0.1", 0},
		 {"fake0/1/0", MC_USAGE},
		 {"fake2", MC_NOHW},
		 {"fake0/2", MC_NOHW},
		 {"fake0/1/3", MC_NOHW},
		 {"fake0/0", MC_USAGE},
		 {"fake0/", MC_USAGE},
		 {"fake0/1/", MC_USAGE},
		 {"fake0@", MC_USAGE},
		 {"fake0/x", MC_USAGE},
		 {"fake0/999", MC_USAGE},
		 {"fake0/1/1/1", MC_USAGE}};
	struct world w = {0};

	fake_reset();
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
		struct mc_port_want want = port_want(&w, c[i].name, "a token of the tests");
		struct mc_port *p;
		struct mc_err err = {0};
		int rc = t->port_open(&p, &want, &err);

		ck_assert_msg(rc == c[i].rc && err.rc == rc, "%s: %d, '%s'", c[i].name, rc, err.text);
		t->port_close(p);
	}
	ck_assert_int_eq(fake_live(), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("verbs peers");
	TCase *c = tcase_create("fake");

	tcase_add_loop_test(c, keys_that_no_longer_hold, 0, 2);
	tcase_add_test(c, rights);
	tcase_add_test(c, strangers);
	tcase_add_test(c, nonsense);
	tcase_add_test(c, names);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
