/* Results beside each other: metric by metric, and request by request where two ran the same trace. */
#ifndef MC_OUT_COMPARE_H
#define MC_OUT_COMPARE_H

#include <jansson.h>
#include <stdio.h>

#include "out/flat.h"
#include "stat/ci.h"

/* Latencies of requests, one array each by request number; NaN: not counted, or has none. */
enum mc_paired_key { MC_PAIRED_TTFT, MC_PAIRED_TBT, MC_PAIRED_E2E, MC_PAIRED };

extern const char *const mc_paired_keys[MC_PAIRED]; /* "ttft_s", ...: columns of requests.csv */

struct mc_latencies {
	size_t n;
	double *v[MC_PAIRED];
};

struct mc_paired {
	struct mc_ci difference;      /* second - first, mean with its 95 % interval */
	int64_t better, worse, equal; /* requests of the second */
};

struct mc_column {
	const char *name;
	const json_t *result;
	struct mc_flat_list flat;
};

struct mc_comparison {
	const char *across;   /* the setting whose values are the columns; NULL: columns are results */
	const char *scenario; /* across: of this scenario */
	struct mc_column *column;
	size_t n;
	bool paired;          /* two columns, the same trace, requests known */
	const char *unpaired; /* why not, when n == 2 */
	struct mc_paired pair[MC_PAIRED];
};

/* Pair two runs of one trace. */
void mc_comparison_pair(struct mc_comparison *c, const struct mc_latencies *a, const struct mc_latencies *b);

/* Settings by dotted key whose values differ between the columns: a new object {key: [value of each]}. */
json_t *mc_comparison_settings(const struct mc_comparison *c);

/* format: text, json or csv. Text puts two results line by line, more of them (or across) in columns. */
void mc_comparison_write(FILE *out, const char *format, const struct mc_comparison *c);

/* Of compare_columns.c: the table with a column each, best values marked, and the sentence that closes it. */
void mc_comparison_columns(FILE *out, const struct mc_comparison *c);

#endif
