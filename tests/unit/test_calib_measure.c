/* The measuring core with a made-up clock; the order of the grid; samples files that grow and go on. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "calib/anchors.h"
#include "calib/grid.h"
#include "calib/measure.h"
#include "calib/session.h"
#include "unit.h"

/* Time passes only where somebody works, or takes the processor away. */
struct world {
	double wall, cpu;
	int repeats, counted;
	bool cold;          /* nothing warms up */
	double base, noise; /* of a repeat: seconds, and how much more at most */
	int disturb_every;  /* every so many repeats somebody else computes as long; 0: never */
	int far_every;      /* every so many repeats take thrice as long */
	int stop_after;
	volatile sig_atomic_t stop;
};

static double world_wall(void *arg)
{
	return ((struct world *)arg)->wall;
}

static double world_cpu(void *arg)
{
	return ((struct world *)arg)->cpu;
}

static int world_once(void *arg, double *seconds, struct mc_err *err)
{
	struct world *w = arg;
	double own = w->base + w->noise * (double)(mc_hash_u64((uint64_t)w->repeats) >> 11) * 0x1p-53,
	       wait = 0;

	w->repeats++;
	if (w->far_every && w->repeats % w->far_every == 0)
		own *= 3;
	if (w->disturb_every && w->repeats % w->disturb_every == 0)
		wait = own;
	w->cpu += own;
	w->wall += own + wait;
	*seconds = own + wait;
	if (w->stop_after && w->repeats >= w->stop_after)
		w->stop = 1;
	return w->base < 0 ? mc_err_set(err, MC_FAIL, "made up") : 0;
}

static void world_counts(void *arg)
{
	((struct world *)arg)->counted++;
}

static int measure(struct world *w, double precision, double cap_s, struct mc_calib_result *r)
{
	struct mc_calib_goal g = {.precision = precision,
				  .warm_s = w->cold ? 0 : 0.5,
				  .cap_s = cap_s,
				  .fewest = 6,
				  .most = 1000,
				  .stop = &w->stop,
				  .clock = {world_wall, world_cpu, w}};
	struct mc_calib_task t = {world_once, world_counts, w};
	struct mc_err err = {0};

	return mc_calib_measure(&g, &t, r, &err);
}

START_TEST(test_precision)
{
	struct world quiet = {.base = 1}, noisy = {.base = 1, .noise = 0.5}, coarse = noisy,
		     cold = {.base = 1, .cold = true};
	struct mc_calib_result a, b, c;

	ck_assert_int_eq(measure(&quiet, 0.02, 100, &a), 0);
	ck_assert_int_eq((int)a.time.n, 6); /* one before, to warm up */
	ck_assert_int_eq(quiet.repeats, 7);
	ck_assert_int_eq(quiet.counted, 6);
	ck_assert_int_eq(measure(&cold, 0.02, 100, &a), 0);
	ck_assert_int_eq(cold.repeats, 6); /* none, if so wanted */
	ck_assert_double_eq(a.time.median, 1);
	ck_assert_double_eq(a.time.spread, 0);
	ck_assert_int_eq(measure(&noisy, 0.02, 1000, &b), 0);
	ck_assert_int_gt((int)b.time.n, 50);
	ck_assert_double_le(b.time.interval, 0.02);
	ck_assert_double_le(fabs(b.time.median - 1.25), 0.05);
	ck_assert_double_le(fabs(b.time.spread - 0.225 / 1.25), 0.03);
	ck_assert_int_eq(measure(&coarse, 0.1, 1000, &c), 0);
	ck_assert_int_lt((int)c.time.n, (int)b.time.n);
	ck_assert_str_eq(b.flag, "");
}
END_TEST

START_TEST(test_caps)
{
	struct world w = {.base = 1, .noise = 1}, slow = {.base = 40};
	struct mc_calib_result r;

	ck_assert_int_eq(measure(&w, 0.001, 20, &r), 0);
	ck_assert_double_ge(r.elapsed_s, 20);
	ck_assert_double_le(r.elapsed_s, 25);
	ck_assert_str_eq(r.flag, "noisy");
	/* Repeats longer than the cap: the fewest, but no longer than thrice the time. */
	ck_assert_int_eq(measure(&slow, 0.02, 50, &r), 0);
	ck_assert_int_eq((int)r.time.n, 4);
}
END_TEST

