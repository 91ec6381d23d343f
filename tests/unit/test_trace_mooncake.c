/* The hand scanner against jansson: the same lines, the same values, on random and on damaged lines. */
#include "unit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/hash.h"
#include "trace/mooncake.h"
#include "trace_unit.h"

static uint64_t state;

static uint64_t draw(uint64_t n)
{
	return mc_hash_u64(state++) % n;
}

struct line {
	char s[4096];
	size_t n;
	struct mc_mooncake_record r;
};

static void put(struct line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	l->n += (size_t)vsnprintf(l->s + l->n, sizeof l->s - l->n, fmt, ap);
	va_end(ap);
	HOLDS(l->n < sizeof l->s, "too long");
}

static void space(struct line *l)
{
	static const char *const some[] = {"", "", " ", " ", "\t", "  ", "\r"};

	put(l, "%s", some[draw(7)]);
}

static void put_ids(struct line *l, uint64_t max)
{
	uint64_t n = draw(12);

	put(l, "[");
	for (uint64_t i = 0; i < n; i++) {
		uint64_t id = mc_hash_u64(state++) >> draw(64);

		id = id > max ? max : id;
		mc_vec_push(&l->r.ids, id);
		if (i)
			put(l, ",");
		space(l);
		put(l, "%" PRIu64, id);
		space(l);
	}
	put(l, "]");
}

static void put_unknown(struct line *l)
{
	static const char *const value[] = {"17",
					    "-3",
					    "0.5e-3",
					    "true",
					    "null",
					    "\"a b\"",
					    "\"\\u00e9\\\"\"",
					    "[1, {}]",
					    "[[]]",
					    "{\"hash_ids\": []}",
					    "\"}{][\"",
					    "\"\xc3\xa9\""};

	put(l, "\"k%" PRIu64 "\":", state);
	space(l);
	put(l, "%s", value[draw(sizeof value / sizeof *value)]);
}

static void put_field(struct line *l, int field, uint64_t max)
{
	l->r.timestamp = field ? l->r.timestamp : (mc_time)draw(UINT64_C(1) << (1 + draw(42))) * MC_NS_PER_MS;
	switch (field) {
	case 0:
		put(l, "\"timestamp\":");
		space(l);
		put(l, "%" PRId64, l->r.timestamp / MC_NS_PER_MS);
		if (!draw(3) && l->r.timestamp < INT64_C(1) << 50) { /* exact as a double */
			put(l, ".5");
			l->r.timestamp += MC_NS_PER_MS / 2;
		}
		break;
	case 1:
		l->r.input = (int64_t)(mc_hash_u64(state++) >> (1 + draw(63)));
		put(l, "\"input_length\": %" PRId64, l->r.input);
		break;
	case 2:
		l->r.output = (int64_t)(mc_hash_u64(state++) >> (1 + draw(63)));
		put(l, "\"output_length\":%" PRId64, l->r.output);
		break;
	case 3:
		put(l, "\"hash_ids\"");
		space(l);
		put(l, ":");
		put_ids(l, max);
		break;
	case 4:
		l->r.chat = (int64_t)(mc_hash_u64(state++) >> (1 + draw(63)));
		put(l, "\"chat_id\": %" PRId64, l->r.chat);
		break;
	case 5:
		l->r.parent = draw(2) ? -1 : (int64_t)(mc_hash_u64(state++) >> (1 + draw(63)));
		put(l, "\"parent_chat_id\":%" PRId64, l->r.parent);
		break;
	default:
		put_unknown(l);
	}
}

/* A valid line with its fields in any order. */
static void random_line(struct line *l, uint64_t max)
{
	int order[8] = {0, 1, 2, 3, 4, 5, 6, 7}, n = 4 + (int)draw(5);

	l->n = l->r.ids.n = 0;
	l->r.chat = l->r.parent = -1;
	for (int i = n - 1; i > 0; i--) {
		int j = (int)draw((uint64_t)i + 1), x = order[i];

		order[i] = order[j];
		order[j] = x;
	}
	space(l);
	put(l, "{");
	for (int i = 0; i < n; i++) {
		space(l);
		put_field(l, order[i], max);
		space(l);
		put(l, i + 1 < n ? "," : "}");
	}
	space(l);
}

