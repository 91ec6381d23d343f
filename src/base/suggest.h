/* "Did you mean": the nearest word of a list. */
#ifndef MC_BASE_SUGGEST_H
#define MC_BASE_SUGGEST_H

#include <stddef.h>

/* Edits (insert, drop, replace, swap of neighbours) from a to b. Words beyond 127 bytes count as far away. */
size_t mc_suggest_distance(const char *a, const char *b);

/* Of the words of a NULL-terminated list the nearest one, the first of equals; NULL when none is near enough
 * (more than a third of it differs, and it doesn't end with ".word" either). */
const char *mc_suggest(const char *word, const char *const *list);

#endif
