/* What is written: JSON keys against the definitions, CSV against JSON, tables, pairing. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "out/compare.h"
#include "out/report.h"
#include "out/seeds.h"
#include "out/tables.h"
#include "out/textfmt.h"
#include "unit.h"
#include "result_fixture.h"

struct written {
	struct made m;
	struct mc_trace trace;
	struct mc_metrics metrics;
	struct mc_report report;
};

static void written_init(struct written *w, uint64_t seed)
{
	made_init(&w->m, seed, 50);
	made_samples(&w->m, 5);
	mc_metrics_compute(&w->m.scenario, &w->m.cost, &w->m.result, &w->metrics);
	w->trace = (struct mc_trace){.n = 50, .fingerprint = 0xabc};
	w->report = (struct mc_report){"1.2.3", "made.json", &w->m.conf,   &w->m.scenario, &w->trace,
				       "shape", "node",      &w->m.result, &w->metrics,
				       NULL,    NULL};
}

/* What a writer writes; free() it. */
static char *text_of(void (*write)(FILE *, const void *), const void *arg)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	write(f, arg);
	fclose(f);
	return text;
}

static void write_json(FILE *f, const void *arg)
{
	mc_sink_find("json")->write(f, arg);
}

static void write_csv(FILE *f, const void *arg)
{
	mc_sink_find("csv")->write(f, arg);
}

static void write_text(FILE *f, const void *arg)
{
	mc_sink_find("text")->write(f, arg);
}

static void defined(const char *prefix, json_t *v)
{
	const char *key;
	json_t *child;

	if (mc_metric_find(prefix) && !json_is_object(v))
		return;
	ck_assert_msg(json_is_object(v), "%s is in the result and not defined", prefix);
	json_object_foreach(v, key, child)
	{
		char path[128];

		snprintf(path, sizeof path, "%s.%s", prefix, key);
		defined(path, child);
	}
}

/* Every key of a result below its inputs is defined, and every definition is in the result. */
START_TEST(keys_and_definitions)
{
	static const char *const inputs[] = {"schema", "kind",  "version", "name",
					     "seed",   "trace", "scenario"};
	struct written w;
	json_t *doc, *child;
	const char *key;

	written_init(&w, 1);
	doc = mc_report_json(&w.report);
	json_object_foreach(doc, key, child)
	{
		bool input = false;

		for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
			input |= !strcmp(inputs[i], key);
		if (!input)
			defined(key, child);
	}
	for (const struct mc_metric_def *d = mc_metric_defs; d->key; d++) {
		char path[128], *save = NULL;
		json_t *v = doc;

		snprintf(path, sizeof path, "%s", d->key);
		for (char *part = strtok_r(path, ".", &save); part; part = strtok_r(NULL, ".", &save))
			v = json_object_get(v, part);
		ck_assert_msg(v, "%s is defined and not in the result", d->key);
	}
	json_decref(doc);
	made_fini(&w.m);
}
END_TEST

START_TEST(json_is_stable)
{
	struct written w;
	char *a, *b;
	json_t *doc;

	written_init(&w, 3);
	a = text_of(write_json, &w.report);
	b = text_of(write_json, &w.report);
	ck_assert_str_eq(a, b);
	doc = json_loads(a, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(doc);
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(doc, "trace"), "fingerprint")),
			 "0000000000000abc");
	ck_assert_str_eq(json_string_value(json_object_get(
			     json_object_get(json_object_get(doc, "scenario"), "trace"), "path")),
			 "made.jsonl");
	ck_assert(json_is_false(json_object_get(doc, "incomplete")));
	json_decref(doc);
	free(a);
	free(b);
	made_fini(&w.m);
}
END_TEST

