/* Hits by policy and capacity: the tables of `mooncake trace stat`. */
#ifndef MC_CLI_TRACE_HITS_H
#define MC_CLI_TRACE_HITS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"
#include "trace/lru.h"

struct mc_trace_hit {
	const char *evict; /* NULL: the flat LRU */
	uint64_t capacity; /* blocks; UINT64_MAX: infinite */
	uint64_t blocks, tokens;
};

struct mc_trace_capacities {
	MC_VEC(uint64_t)
};

struct mc_evictor;

struct mc_trace_evictors {
	MC_VEC(const struct mc_evictor *)
};

/* By policy, then capacity. {0} is an empty one. */
struct mc_trace_hits {
	MC_VEC(struct mc_trace_hit)
	uint64_t references, input_tokens; /* of the trace: what a ratio is of */
	const char *bound;                 /* of the policies the one that needs the future; NULL */
};

/* "1000,10K,inf"; MC_USAGE. */
int mc_trace_capacities_parse(struct mc_trace_capacities *c, const char *list, struct mc_err *err);
/* "lru,sieve", "all"; MC_USAGE. */
int mc_trace_evictors_parse(struct mc_trace_evictors *e, const char *list, struct mc_err *err);

/* One flat LRU of every capacity. */
void mc_trace_hits_lru(struct mc_trace_hits *h, const struct mc_lru_curve *lru,
		       const struct mc_trace_capacities *c);
/* One pool of every policy and capacity, through which the trace is replayed. */
void mc_trace_hits_pools(struct mc_trace_hits *h, const struct mc_trace *t, const struct mc_trace_evictors *e,
			 const struct mc_trace_capacities *c);

void mc_trace_hits_text(FILE *fp, const struct mc_trace_hits *h, const char *title);
json_t *mc_trace_hits_json(const struct mc_trace_hits *h);
void mc_trace_hits_csv(FILE *fp, const struct mc_trace_hits *h);

#endif
