/*
 * Exact percentiles of weighted times that are too many to keep, but can be gone through twice: pass 1 counts
 * weights in buckets, prepare finds the buckets that hold the percentiles sought, pass 2 looks only into
 * those. The percentiles are those of mc_summary_percentile, defined in stat/summary.h.
 *
 *     struct mc_wquant q;
 *     mc_wquant_init(&q);
 *     for each (t, w): mc_wquant_add1(&q, t, w);
 *     mc_wquant_prepare(&q);
 *     for each (t, w), in any order: mc_wquant_add2(&q, t, w);
 *     mc_wquant_result(&q, &summary);
 *     mc_wquant_fini(&q);
 *
 * Buckets are 1,024 ns wide below 2^32 ns (4.3 s), where pass 2 counts single ns, and 1/256 of an octave
 * above, where it keeps pairs, of distinct times only. Memory: 34 MB reserved, touched only where times fall.
 */
#ifndef MC_STAT_WQUANT_H
#define MC_STAT_WQUANT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "base/vec.h"
#include "stat/summary.h"

#define MC_WQUANT_FINE_BITS 32
#define MC_WQUANT_WIDTH     1024 /* ns of a fine bucket */
#define MC_WQUANT_FINE      (UINT64_C(1) << (MC_WQUANT_FINE_BITS - 10))
#define MC_WQUANT_PAGE      512                 /* buckets: 4 KiB of weights */
#define MC_WQUANT_SOUGHT    (UINT64_C(1) << 63) /* flag beside a bucket's weight */

struct mc_wquant_pair {
	mc_time t;
	uint64_t w;
};

struct mc_wquant_target {
	size_t bucket;
	uint64_t before; /* weight in the buckets below */
	uint64_t *fine;  /* weight of each ns of a fine bucket */
	struct {
		MC_VEC(struct mc_wquant_pair)
	} pair; /* of a coarse one */
	size_t compact_at;
};

struct mc_wquant {
	uint64_t *weight; /* a bucket */
	uint8_t *touched; /* a page of buckets: the others are skipped, so that they never take memory */
	uint64_t total;
	__int128 sum;
	mc_time max;
	struct mc_wquant_target target[MC_SUMMARY_PERCENTILES];
	size_t n_targets;
	uint64_t seen; /* weight in pass 2 */
};

void mc_wquant_init(struct mc_wquant *q);
void mc_wquant_fini(struct mc_wquant *q);

static inline size_t mc_wquant_bucket(mc_time t)
{
	int octave;

	if (t < INT64_C(1) << MC_WQUANT_FINE_BITS)
		return (size_t)t / MC_WQUANT_WIDTH;
	octave = 63 - __builtin_clzll((unsigned long long)t);
	return MC_WQUANT_FINE + (size_t)(octave - MC_WQUANT_FINE_BITS) * 256 +
	       (((uint64_t)t >> (octave - 8)) & 255);
}

/* t >= 0 (asserted); the weights add up to less than 2^63. */
static inline void mc_wquant_add1(struct mc_wquant *q, mc_time t, uint64_t w)
{
	size_t b = mc_wquant_bucket(t);

	assert(t >= 0);
	q->weight[b] += w;
	q->touched[b / MC_WQUANT_PAGE] = 1;
	q->total += w;
	q->sum += (__int128)t * w;
	if (w && t > q->max)
		q->max = t;
}

void mc_wquant_prepare(struct mc_wquant *q);
void mc_wquant_look(struct mc_wquant *q, size_t bucket, mc_time t, uint64_t w); /* of add2 only */

static inline void mc_wquant_add2(struct mc_wquant *q, mc_time t, uint64_t w)
{
	size_t b = mc_wquant_bucket(t);

	q->seen += w;
	if (q->weight[b] & MC_WQUANT_SOUGHT)
		mc_wquant_look(q, b, t, w);
}

/* In seconds; count is the total weight. Both passes must have seen the same weight (asserted). */
void mc_wquant_result(struct mc_wquant *q, struct mc_summary *out);

#endif
