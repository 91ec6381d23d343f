#include "base/suggest.h"

#include <string.h>

#define WORD_MAX 127

size_t mc_suggest_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), row[3][WORD_MAX + 1];
	size_t *prev2 = row[0], *prev = row[1], *cur = row[2], *tmp;

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= m; j++)
		prev[j] = j;
	for (size_t i = 1; i <= n; i++) {
		cur[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t d = prev[j - 1] + (a[i - 1] != b[j - 1]);

			d = prev[j] + 1 < d ? prev[j] + 1 : d;
			d = cur[j - 1] + 1 < d ? cur[j - 1] + 1 : d;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    prev2[j - 2] + 1 < d)
				d = prev2[j - 2] + 1;
			cur[j] = d;
		}
		tmp = prev2, prev2 = prev, prev = cur, cur = tmp;
	}
	return prev[m];
}

/* "ttft" for "slo.ttft". */
static int is_last_part(const char *word, const char *key)
{
	size_t n = strlen(word), m = strlen(key);

	return n && m > n && key[m - n - 1] == '.' && !strcmp(key + m - n, word);
}

const char *mc_suggest(const char *word, const char *const *list)
{
	const char *best = NULL;
	size_t best_d = 0;

	for (; *list; list++) {
		size_t d = is_last_part(word, *list) ? 1 : mc_suggest_distance(word, *list);
		size_t limit = strlen(*list) / 3 > 1 ? strlen(*list) / 3 : 1;

		if (d <= limit && (!best || d < best_d)) {
			best = *list;
			best_d = d;
		}
	}
	return best;
}
