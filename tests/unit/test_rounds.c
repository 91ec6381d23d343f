/* The rounds of a grid, with measuring that takes no time: who is visited when, how often, and again. */
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "calib/compute.h"
#include "unit.h"

volatile sig_atomic_t mc_calib_stop;

static struct {
	double seconds; /* of a step */
	int flag_every; /* every so many visits are disturbed; 0: none */
	int stop_after; /* visits; 0: never */
	size_t n;       /* visits */
	uint64_t at[4096];
} seen;

static uint64_t name_of(const struct mc_op_point *p)
{
	return mc_hash_pair(mc_hash_pair((uint64_t)p->dim[MC_DIM_ROWS], (uint64_t)p->dim[MC_DIM_CONTEXT]),
			    (uint64_t)p->dim[MC_DIM_SEQS]);
}

static int visit(struct mc_calib_model *m, const struct mc_calib_point *p, const struct mc_calib_goal *goal,
		 struct mc_calib_outcome *out, struct mc_err *err)
{
	struct mc_op_point at = {
	    .op = MC_OP_STEP,
	    .dim = {[MC_DIM_ROWS] = p->rows, [MC_DIM_CONTEXT] = p->context, [MC_DIM_SEQS] = p->seqs}};
	struct mc_calib_summary s = {.median = seen.seconds, .n = 2};

	(void)m, (void)goal, (void)err;
	ck_assert_uint_lt(seen.n, 4096);
	seen.at[seen.n++] = name_of(&at);
	if (seen.flag_every && seen.n % (size_t)seen.flag_every == 0)
		snprintf(out->result.flag, sizeof out->result.flag, "busy");
	mc_calib_model_sample(&out->samples, &at, &s, out->result.flag);
	mc_calib_stop = seen.stop_after && seen.n >= (size_t)seen.stop_after;
	return 0;
}

/* The whole grid of a small model; the session is the caller's to close. */
static void run(struct mc_calib_compute *c, double budget_s)
{
	static const struct mc_calib_compute_options o = {.levels = 2};
	static const struct mc_opsamples head = {.device = (char *)(uintptr_t) "d",
						 .dtype = (char *)(uintptr_t) "f32"};
	static const struct mc_llama_shape *shape;
	struct mc_err err = {0};
	char path[64];
	struct mc_calib_session_want want = {
	    .path = path, .budget_s = budget_s, .quiet = true, .head = &head};

	shape = mc_llama_shape_find("tiny", &err);
	snprintf(path, sizeof path, "rounds.%d.csv", (int)getpid());
	*c = (struct mc_calib_compute){.o = &o,
				       .measure = visit,
				       .goal = {.tolerant = true, .stop = &mc_calib_stop},
				       .want = {.shape = *shape, .limits = {64, 4, 256}}};
	c->model.want = c->want;
	seen.n = 0;
	mc_calib_stop = 0;
	ck_assert_int_eq(mc_calib_session_open(&c->session, &want, &err), 0);
	ck_assert_int_eq(mc_calib_compute_run(c, &err), 0);
	ck_assert_uint_eq(c->measured, seen.n);
	unlink(path);
}

static size_t visits_of(uint64_t name, size_t before)
{
	size_t n = 0;

	for (size_t i = 0; i < before; i++)
		n += seen.at[i] == name;
	return n;
}

static size_t grid_points(void)
{
	struct mc_calib_limits l = {64, 4, 256};
	struct mc_calib_grid g;
	size_t n;

	mc_calib_grid(&g, &l, 2);
	n = g.n;
	mc_vec_fini(&g);
	return n;
}

/* Three times all of them, a round after the other. */
START_TEST(rounds)
{
	struct mc_calib_compute c;
	size_t points = grid_points();

	seen = (typeof(seen)){.seconds = 1e-9};
	run(&c, 1000);
	ck_assert_uint_eq(seen.n, MC_CALIB_ROUNDS * points);
	for (size_t i = 0; i < seen.n; i++)
		ck_assert_uint_eq(visits_of(seen.at[i], i), i / points);
	ck_assert_uint_eq(c.flagged, 0);
	mc_calib_session_close(&c.session);
}
END_TEST

/* A visit that was disturbed doesn't count: the point gets three others. */
START_TEST(again)
{
	struct mc_calib_compute c;
	size_t points = grid_points(), flagged, all = 0;

	seen = (typeof(seen)){.seconds = 1e-9, .flag_every = 5};
	run(&c, 1000);
	ck_assert_uint_eq(c.flagged, seen.n / 5);
	for (size_t i = 0; i < c.session.all.n; i++) {
		const struct mc_opsample *s = &c.session.all.at[i];
		size_t good = mc_calib_session_count(&c.session, &s->point, &flagged);

		ck_assert_uint_eq(good, MC_CALIB_ROUNDS);
		all += !s->flag[0];
	}
	ck_assert_uint_eq(all, MC_CALIB_ROUNDS * points);
	mc_calib_session_close(&c.session);
}
END_TEST

/* What takes longer than is left is not begun; the very first is, since nobody knows. */
START_TEST(too_long)
{
	struct mc_calib_compute c;

	seen = (typeof(seen)){.seconds = 1e6};
	run(&c, 1000);
	ck_assert_uint_ge(seen.n, 1); /* of prefill and of decode */
	ck_assert_uint_le(seen.n, 2);
	mc_calib_session_close(&c.session);
	/* No budget: nothing. */
	run(&c, 0);
	ck_assert_uint_eq(seen.n, 0);
	mc_calib_session_close(&c.session);
}
END_TEST

START_TEST(stopped)
{
	struct mc_calib_compute c;

	seen = (typeof(seen)){.seconds = 1e-9, .stop_after = 7};
	run(&c, 1000);
	ck_assert_uint_eq(seen.n, 7);
	ck_assert_uint_eq(c.session.all.n, 7);
	mc_calib_session_close(&c.session);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rounds");
	TCase *t = tcase_create("rounds");

	tcase_add_test(t, rounds);
	tcase_add_test(t, again);
	tcase_add_test(t, too_long);
	tcase_add_test(t, stopped);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