/* A line of the CSV for each number of the JSON, the same number. */
START_TEST(csv_is_json)
{
	struct written w;
	struct mc_flat_list list = {0};
	char *text, *line, *save = NULL;
	json_t *doc;
	size_t k = 0;

	written_init(&w, 4);
	doc = mc_report_json(&w.report);
	mc_flat_from_json(doc, &list);
	text = text_of(write_csv, &w.report);
	line = strtok_r(text, "\n", &save);
	ck_assert_str_eq(line, "key,value,unit");
	while ((line = strtok_r(NULL, "\n", &save))) {
		char *comma = strchr(line, ',');

		ck_assert_uint_lt(k, list.n);
		*comma = 0;
		ck_assert_str_eq(line, list.at[k].key);
		ck_assert_double_eq_tol(strtod(comma + 1, NULL), list.at[k].value,
					1e-9 * (1 + fabs(list.at[k].value)));
		k++;
	}
	ck_assert_uint_eq(k, list.n);
	ck_assert_ptr_nonnull(mc_flat_find(&list, "ttft_s.p99"));
	ck_assert_ptr_null(mc_flat_find(&list, "scenario.seed"));
	mc_vec_fini(&list);
	json_decref(doc);
	free(text);
	made_fini(&w.m);
}
END_TEST

START_TEST(text_says)
{
	struct written w;
	char *text;

	written_init(&w, 6);
	w.m.result.interrupted = true;
	w.metrics.steady = false;
	w.metrics.outside_trust_ratio = 0.25;
	w.trace.bad = 3;
	snprintf(w.metrics.bottleneck, sizeof w.metrics.bottleneck, "the door");
	ck_assert_int_eq(mc_conf_set(&w.m.conf, "conductor.balancing_threshold=3", NULL), 0);
	ck_assert_int_eq(mc_conf_set(&w.m.conf, "conductor.policy=least-loaded", NULL), 0);
	text = text_of(write_text, &w.report);
	ck_assert_ptr_nonnull(strstr(text, "INCOMPLETE"));
	ck_assert_ptr_nonnull(strstr(text, "not steady"));
	ck_assert_ptr_nonnull(strstr(text, "25 % of requests"));
	ck_assert_ptr_nonnull(strstr(text, "3 malformed records"));
	ck_assert_ptr_nonnull(strstr(text, "ignored: conductor.balancing_threshold"));
	ck_assert_str_eq(text + strlen(text) - strlen("bottleneck: the door\n"), "bottleneck: the door\n");
	for (char *p = text; (p = strchr(p, '\n')); p++)
		ck_assert_msg(p == text || p[-1] != ' ', "a line ends with a blank");
	free(text);
	made_fini(&w.m);
}
END_TEST

START_TEST(ignored_settings)
{
	struct made m;
	struct mc_ignored_list list = {0};

	made_init(&m, 1, 1);
	mc_report_ignored(&m.conf, &m.scenario, NULL, &list);
	ck_assert_uint_eq(list.n, 0); /* defaults are not given */
	mc_conf_set(&m.conf, "seed=5", NULL);
	mc_conf_set(&m.conf, "cluster.prefill_chunk=1K", NULL);
	mc_conf_set(&m.conf, "conductor.balancing_threshold=2", NULL);
	mc_report_ignored(&m.conf, &m.scenario, NULL, &list);
	ck_assert_uint_eq(list.n, 2);
	ck_assert_str_eq(list.at[0].key, "seed");
	ck_assert_str_eq(list.at[1].key, "cluster.prefill_chunk");
	list.n = 0;
	mc_conf_set(&m.conf, "conductor.policy=random", NULL);
	mc_conf_set(&m.conf, "cluster.prefill_group=2", NULL);
	mc_report_ignored(&m.conf, &m.scenario, NULL, &list);
	ck_assert_uint_eq(list.n, 1);
	ck_assert_str_eq(list.at[0].key, "conductor.balancing_threshold");
	mc_vec_fini(&list);
	made_fini(&m);
}
END_TEST

static void write_requests(FILE *f, const void *arg)
{
	mc_out_requests_csv(f, arg);
}

static void write_timeseries(FILE *f, const void *arg)
{
	mc_out_timeseries_csv(f, arg);
}

static size_t commas(const char *line)
{
	size_t n = 0;

	for (; *line && *line != '\n'; line++)
		n += *line == ',';
	return n;
}

