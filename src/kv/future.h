/*
 * What is to come of a trace: for each of its blocks the next request that names it. Its owner says how far
 * the trace has come; the policies that need the future only read it. One future serves any number of pools.
 *
 * Ids are prefix-chained, so a block that is named by a request is named with all blocks before it, and
 * block k of one is block k of all: along a prompt the next uses never come earlier.
 */
#ifndef MC_KV_FUTURE_H
#define MC_KV_FUTURE_H

#include <stdint.h>

#include "trace/store.h"

struct mc_future;

/* At the beginning: no request has come. The trace is borrowed; it has fewer than 2^32 - 1 blocks (asserted).
 */
struct mc_future *mc_future_new(const struct mc_trace *t);
void mc_future_free(struct mc_future *f); /* NULL is fine */

/* The requests of the trace up to this one, and it itself, have come. An earlier one changes nothing. */
void mc_future_advance(struct mc_future *f, int64_t request);
uint32_t mc_future_come(const struct mc_future *f); /* how many have */

/* A request, come or not, that names the id; MC_NONE: there is none. */
uint32_t mc_future_request(const struct mc_future *f, uint64_t id);
/* Of those that have not come the first that names this block of this request; MC_NONE: none does. */
uint32_t mc_future_next(const struct mc_future *f, uint32_t request, uint32_t block);

#endif
