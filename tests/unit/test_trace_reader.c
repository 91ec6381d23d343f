/* Reading whole traces: what every malformed record is told, skipping some, and what is done after reading.
 */
#include "unit.h"

#include <math.h>

#include "base/hash.h"
#include "trace/reader.h"
#include "trace/reshape.h"
#include "trace_unit.h"

#define GOOD(ms, id)                                                                                         \
	"{\"timestamp\": " #ms ", \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [" #id          \
	", 1" #id "]}\n"

static int read_text(const char *text, int64_t max_bad, struct mc_trace *t, struct mc_err *err)
{
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	struct trace_file f;
	int rc;

	trace_file_text(&f, text);
	p.path = f.path;
	p.max_bad = max_bad;
	memset(err, 0, sizeof *err);
	rc = mc_trace_read(t, &p, err);
	unlink(f.path);
	if (rc)
		ck_assert_str_eq(err->file, f.path);
	return rc;
}

START_TEST(good)
{
	struct mc_trace t;
	struct mc_err err;

	ck_assert_int_eq(read_text(GOOD(1000, 7) "\n" GOOD(1000.5, 8) " \r\n" GOOD(1001, 9), 0, &t, &err), 0);
	ck_assert_int_eq(t.n, 3);
	ck_assert_int_eq(t.arrival[0], 0); /* time 0 is the first record's */
	ck_assert_int_eq(t.arrival[1], MC_NS_PER_MS / 2);
	ck_assert_int_eq(t.arrival[2], MC_NS_PER_MS);
	ck_assert_uint_eq(t.input[1], 600);
	ck_assert_uint_eq(t.output[1], 5);
	ck_assert_uint_eq(mc_trace_blocks(&t, 2), 2);
	ck_assert_uint_eq(t.block[t.first[2]], 9);
	ck_assert_uint_eq(t.block[t.first[2] + 1], 19);
	ck_assert_uint_eq(t.fingerprint, mc_trace_hash(&t));
	mc_trace_fini(&t);
}
END_TEST

#define R(time, in, out, ids)                                                                                \
	"{\"timestamp\": " time ", \"input_length\": " in ", \"output_length\": " out ", \"hash_ids\": " ids \
	"}"

/* A bad record after a good one (time 5): its key and a piece of its text. */
static const struct {
	const char *line, *key, *text;
} malformed[] = {
    {"hello", "", "not JSON"},
    {"[1, 2]", "", "is a list; expected an object"},
    {"3", "", "is an integer; expected an object"},
    {R("5", "600", "5", "[1, 2]") " x", "", "not JSON"},
    {R("5", "600", "5", "[1, 2"), "", "not JSON"},
    {R("5", "600", "5", "[1, 2]") R("5", "600", "5", "[1, 2]"), "", "not JSON"},
    {"{}", "timestamp", "is missing"},
    {"{\"timestamp\": 5, \"timestamp\": 5}", "", "uplicate"},
    {"{\"timestamp\": 5, \"output_length\": 5, \"hash_ids\": [1, 2]}", "input_length", "is missing"},
    {"{\"timestamp\": 5, \"input_length\": 600, \"hash_ids\": [1, 2]}", "output_length", "is missing"},
    {"{\"timestamp\": 5, \"input_length\": 600, \"output_length\": 5}", "hash_ids", "is missing"},
    {R("-1", "600", "5", "[1, 2]"), "timestamp", "is -1; expected milliseconds, 0 or more"},
    {R("4", "600", "5", "[1, 2]"), "timestamp", "steps back from 5 to 4 ms"},
    {R("\"5\"", "600", "5", "[1, 2]"), "timestamp", "is a string"},
    {R("05", "600", "5", "[1, 2]"), "", "not JSON"},
    {R("9e12", "600", "5", "[1, 2]"), "", ""}, /* fits: see below */
    {R("9300000000000", "600", "5", "[1, 2]"), "timestamp", "below 292 years"},
    {R("1e300", "600", "5", "[1, 2]"), "timestamp", "below 292 years"},
    {R("1e999", "600", "5", "[1, 2]"), "", "not JSON"},
    {R("5", "\"600\"", "5", "[1, 2]"), "input_length", "is a string; expected an integer"},
    {R("5", "600.0", "5", "[1, 2]"), "input_length", "with a fraction"},
    {R("5", "-600", "5", "[1, 2]"), "input_length", "is -600"},
    {R("5", "0", "5", "[]"), "input_length", "is 0; expected 1 to"},
    {R("5", "4294967296", "5", "[1, 2]"), "input_length", "expected 1 to 2^32 - 1"},
    {R("5", "99999999999999999999", "5", "[1, 2]"), "input_length", "is 1"},
    {R("5", "600", "null", "[1, 2]"), "output_length", "is null"},
    {R("5", "600", "-5", "[1, 2]"), "output_length", "is -5"},
    {R("5", "600", "5000000000", "[1, 2]"), "output_length", "expected 0 to 2^32 - 1"},
    {R("5", "600", "5", "7"), "hash_ids", "is an integer; expected a list"},
    {R("5", "600", "5", "[1]"), "hash_ids", "has 1 ids; expected 2"},
    {R("5", "600", "5", "[1, 2, 3]"), "hash_ids", "has 3 ids; expected 2"},
    {R("5", "513", "5", "[1]"), "hash_ids", "has 1 ids; expected 2"},
    {R("5", "512", "5", "[1, 2]"), "hash_ids", "has 2 ids; expected 1"},
    {R("5", "600", "5", "[1, -2]"), "hash_ids", "id 2 is -2; expected 0 to 2^64 - 1"},
    {R("5", "600", "5", "[1, \"2\"]"), "hash_ids", "id 2 is a string"},
    {R("5", "600", "5", "[1, 2.5]"), "hash_ids", "id 2 is a number with a fraction"},
    {R("5", "600", "5", "[1, 18446744073709551616000]"), "hash_ids", "expected 0 to 2^64 - 1"},
    {R("5", "600", "5", "[1, 18446744073709551616]"), "", "2^64 - 1"},
    {R("5", "600", "5", "[2, 2]"), "hash_ids", "id 2 comes twice, again as number 2"},
    {R("5", "1100", "5", "[9, 3, 9]"), "hash_ids", "id 9 comes twice, again as number 3"},
};