START_TEST(tables)
{
	struct made m;
	char *text;

	made_init(&m, 11, 60);
	made_samples(&m, 4);
	m.result.row[0] = (struct mc_row){.arrival = 1,
					  .decided = 50000001,
					  .prefill_start = 60000000,
					  .prefill_end = 2060000000,
					  .handover_end = 2060000500,
					  .end = 3000000000,
					  .fetch_wait = 7,
					  .predicted_ttft = 9,
					  .tbt = 30000000,
					  .compute_s = 1.5,
					  .load_s = 0.25,
					  .input = 1000,
					  .output = 3,
					  .local_hit = 512,
					  .prefill = 1,
					  .decode = 0,
					  .source = MC_NONE,
					  .ssd_source = MC_NONE,
					  .outcome = MC_COMPLETED,
					  .counted = true,
					  .retries = 2,
					  .attempts = 3};
	text = text_of(write_requests, &m.result);
	ck_assert_ptr_nonnull(strstr(
	    text, "\n0,0.000000001,0.050000001,1,0,,,1000,3,512,0,0,0.009999999,0.000000007,1.500000000,"
		  "0.250000000,0.060000000,2.060000000,2.059999999,0.000000009,0.000000500,0.030000000,"
		  "3.000000000,2.999999999,completed,,1,2,3,\n"));
	for (char *p = text; (p = strchr(p, '\n')) && p[1]; p++)
		ck_assert_uint_eq(commas(p + 1), commas(text));
	free(text);
	text = text_of(write_timeseries, &m.result);
	for (char *p = text; (p = strchr(p, '\n')) && p[1]; p++)
		ck_assert_uint_eq(commas(p + 1), commas(text));
	free(text);
	made_fini(&m);
}
END_TEST