START_TEST(test_disturbed)
{
	struct world some = {.base = 1, .disturb_every = 3}, all = {.base = 1, .disturb_every = 1},
		     blind = all;
	struct mc_calib_goal g = {
	    .precision = 0.02, .cap_s = 30, .fewest = 6, .most = 100, .clock = {world_wall, NULL, &blind}};
	struct mc_calib_task t = {world_once, NULL, &blind};
	struct mc_calib_result r;

	ck_assert_int_eq(measure(&some, 0.02, 30, &r), 0);
	ck_assert_double_eq(r.time.median, 1);
	ck_assert_int_gt((int)r.disturbed, 0);
	ck_assert_int_eq(some.counted, (int)r.time.n);
	ck_assert_str_eq(r.flag, "");
	ck_assert_int_eq(measure(&all, 0.02, 30, &r), 0);
	ck_assert_str_eq(r.flag, "busy");
	ck_assert_int_eq(all.counted, 0);
	ck_assert_double_eq(r.time.median, 2);
	/* Who is told to bear it says nothing. */
	g.clock.cpu = world_cpu;
	g.tolerant = true;
	ck_assert_int_eq(mc_calib_measure(&g, &t, &r, NULL), 0);
	ck_assert_str_eq(r.flag, "");
	ck_assert_int_ge((int)r.time.n, 6);
	g.clock.cpu = NULL;
	g.tolerant = false;
	/* Who has no clock of its own cannot tell. */
	ck_assert_int_eq(mc_calib_measure(&g, &t, &r, NULL), 0);
	ck_assert_str_eq(r.flag, "");
}
END_TEST

START_TEST(test_outliers)
{
	struct world rare = {.base = 1, .noise = 1e-3, .far_every = 20},
		     often = {.base = 1, .noise = 1e-3, .far_every = 3};
	struct mc_calib_result r;

	ck_assert_int_eq(measure(&rare, 1e-9, 60, &r), 0);
	ck_assert_double_le(r.time.median, 1.001);
	ck_assert_int_ge((int)r.time.outliers, 2);
	ck_assert_int_eq(measure(&often, 1e-9, 60, &r), 0);
	ck_assert_double_le(r.time.median, 1.001);
	ck_assert_str_eq(r.flag, "noisy");
}
END_TEST

START_TEST(test_stop_and_errors)
{
	struct world w = {.base = 1, .noise = 1, .stop_after = 5}, bad = {.base = -1};
	struct mc_calib_result r;

	ck_assert_int_eq(measure(&w, 1e-9, 1000, &r), 0);
	ck_assert(r.stopped);
	ck_assert_int_eq((int)r.time.n, 4);
	ck_assert_int_eq(measure(&bad, 0.02, 10, &r), MC_FAIL);
	ck_assert_int_eq((int)r.time.n, 0);
}
END_TEST

START_TEST(test_drift)
{
	struct mc_calib_drift d = {.limit = 0.08};

	ck_assert(!mc_calib_drift_moved(&d, 1));
	ck_assert(!mc_calib_drift_moved(&d, 1.07));
	ck_assert(!mc_calib_drift_moved(&d, 1)); /* against the last look, not the first */
	ck_assert(mc_calib_drift_moved(&d, 1.2));
	ck_assert(!mc_calib_drift_moved(&d, 1.2));
	ck_assert(mc_calib_drift_moved(&d, 1));
}
END_TEST

static bool has(const struct mc_calib_grid *g, size_t n, int64_t rows, int64_t context, int64_t seqs)
{
	for (size_t i = 0; i < n; i++)
		if (g->at[i].rows == rows && g->at[i].context == context && g->at[i].seqs == seqs)
			return true;
	return false;
}

START_TEST(test_grid)
{
	const struct mc_calib_limits l = {.tokens = 2048, .batch = 32, .context = 4096};
	struct mc_calib_grid g;
	int level = 0;

	mc_calib_grid(&g, &l, MC_CALIB_LEVELS);
	/* The corners are the first eight, four and four in turn. */
	for (int i = 0; i < 4; i++) {
		ck_assert(has(&g, 8, i & 1 ? 2048 : 8, i & 2 ? 2048 : 0, 1));
		ck_assert(has(&g, 8, 1, i & 2 ? 4095 : 15, i & 1 ? 32 : 1));
		ck_assert((g.at[2 * i].rows > 1) != (g.at[2 * i + 1].rows > 1));
	}
	ck_assert_int_eq(g.at[18].level, 2); /* 9 + 9 by then */
	for (size_t i = 0; i < g.n; i++) {
		const struct mc_calib_point *p = &g.at[i];

		ck_assert_int_ge(p->level, level);
		level = p->level;
		ck_assert(!has(&g, i, p->rows, p->context, p->seqs));
		ck_assert(p->rows >= 1 && p->rows <= 2048 && p->seqs >= 1 && p->seqs <= 32);
		ck_assert(p->context >= 0 && p->context + p->rows <= 4096);
		ck_assert(p->rows == 1 || p->seqs == 1);
	}
	/* The points of the first levels are a whole grid: any row with any context. */
	for (size_t i = 0; i < 50; i++)
		for (size_t j = 0; j < 50; j++)
			if ((g.at[i].rows > 1) == (g.at[j].rows > 1) && g.at[i].level < 2 &&
			    g.at[j].level < 2)
				ck_assert(has(&g, 50, g.at[i].rows, g.at[j].context, g.at[i].seqs));
	mc_vec_fini(&g);
}
END_TEST