START_TEST(malformed_record)
{
	struct mc_trace t;
	struct mc_err err;
	char text[1024], where[512];

	snprintf(text, sizeof text, "%s%s\n%s", GOOD(5, 3), malformed[_i].line, GOOD(9000000000000, 4));
	if (!malformed[_i].text[0]) {
		ck_assert_int_eq(read_text(text, 0, &t, &err), 0);
		mc_trace_fini(&t);
		return;
	}
	ck_assert_int_eq(read_text(text, 0, &t, &err), MC_USAGE);
	ck_assert_int_eq(t.n, 0);
	ck_assert_ptr_null(t.block);
	ck_assert_int_eq(err.line, 2);
	ck_assert_str_eq(err.key, malformed[_i].key);
	ck_assert_msg(strstr(err.text, malformed[_i].text), "%s", mc_err_format(&err, where, sizeof where));
	/* One bad record may be skipped, and is told as a warning. */
	ck_assert_int_eq(read_text(text, 1, &t, &err), 0);
	ck_assert_int_eq(t.n, 2);
	ck_assert_int_eq(t.bad, 1);
	ck_assert_int_eq(err.rc, 0);
	ck_assert_ptr_nonnull(strstr(err.text, "line 2: "));
	mc_trace_fini(&t);
}
END_TEST

START_TEST(ids_use_all_bits)
{
	struct mc_trace t;
	struct mc_err err;

	ck_assert_int_eq(
	    read_text(R("5", "600", "0", "[18446744073709551615, 9223372036854775808]"), 0, &t, &err), 0);
	ck_assert(t.block[0] == UINT64_MAX && t.block[1] == (uint64_t)INT64_MAX + 1);
	ck_assert_uint_eq(t.output[0], 0);
	mc_trace_fini(&t);
}
END_TEST

START_TEST(too_many_bad)
{
	struct mc_trace t;
	struct mc_err err;
	const char *text = "a\n" GOOD(5, 3) "{}\nb\nc\n";

	ck_assert_int_eq(read_text(text, 4, &t, &err), 0);
	ck_assert_int_eq(t.bad, 4);
	mc_trace_fini(&t);
	ck_assert_int_eq(read_text(text, 3, &t, &err), MC_USAGE);
	ck_assert_int_eq(err.line, 5);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 3 bad records: line 1: not JSON"));
	ck_assert_ptr_nonnull(strstr(err.text, "line 3: timestamp: is missing"));
	ck_assert_int_eq(read_text("a\nb\n", 5, &t, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "holds no request"));
	ck_assert_ptr_nonnull(strstr(err.text, "line 1: not JSON"));
}
END_TEST

START_TEST(empty)
{
	static const char *const some[] = {"", "\n", " \n\n", "\xef\xbb\xbf\r\n"};
	struct mc_trace t;
	struct mc_err err;

	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		ck_assert_int_eq(read_text(some[i], 0, &t, &err), MC_USAGE);
		ck_assert_ptr_nonnull(strstr(err.text, "holds no request"));
	}
}
END_TEST