START_TEST(pairing)
{
	double a[3][5] = {{1, 2, 3, NAN, 5}, {1, 1, 1, 1, 1}, {NAN, NAN, NAN, NAN, NAN}};
	double b[3][5] = {{2, 1, 3, 4, 7}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
	struct mc_latencies x = {5, {a[0], a[1], a[2]}}, y = {5, {b[0], b[1], b[2]}};
	struct mc_comparison c = {0};

	mc_comparison_pair(&c, &x, &y);
	ck_assert(c.paired);
	ck_assert_uint_eq(c.pair[0].difference.n, 4);
	ck_assert_double_eq_tol(c.pair[0].difference.mean, 0.5, 1e-12); /* +1, -1, 0, +2 */
	ck_assert_double_eq_tol(c.pair[0].difference.sd, sqrt(5.0 / 3), 1e-12);
	ck_assert_int_eq(c.pair[0].better, 1);
	ck_assert_int_eq(c.pair[0].worse, 2);
	ck_assert_int_eq(c.pair[0].equal, 1);
	ck_assert_int_eq(c.pair[1].equal, 5);
	ck_assert_uint_eq(c.pair[2].difference.n, 0);
}
END_TEST

static void write_comparison(FILE *f, const void *arg)
{
	mc_comparison_write(f, "text", arg);
}

/* Two columns across a setting: the lower TTFT is marked and named, and only what differs is a setting. */
START_TEST(columns)
{
	struct written w[2];
	struct mc_column column[2] = {{.name = "one"}, {.name = "two"}};
	struct mc_comparison c = {
	    .across = "conductor.policy", .scenario = "s.json", .column = column, .n = 2};
	json_t *doc[2], *differ;
	char *text;

	for (int i = 0; i < 2; i++) {
		written_init(&w[i], 20);
		mc_conf_set(&w[i].m.conf, i ? "conductor.policy=random" : "conductor.policy=cache-aware",
			    NULL);
		w[i].metrics.ttft.mean = i ? 0.5 : 2;
		column[i].result = doc[i] = mc_report_json(&w[i].report);
		mc_flat_from_json(doc[i], &column[i].flat);
	}
	differ = mc_comparison_settings(&c);
	ck_assert_uint_eq(json_object_size(differ), 1);
	ck_assert_ptr_nonnull(json_object_get(differ, "conductor.policy"));
	text = text_of(write_comparison, &c);
	ck_assert_ptr_nonnull(strstr(text, "0.500*"));
	ck_assert_ptr_null(strstr(text, "2.000*"));
	ck_assert_ptr_nonnull(
	    strstr(text, "Lowest mean TTFT: two with 0.500 s, 4.0 times below the highest"));
	free(text);
	json_decref(differ);
	for (int i = 0; i < 2; i++) {
		json_decref(doc[i]);
		mc_vec_fini(&column[i].flat);
		made_fini(&w[i].m);
	}
}
END_TEST

START_TEST(better)
{
	ck_assert_int_eq(mc_flat_better("ttft_s.mean"), MC_BETTER_LOW);
	ck_assert_int_eq(mc_flat_better("ttft_s.count"), MC_BETTER_NEITHER);
	ck_assert_int_eq(mc_flat_better("cache.hit_ratio"), MC_BETTER_HIGH);
	ck_assert_int_eq(mc_flat_better("events"), MC_BETTER_NEITHER);
	ck_assert_int_eq(mc_flat_better("throughput.requests_per_s"), MC_BETTER_HIGH);
}
END_TEST

static void write_seeds(FILE *f, const void *arg)
{
	mc_seeds_write(f, "csv", arg);
}

START_TEST(seeds)
{
	struct mc_flat values[3] = {{"x", 1, false}, {"x", 2, false}, {"x", 3, false}};
	struct mc_flat_list run[3] = {{&values[0], 1, 1}, {&values[1], 1, 1}, {&values[2], 1, 1}};
	struct mc_seeds s = {.first = 7, .n = 3, .random = true, .run = run};
	char *text = text_of(write_seeds, &s);

	/* Student's t of 2 degrees of freedom at 95 %: 4.30265; over sqrt(3). */
	ck_assert_ptr_nonnull(strstr(text, "\nx,2,2.4841377"));
	ck_assert_ptr_nonnull(strstr(text, ",1,3,3,\n"));
	free(text);
}
END_TEST

START_TEST(numbers)
{
	char buf[MC_GROUPED];

	ck_assert_str_eq(mc_text_grouped(0, buf), "0");
	ck_assert_str_eq(mc_text_grouped(999, buf), "999");
	ck_assert_str_eq(mc_text_grouped(12031, buf), "12,031");
	ck_assert_str_eq(mc_text_grouped(-1234567, buf), "-1,234,567");
	ck_assert_str_eq(mc_text_grouped(INT64_MIN, buf), "-9,223,372,036,854,775,808");
	ck_assert_int_eq(mc_text_decimals(0.1), 3);
	ck_assert_int_eq(mc_text_decimals(9.9999), 2);
	ck_assert_int_eq(mc_text_decimals(-1000), 0);
}
END_TEST

/* Every sink writes something for every result, and no sink is named twice. */
START_TEST(sinks)
{
	struct written w;

	written_init(&w, 8);
	for (const struct mc_sink *const *s = mc_sinks; *s; s++) {
		char *text = NULL;
		size_t n = 0;
		FILE *f = open_memstream(&text, &n);

		ck_assert_ptr_eq(mc_sink_find((*s)->name), *s);
		(*s)->write(f, &w.report);
		fclose(f);
		ck_assert_uint_gt(n, 100);
		ck_assert_int_eq(text[n - 1], '\n');
		free(text);
	}
	ck_assert_ptr_null(mc_sink_find("xml"));
	made_fini(&w.m);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("out");
	TCase *t = tcase_create("out");

	tcase_add_test(t, keys_and_definitions);
	tcase_add_test(t, json_is_stable);
	tcase_add_test(t, csv_is_json);
	tcase_add_test(t, text_says);
	tcase_add_test(t, ignored_settings);
	tcase_add_test(t, tables);
	tcase_add_test(t, pairing);
	tcase_add_test(t, columns);
	tcase_add_test(t, better);
	tcase_add_test(t, seeds);
	tcase_add_test(t, numbers);
	tcase_add_test(t, sinks);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