static bool equal(const struct mc_calib_point *a, const struct mc_calib_point *b)
{
	return a->rows == b->rows && a->context == b->context && a->seqs == b->seqs;
}

START_TEST(test_grid_small_and_random)
{
	const struct mc_calib_limits tiny = {.tokens = 2, .batch = 1, .context = 2},
				     l = {.tokens = 512, .batch = 16, .context = 1024};
	struct mc_calib_grid g, a, b, c;
	size_t same = 0, bare = 0;

	mc_calib_grid(&g, &tiny, MC_CALIB_LEVELS);
	ck_assert_int_eq((int)g.n, 2);
	mc_calib_grid(&c, &l, 0);
	ck_assert_int_eq((int)c.n, 8);
	mc_calib_grid_random(&a, &l, 1, 200);
	mc_calib_grid_random(&b, &l, 2, 200);
	for (size_t i = 0; i < 200; i++) {
		const struct mc_calib_point *p = &a.at[i];

		same += equal(p, &b.at[i]);
		bare += p->rows > 1 && !p->context;
		ck_assert(p->rows >= 1 && p->rows <= 512 && p->seqs >= 1 && p->seqs <= 16);
		ck_assert(p->context >= 0 && p->context + p->rows <= 1024);
	}
	ck_assert_int_lt((int)same, 10);
	ck_assert(bare > 10 && bare < 50);
	mc_vec_fini(&b);
	mc_calib_grid_random(&b, &l, 1, 200);
	for (size_t i = 0; i < 200; i++)
		ck_assert(equal(&a.at[i], &b.at[i]));
	mc_vec_fini(&g);
	mc_vec_fini(&a);
	mc_vec_fini(&b);
	mc_vec_fini(&c);
}
END_TEST

static struct mc_opsample sample(int64_t rows, double seconds)
{
	return (struct mc_opsample){
	    .point = {.op = MC_OP_NORM, .dim = {[MC_DIM_ROWS] = rows, [MC_DIM_N] = 64}},
	    .seconds = seconds,
	    .spread_ratio = 0.01,
	    .repeats = 7};
}

static char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "test_calib_%ld/%s", (long)getpid(), name);
	return path;
}

static int open_session(struct mc_calib_session *s, const char *device, bool fresh, struct mc_err *err)
{
	char dtype[] = "f32", d[32];
	struct mc_opsamples head = {.device = d, .dtype = dtype};
	struct mc_calib_session_want w = {.path = path_of("deep/x.csv"),
					  .fresh = fresh,
					  .budget_s = 5,
					  .quiet = true,
					  .head = &head,
					  .comments = "# clock: made up\n"};

	snprintf(d, sizeof d, "%s", device);
	*err = (struct mc_err){0};
	return mc_calib_session_open(s, &w, err);
}

