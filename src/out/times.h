/*
 * Where the prefill and decode times of a run came from (model/cost.h), as results tell it.
 */
#ifndef MC_OUT_TIMES_H
#define MC_OUT_TIMES_H

#include <jansson.h>
#include <stdio.h>

#include "out/report.h"

/* Lines of the text's head; none where it need not be told: a measured model, or a profile that has nothing
 * but its hardware. */
void mc_times_text(FILE *out, const struct mc_report *report);
/* A line for each range of an operator that passes left. */
void mc_times_ranges_text(FILE *out, const struct mc_report *report);
/* The object "times" of a result. */
void mc_times_json(json_t *result, const struct mc_report *report);
/* The list of ranges, empty where times are no sums of operators. */
json_t *mc_times_ranges_json(const struct mc_metrics *m);

#endif
