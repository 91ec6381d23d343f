/* What `mooncake capacity` found: a line a side, and what a reader should know beside it. */
#ifndef MC_OUT_CAPACITY_H
#define MC_OUT_CAPACITY_H

#include <jansson.h>
#include <stdio.h>

#include "plan/capacity.h"

/* format: text, json or csv. `first` is the result of the first run: it names the trace. */
void mc_out_capacity(FILE *out, const char *format, const struct mc_capacity *c, const json_t *first);

#endif