START_TEST(test_session)
{
	struct mc_calib_session s;
	struct mc_opsample two[2] = {sample(1, 1e-3), sample(2, 2e-3)}, late = sample(2, 3e-3);
	struct mc_err err;
	FILE *f;

	ck_assert_int_eq(open_session(&s, "this", false, &err), 0);
	ck_assert_ptr_null(mc_calib_session_find(&s, &two[0].point));
	ck_assert_int_eq(mc_calib_session_add(&s, two, 2, &err), 0);
	mc_calib_session_close(&s);
	/* A killed run leaves half a line. */
	f = fopen(path_of("deep/x.csv"), "a");
	fputs("norm,3,,,64,,,,,,,,0.0", f);
	fclose(f);
	ck_assert_int_eq(open_session(&s, "this", false, &err), 0);
	ck_assert_int_eq((int)s.before, 2);
	ck_assert_double_eq(mc_calib_session_find(&s, &two[1].point)->seconds, 2e-3);
	ck_assert_int_eq(mc_calib_session_flag(&s, 1, "drift", &err), 0);
	ck_assert_ptr_null(mc_calib_session_find(&s, &two[1].point));
	ck_assert_ptr_nonnull(mc_calib_session_find(&s, &two[0].point));
	ck_assert_int_eq(mc_calib_session_add(&s, &late, 1, &err), 0);
	mc_calib_session_close(&s);
	ck_assert_int_eq(open_session(&s, "that", false, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "--fresh"));
	ck_assert_str_eq(err.key, "device");
	ck_assert_int_eq(open_session(&s, "this", false, &err), 0);
	ck_assert_int_eq((int)s.all.n, 3);
	ck_assert_str_eq(s.all.at[1].flag, "drift");
	ck_assert_double_eq(mc_calib_session_find(&s, &two[1].point)->seconds, 3e-3);
	mc_calib_session_close(&s);
	ck_assert_int_eq(open_session(&s, "that", true, &err), 0);
	ck_assert_int_eq((int)s.all.n, 0);
	mc_calib_session_close(&s);
	unlink(path_of("deep/x.csv"));
	rmdir(path_of("deep"));
	rmdir(path_of(""));
}
END_TEST

/* Steps of a calibration that are measured again: visits are one, what was flagged or takes too long is none
 * of them, half are decodes, the quickest and the slowest are there; the pace is the median of their ratios.
 */
START_TEST(test_anchors)
{
	struct mc_opsamples s = {0};
	struct mc_calib_anchors a;
	struct mc_calib_pace pace;

	for (int i = 1; i <= 30; i++)
		for (int visit = 0; visit < 3; visit++) {
			struct mc_opsample p = {.point = {.op = MC_OP_STEP,
							  .dim = {[MC_DIM_ROWS] = i % 2 ? 1 : 8,
								  [MC_DIM_SEQS] = i,
								  [MC_DIM_CONTEXT] = 1}},
						.seconds = i * (visit == 2 ? 7 : visit + 1.0)};

			if (i == 1)
				strcpy(p.flag, "busy");
			mc_vec_push(&s, p);
		}
	mc_calib_anchors_choose(&a, &s, 50); /* a median of 2 i: 25 steps */
	ck_assert_uint_eq(a.n, MC_CALIB_ANCHORS);
	for (size_t i = 0; i < a.n; i++) {
		ck_assert_int_eq((int)a.at[i].at.rows, i < 4 ? 1 : 8);
		ck_assert_double_eq(a.at[i].then, 2.0 * a.at[i].at.seqs);
	}
	ck_assert_int_eq((int)a.at[0].at.seqs, 3);
	ck_assert_int_eq((int)a.at[3].at.seqs, 25);
	ck_assert_int_eq((int)a.at[4].at.seqs, 2);
	ck_assert_int_eq((int)a.at[7].at.seqs, 24);
	mc_calib_anchors_pace(&a, &pace);
	ck_assert_uint_eq(pace.steps, 0);
	ck_assert_double_eq(pace.median, 1);
	mc_vec_push(&a.at[0].now, 1.1 * a.at[0].then);
	mc_vec_push(&a.at[0].now, 1.3 * a.at[0].then);
	mc_vec_push(&a.at[5].now, 0.9 * a.at[5].then);
	mc_vec_push(&a.at[7].now, 1.5 * a.at[7].then);
	mc_calib_anchors_pace(&a, &pace);
	ck_assert_uint_eq(pace.steps, 3);
	ck_assert_double_eq_tol(pace.median, 1.2, 1e-12);
	ck_assert_double_eq_tol(pace.low, 0.9, 1e-12);
	ck_assert_double_eq_tol(pace.high, 1.5, 1e-12);
	mc_calib_anchors_fini(&a);
	s.n = 0;
	mc_calib_anchors_choose(&a, &s, 50);
	ck_assert_uint_eq(a.n, 0);
	mc_calib_anchors_fini(&a);
	mc_vec_fini(&s);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("calib_measure");
	TCase *c = tcase_create("all");

	tcase_add_test(c, test_precision);
	tcase_add_test(c, test_caps);
	tcase_add_test(c, test_disturbed);
	tcase_add_test(c, test_outliers);
	tcase_add_test(c, test_stop_and_errors);
	tcase_add_test(c, test_drift);
	tcase_add_test(c, test_grid);
	tcase_add_test(c, test_grid_small_and_random);
	tcase_add_test(c, test_session);
	tcase_add_test(c, test_anchors);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
