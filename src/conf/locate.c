/*
 * Places of keys in a JSON text. jansson keeps none, so the text is scanned again, only once something is
 * wrong. The scanner trusts no text: it stops at the first thing that it doesn't understand.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "conf/internal.h"

#define NESTING_MAX 2048 /* jansson's own limit */

struct scan {
	const char *at;
	size_t n, i;
	const struct mc_conf_path *want; /* NULL: look for `stop` */
	size_t stop;
	struct mc_str path;
	size_t key, value; /* found */
};

enum { SCAN_ON, SCAN_FOUND, SCAN_LOST };

void mc_conf_line_column(const struct mc_conf_text *t, size_t offset, long *line, long *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < offset && i < t->n; i++) {
		if (t->at[i] == '\n') {
			++*line;
			*column = 1;
		} else {
			*column += ((unsigned char)t->at[i] & 0xc0) != 0x80;
		}
	}
}

static void skip_space(struct scan *s)
{
	while (s->i < s->n && memchr(" \t\r\n", s->at[s->i], 4))
		s->i++;
}

static bool skip_char(struct scan *s, char c)
{
	skip_space(s);
	if (s->i >= s->n || s->at[s->i] != c)
		return false;
	s->i++;
	return true;
}

static bool skip_string(struct scan *s)
{
	for (s->i++; s->i < s->n; s->i++) {
		if (s->at[s->i] == '\\')
			s->i++;
		else if (s->at[s->i] == '"')
			return s->i++, true;
		else if (s->at[s->i] == '\n')
			return false;
	}
	s->i = s->n;
	return false;
}

static int scan_value(struct scan *s, size_t matched, int depth);

/* Escapes in a key are left to jansson. */
static json_t *key_text(const struct scan *s, size_t from)
{
	return json_loadb(s->at + from, s->i - from, JSON_DECODE_ANY, NULL);
}

/* From after '{'. matched: parts of the wanted path that lead here, SIZE_MAX when they don't. */
static int scan_object(struct scan *s, size_t matched, int depth)
{
	size_t base = s->path.n;

	if (skip_char(s, '}'))
		return SCAN_ON;
	do {
		size_t key, m = SIZE_MAX;
		json_t *text;
		int rc;

		skip_space(s);
		key = s->i;
		if (key >= s->n || s->at[key] != '"' || !skip_string(s))
			return s->key = key, SCAN_LOST;
		text = key_text(s, key);
		if (text && s->want && matched < s->want->n &&
		    !strcmp(s->want->part[matched], json_string_value(text)))
			m = matched + 1;
		mc_str_printf(&s->path, "%s%s", base ? "." : "", text ? json_string_value(text) : "?");
		json_decref(text);
		s->key = key;
		if (!s->want && s->i >= s->stop)
			return SCAN_FOUND;
		if (!skip_char(s, ':'))
			return SCAN_LOST;
		skip_space(s);
		if (s->want && m == s->want->n) {
			s->value = s->i;
			return SCAN_FOUND;
		}
		rc = scan_value(s, m, depth + 1);
		if (rc != SCAN_ON)
			return rc;
		mc_str_cut(&s->path, base);
	} while (skip_char(s, ','));
	s->key = s->i;
	return skip_char(s, '}') ? SCAN_ON : SCAN_LOST;
}

static int scan_array(struct scan *s, int depth)
{
	if (skip_char(s, ']'))
		return SCAN_ON;
	do {
		int rc = scan_value(s, SIZE_MAX, depth + 1);

		if (rc != SCAN_ON)
			return rc;
	} while (skip_char(s, ','));
	s->key = s->i;
	return skip_char(s, ']') ? SCAN_ON : SCAN_LOST;
}

static int scan_value(struct scan *s, size_t matched, int depth)
{
	size_t start;

	if (depth > NESTING_MAX)
		return SCAN_LOST;
	if (skip_char(s, '{'))
		return scan_object(s, matched, depth);
	if (skip_char(s, '['))
		return scan_array(s, depth);
	start = s->i;
	if (start < s->n && s->at[start] == '"') {
		if (!skip_string(s))
			return s->key = start, SCAN_LOST;
	} else {
		while (s->i < s->n && !memchr(" \t\r\n,:{}[]\"", s->at[s->i], 11))
			s->i++;
	}
	if (s->i == start || (!s->want && s->i >= s->stop))
		return s->key = start, s->i == start ? SCAN_LOST : SCAN_FOUND;
	return SCAN_ON;
}

bool mc_conf_locate(const struct mc_conf_text *t, const struct mc_conf_path *p, size_t *key, size_t *value)
{
	struct scan s = {.at = t->at, .n = t->n, .want = p};
	bool found = p->n && scan_value(&s, 0, 0) == SCAN_FOUND;

	mc_str_fini(&s.path);
	*key = s.key;
	*value = s.value;
	return found;
}

size_t mc_conf_locate_stop(const struct mc_conf_text *t, size_t stop, char *key, size_t key_size)
{
	struct scan s = {.at = t->at, .n = t->n, .stop = stop};

	/* Not lost: something is wrong after the value, as text after the last brace. */
	if (scan_value(&s, 0, 0) == SCAN_ON) {
		skip_space(&s);
		s.key = s.i;
	}
	snprintf(key, key_size, "%s", mc_str_text(&s.path));
	mc_str_fini(&s.path);
	return s.key < t->n ? s.key : t->n;
}
