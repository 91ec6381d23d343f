/* A growing string. {0} is an empty one; `at` is NUL-terminated once something was added. */
#ifndef MC_BASE_STR_H
#define MC_BASE_STR_H

#include <stdarg.h>
#include <stddef.h>

struct mc_str {
	char *at;
	size_t n, cap; /* n: bytes without the NUL */
};

void mc_str_printf(struct mc_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mc_str_vprintf(struct mc_str *s, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
void mc_str_add(struct mc_str *s, const char *bytes, size_t n);
void mc_str_cut(struct mc_str *s, size_t n);     /* keep the first n bytes; n <= s->n */
const char *mc_str_text(const struct mc_str *s); /* never NULL; valid until the next change */
void mc_str_fini(struct mc_str *s);

/* Cut a line at its separators, which become NULs. Returns the number of fields, of which the first `most`
 * are in field. */
int mc_str_fields(char *line, char separator, char **field, int most);

#endif