/* A trace of n requests, two an instant, 4 s apart; input 100 * i + 1 tokens in blocks of 8 with ids by
 * prefix. */
static void make(struct mc_trace *t, int64_t n)
{
	mc_trace_init(t, 8);
	for (int64_t i = 0; i < n; i++) {
		uint32_t input = 100 * (uint32_t)i + 1, blocks = (input + 7) / 8;
		uint64_t *id = malloc(blocks * sizeof *id), h = (uint64_t)i % 3;

		for (uint32_t k = 0; k < blocks; k++)
			id[k] = h = mc_hash_pair(h, k);
		mc_trace_push(t, i / 2 * 4 * MC_NS_PER_S, input, 1, id);
		free(id);
	}
}

START_TEST(cut)
{
	struct mc_trace t, whole;
	struct mc_err err = {0};

	make(&whole, 20);
	make(&t, 20);
	ck_assert_int_eq(mc_trace_cut(&t, 7 * MC_NS_PER_S, 5, &err), 0);
	ck_assert_int_eq(t.n, 5);
	for (int64_t i = 0; i < t.n; i++) {
		ck_assert_int_eq(t.arrival[i], whole.arrival[i + 4] - 7 * MC_NS_PER_S);
		ck_assert_uint_eq(t.input[i], whole.input[i + 4]);
		ck_assert_uint_eq(mc_trace_blocks(&t, i), mc_trace_blocks(&whole, i + 4));
		ck_assert_mem_eq(t.block + t.first[i], whole.block + whole.first[i + 4],
				 mc_trace_blocks(&t, i) * sizeof *t.block);
	}
	ck_assert_int_eq(mc_trace_cut(&t, 1000 * MC_NS_PER_S, 0, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "start");
	mc_trace_fini(&t);
	mc_trace_fini(&whole);
}
END_TEST

START_TEST(rate)
{
	struct mc_trace t;
	struct mc_err err = {0};

	make(&t, 20);
	ck_assert_int_eq(mc_trace_rate(&t, 3, &err), 0);
	for (int64_t i = 0; i < t.n; i++)
		ck_assert_int_eq(t.arrival[i], llround((double)(i / 2) * 4e9 / 3));
	ck_assert_int_eq(mc_trace_rate(&t, 0, &err), MC_USAGE);
	ck_assert_int_eq(mc_trace_rate(&t, NAN, NULL), MC_USAGE);
	ck_assert_int_eq(mc_trace_rate(&t, INFINITY, NULL), MC_USAGE);
	ck_assert_int_eq(mc_trace_rate(&t, 1e-9, NULL), MC_USAGE);
	mc_trace_fini(&t);
}
END_TEST

/* Each request stays between its own instant and the next, in order, and uses the whole gap. */
START_TEST(spread)
{
	struct mc_trace t, again, whole;
	double sum = 0;

	make(&whole, 400);
	make(&t, 400);
	make(&again, 400);
	mc_trace_spread(&t, 5);
	mc_trace_spread(&again, 5);
	for (int64_t i = 0; i < t.n; i++) {
		mc_time gap = t.arrival[i] - whole.arrival[i];

		ck_assert_int_ge(gap, 0);
		ck_assert_int_lt(gap, 4 * MC_NS_PER_S);
		ck_assert_int_ge(t.arrival[i], i ? t.arrival[i - 1] : 0);
		sum += (double)gap / 4e9;
	}
	ck_assert_double_lt(fabs(sum / 400 - 0.5), 0.06); /* four standard errors of a uniform mean */
	ck_assert_mem_eq(t.arrival, again.arrival, 400 * sizeof *t.arrival);
	mc_trace_spread(&again, 6);
	ck_assert_mem_ne(t.arrival, again.arrival, 400 * sizeof *t.arrival);
	mc_trace_fini(&t);
	mc_trace_fini(&again);
	mc_trace_fini(&whole);
}
END_TEST

/* Other times of a trace that was read once are those of reading it again. */
START_TEST(retime)
{
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	struct mc_trace t, read, timed;
	struct mc_err err = {0};

	make(&t, 400);
	for (int k = 0; k < 12; k++) {
		p.rate = k % 4 ? 0.3 * k : 1;
		p.spread_ticks = k % 2;
		p.seed = (uint64_t)k;
		make(&read, 400);
		ck_assert_int_eq(mc_trace_reshape(&read, &p, &err), 0);
		ck_assert_int_eq(mc_trace_retime(&t, &p, &timed, &err), 0);
		ck_assert_mem_eq(timed.arrival, read.arrival, 400 * sizeof *t.arrival);
		ck_assert_uint_eq(mc_trace_hash(&timed), mc_trace_hash(&read));
		mc_trace_retime_fini(&timed);
		mc_trace_fini(&read);
	}
	p.rate = 1e-9;
	ck_assert_int_eq(mc_trace_retime(&t, &p, &timed, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "rate");
	ck_assert_int_eq(timed.n, 0);
	mc_trace_fini(&t);
}
END_TEST

/* Two prompts share as many leading tokens after re-blocking as whole blocks allow, and no id names two
 * prefixes. */
START_TEST(reblock)
{
	static const int64_t sizes[] = {1, 2, 4, 8, 16, 64, 4096};
	struct mc_trace t, whole;

	make(&whole, 12);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		make(&t, 12);
		ck_assert_int_eq(mc_trace_reblock(&t, sizes[s], NULL), 0);
		ck_assert_int_eq(t.block_tokens, sizes[s]);
		for (int64_t i = 0; i < t.n; i++) {
			ck_assert_uint_eq(mc_trace_blocks(&t, i),
					  (t.input[i] + (uint64_t)sizes[s] - 1) / (uint64_t)sizes[s]);
			for (int64_t j = 0; j < i; j++) {
				uint64_t n = 0, old = 0, least = mc_trace_blocks(&t, j);

				while (old < mc_trace_blocks(&whole, j) &&
				       whole.block[whole.first[j] + old] == whole.block[whole.first[i] + old])
					old++;
				while (n < least && t.block[t.first[j] + n] == t.block[t.first[i] + n])
					n++;
				/* All of j's blocks are i's when the two are of one chain, else none. */
				if (i % 3 != j % 3)
					ck_assert(n == 0 && old == 0);
				else if (sizes[s] <= 8)
					ck_assert_uint_eq(n, least);
				else /* the last, partial group of j ends elsewhere than i's */
					ck_assert_uint_eq(n, old * 8 / (uint64_t)sizes[s]);
			}
		}
		mc_trace_fini(&t);
	}
	make(&t, 2);
	ck_assert_int_eq(mc_trace_reblock(&t, 12, NULL), MC_USAGE);
	ck_assert_int_eq(mc_trace_reblock(&t, 3, NULL), MC_USAGE);
	ck_assert_int_eq(mc_trace_reblock(&t, -8, NULL), MC_USAGE);
	mc_trace_fini(&t);
	mc_trace_fini(&whole);
}
END_TEST

/* Ids that name contents, not prefixes: the second blocks of two prompts are the same only if the first are.
 */
START_TEST(chain)
{
	struct mc_trace t;
	const uint64_t a[] = {5, 7, 9}, b[] = {6, 7, 9}, c[] = {5, 7, 8}, d[] = {7, 5};

	mc_trace_init(&t, 16);
	mc_trace_push(&t, 0, 48, 1, a);
	mc_trace_push(&t, 0, 48, 1, b);
	mc_trace_push(&t, 0, 48, 1, c);
	mc_trace_push(&t, 0, 32, 1, d);
	mc_trace_chain(&t);
	ck_assert_uint_eq(t.block[0], t.block[6]);
	ck_assert_uint_eq(t.block[1], t.block[7]);
	ck_assert_uint_ne(t.block[1], t.block[4]);
	ck_assert_uint_ne(t.block[2], t.block[5]);
	ck_assert_uint_ne(t.block[2], t.block[8]);
	ck_assert_uint_ne(t.block[9], t.block[1]);
	mc_trace_fini(&t);
}
END_TEST

START_TEST(bad_parameters)
{
	struct mc_trace t;
	struct mc_err err = {0};
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;

	p.path = "none";
	p.format = "parquet";
	ck_assert_int_eq(mc_trace_read(&t, &p, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "format");
	memset(&err, 0, sizeof err);
	p.format = "mooncake";
	p.block_tokens = 0;
	ck_assert_int_eq(mc_trace_read(&t, &p, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "block_tokens");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("trace_reader");
	TCase *t = tcase_create("reader");

	tcase_add_test(t, good);
	tcase_add_loop_test(t, malformed_record, 0, sizeof malformed / sizeof *malformed);
	tcase_add_test(t, ids_use_all_bits);
	tcase_add_test(t, too_many_bad);
	tcase_add_test(t, empty);
	tcase_add_test(t, cut);
	tcase_add_test(t, rate);
	tcase_add_test(t, retime);
	tcase_add_test(t, spread);
	tcase_add_test(t, reblock);
	tcase_add_test(t, chain);
	tcase_add_test(t, bad_parameters);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
