/* One scenario under several seeds: each metric's mean with its 95 % confidence interval. */
#ifndef MC_OUT_SEEDS_H
#define MC_OUT_SEEDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "out/flat.h"

struct mc_seeds {
	int64_t first, n;         /* seeds first .. first + n - 1 */
	bool random;              /* false: nothing is, so that all runs are equal */
	bool incomplete;          /* interrupted: n is what was done */
	struct mc_flat_list *run; /* n, each with the same keys */
	const json_t *result;     /* of the first run: names the scenario and the trace */
};

/* format: text, json or csv. */
void mc_seeds_write(FILE *out, const char *format, const struct mc_seeds *seeds);

#endif
