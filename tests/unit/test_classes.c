/* Priority classes: who is drawn into which, what is read of them, and what they count. */
#include "cluster_fixture.h"
#include "result_fixture.h"

#include "cluster/classes.h"

static void read_classes(struct setup *u, const char *text, struct mc_classes *all)
{
	struct mc_err err = {0};

	setup_set(u, "classes=%s", text);
	ck_assert_msg(!mc_classes_read(&u->s, all, &err), "%s: %s", err.key, err.text);
}

START_TEST(what_is_given)
{
	struct setup u;
	struct mc_classes all;

	setup_init(&u, 16);
	setup_set(&u, "slo.ttft=7s");
	ck_assert_int_eq(mc_classes_read(&u.s, &all, NULL), 0);
	ck_assert_uint_eq(all.n, 1);
	ck_assert_str_eq(all.at[0].name, "");
	ck_assert_int_eq(all.at[0].ttft, 7 * MC_NS_PER_S);
	ck_assert_int_eq(all.at[0].tbt, 100 * MC_NS_PER_MS);
	ck_assert_double_eq(all.at[0].admit_load, 1);
	ck_assert(!mc_classes_random(&u.s));
	mc_vec_fini(&all);
	read_classes(&u,
		     "[{\"name\": \"a.B_c-9\", \"share\": 0.5, \"ttft\": \"2s\", \"tbt\": 0.25},"
		     " {\"name\": \"b\", \"ttft\": \"none\", \"tbt\": 0, \"admit_load\": 0.7},"
		     " {\"name\": \"c\", \"share\": 0}]",
		     &all);
	ck_assert_uint_eq(all.n, 3);
	ck_assert_str_eq(all.at[0].name, "a.B_c-9");
	ck_assert_double_eq(all.at[0].share, 0.5);
	ck_assert_int_eq(all.at[0].ttft, 2 * MC_NS_PER_S);
	ck_assert_int_eq(all.at[0].tbt, 250 * MC_NS_PER_MS);
	ck_assert_double_eq(all.at[0].admit_load, 1);
	ck_assert_double_eq(all.at[1].share, 1);
	ck_assert_int_eq(all.at[1].ttft, 0);
	ck_assert_int_eq(all.at[1].tbt, 0);
	ck_assert_double_eq(all.at[1].admit_load, 0.7);
	ck_assert_int_eq(all.at[2].ttft, 7 * MC_NS_PER_S);
	ck_assert(mc_classes_random(&u.s));
	mc_vec_fini(&all);
	setup_set(&u, "classes=[{\"name\": \"x\"}, {\"name\": \"y\", \"share\": 0}]");
	ck_assert(!mc_classes_random(&u.s));
	setup_fini(&u);
}
END_TEST

START_TEST(bad_classes)
{
	static const char *const text[][2] = {
	    {"[{}]", "classes[0].name"},
	    {"[{\"name\": \"\"}]", "classes[0].name"},
	    {"[{\"name\": 3}]", "classes[0].name"},
	    {"[{\"name\": \"a b\"}]", "classes[0].name"},
	    {"[{\"name\": \"a,b\"}]", "classes[0].name"},
	    {"[{\"name\": \"a\\u0001\"}]", "classes[0].name"},
	    {"[{\"name\": \"abcdefghijabcdefghijabcdefghijab\"}]", "classes[0].name"},
	    {"[{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"a\"}]", "classes[2].name"},
	    {"[{\"name\": \"a\", \"share\": -1}]", "classes[0].share"},
	    {"[{\"name\": \"a\", \"share\": 0}, {\"name\": \"b\", \"share\": 0}]", "classes[0].share"},
	    {"[{\"name\": \"a\", \"share\": \"much\"}]", "classes[0].share"},
	    {"[{\"name\": \"a\", \"ttft\": \"never\"}]", "classes[0].ttft"},
	    {"[{\"name\": \"a\"}, {\"name\": \"b\", \"tbt\": -1}]", "classes[1].tbt"},
	    {"[{\"name\": \"a\", \"admit_load\": \"none\"}]", "classes[0].admit_load"},
	    {"[{\"name\": \"a\", \"admit_load\": 1e300}]", "classes[0].admit_load"},
	    {"[{\"name\": \"a\", \"prio\": 1}]", "classes[0].prio"},
	};
	char many[1000] = "[";

	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct setup u;
		struct mc_classes all;
		struct mc_err err = {0};

		setup_init(&u, 16);
		setup_set(&u, "trace.path=x");
		setup_set(&u, "classes=%s", text[i][0]);
		ck_assert_int_eq(mc_classes_read(&u.s, &all, &err), MC_USAGE);
		ck_assert_str_eq(err.key, text[i][1]);
		ck_assert_uint_eq(all.n, 0);
		err = (struct mc_err){0};
		ck_assert_int_eq(mc_scenario_check(&u.s, &err), MC_USAGE);
		ck_assert_str_eq(err.key, text[i][1]);
		setup_fini(&u);
	}
	for (int i = 0; i <= MC_CLASSES; i++) {
		struct mc_classes all;
		struct setup u;
		char element[40];

		snprintf(element, sizeof element, "%s{\"name\": \"c%d\"}", i ? "," : "", i);
		strcat(many, element);
		setup_init(&u, 16);
		setup_set(&u, "classes=%s]", many);
		ck_assert_int_eq(mc_classes_read(&u.s, &all, NULL), i < MC_CLASSES ? 0 : MC_USAGE);
		mc_vec_fini(&all);
		setup_fini(&u);
	}
}
END_TEST

