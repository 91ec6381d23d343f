/* Batches under faults end with every byte equal to a model's, or failed with their reason. */
#include <unistd.h>

#include "engine_pair.h"
#include "unit.h"

enum { AREAS = 3, REQUESTS = 24, ROUNDS = 18, CALM = 2 };

static const char *const two_a[] = {"a0", "a1", NULL}, *const two_b[] = {"b0", "b1", NULL};

struct area {
	struct world_memory local, remote;
	struct mc_request r[REQUESTS];
	size_t n;
	uint64_t batch;
};

/* Its batch ended: the model follows, or what failed is as it may be and is done again. */
static void settle(struct mc_engine *a, struct area *x, bool calm)
{
	struct mc_batch_status s;

	ck_assert_int_eq(mc_engine_wait(a, x->batch, 20000 * MS, &s, NULL), 0);
	ck_assert_int_ne(s.state, MC_BATCH_PENDING);
	ck_assert_int_eq(mc_engine_free(a, x->batch, NULL), 0);
	if (s.state == MC_BATCH_DONE) {
		ck_assert_uint_eq(s.bytes, s.total);
		for (size_t i = 0; i < x->n; i++)
			world_apply(&x->r[i], &x->local, &x->remote);
		x->n = 0;
		return;
	}
	ck_assert_msg(!calm, "%s", s.err.text);
	ck_assert_int_eq(s.err.rc, MC_FAIL);
	ck_assert_uint_gt(strlen(s.err.text), 0);
	ck_assert_uint_lt(s.request, x->n);
	/* A local byte is what it was or what was to be read, and stays so. */
	for (size_t i = 0; i < x->n; i++) {
		const struct mc_request *r = &x->r[i];
		size_t at = (size_t)((uint8_t *)r->local - world_at(&x->local));
		const uint8_t *peer = x->remote.model + (r->remote - (uintptr_t)x->remote.m.base);

		for (size_t k = 0; k < r->bytes; k++) {
			uint8_t is = world_at(&x->local)[at + k];

			if (is != x->local.model[at + k] && (r->op != MC_OP_READ || is != peer[k]))
				ck_abort_msg("byte %zu is neither old nor new", k);
			x->local.model[at + k] = is;
		}
	}
}

static void areas_open(struct pair *p, struct area *x)
{
	for (size_t i = 0; i < AREAS; i++) {
		world_alloc(&x[i].local, BYTES, "cpu:0", false);
		world_alloc(&x[i].remote, BYTES, "cpu:0", false);
		world_fill(&x[i].local, 10 + i);
		world_fill(&x[i].remote, 20 + i);
		ck_assert_int_eq(mc_engine_register(p->a, &x[i].local.m, BOTH, NULL), 0);
		ck_assert_int_eq(mc_engine_register(p->b, &x[i].remote.m, BOTH, NULL), 0);
	}
	ck_assert_int_eq(mc_engine_refresh(p->a, p->peer, NULL), 0);
}

static void areas_check(const struct area *x)
{
	for (size_t i = 0; i < AREAS; i++) {
		ck_assert_uint_eq(x[i].n, 0);
		world_check(&x[i].local);
		world_check(&x[i].remote);
	}
}

static void set_faults(uint64_t rng, int round)
{
	struct fake_faults f = {.lose = (unsigned)(rng >> 3) % 60,
				.drop = (unsigned)(rng >> 13) % 12,
				.refuse = (unsigned)(rng >> 23) % 6,
				.late = 700,
				.no_connect = (unsigned)(rng >> 33) % 300,
				.no_fence = (unsigned)(rng >> 43) % 300,
				.slow = 30,
				.slow_ns = 1000000};

	if (round >= ROUNDS - CALM) {
		f = (struct fake_faults){0};
		fake_port_up("a1", true);
		fake_port_up("b0", true);
		usleep(30000);
	} else if (round % 5 == 1) {
		fake_port_up(round % 2 ? "a1" : "b0", (rng >> 50) & 1);
	}
	fake_set(&f);
}

/* Random batches under random faults, several at once. Reads and writes of one area touch no byte twice in a
 * batch; what failed is tried again, until calm comes. */
START_TEST(faults)
{
	struct pair p = {.want = world_want()};
	struct area x[AREAS] = {0};
	uint64_t rng = 77 + (uint64_t)_i;
	struct mc_engine_stats st;
	unsigned failed = 0;

	fake_start((uint64_t)_i * 1000 + 5);
	p.want.batch_timeout_ns = 150 * MS;
	p.want.retries = 3;
	p.want.depth = 8;
	p.want.endpoints = _i % 2 ? 2 : 16;
	pair_open(&p, two_a, two_b);
	areas_open(&p, x);
	for (int round = 0; round < ROUNDS; round++) {
		rng = mc_hash_u64(rng);
		set_faults(rng, round);
		for (size_t i = 0; i < AREAS; i++) {
			if (!x[i].n)
				x[i].n =
				    world_requests(x[i].r, REQUESTS, &rng, &x[i].local, &x[i].remote, p.peer);
			ck_assert_int_eq(mc_engine_submit(p.a, x[i].r, x[i].n, &x[i].batch, NULL), 0);
		}
		for (size_t i = 0; i < AREAS; i++) {
			settle(p.a, &x[i], round >= ROUNDS - CALM);
			failed += x[i].n > 0;
		}
	}
	mc_engine_stats(p.a, &st);
	ck_assert_uint_gt(st.resent, 0);
	ck_assert_uint_gt(st.fences, 0);
	areas_check(x);
	usleep(25000); /* whatever was late has come in by now */
	areas_check(x);
	if (getenv("MC_TEST_VERBOSE"))
		fprintf(stderr, "# %u of %d failed, %lu resent, %lu fences, %u late\n", failed,
			AREAS * ROUNDS, (unsigned long)st.resent, (unsigned long)st.fences,
			fake_late_writes());
	pair_close(&p);
	areas_check(x);
	for (size_t i = 0; i < AREAS; i++) {
		world_free(&x[i].local);
		world_free(&x[i].remote);
	}
	fake_stop();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("engine_faults");
	TCase *c = tcase_create("faults");

	tcase_add_loop_test(c, faults, 0, 3);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
