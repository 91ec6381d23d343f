/* The generator's promises: the same bytes, ids that name prefixes, ticks, limits, scale; and writing what it
 * made. */
#include "unit.h"

#include <math.h>

#include "base/hash.h"
#include "base/map.h"
#include "trace/gen.h"
#include "trace/reader.h"
#include "trace/stats.h"
#include "trace/write.h"
#include "trace_unit.h"

static void set(struct mc_gen_spec *spec, const char *json)
{
	struct mc_conf conf;
	struct mc_err err = {0};
	char text[512];

	ck_assert_int_eq(mc_conf_init(&conf, mc_gen_fields, spec, &err), 0);
	ck_assert_msg(!mc_conf_load_text(&conf, json, strlen(json), "spec", &err), "%s",
		      mc_err_format(&err, text, sizeof text));
	mc_conf_fini(&conf);
}

static void make(struct mc_trace *t, const char *json)
{
	struct mc_gen_spec spec;
	struct mc_err err = {0};

	set(&spec, json);
	ck_assert_msg(!mc_gen_trace(t, &spec, &err), "%s", err.text);
}

START_TEST(same_seed_same_trace)
{
	struct mc_trace a, b, c;

	make(&a, "{\"duration\": \"5min\"}");
	make(&b, "{\"duration\": \"5min\"}");
	make(&c, "{\"duration\": \"5min\", \"seed\": 2}");
	ck_assert_uint_eq(a.fingerprint, b.fingerprint);
	ck_assert_uint_ne(a.fingerprint, c.fingerprint);
	mc_trace_fini(&a);
	mc_trace_fini(&b);
	mc_trace_fini(&c);
}
END_TEST

/* An id always stands at one place, after one and the same id: it names its whole prefix. */
START_TEST(ids_name_prefixes)
{
	struct mc_trace t;
	struct mc_map place = {0};
	uint64_t *before, *at;
	uint32_t n = 0;

	make(&t, "{\"duration\": \"10min\", \"repeat\": 0.1, \"system\": {\"share\": 0.7, \"count\": 20},"
		 " \"block_tokens\": 128, \"preamble_tokens\": 500}");
	before = calloc(t.first[t.n], sizeof *before);
	at = calloc(t.first[t.n], sizeof *at);
	for (int64_t i = 0; i < t.n; i++) {
		HOLDS(mc_trace_blocks(&t, i) == (t.input[i] + 127) / 128, "count of ids");
		for (uint64_t j = t.first[i]; j < t.first[i + 1]; j++) {
			uint64_t previous = j > t.first[i] ? t.block[j - 1] : 0;
			uint32_t known = mc_map_get(&place, t.block[j]);

			HOLDS(t.block[j] < UINT64_C(1) << 63, "readers with 63 bits");
			if (known == MC_MAP_NONE) {
				before[n] = previous;
				at[n] = j - t.first[i];
				mc_map_put(&place, t.block[j], n++);
			} else {
				HOLDS(before[known] == previous && at[known] == j - t.first[i], "id %llu",
				      (unsigned long long)t.block[j]);
			}
		}
	}
	ck_assert_uint_lt(n, t.first[t.n] * 9 / 10);              /* some come again */
	ck_assert_uint_eq(t.block[0], t.block[t.first[t.n - 1]]); /* all share the preamble */
	free(before);
	free(at);
	mc_map_fini(&place);
	mc_trace_fini(&t);
}
END_TEST

/* The next turn's prompt finds the whole blocks of the previous prompt, and none of the answer's. */
START_TEST(turns_extend_prompts)
{
	struct mc_gen_spec spec;
	struct mc_gen g;
	struct mc_err err = {0};
	uint64_t a[300], b[300], shared;
	int seen = 0;

	set(&spec, "{\"duration\": \"1h\", \"rate\": 0.01, \"repeat\": 0, \"turns\": {\"median\": 5}}");
	ck_assert_int_eq(mc_gen_init(&g, &spec, &err), 0);
	for (int64_t i = 0; i < g.n; i++)
		for (int64_t j = i + 1; j < g.n; j++) {
			const struct mc_gen_request *x = &g.request[i], *y = &g.request[j];

			if (x->session != y->session || y->turn != x->turn + 1)
				continue;
			mc_gen_ids(&g, i, a);
			mc_gen_ids(&g, j, b);
			for (shared = 0; shared <= x->input / 512 && a[shared] == b[shared]; shared++)
				;
			ck_assert_uint_eq(shared, x->input / 512);
			ck_assert_uint_gt(y->input, x->input + x->output);
			ck_assert_int_ge(y->arrival, x->arrival);
			ck_assert_int_eq(g.parent[j], i);
			seen++;
		}
	ck_assert_int_gt(seen, 50);
	mc_gen_fini(&g);
}
END_TEST

/* Whoever asks again has the same parent; the last answer is the one that is gone on from. */
START_TEST(parents_of_repeats)
{
	struct mc_gen_spec spec;
	struct mc_gen g;
	struct mc_err err = {0};
	int seen = 0;

	set(&spec, "{\"duration\": \"20min\", \"warmup\": \"10min\", \"rate\": 0.1, \"repeat\": 0.4, "
		   "\"turns\": {\"median\": 5}}");
	ck_assert_int_eq(mc_gen_init(&g, &spec, &err), 0);
	for (int64_t j = 0; j < g.n; j++) {
		int64_t want = -1;

		for (int64_t i = 0; i < j; i++)
			if (g.request[i].session == g.request[j].session &&
			    g.request[i].round + 1 == g.request[j].round)
				want = i;
		ck_assert_int_eq(g.parent[j], want);
		seen += want >= 0 && g.request[want].turn + 1 < g.request[j].turn;
	}
	ck_assert_int_gt(seen, 20);
	mc_gen_fini(&g);
}
END_TEST

