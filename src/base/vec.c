#include "base/vec.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static void *check(void *p, size_t size)
{
	if (!p && size) {
		fprintf(stderr, "mooncake: out of memory (%zu bytes asked for)\n", size);
		abort();
	}
	return p;
}

void *mc_xmalloc(size_t size)
{
	return check(malloc(size ? size : 1), size);
}

void *mc_xmalloc_large(size_t n, size_t size)
{
	void *p = NULL;

	if (size && n > SIZE_MAX / 2 / size)
		check(NULL, SIZE_MAX);
	size *= n;
	if (size < 2 * HUGE_PAGE)
		return mc_xmalloc(size);
	size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	if (posix_memalign(&p, HUGE_PAGE, size))
		check(NULL, size);
	madvise(p, size, MADV_HUGEPAGE); /* a wish */
	return p;
}

void *mc_xcalloc(size_t n, size_t size)
{
	return check(calloc(n ? n : 1, size ? size : 1), n * size);
}

void *mc_xrealloc(void *p, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		check(NULL, SIZE_MAX);
	size *= n;
	return check(realloc(p, size ? size : 1), size);
}

char *mc_xstrdup(const char *s)
{
	return check(strdup(s), strlen(s) + 1);
}

void *mc_vec_grow(void *at, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap + *cap / 2 + 8;

	if (n < need)
		n = need;
	at = mc_xrealloc(at, n, size);
	*cap = n;
	return at;
}