static void same(const struct line *l, const struct mc_mooncake_record *a, const struct mc_mooncake_record *b)
{
	HOLDS(a->timestamp == b->timestamp && a->input == b->input && a->output == b->output &&
		  a->ids.n == b->ids.n && a->chat == b->chat && a->parent == b->parent,
	      "%.*s", (int)l->n, l->s);
	for (size_t i = 0; i < a->ids.n; i++)
		HOLDS(a->ids.at[i] == b->ids.at[i], "%.*s", (int)l->n, l->s);
}

START_TEST(valid_lines)
{
	struct mc_mooncake_record scanned = {0}, parsed = {0};
	static struct line l;

	for (int i = 0; i < 10000; i++) {
		struct mc_err err = {0};
		bool big = i % 4 == 0;

		random_line(&l, big ? UINT64_MAX : INT64_MAX);
		HOLDS(mc_mooncake_scan(l.s, l.n, &scanned), "%.*s", (int)l.n, l.s);
		same(&l, &scanned, &l.r);
		if (big)
			continue;
		HOLDS(!mc_mooncake_parse(l.s, l.n, &parsed, &err), "%s: %.*s", err.text, (int)l.n, l.s);
		same(&l, &parsed, &l.r);
	}
	mc_vec_fini(&scanned.ids);
	mc_vec_fini(&parsed.ids);
	mc_vec_fini(&l.r.ids);
}
END_TEST

static void damage(struct line *l)
{
	static const char some[] = "{}[],:\"\\0123456789-+.eEtruefalsn \t\n\x01\x7f\xc3\xa9";
	size_t at = (size_t)draw(l->n + !l->n), n = 1 + (size_t)draw(6);

	n = n > l->n - at ? l->n - at : n;
	switch (draw(4)) {
	case 0: /* one byte */
		l->s[at] = some[draw(sizeof some)];
		break;
	case 1: /* some bytes go */
		memmove(l->s + at, l->s + at + n, l->n - at - n);
		l->n -= n;
		break;
	case 2: /* some bytes come twice */
		memmove(l->s + at + n, l->s + at, l->n - at);
		l->n += n;
		break;
	default: /* cut */
		l->n = at ? at : 1;
	}
}

/* May the scanner leave this line to jansson? An escape, a sign, an exponent or a byte above ASCII. */
static bool unusual(const struct line *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->s[i] == '\\' || l->s[i] == '-' || (unsigned char)l->s[i] >= 0x7f ||
		    (i && (l->s[i] == 'e' || l->s[i] == 'E') && l->s[i - 1] >= '0' && l->s[i - 1] <= '9'))
			return true;
	return false;
}

START_TEST(damaged_lines)
{
	struct mc_mooncake_record scanned = {0}, parsed = {0};
	static struct line l;
	int accepted = 0;

	for (int i = 0; i < 30000; i++) {
		struct mc_err err = {0};
		bool fast, slow, big = false;

		random_line(&l, INT64_MAX);
		for (uint64_t k = draw(3); k < 3; k++)
			damage(&l);
		fast = mc_mooncake_scan(l.s, l.n, &scanned);
		slow = !mc_mooncake_parse(l.s, l.n, &parsed, &err);
		for (size_t k = 0; fast && k < scanned.ids.n; k++)
			big |= scanned.ids.at[k] > INT64_MAX;
		if (big)
			continue;
		HOLDS(fast == slow || (slow && unusual(&l)), "scanner %d, jansson %d (%s): %.*s", fast, slow,
		      err.text, (int)l.n, l.s);
		if (fast)
			same(&l, &scanned, &parsed);
		if (!slow)
			HOLDS(err.rc == MC_USAGE, "no error");
		accepted += fast;
	}
	ck_assert_int_gt(accepted, 1000); /* neither all good nor all bad */
	ck_assert_int_lt(accepted, 29000);
	mc_vec_fini(&scanned.ids);
	mc_vec_fini(&parsed.ids);
	mc_vec_fini(&l.r.ids);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("trace_mooncake");
	TCase *t = tcase_create("mooncake");

	tcase_add_test(t, valid_lines);
	tcase_add_test(t, damaged_lines);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