/* As often as their shares say, each for itself: chi-square of pairs of neighbours, at 0.1 %. */
START_TEST(shares)
{
	enum { N = 30000 };
	static const double share[3] = {0.2, 0.5, 0.3};
	struct setup u;
	struct mc_classes all;
	double seen[3][3] = {0}, chi = 0;
	uint32_t before = 0;

	setup_init(&u, 16);
	read_classes(&u,
		     "[{\"name\": \"a\", \"share\": 2}, {\"name\": \"b\", \"share\": 5},"
		     "{\"name\": \"none\", \"share\": 0}, {\"name\": \"c\", \"share\": 3}]",
		     &all);
	for (int64_t i = 0; i < N; i++) {
		uint32_t k = mc_classes_draw(&all, 1, i);

		ck_assert_uint_ne(k, 2);
		k = k == 3 ? 2 : k;
		if (i % 2)
			seen[before][k]++;
		before = k;
	}
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++) {
			double expected = N / 2.0 * share[a] * share[b];

			chi += (seen[a][b] - expected) * (seen[a][b] - expected) / expected;
		}
	ck_assert_double_lt(chi, 26.1); /* 8 degrees of freedom */
	mc_vec_fini(&all);
	setup_fini(&u);
}
END_TEST

/* Metrics by class against sums by hand, on a made-up result. */
START_TEST(metrics_by_class)
{
	struct made m;
	struct mc_metrics x, plain;
	struct mc_class class[3] = {{"fast", 1, 5 * MC_NS_PER_S, 100 * MC_NS_PER_MS, 1},
				    {"slow", 1, 15 * MC_NS_PER_S, 150 * MC_NS_PER_MS, 1},
				    {"batch", 1, 0, 150 * MC_NS_PER_MS, 1}};
	int64_t n[3] = {0}, done[3] = {0}, good[3] = {0}, firsts[3] = {0}, met = 0;
	double ttft[3] = {0};

	made_init(&m, 5, 600);
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &plain);
	ck_assert_uint_eq(plain.n_classes, 0);
	ck_assert_int_eq(plain.no_objective, 0);
	ck_assert_int_gt(plain.effective, 0);
	for (int k = 0; k < 3; k++)
		mc_vec_push(&m.result.classes, class[k]);
	for (int64_t i = 0; i < m.result.n_rows; i++) {
		struct mc_row *r = &m.result.row[i];
		int k = r->class = (uint8_t)made_random(&m, 3);
		double t = mc_time_to_s(r->prefill_end - r->arrival);
		bool in_time = t <= (k == 0 ? 5 : 15) && k != 2;
		bool even = r->output < 2 || mc_time_to_s(r->tbt) <= (k == 0 ? 0.1 : 0.15);

		if (!r->counted)
			continue;
		n[k]++;
		done[k] += r->outcome == MC_COMPLETED;
		good[k] += r->outcome == MC_COMPLETED && in_time && even;
		met += r->outcome == MC_COMPLETED && even;
		firsts[k] += r->prefill_end >= 0;
		ttft[k] += r->prefill_end >= 0 ? t : 0;
	}
	mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
	ck_assert_uint_eq(x.n_classes, 3);
	for (int k = 0; k < 3; k++) {
		ck_assert_str_eq(x.by_class[k].class.name, class[k].name);
		ck_assert_int_eq(x.by_class[k].requests, n[k]);
		ck_assert_int_eq(x.by_class[k].completed, done[k]);
		ck_assert_int_eq(x.by_class[k].effective, good[k]);
		ck_assert_int_eq(x.by_class[k].ttft.count, firsts[k]);
		ck_assert_double_eq_tol(x.by_class[k].ttft.mean, ttft[k] / (double)firsts[k], 1e-6);
		ck_assert_double_eq_tol(x.by_class[k].effective_ratio, (double)good[k] / (double)n[k], 1e-12);
	}
	ck_assert_int_gt(good[0], 0);
	ck_assert_int_eq(good[2], 0);
	ck_assert_int_eq(x.no_objective, n[2]);
	ck_assert_int_eq(x.effective, good[0] + good[1]);
	ck_assert_int_eq(x.tbt_met, met);
	ck_assert_int_eq(x.total, n[0] + n[1] + n[2]);
	made_fini(&m);
}
END_TEST

