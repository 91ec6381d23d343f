/*
 * The metrics of a JSON result as a list of (dotted key, number): what the CSV sink writes, what seeds are
 * averaged over, and what results are compared by.
 */
#ifndef MC_OUT_FLAT_H
#define MC_OUT_FLAT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/vec.h"

struct mc_flat {
	char key[96];
	double value; /* NaN: null in the result, or not there */
	bool whole;   /* an integer */
};

struct mc_flat_list {
	MC_VEC(struct mc_flat)
};

/* Numbers below the metric keys of a result, in its order; by_length is left out. mc_vec_fini the list. */
void mc_flat_from_json(const json_t *result, struct mc_flat_list *list);
/* NULL: none of that key. */
const struct mc_flat *mc_flat_find(const struct mc_flat_list *list, const char *key);

enum mc_better { MC_BETTER_NEITHER, MC_BETTER_LOW, MC_BETTER_HIGH };

/* Is a lower or a higher value of this metric what users want? */
enum mc_better mc_flat_better(const char *key);

#endif
