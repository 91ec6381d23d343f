#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"

void mc_str_vprintf(struct mc_str *s, const char *fmt, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	assert(n >= 0);
	mc_vec_reserve(s, s->n + (size_t)n + 1);
	vsnprintf(s->at + s->n, (size_t)n + 1, fmt, args);
	s->n += (size_t)n;
}

void mc_str_printf(struct mc_str *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	mc_str_vprintf(s, fmt, args);
	va_end(args);
}

void mc_str_add(struct mc_str *s, const char *bytes, size_t n)
{
	mc_vec_reserve(s, s->n + n + 1);
	memcpy(s->at + s->n, bytes, n);
	s->n += n;
	s->at[s->n] = 0;
}

void mc_str_cut(struct mc_str *s, size_t n)
{
	assert(n <= s->n);
	s->n = n;
	if (s->at)
		s->at[n] = 0;
}

const char *mc_str_text(const struct mc_str *s)
{
	return s->at ? s->at : "";
}

void mc_str_fini(struct mc_str *s)
{
	mc_vec_fini(s);
}

int mc_str_fields(char *line, char separator, char **field, int most)
{
	int n = 0;

	for (;; line++) {
		if (n < most)
			field[n] = line;
		n++;
		line = strchr(line, separator);
		if (!line)
			return n;
		*line = '\0';
	}
}