/* Without an objective of one kind nothing is effective, not even what has no interval. */
START_TEST(no_objectives)
{
	static const char *const key[] = {"slo.ttft", "slo.tbt"};
	struct made m;
	struct mc_metrics x;
	char text[40];

	for (int k = 0; k < 2; k++) {
		made_init(&m, 5, 200);
		snprintf(text, sizeof text, "%s=0s", key[k]);
		ck_assert_int_eq(mc_conf_set(&m.conf, text, NULL), 0);
		mc_metrics_compute(&m.scenario, &m.cost, &m.result, &x);
		ck_assert_int_eq(x.no_objective, x.total);
		ck_assert_int_eq(x.effective, 0);
		ck_assert_int_eq(k ? x.tbt_met : x.ttft_met, 0);
		ck_assert_int_gt(k ? x.ttft_met : x.tbt_met, 0);
		made_fini(&m);
	}
}
END_TEST

/* A burst at one instant, one prefill node: each is taken while its predicted TTFT over the objective of its
 * class is no more than the class's load; who may have less is refused first. */
START_TEST(who_is_refused_first)
{
	enum { N = 60 };
	static const double objective_s[3] = {4, 4, 5}, load[3] = {1, 0.5, 0.6};
	struct setup u;
	struct mc_result r;
	int64_t taken = 0, refused[3] = {0};
	double service;

	setup_init(&u, 16);
	setup_set(&u, "cluster.prefill=1");
	setup_set(&u, "kv.pool=off");
	setup_set(&u, "run.check=true");
	setup_set(&u, "conductor.admission=early");
	setup_set(&u, "slo.ttft=5s");
	setup_set(&u, "classes=[{\"name\": \"high\", \"ttft\": 4},"
		      "{\"name\": \"low\", \"ttft\": \"4s\", \"admit_load\": 0.5},"
		      "{\"name\": \"batch\", \"ttft\": \"none\", \"admit_load\": 0.6}]");
	service = mc_cost_prefill_gpu_s(&u.cost, 2000, 0);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t id[2] = {0, 100 + i};

		add(&u, 0, 2000, 1, id, 0);
	}
	setup_run(&u, &r);
	for (int i = 0; i < N; i++) {
		int k = r.row[i].class;
		double ttft = 0.05 + (double)(taken + 1) * service;
		bool fits = ttft / objective_s[k] <= load[k];

		ck_assert_int_eq(r.row[i].outcome, fits ? MC_COMPLETED : MC_REJECTED);
		taken += fits;
		refused[k] += !fits;
	}
	ck_assert_int_eq(taken, (int64_t)((4 - 0.05) / service));
	for (int k = 0; k < 3; k++)
		ck_assert_int_gt(refused[k], 0);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("classes");
	TCase *t = tcase_create("classes");

	tcase_add_test(t, what_is_given);
	tcase_add_test(t, bad_classes);
	tcase_add_test(t, shares);
	tcase_add_test(t, metrics_by_class);
	tcase_add_test(t, no_objectives);
	tcase_add_test(t, who_is_refused_first);
	suite_add_tcase(s, t);
	return s;
}
UNIT_MAIN