START_TEST(ticks_and_limits)
{
	struct mc_trace t;

	make(&t, "{\"duration\": \"20min\", \"tick\": \"2s\", \"context_tokens\": 8000, \"output\": "
		 "{\"max\": 700},"
		 " \"first\": {\"median\": 7000}}");
	for (int64_t i = 0; i < t.n; i++) {
		HOLDS(t.arrival[i] % (2 * MC_NS_PER_S) == 0, "between ticks");
		HOLDS(t.arrival[i] < 1200 * MC_NS_PER_S, "after the end");
		HOLDS(t.input[i] + t.output[i] <= 8000 && t.input[i] && t.output[i] <= 700,
		      "beyond the context");
		HOLDS(!i || t.arrival[i] >= t.arrival[i - 1], "out of order");
	}
	mc_trace_fini(&t);
}
END_TEST

/* Ten times the scale is ten times the requests of the same kind, within six standard errors. */
START_TEST(scale)
{
	struct mc_trace one, ten;
	struct mc_trace_numbers numbers;
	struct mc_trace_stats s, s10;

	make(&one, "{\"duration\": \"30min\"}");
	make(&ten, "{\"duration\": \"30min\", \"scale\": 10}");
	mc_trace_numbers_init(&numbers, &one);
	mc_trace_stats_compute(&one, &numbers, &s);
	mc_trace_numbers_fini(&numbers);
	mc_trace_numbers_init(&numbers, &ten);
	mc_trace_stats_compute(&ten, &numbers, &s10);
	mc_trace_numbers_fini(&numbers);
	ck_assert_double_lt(fabs((double)ten.n / (double)one.n / 10 - 1), 0.15);
	ck_assert_double_lt(fabs(s10.input.mean / s.input.mean - 1), 0.15);
	ck_assert_double_lt(fabs(s10.by_token - s.by_token), 0.06);
	mc_trace_fini(&one);
	mc_trace_fini(&ten);
}
END_TEST

/* The defaults keep to the published statistics of the hour that they imitate. */
START_TEST(like_the_conversation_trace)
{
	struct mc_trace t;
	struct mc_trace_numbers numbers;
	struct mc_trace_stats s;

	make(&t, "{}");
	mc_trace_numbers_init(&numbers, &t);
	mc_trace_stats_compute(&t, &numbers, &s);
	ck_assert_double_lt(fabs((double)s.requests / 12031 - 1), 0.03);
	ck_assert_double_lt(fabs(s.input.mean / 12035 - 1), 0.03);
	ck_assert_double_lt(fabs(s.input.p50 / 6909 - 1), 0.03);
	ck_assert_double_lt(fabs(s.output.mean / 343 - 1), 0.03);
	ck_assert(s.by_token > 0.37 && s.by_token < 0.40);
	ck_assert_double_eq(s.instant_gap_s, 3);
	ck_assert(s.instant_max >= 18 && s.instant_max <= 30);
	mc_trace_numbers_fini(&numbers);
	mc_trace_fini(&t);
}
END_TEST

static const struct {
	const char *json, *key;
} impossible[] = {
    {"{\"output\": {\"max\": 200000}}", "output.max"},
    {"{\"first\": {\"min\": 10, \"max\": 9}}", "first"},
    {"{\"rate\": 1e9, \"scale\": 1000}", "scale"},
    {"{\"rate\": 1e-9}", "rate"},
};

START_TEST(impossible_specs)
{
	struct mc_gen_spec spec;
	struct mc_trace t;
	struct mc_err err = {0};

	set(&spec, impossible[_i].json);
	ck_assert_int_eq(mc_gen_trace(&t, &spec, &err), MC_USAGE);
	ck_assert_str_eq(err.key, impossible[_i].key);
}
END_TEST

/* What is written is read back, column by column, also compressed and with times of every digit. */
START_TEST(round_trip)
{
	static const char *const names[] = {"trace_round_trip.jsonl", "trace_round_trip.jsonl.zst"};
	static const uint64_t big[] = {UINT64_MAX, 0};
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	struct mc_trace t, u;
	struct mc_err err = {0};

	make(&t, "{\"duration\": \"5min\", \"tick\": 0}");
	mc_trace_push(&t, t.arrival[t.n - 1] + 1, 600, 0, big);
	mc_trace_push(&t, t.arrival[t.n - 1] + 1000000, 600, UINT32_MAX, big);
	for (int k = 0; k < 2; k++) {
		p.path = names[k];
		ck_assert_msg(!mc_trace_write(&t, names[k], NULL, &err), "%s", err.text);
		ck_assert_msg(!mc_trace_read(&u, &p, &err), "%s", err.text);
		ck_assert_uint_eq(u.fingerprint, mc_trace_hash(&t));
		mc_trace_fini(&u);
		unlink(names[k]);
	}
	ck_assert_int_eq(mc_trace_write(&t, "/dev/full", NULL, &err), MC_FAIL);
	memset(&err, 0, sizeof err);
	ck_assert_int_ne(mc_trace_write(&t, "no/such/folder/t.jsonl", NULL, &err), 0);
	mc_trace_fini(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("trace_gen");
	TCase *t = tcase_create("gen");

	tcase_add_test(t, same_seed_same_trace);
	tcase_add_test(t, ids_name_prefixes);
	tcase_add_test(t, turns_extend_prompts);
	tcase_add_test(t, parents_of_repeats);
	tcase_add_test(t, ticks_and_limits);
	tcase_add_test(t, scale);
	tcase_add_test(t, like_the_conversation_trace);
	tcase_add_loop_test(t, impossible_specs, 0, sizeof impossible / sizeof *impossible);
	tcase_add_test(t, round_trip);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
