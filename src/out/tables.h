/* The tables of --out-dir. Empty fields: did not happen. Times are exact, in seconds with nine digits. */
#ifndef MC_OUT_TABLES_H
#define MC_OUT_TABLES_H

#include <stdio.h>

#include "cluster/replicas.h"
#include "cluster/result.h"

/* A row a request, in arrival order. */
void mc_out_requests_csv(FILE *out, const struct mc_result *r);
/* A row a sample. */
void mc_out_timeseries_csv(FILE *out, const struct mc_result *r);
/* A row a sample and rank. */
void mc_out_replicas_csv(FILE *out, const struct mc_replicas *r);

#endif
