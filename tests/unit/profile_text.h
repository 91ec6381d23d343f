/* For tests of profiles: a committed profile with one text replaced by another. */
#ifndef MC_TESTS_PROFILE_TEXT_H
#define MC_TESTS_PROFILE_TEXT_H

#include <stdio.h>
#include <string.h>

#include "unit.h"

/* Text of a file below the source tree; the caller frees it. */
static inline char *source_text(const char *path)
{
	char full[4096], *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(full, sizeof full, "%s/%s", getenv("MC_SRCDIR"), path);
	f = fopen(full, "r");
	ck_assert_msg(f != NULL, "%s is not there", full);
	ck_assert_int_lt((int)fread(text, 1, 1 << 20, f), 1 << 20);
	fclose(f);
	return text;
}

/* The first `from` becomes `to`; it must be there, or the test tests nothing. Frees text. */
static inline char *doctored(char *text, const char *from, const char *to)
{
	char *at = strstr(text, from), *out;

	ck_assert_msg(at != NULL, "'%s' is not in the profile", from);
	out = malloc(strlen(text) + strlen(to) + 1);
	sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	free(text);
	return out;
}

#endif
