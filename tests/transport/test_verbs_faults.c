/* Engines over verbs, on devices of which chance takes hold (fakeverbs.h) and a network that cuts their
 * handshakes (proxy.h): batches end with every byte equal to a model's, or failed with their reason, and are
 * done again when it is over. */
#include "../unit/engine_areas.h"
#include "../unit/proxy.h"
#include "../unit/unit.h"
#include "fakeverbs.h"

enum { BYTES = 120000, AREAS = 4, ROUNDS = 12 };

extern const struct mc_transport mc_transport_verbs;

static struct mc_transport via; /* verbs, whose ports are found at the proxy's addresses */

static const char *via_address(const struct mc_port *p)
{
	return proxy_to(mc_transport_verbs.port_address(p));
}

struct world {
	struct mc_engine *e[2]; /* each asks the other one */
	struct area x[AREAS];
};

static void open_world(struct world *w, int seed)
{
	static const char *const two[] = {"fake0", "fake1", NULL};
	struct mc_engine_want want = world_want();
	uint32_t peer[2];

	via = mc_transport_verbs;
	via.port_address = via_address;
	want.batch_timeout_ns = 150 * MS;
	want.slice_timeout_ns = 20 * MS;
	want.connect_timeout_ns = 60 * MS;
	want.retries = 3;
	want.depth = 8;
	want.lanes = 2;
	want.endpoints = seed % 2 ? 2 : 16;
	for (int i = 0; i < 2; i++)
		w->e[i] = world_open(&want, &via, two);
	for (int i = 0; i < AREAS; i++) {
		w->x[i] = (struct area){.asker = w->e[i % 2], .owner = w->e[(i + 1) % 2]};
		area_open(w->x + i, BYTES, (uint64_t)(10 * seed + i), false);
	}
	for (int i = 0; i < 2; i++)
		peer[i] = world_meet(w->e[i], mc_engine_address(w->e[!i]));
	for (int i = 0; i < AREAS; i++)
		w->x[i].peer = peer[i % 2];
}

static void close_world(struct world *w)
{
	for (int i = 0; i < 2; i++)
		mc_engine_close(w->e[i]);
	for (int i = 0; i < AREAS; i++) {
		area_check(w->x + i);
		area_free(w->x + i);
	}
	ck_assert_int_eq(fake_live(), 0);
}

static void set_faults(uint64_t rng, int round)
{
	struct fake_chaos c = {.status = (unsigned)(rng >> 3) % 50,
			       .lose = (unsigned)(rng >> 10) % 6,
			       .late = 700,
			       .fails = (unsigned)(rng >> 17) % 5,
			       .event = (unsigned)(rng >> 24) % 10,
			       .slow_us = 500};
	struct proxy_faults f = {.refuse = (unsigned)(rng >> 31) % 200,
				 .mute = (unsigned)(rng >> 38) % 30,
				 .cut = (unsigned)(rng >> 45) % 60,
				 .hush = (unsigned)(rng >> 52) % 10};

	if (round % 3 == 1)
		fake_link((int)(rng >> 60) & 1, false);
	if (round % 3 == 2) {
		fake_link(0, true);
		fake_link(1, true);
	}
	if (round == ROUNDS / 3)
		fake_device(1, false, rng & 1);
	if (round == ROUNDS / 2)
		fake_device(1, true, true);
	fake_chaos(&c, rng);
	proxy_set(&f);
}

static void calm(void)
{
	fake_chaos(NULL, 0);
	proxy_set(NULL);
	for (int i = 0; i < FAKE_DEVICES; i++) {
		fake_device(i, true, true);
		fake_link(i, true);
	}
}

static void report(const struct world *w)
{
	unsigned done = 0, failed = 0;
	struct mc_engine_stats st[2];

	for (int i = 0; i < AREAS; i++) {
		done += w->x[i].done;
		failed += w->x[i].failed;
	}
	for (int i = 0; i < 2; i++)
		mc_engine_stats(w->e[i], st + i);
	ck_assert_uint_gt(st[0].resent + st[1].resent, 0);
	ck_assert_uint_gt(st[0].fences + st[1].fences, 0);
	if (getenv("MC_TEST_VERBOSE"))
		fprintf(stderr, "# %u done, %u failed, %lu resent, %lu fences, %u late\n", done, failed,
			(unsigned long)(st[0].resent + st[1].resent),
			(unsigned long)(st[0].fences + st[1].fences), fake_late());
}

START_TEST(faults)
{
	struct world w;
	uint64_t rng = 900 + (uint64_t)_i;

	fake_reset();
	proxy_start((uint64_t)_i + 1);
	open_world(&w, _i);
	for (int round = 0; round < ROUNDS; round++) {
		rng = mc_hash_u64(rng);
		set_faults(rng, round);
		for (int i = 0; i < AREAS; i++)
			if (!area_submit(w.x + i, &rng))
				mc_engine_refresh(w.x[i].asker, w.x[i].peer, NULL);
		if (round % 4 == 2)
			area_take_away(w.x + (rng >> 20) % AREAS);
		for (int i = 0; i < AREAS; i++)
			if (w.x[i].batch)
				area_settle(w.x + i, 3000 * MS);
	}
	calm();
	for (int i = 0; i < AREAS; i++) {
		area_recover(w.x + i, &rng, 15000 * MS);
		area_check(w.x + i);
	}
	report(&w);
	close_world(&w);
	proxy_stop();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("verbs_faults");
	TCase *c = tcase_create("faults");

	tcase_add_loop_test(c, faults, 0, area_seeds(2));
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
