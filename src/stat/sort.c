#include "stat/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define INSERTION_MAX 96 /* where clearing and adding up the counts costs more */
#define DIGITS        8  /* of 8 bits */
#define SIGN          (UINT64_C(1) << 63)

static void insertion_sort(int64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		int64_t x = v[i];
		size_t j = i;

		for (; j && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

static unsigned digit(int64_t x, int d)
{
	return (unsigned)((((uint64_t)x ^ SIGN) >> (8 * d)) & 255);
}

void mc_sort_i64(int64_t *v, size_t n)
{
	size_t(*count)[256];
	int64_t *from = v, *to, *other;

	if (n <= INSERTION_MAX) {
		insertion_sort(v, n);
		return;
	}
	count = mc_xcalloc(DIGITS, sizeof *count);
	to = other = mc_xrealloc(NULL, n, sizeof *other);
	for (size_t i = 0; i < n; i++)
		for (int d = 0; d < DIGITS; d++)
			count[d][digit(v[i], d)]++;
	for (int d = 0; d < DIGITS; d++) {
		size_t sum = 0;
		int64_t *swap;

		if (count[d][digit(from[0], d)] == n)
			continue;
		for (int b = 0; b < 256; b++) {
			size_t c = count[d][b];

			count[d][b] = sum;
			sum += c;
		}
		for (size_t i = 0; i < n; i++)
			to[count[d][digit(from[i], d)]++] = from[i];
		swap = from, from = to, to = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof *v);
	free(other);
	free(count);
}

/* The bits of doubles are in order as sign and magnitude; flip the magnitude of the negative ones. */
static int64_t ordered(int64_t bits)
{
	return bits < 0 ? (int64_t)(~(uint64_t)bits | SIGN) : bits;
}

void mc_sort_f64(double *v, size_t n)
{
	int64_t *bits = mc_xrealloc(NULL, n, sizeof *bits);

	if (n)
		memcpy(bits, v, n * sizeof *v);
	for (size_t i = 0; i < n; i++)
		bits[i] = ordered(bits[i]);
	mc_sort_i64(bits, n);
	for (size_t i = 0; i < n; i++)
		bits[i] = ordered(bits[i]);
	if (n)
		memcpy(v, bits, n * sizeof *v);
	free(bits);
}

static int64_t median3(int64_t a, int64_t b, int64_t c)
{
	if (a > b) {
		int64_t t = a;

		a = b;
		b = t;
	}
	return c < a ? a : c > b ? b : c;
}

/*
 * Move the values of [lo, hi) about a pivot, so that [lo, i) <= pivot <= [i, hi) for the i returned; i == lo
 * means that v[lo] is a smallest one. Both sides stop at equal values, so that runs of them split evenly
 * (Hoare).
 */
static size_t partition(int64_t *v, size_t lo, size_t hi)
{
	int64_t pivot = median3(v[lo], v[lo + (hi - lo) / 2], v[hi - 1]);
	size_t i = lo, j = hi - 1;

	for (;; i++, j--) {
		int64_t t;

		while (v[i] < pivot)
			i++;
		while (v[j] > pivot)
			j--;
		if (i >= j)
			return i;
		t = v[i];
		v[i] = v[j];
		v[j] = t;
	}
}

int64_t mc_stat_top_sum(int64_t *v, size_t n, size_t m)
{
	/* All before lo <= all of [lo, hi) <= all from hi on; the sum starts at `from` in [lo, hi]. */
	size_t from = n - (m < n ? m : n), lo = 0, hi = n, work = 0;
	int64_t sum = 0;

	while (lo < from && from < hi && hi - lo > 16 && work <= 8 * n) {
		size_t i = partition(v, lo, hi);

		work += hi - lo;
		if (from < i)
			hi = i;
		else
			lo = i > lo ? i : lo + 1;
	}
	if (lo < from && from < hi)
		mc_sort_i64(v + lo, hi - lo);
	for (size_t i = from; i < n; i++)
		sum += v[i];
	return sum;
}
