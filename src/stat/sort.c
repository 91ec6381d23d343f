#include "stat/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define INSERTION_MAX 96 /* where clearing and adding up the counts costs more */
#define DIGITS        8  /* of 8 bits */
#define SAMPLE        15 /* of a range to be divided */
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

/* Move values < pivot before the others; returns where the others start. No branch depends on the values. */
static size_t partition(int64_t *v, size_t lo, size_t hi, int64_t pivot)
{
	size_t i = lo;

	for (size_t j = lo; j < hi; j++) {
		int64_t x = v[j];

		v[j] = v[i];
		v[i] = x;
		i += x < pivot;
	}
	return i;
}

/* A value near the one that sorting would put at `rank` of [lo, hi): that of a sample, evenly spaced. */
static int64_t guess(const int64_t *v, size_t lo, size_t hi, size_t rank)
{
	int64_t sample[SAMPLE];

	for (size_t i = 0; i < SAMPLE; i++)
		sample[i] = v[lo + i * (hi - lo) / SAMPLE];
	insertion_sort(sample, SAMPLE);
	return sample[(rank - lo) * SAMPLE / (hi - lo)];
}

/* Permute v so that its n - from largest are at the end. */
static void select_top(int64_t *v, size_t n, size_t from)
{
	size_t lo = 0, hi = n, work = 0; /* all before lo <= all of [lo, hi) <= all from hi on */

	while (lo < from && from < hi && hi - lo > SAMPLE) {
		int64_t pivot = guess(v, lo, hi, from);
		size_t i = partition(v, lo, hi, pivot);

		if (i == lo) { /* a smallest one: set its equals apart at once */
			i = pivot < INT64_MAX ? partition(v, lo, hi, pivot + 1) : hi;
			if (from < i)
				return;
		}
		if (from < i)
			hi = i;
		else
			lo = i;
		work += hi - lo;
		if (work > 8 * n)
			break;
	}
	if (lo < from && from < hi)
		mc_sort_i64(v + lo, hi - lo);
}

int64_t mc_stat_top_sum(int64_t *v, size_t n, size_t m)
{
	size_t from = n - (m < n ? m : n);
	int64_t sum = 0;

	select_top(v, n, from);
	for (size_t i = from; i < n; i++)
		sum += v[i];
	return sum;
}
