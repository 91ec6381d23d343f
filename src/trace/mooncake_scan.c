/*
 * The fast path. Whatever it is not sure of it refuses, and jansson decides: an escape in a key, more unknown
 * keys than it can remember. Values of unknown keys that are more than a plain word or number are judged by
 * jansson on the spot.
 */
#include <jansson.h>
#include <string.h>

#include "trace/mooncake.h"

#define SCAN_UNKNOWN 32   /* unknown keys remembered, to refuse duplicates */
#define SCAN_DEPTH   1000 /* jansson stops at 2,048 */

struct scan {
	const char *p, *end;
	struct {
		const char *at;
		size_t n;
	} unknown[SCAN_UNKNOWN];
	int n_unknown;
	unsigned seen; /* a bit a known key */
};

static inline void skip_space(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
		s->p++;
}

static inline bool eat(struct scan *s, char c)
{
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static inline bool is_digit(const struct scan *s)
{
	return s->p < s->end && (unsigned)(*s->p - '0') < 10;
}

/* The digits of a non-negative integer. */
static inline bool scan_digits(struct scan *s, uint64_t *out)
{
	const char *start = s->p;
	uint64_t v = 0;

	while (is_digit(s)) {
		unsigned d = (unsigned)(*s->p - '0');

		if (v >= UINT64_MAX / 10 && (v > UINT64_MAX / 10 || d > UINT64_MAX % 10))
			return false;
		v = v * 10 + d;
		s->p++;
	}
	*out = v;
	return s->p > start && (*start != '0' || s->p == start + 1);
}

/* The same, and no fraction or exponent follows. Some byte does: the value ends inside an object. */
static inline bool scan_uint(struct scan *s, uint64_t max, uint64_t *out)
{
	return scan_digits(s, out) && *out <= max && s->p < s->end && *s->p != '.' && *s->p != 'e' &&
	       *s->p != 'E';
}

/* Milliseconds, maybe with a fraction. */
static bool scan_timestamp(struct scan *s, mc_time *out)
{
	const char *start = s->p;
	uint64_t ms;
	double real;

	if (!scan_digits(s, &ms) || ms > INT64_MAX / MC_NS_PER_MS)
		return false;
	*out = (mc_time)ms * MC_NS_PER_MS;
	if (eat(s, '.')) {
		if (!is_digit(s))
			return false;
		while (is_digit(s))
			s->p++;
		/* A byte follows that is no part of a number, so strtod stays inside the line. */
		if (s->p == s->end)
			return false;
		real = strtod(start, NULL);
		if (!(real < 9.2e12))
			return false;
		*out = mc_mooncake_ns(real);
	}
	/* An exponent is left to jansson. */
	return s->p < s->end && *s->p != 'e' && *s->p != 'E';
}

static bool scan_ids(struct scan *s, struct mc_mooncake_ids *ids)
{
	uint64_t id;

	ids->n = 0;
	if (!eat(s, '['))
		return false;
	skip_space(s);
	if (eat(s, ']'))
		return true;
	do {
		skip_space(s);
		if (!scan_uint(s, UINT64_MAX, &id))
			return false;
		mc_vec_push(ids, id);
		skip_space(s);
	} while (eat(s, ','));
	return eat(s, ']');
}

/* A string of printable ASCII without escapes; *at and *n are what is between the quotes. */
static bool scan_string(struct scan *s, const char **at, size_t *n)
{
	if (!eat(s, '"'))
		return false;
	*at = s->p;
	while (s->p < s->end && *s->p >= 0x20 && *s->p < 0x7f && *s->p != '"' && *s->p != '\\')
		s->p++;
	*n = (size_t)(s->p - *at);
	return eat(s, '"');
}

/* Move past a value by its brackets and quotes alone. */
static bool skip_span(struct scan *s)
{
	bool quoted = false;
	int depth = 0;

	for (; s->p < s->end; s->p++) {
		char c = *s->p;

		/* jansson overlooks a NUL after a number. */
		if (!c)
			return false;
		if (quoted) {
			if (c == '\\' && ++s->p == s->end)
				return false;
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '[' || c == '{') {
			if (++depth > SCAN_DEPTH)
				return false;
		} else if (c == ']' || c == '}') {
			if (!depth--)
				return true;
		} else if (c == ',' && !depth) {
			return true;
		}
	}
	return false;
}

static bool skip_value(struct scan *s)
{
	const char *start = s->p, *at;
	size_t n;
	uint64_t v;
	json_t *json;

	if (scan_uint(s, INT64_MAX, &v) || scan_string(s, &at, &n))
		return true;
	s->p = start;
	if (!skip_span(s))
		return false;
	json = json_loadb(start, (size_t)(s->p - start), JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	json_decref(json);
	return json != NULL;
}

static bool is_new(struct scan *s, const char *key, size_t n)
{
	for (int i = 0; i < s->n_unknown; i++)
		if (s->unknown[i].n == n && !memcmp(s->unknown[i].at, key, n))
			return false;
	if (s->n_unknown == SCAN_UNKNOWN)
		return false;
	s->unknown[s->n_unknown].at = key;
	s->unknown[s->n_unknown++].n = n;
	return true;
}

/* A chat's id, or -1 where that is allowed. */
static bool scan_chat(struct scan *s, bool none, int64_t *out)
{
	bool minus = none && eat(s, '-');
	uint64_t v;

	if (!scan_uint(s, minus ? 1 : INT64_MAX, &v) || (minus && !v))
		return false;
	*out = minus ? -1 : (int64_t)v;
	return true;
}

static bool scan_value(struct scan *s, const char *key, size_t n, struct mc_mooncake_record *r)
{
	uint64_t v;
	int64_t *to;
	unsigned bit;

	if (n == 8 && !memcmp(key, "hash_ids", 8)) {
		bit = 1;
		to = NULL;
		if (!scan_ids(s, &r->ids))
			return false;
	} else if (n == 9 && !memcmp(key, "timestamp", 9)) {
		bit = 2;
		if (!scan_timestamp(s, &r->timestamp))
			return false;
	} else if ((n == 12 && !memcmp(key, "input_length", 12)) ||
		   (n == 13 && !memcmp(key, "output_length", 13))) {
		bit = n == 12 ? 4 : 8;
		to = n == 12 ? &r->input : &r->output;
		if (!scan_uint(s, INT64_MAX, &v))
			return false;
		*to = (int64_t)v;
	} else if ((n == 7 && !memcmp(key, "chat_id", 7)) ||
		   (n == 14 && !memcmp(key, "parent_chat_id", 14))) {
		bit = n == 7 ? 16 : 32;
		if (!scan_chat(s, n == 14, n == 7 ? &r->chat : &r->parent))
			return false;
	} else {
		return is_new(s, key, n) && skip_value(s);
	}
	if (s->seen & bit)
		return false;
	s->seen |= bit;
	return true;
}

bool mc_mooncake_scan(const char *line, size_t n, struct mc_mooncake_record *r)
{
	struct scan s = {.p = line, .end = line + n};

	r->chat = r->parent = -1;
	skip_space(&s);
	if (!eat(&s, '{'))
		return false;
	do {
		const char *key;
		size_t len;

		skip_space(&s);
		if (!scan_string(&s, &key, &len))
			return false;
		skip_space(&s);
		if (!eat(&s, ':'))
			return false;
		skip_space(&s);
		if (!scan_value(&s, key, len, r))
			return false;
		skip_space(&s);
	} while (eat(&s, ','));
	if (!eat(&s, '}'))
		return false;
	skip_space(&s);
	return s.p == s.end && (s.seen & 15) == 15;
}
